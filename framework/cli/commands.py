"""The commands: name, summary, and the function that runs each.

Each import is in a function of its own, so that a command loads only what it needs: `validate`
finishes in under half a second, and `--help` imports no command at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["COMMANDS", "GROUPS", "Command"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command of the command line.

    Attributes:
        summary: one line for the list of commands.
        load: imports the command and returns it: a function whose parameters are the options, and
            whose result is the exit code.
    """

    summary: str
    load: Callable[[], Callable[..., int]]


def _init() -> Callable[..., int]:
    from framework.cli.init import command

    return command


def _validate() -> Callable[..., int]:
    from framework.cli.validate import command

    return command


def _plan() -> Callable[..., int]:
    from framework.cli.plan import command

    return command


def _run() -> Callable[..., int]:
    from framework.cli.run import command

    return command


def _check() -> Callable[..., int]:
    from framework.cli.check import command

    return command


def _test() -> Callable[..., int]:
    from framework.cli.test import command

    return command


def _resume() -> Callable[..., int]:
    from framework.cli.run import resume_command

    return resume_command


def _status() -> Callable[..., int]:
    from framework.cli.status import command

    return command


def _fsck() -> Callable[..., int]:
    from framework.cli.fsck import command

    return command


def _drop() -> Callable[..., int]:
    from framework.cli.drop import command

    return command


def _history() -> Callable[..., int]:
    from framework.cli.status import history_command

    return history_command


def _quarantine_ls() -> Callable[..., int]:
    from framework.cli.quarantine import ls_command

    return ls_command


def _quarantine_show() -> Callable[..., int]:
    from framework.cli.quarantine import show_command

    return show_command


def _quarantine_release() -> Callable[..., int]:
    from framework.cli.release import release_command

    return release_command


def _quarantine_drop() -> Callable[..., int]:
    from framework.cli.quarantine import drop_command

    return drop_command


def _compact() -> Callable[..., int]:
    from framework.cli.compact import command

    return command


def _clean() -> Callable[..., int]:
    from framework.cli.retention import clean_command

    return clean_command


def _cluster() -> Callable[..., int]:
    from framework.cli.rewrite import cluster_command

    return cluster_command


def _materialize() -> Callable[..., int]:
    from framework.cli.rewrite import materialize_command

    return materialize_command


def _relocate() -> Callable[..., int]:
    from framework.cli.source_files import relocate_command

    return relocate_command


def _safe_to_delete() -> Callable[..., int]:
    from framework.cli.source_files import safe_to_delete_command

    return safe_to_delete_command


def _delete_report() -> Callable[..., int]:
    from framework.cli.source_files import delete_report_command

    return delete_report_command


def _archive() -> Callable[..., int]:
    from framework.cli.retention import archive_command

    return archive_command


def _sync() -> Callable[..., int]:
    from framework.cli.sync import command

    return command


def _rollback() -> Callable[..., int]:
    from framework.cli.undo import rollback_command

    return rollback_command


def _restore() -> Callable[..., int]:
    from framework.cli.undo import restore_command

    return restore_command


def _savepoint_create() -> Callable[..., int]:
    from framework.cli.undo import savepoint_create_command

    return savepoint_create_command


def _savepoint_ls() -> Callable[..., int]:
    from framework.cli.undo import savepoint_ls_command

    return savepoint_ls_command


def _savepoint_drop() -> Callable[..., int]:
    from framework.cli.undo import savepoint_drop_command

    return savepoint_drop_command


def _preview() -> Callable[..., int]:
    from framework.cli.sql import preview_command

    return preview_command


def _sql() -> Callable[..., int]:
    from framework.cli.sql import command

    return command


def _serve() -> Callable[..., int]:
    from framework.cli.serve import command

    return command


def _schema() -> Callable[..., int]:
    from framework.cli.schema import command

    return command


def _doctor() -> Callable[..., int]:
    from framework.cli.doctor import command

    return command


COMMANDS: Final[Mapping[str, Command]] = {
    "init": Command(load=_init, summary="Write a first spec, for a data set (--from) if given."),
    "validate": Command(load=_validate, summary="Check specs; starts no Spark and reads no data."),
    "plan": Command(load=_plan, summary="Show what run would do; changes nothing, needs no Java."),
    "run": Command(load=_run, summary="Run specs, or a saved plan."),
    "check": Command(
        load=_check, summary="Run the checks on a table or a source; publish nothing."
    ),
    "test": Command(load=_test, summary="Run the tests of specs, over the rows in `tests`."),
    "resume": Command(load=_resume, summary="Resume an interrupted run."),
    "status": Command(load=_status, summary="Show a table's state and risks to its rows."),
    "fsck": Command(load=_fsck, summary="Check a whole table; repair what is safe to repair."),
    "history": Command(load=_history, summary="List a table's instants with their audits."),
    "quarantine ls": Command(
        load=_quarantine_ls, summary="List what runs quarantined, run by run."
    ),
    "quarantine show": Command(load=_quarantine_show, summary="Show quarantined rows."),
    "quarantine release": Command(
        load=_quarantine_release, summary="Send rows through the gate again, into the table."
    ),
    "quarantine drop": Command(load=_quarantine_drop, summary="Remove quarantined rows, for good."),
    "compact": Command(load=_compact, summary="Merge log files into base files."),
    "clean": Command(load=_clean, summary="Delete files that no retained commit needs."),
    "cluster": Command(load=_cluster, summary="Merge small files, or sort rows."),
    "materialize": Command(
        load=_materialize, summary="Make ordinary base files of skeletons, in batches."
    ),
    "relocate": Command(load=_relocate, summary="Name another location of a table's source."),
    "safe-to-delete": Command(
        load=_safe_to_delete, summary="List source files that a table needs no more."
    ),
    "delete-report": Command(
        load=_delete_report, summary="List the files that still hold given record keys."
    ),
    "archive": Command(load=_archive, summary="Move old instants to the archived timeline."),
    "sync": Command(load=_sync, summary="Register tables in the catalogs that specs name."),
    "rollback": Command(load=_rollback, summary="Roll back the newest instant of a table."),
    "restore": Command(load=_restore, summary="Go back to an instant, a savepoint or a time."),
    "savepoint create": Command(
        load=_savepoint_create, summary="Hold an instant, so that it can be restored."
    ),
    "savepoint ls": Command(load=_savepoint_ls, summary="List the savepoints of a table."),
    "savepoint drop": Command(load=_savepoint_drop, summary="Release a savepoint."),
    "drop": Command(load=_drop, summary="Remove a table for good; never its source."),
    "preview": Command(load=_preview, summary="Show the first rows that a spec would load."),
    "sql": Command(load=_sql, summary="Show the rows of a query over a table."),
    "serve": Command(load=_serve, summary="Serve views of tables over HTTP, with a status page."),
    "schema": Command(load=_schema, summary="Print the JSON Schema of specs, projects, plans."),
    "doctor": Command(
        load=_doctor, summary="Check this machine: Python, Java, Spark, memory, disk."
    ),
}

GROUPS: Final[Mapping[str, str]] = {
    "quarantine": "List, show, release or drop rows that runs quarantined.",
    "savepoint": "Create, list or drop savepoints.",
}
"""First words of several commands, each of which has two words."""
