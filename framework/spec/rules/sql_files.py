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
    """Reads the SQL files of one spec.

    Attributes:
        folder: where the spec file lies, and relative paths start.
        root: the folder outside of which no file may lie, once links are followed: that of the
            project file, or the spec file's own. So a spec that somebody else wrote cannot have
            any other file of the machine shown.
    """

    positions: Positions
    findings: FindingList
    folder: Path
    root: Path

    @classmethod
    def of(
        cls, spec: Path, project: Path | None, *, positions: Positions, findings: FindingList
    ) -> SqlFiles:
        """The files of a spec file, of whose project there may be a file."""
        return cls(
            positions=positions,
            findings=findings,
            folder=spec.absolute().parent,
            root=(project or spec).absolute().parent,
        )

    def content(self, written: str, path: str) -> str | None:
        """The text of the file that is named at the path; None, with a finding, if it has none."""
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
        """The file that is meant; None, with a finding, where it may not be read."""
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
        self._add("spec/file-outside", path, f"`{written}` lies outside of the folder {root}")
        return None

    def _add(self, rule: str, path: str, message: str, suggestion: str | None = None) -> None:
        """Add one fault at the path."""
        span = self.positions.span(path)
        self.findings.add(rule, span, message, key_path=path, suggestion=suggestion)


def _neighbour(file: Path, written: str) -> str | None:
    """The path with the name of a file that lies there and is nearly the same."""
    try:
        close = nearest(file.name, [entry.name for entry in file.parent.iterdir()])
    except OSError:
        return None
    return str(Path(written).with_name(close)) if close else None
