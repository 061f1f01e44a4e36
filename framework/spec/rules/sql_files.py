"""The files that `sql_file` names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic_core import PydanticCustomError

from framework.errors import SpecError
from framework.spec.document.findings import FindingList, nearest
from framework.spec.document.positions import Positions
from framework.spec.document.source import read_source
from framework.spec.sections.locations import resolve_location

__all__ = ["SqlFiles"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlFiles:
    """Reader of the SQL files of one spec.

    Attributes:
        folder: the folder of the spec file, where relative paths start.
        root: the folder that must contain every file after following links: that of the project
            file, or else the spec file's own. So a foreign spec cannot display any other file
            of the machine.
    """

    positions: Positions
    findings: FindingList
    folder: Path
    root: Path

    @classmethod
    def of(
        cls, spec: Path, project: Path | None, *, positions: Positions, findings: FindingList
    ) -> SqlFiles:
        """Return the reader for a spec file; `project` is the path of its project file or None."""
        return cls(
            positions=positions,
            findings=findings,
            folder=spec.absolute().parent,
            root=(project or spec).absolute().parent,
        )

    def content(self, written: str, path: str) -> str | None:
        """Return the text of the file named at the path; None, with a finding, if unreadable."""
        file = self._file(written, path)
        if file is None:
            return None
        try:
            return read_source(file).text
        except SpecError as error:
            found = error.findings[0]
            if isinstance(error.__cause__, FileNotFoundError):
                close = _neighbour(file, written)
                self._add("spec/file-not-found", path, f"there is no file `{written}`", close)
            else:
                line = f", line {found.where.line}" if found.where.line else ""
                self._add(found.rule, path, f"{written}{line}: {found.message}", found.suggestion)
        return None

    def _file(self, written: str, path: str) -> Path | None:
        """Return the named file; None, with a finding, if it may not be read."""
        if written.startswith("/") or "://" in written:
            message = "`sql_file` is a path that starts at the spec file's folder"
            self._add("spec/bad-path", path, message)
            return None
        try:
            file = Path(resolve_location(written, self.folder))
        except PydanticCustomError as error:
            context = error.context or {}
            self._add("spec/bad-path", path, context["message"], context["suggestion"])
            return None
        root = self.root.resolve()
        if file.resolve().is_relative_to(root):
            return file
        self._add("spec/file-outside", path, f"`{written}` is outside of the folder {root}")
        return None

    def _add(self, rule: str, path: str, message: str, suggestion: str | None = None) -> None:
        span = self.positions.span(path)
        self.findings.add(rule, span, message, key_path=path, suggestion=suggestion)


def _neighbour(file: Path, written: str) -> str | None:
    """Return the path with a similar name of an existing file beside it, or None."""
    try:
        close = nearest(file.name, [entry.name for entry in file.parent.iterdir()])
    except OSError:
        return None
    return str(Path(written).with_name(close)) if close else None
