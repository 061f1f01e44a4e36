"""Faults between the sections that say what later runs load and how they write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic_core import PydanticCustomError

from framework.spec.document.references import LooseText
from framework.spec.rules.lookup import Lookup
from framework.spec.sections.sizes import parse_size, size_text
from framework.spec.sections.source_spec import FILE_FORMATS, SourceLoad
from framework.spec.sections.write_spec import MIN_TARGET_FILE_SIZE, TARGET_FILE_SIZE
from framework.vocabulary import WriteOperation

__all__ = ["LoadSemantics"]

_OPERATIONS = tuple(operation.value for operation in WriteOperation)
_DELETES = WriteOperation.DELETE_PARTITION.value


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSemantics(Lookup):
    """Checks `source`, `transforms` and `write` across fields."""

    def check(self) -> None:
        """Add every fault to the findings."""
        self._check_presence()
        self._check_partitions()
        self._check_sizes()
        self._check_source()
        self._check_transforms()

    def _check_presence(self) -> None:
        """The three sections belong together, but for the deletion of partitions."""
        operation = self._at("write", "operation")
        if operation == _DELETES:
            for section in ("source", "transforms"):
                if self._has(section):
                    message = f"`{_DELETES}` loads nothing, so there can be no `{section}`"
                    self._note("source-not-allowed", section, message)
            return
        if self._has("source") and not self._has("write"):
            message = "a `source` needs `write`, which says what happens with its rows"
            self._note("source-without-write", "source", message, "write: {operation: upsert}")
        if not self._has("source") and operation in _OPERATIONS:
            message = f"`{operation}` needs a `source`, which says what is loaded"
            self._note("write-without-source", "write.operation", message)
        if not self._has("source") and self._has("transforms"):
            message = "`transforms` need a `source`, whose rows they work on"
            self._note("transforms-without-source", "transforms", message)

    def _check_partitions(self) -> None:
        """Partitions are named exactly where they are deleted."""
        operation = self._at("write", "operation")
        named = self._at("write", "partitions")
        if operation == _DELETES:
            if named == [] or not self._has("write.partitions"):
                self._note_missing_partitions()
            if not self._has("table.partition_by"):
                message = f"`{_DELETES}` needs a table with `partition_by`"
                self._note("table-without-partitions", "write.operation", message)
        elif named and operation in _OPERATIONS:
            message = f"`partitions` are for `{_DELETES}`; `{operation}` takes them from the rows"
            self._note("partitions-not-allowed", "write.partitions", message)

    def _note_missing_partitions(self) -> None:
        """Ask for the partitions where the operation is written."""
        self.findings.add(
            "spec/partitions-required",
            self.positions.span("write.operation"),
            f"`{_DELETES}` needs `partitions`: their paths, or globs of them",
            key_path="write.partitions",
            suggestion="partitions: ['month=1']",
        )

    def _check_sizes(self) -> None:
        """Files that are filled up cannot be greater than files may become."""
        target = self._size("target_file_size") or TARGET_FILE_SIZE
        small = self._size("small_file_limit")
        if small is not None and MIN_TARGET_FILE_SIZE <= target < small:
            message = (
                f"small_file_limit ({size_text(small)}) is greater than "
                f"target_file_size ({size_text(target)})"
            )
            suggestion = f"small_file_limit: {size_text(target)}"
            self._note("out-of-range", "write.small_file_limit", message, suggestion)

    def _size(self, name: str) -> int | None:
        """The size in bytes, or None where it is not written or faulty."""
        value = self._at("write", name)
        typed = value.typed() if isinstance(value, LooseText) else value
        try:
            return parse_size(typed) if isinstance(typed, str | int) else None
        except PydanticCustomError:
            return None

    def _check_source(self) -> None:
        """Files have a place, and only of files is it known which are new."""
        source = self._at("source")
        if not isinstance(source, Mapping):
            return
        name = self._at("source", "format") or FILE_FORMATS[0]
        of_files = name in FILE_FORMATS
        if of_files and not self._has("source.path"):
            message = f"`path` must be written for the format `{name}`"
            self._note("missing-field", "source.path", message, "path: lake/landing")
        if not of_files and self._at("source", "load") == SourceLoad.NEW_FILES.value:
            message = f"what is new in a source of format `{name}` cannot be known; it loads all"
            self._note("load-mismatch", "source.load", message, SourceLoad.ALL.value)

    def _check_transforms(self) -> None:
        """Each transform has one SQL and a name of its own."""
        transforms = self._at("transforms")
        seen: dict[str, str] = {}
        for index, transform in enumerate(transforms if isinstance(transforms, list) else []):
            path = f"transforms[{index}]"
            if not isinstance(transform, Mapping):
                continue
            if ("sql" in transform) == ("sql_file" in transform):
                message = "a transform has either `sql` or `sql_file`"
                self._note("one-sql", path, message)
            name = transform.get("name")
            first = seen.setdefault(str(name).lower(), path)
            if first != path and isinstance(name, str):
                message = f"`{name}` is the name of {first} already; case makes no difference"
                self._note("duplicate-transform", f"{path}.name", message)
