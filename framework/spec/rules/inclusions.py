"""Parts of a spec from other files: a column contract, the project's profiles, and SQL.

Nodes are inserted into the spec's own tree and keep their positions, so that a fault in them is
shown where it is written. SQL is text, from the files that `sql_file` names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from pydantic_core import PydanticCustomError

from framework.errors import SpecError
from framework.spec.document.findings import FindingList, nearest
from framework.spec.document.positions import Entry, MapNode, Positions, ScalarNode
from framework.spec.document.references import Resolver, Scope
from framework.spec.document.source import Span, read_source
from framework.spec.document.walker import parse
from framework.spec.sections.locations import resolve_location
from framework.spec.sections.quality_spec import COLUMNS_SUFFIX

__all__ = ["COLUMNS_PATH", "PROFILES", "ColumnsFile", "SqlFiles", "with_profiles"]

COLUMNS_PATH = "table.columns"
PROFILES = "profiles"


def with_profiles(root: MapNode, profiles: Entry | None) -> MapNode:
    """Return the spec with the project's profiles added, unless it has such a field itself.

    The profiles serve positions and references only: a spec's model has no such field, so one that
    the spec writes is a fault.
    """
    if profiles is None or root.get(PROFILES) is not None:
        return root
    return replace(root, entries=(*root.entries, profiles))


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnsFile:
    """Reader of the file that `table.columns` of the spec at `spec` names.

    It may be anywhere, but its name must end in `.columns.yml` after following links. So a foreign
    spec cannot display any other file of the machine.
    """

    spec: Path
    scope: Scope
    findings: FindingList

    def put_into(self, root: MapNode) -> MapNode:
        """Return the spec with the file's mapping in place of its path, which a fault keeps."""
        table = root.get("table")
        columns = table.value.get("columns") if table and isinstance(table.value, MapNode) else None
        if table is None or columns is None or not isinstance(columns.value, ScalarNode):
            return root
        mapping = self._mapping(columns.value)
        if mapping is None or not isinstance(table.value, MapNode):
            return root
        filled = replace(columns, value=mapping)
        inner = tuple(filled if each is columns else each for each in table.value.entries)
        changed = replace(table, value=replace(table.value, entries=inner))
        return replace(root, entries=tuple(changed if e is table else e for e in root.entries))

    def _mapping(self, node: ScalarNode) -> MapNode | None:
        """Return the contract in the named file."""
        resolved = Resolver(scope=self.scope, findings=(quiet := FindingList())).resolve(node)
        if quiet.errors or not isinstance(resolved.value, str):
            return None  # reported by the checks of references and fields
        file = self._file(resolved.value, node.span)
        return self._read(file, resolved.value, node.span) if file else None

    def _file(self, written: str, span: Span) -> Path | None:
        """Return the named file; None, with a finding, if it may not be read."""
        try:
            file = Path(resolve_location(written, self.spec.absolute().parent))
        except PydanticCustomError as error:
            context = error.context or {}
            self._add("spec/bad-path", span, context["message"], context["suggestion"])
            return None
        if "://" in written or not file.resolve().name.endswith(COLUMNS_SUFFIX):
            message = f"`columns` is a mapping, or the path of a file named *{COLUMNS_SUFFIX}"
            self._add("spec/columns-file", span, message)
            return None
        return file

    def _read(self, file: Path, written: str, span: Span) -> MapNode | None:
        """Return the file's mapping; None, with a finding, if it has none."""
        try:
            source = read_source(self._as_typed(file))
        except SpecError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                message = f"there is no file `{written}`"
                self._add("spec/file-not-found", span, message, _contract_beside(file, written))
            else:
                self.findings.extend(replace(f, key_path=COLUMNS_PATH) for f in error.findings)
            return None
        inner = FindingList()
        root = parse(source, inner, COLUMNS_PATH)
        self.findings.extend(replace(f, key_path=f.key_path or COLUMNS_PATH) for f in inner.errors)
        if isinstance(root, MapNode):
            return root
        if not inner.errors:
            message = f"{written} is not a mapping of columns"
            self._add("spec/columns-file", span, message)
        return None

    def _as_typed(self, file: Path) -> Path:
        """Return the path, relative to the current folder if the spec's is and that contains it."""
        here = Path.cwd()
        below = not self.spec.is_absolute() and file.is_relative_to(here)
        return file.relative_to(here) if below else file

    def _add(self, rule: str, span: Span, message: str, suggestion: str | None = None) -> None:
        self.findings.add(rule, span, message, key_path=COLUMNS_PATH, suggestion=suggestion)


def _contract_beside(file: Path, written: str) -> str | None:
    """Return the path with a similar name of an existing file beside it, or None."""
    try:
        names = [each.name for each in file.parent.iterdir() if each.name.endswith(COLUMNS_SUFFIX)]
    except OSError:
        return None
    close = nearest(file.name, names)
    return str(Path(written).with_name(close)) if close else None


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
                close = _file_beside(file, written)
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


def _file_beside(file: Path, written: str) -> str | None:
    """Return the path with a similar name of an existing file beside it, or None."""
    try:
        close = nearest(file.name, [entry.name for entry in file.parent.iterdir()])
    except OSError:
        return None
    return str(Path(written).with_name(close)) if close else None
