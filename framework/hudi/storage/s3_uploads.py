"""Uploads of S3: an object that is stored whole and has no name until it is completed.

By boto3, since obstore completes its uploads by itself and shows no id.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final

from framework.errors import StorageError, Where
from framework.hudi.storage.object_uri import ObjectUri
from framework.hudi.storage.port import exists_error, not_found_error, storage_error
from framework.hudi.storage.store_settings import StoreSettings, settings_of

__all__ = ["S3Uploads"]

_PART_BYTES: Final = 64 << 20
_PERMISSION: Final = MappingProxyType(
    {
        "AccessDenied": "permission",
        "NoSuchBucket": "no-bucket",
        "InvalidAccessKeyId": "credentials",
        "SignatureDoesNotMatch": "credentials",
        "ExpiredToken": "credentials",
        "RequestTimeTooSkewed": "clock-skew",
        "SlowDown": "throttled",
        "NotImplemented": "no-conditions",
    }
)


class S3Uploads:
    """The uploads of one bucket, for keys that start with a prefix.

    An id is the upload's own id, then the tags of its parts, separated by spaces.

    Args:
        uri: bucket and prefix.
    """

    def __init__(self, uri: ObjectUri) -> None:
        self._uri = uri
        self._made: Any = None

    @property
    def need_probe(self) -> bool:
        """True: stores that speak S3's protocol may ignore conditions. False for one writer."""
        return not self._is_alone

    def begin(self, path: str, data: bytes) -> str:
        """Store `data` for the name `path`; return the upload's id."""
        key = self._key(path)
        with self._typed(path):
            upload: str = self._client.create_multipart_upload(**key)["UploadId"]
            tags = [
                self._client.upload_part(
                    **key,
                    UploadId=upload,
                    PartNumber=number,
                    Body=data[start : start + _PART_BYTES],
                )["ETag"].strip('"')
                for number, start in enumerate(range(0, max(len(data), 1), _PART_BYTES), start=1)
            ]
        return " ".join([upload, *tags])

    def complete(self, path: str, upload: str) -> None:
        """Give an upload its name, exclusively."""
        number, *tags = upload.split(" ")
        if self._is_alone and self._is_taken(path):
            raise exists_error(f"{self._uri}/{path}")
        condition = {} if self._is_alone else {"IfNoneMatch": "*"}
        parts = [{"PartNumber": n, "ETag": f'"{tag}"'} for n, tag in enumerate(tags, start=1)]
        with self._typed(path):
            self._client.complete_multipart_upload(
                **self._key(path),
                UploadId=number,
                MultipartUpload={"Parts": parts},
                **condition,
            )

    def abort(self, path: str, upload: str) -> None:
        """Discard an upload; one that is gone is not an error."""
        try:
            with self._typed(path):
                self._client.abort_multipart_upload(
                    **self._key(path), UploadId=upload.split(" ", maxsplit=1)[0]
                )
        except StorageError as error:
            if error.condition != "storage/not-found":
                raise

    def unfinished(self) -> Iterator[tuple[str, str]]:
        """Yield path and id of each upload below the prefix; a request for each 1,000."""
        start = f"{self._uri.prefix}/" if self._uri.prefix else ""
        with self._typed(""):
            pages = self._client.get_paginator("list_multipart_uploads").paginate(
                Bucket=self._uri.bucket, Prefix=start
            )
            found = [each for page in pages for each in page.get("Uploads", ())]
        for each in found:
            yield each["Key"].removeprefix(start), each["UploadId"]

    @property
    def _is_alone(self) -> bool:
        """Whether the user has said that nobody else writes."""
        return bool(settings_of(self._uri.scheme).single_writer)

    def _is_taken(self, path: str) -> bool:
        try:
            with self._typed(path):
                self._client.head_object(**self._key(path))
        except StorageError as error:
            if error.condition != "storage/not-found":
                raise
            return False
        return True

    @property
    def _client(self) -> Any:
        """The client, made at the first request: it takes a second."""
        if self._made is None:
            self._made = _client(settings_of(self._uri.scheme), str(self._uri))
        return self._made

    def _key(self, path: str) -> dict[str, str]:
        key = "/".join(each for each in (self._uri.prefix, path) if each)
        return {"Bucket": self._uri.bucket, "Key": key}

    @contextmanager
    def _typed(self, path: str) -> Iterator[None]:
        """Raise the faults of the service as typed errors."""
        exceptions = import_module("botocore.exceptions")
        at = f"{self._uri}/{path}"
        try:
            yield
        except exceptions.ClientError as error:
            raise _typed_error(error, at) from error
        except exceptions.BotoCoreError as error:
            raise storage_error(OSError(str(error)), at) from error


def _typed_error(error: Any, at: str) -> StorageError:
    """Return the typed error for an answer of the service."""
    code = str(error.response.get("Error", {}).get("Code", ""))
    if code == "PreconditionFailed":
        return exists_error(at)
    if code in {"NoSuchUpload", "NoSuchKey", "404"}:
        return not_found_error(at)
    return StorageError(
        f"storage/{_PERMISSION.get(code, 'failed')}",
        f"the object store refused or failed: {code}",
        where=Where(file=at),
        remedy="Check credentials and rights (multipart uploads included), then run again.",
    )


def _client(settings: StoreSettings, at: str) -> Any:
    """Return boto3's client by the same settings as obstore's."""
    try:
        boto3, config = import_module("boto3"), import_module("botocore.config")
    except ModuleNotFoundError as error:
        raise StorageError(
            "storage/extra-missing",
            "a table on S3 needs the package boto3, which is not installed",
            where=Where(file=at),
            remedy="Run `pip install 'lakestrap[stores]' boto3`.",
        ) from error
    unsigned = (
        {"signature_version": import_module("botocore").UNSIGNED} if settings.anonymous else {}
    )
    style = "virtual" if settings.path_style is False else "path" if settings.path_style else "auto"
    session = boto3.session.Session(
        aws_access_key_id=settings.access_key_id,
        aws_secret_access_key=settings.secret_access_key,
        aws_session_token=settings.session_token,
        profile_name=settings.profile,
        region_name=settings.region,
    )
    return session.client(
        "s3",
        endpoint_url=settings.endpoint,
        region_name=settings.region or session.region_name or "us-east-1",
        config=config.Config(
            s3={"addressing_style": style},
            read_timeout=settings.timeout_s or 60,
            retries={"mode": "standard", "max_attempts": 5},
            **unsigned,
        ),
    )
