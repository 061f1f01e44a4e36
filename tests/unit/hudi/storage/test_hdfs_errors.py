"""What the HDFS client raises becomes a typed error with a place, a reason and a remedy."""

from __future__ import annotations

import pytest

from framework.hudi.storage.hdfs_errors import hdfs_error, is_missing

PLACE = "hdfs://host:8020/lake/a"


def rpc(java: str, words: str) -> RuntimeError:
    """Return an error of the NameNode as the client words it."""
    return RuntimeError(
        f'RPCError("org.apache.hadoop.{java}", "{words}\\n\\tat org.x.Y.z(Y.java:1)")'
    )


@pytest.mark.parametrize(
    ("raised", "condition", "reason"),
    [
        (FileExistsError("/lake/a already exists\n\tat org.x"), "exists", "already exists"),
        (FileNotFoundError("File does not exist: /lake/a\n\tat org.x"), "not-found", "not exist"),
        (FileNotFoundError("Path is not a file: /lake/a\n\tat org.x"), "failed", "not a file"),
        (rpc("fs.ParentNotDirectoryException", "/f (is not a directory)"), "not-found", "/f"),
        (rpc("security.AccessControlException", "Permission denied: user=x"), "permission", "user"),
        (rpc("hdfs.protocol.DSQuotaExceededException", "The quota is over"), "full", "quota"),
        (rpc("hdfs.server.namenode.SafeModeException", "Cannot create"), "failed", "Cannot create"),
        (OSError("Connection refused (os error 111)"), "failed", "Connection refused"),
    ],
)
def test_error_of_the_client_has_condition_reason_place_and_remedy(
    raised: Exception, condition: str, reason: str
) -> None:
    """Java's stack is left out."""
    error = hdfs_error(raised, PLACE)
    assert error.condition == f"storage/{condition}"
    assert reason in error.message
    assert "org." not in error.message
    assert error.where.file == PLACE
    assert error.remedy


def test_missing_path_is_not_a_folder_in_place_of_a_file() -> None:
    """A folder that is opened as a file is there."""
    assert is_missing(FileNotFoundError("File does not exist: /a"))
    assert is_missing(rpc("fs.ParentNotDirectoryException", "/f (is not a directory)"))
    assert not is_missing(FileNotFoundError("Path is not a file: /a"))
    assert not is_missing(rpc("security.AccessControlException", "Permission denied"))
