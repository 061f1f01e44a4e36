"""What a spec takes in from other files: a column contract, and the profiles of the project.

Nodes are put into the spec's own tree and keep their own places, so that a fault in them is shown
where it is written.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from pydantic_core import PydanticCustomError

from framework.errors import SpecError
from framework.spec.document.findings import FindingList, nearest
from framework.spec.document.positions import Entry, MapNode, ScalarNode
from framework.spec.document.resolve import Resolver, Scope
from framework.spec.document.source import Span, read_source
from framework.spec.document.walker import parse
from framework.spec.sections.locations import resolve_location
from framework.spec.sections.quality_spec import COLUMNS_SUFFIX

__all__ = ["COLUMNS_PATH", "PROFILES", "ColumnsFile", "with_profiles"]

COLUMNS_PATH = "table.columns"
PROFILES = "profiles"


def with_profiles(root: MapNode, profiles: Entry | None) -> MapNode:
    """The spec with the project's profiles, unless it has a field of that name, which is a fault.

    They are there for positions and references alone: a spec's model has no such field.
    """
    if profiles is None or root.get(PROFILES) is not None:
        return root
    return replace(root, entries=(*root.entries, profiles))


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnsFile:
    """Reads the file that `table.columns` names, of the spec at `spec`.

    It may lie anywhere, but only a file whose name ends in `.columns.yml`, links followed, is read:
    so a spec that somebody else wrote cannot have any other file of the machine shown.
    """

    spec: Path
    scope: Scope
    findings: FindingList

    def put_into(self, root: MapNode) -> MapNode:
        """The spec with the file's mapping in the place of its path; a fault leaves the path."""
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
        """The contract in the file that is named."""
        resolved = Resolver(scope=self.scope, findings=(quiet := FindingList())).resolve(node)
        if quiet.errors or not isinstance(resolved.value, str):
            return None  # the checks of references and fields report it
        file = self._file(resolved.value, node.span)
        return self._read(file, resolved.value, node.span) if file else None

    def _file(self, written: str, span: Span) -> Path | None:
        """The file that is meant; None, with a finding, where it may not be read."""
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
        """The file's mapping; None, with a finding, where it has none."""
        try:
            source = read_source(self._as_typed(file))
        except SpecError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                message = f"there is no file `{written}`"
                self._add("spec/file-not-found", span, message, _neighbour(file, written))
            else:
                self.findings.extend(replace(f, key_path=COLUMNS_PATH) for f in error.findings)
            return None
        inner = FindingList()
        root = parse(source, inner, COLUMNS_PATH)
        self.findings.extend(replace(f, key_path=f.key_path or COLUMNS_PATH) for f in inner.errors)
        if isinstance(root, MapNode):
            return root
        if not inner.errors:
            message = f"{written} holds no mapping of column to what it is"
            self._add("spec/columns-file", span, message)
        return None

    def _as_typed(self, file: Path) -> Path:
        """The path from the current folder where the spec's was given so and it lies below it."""
        here = Path.cwd()
        below = not self.spec.is_absolute() and file.is_relative_to(here)
        return file.relative_to(here) if below else file

    def _add(self, rule: str, span: Span, message: str, suggestion: str | None = None) -> None:
        """Add one fault of the field `columns`."""
        self.findings.add(rule, span, message, key_path=COLUMNS_PATH, suggestion=suggestion)


def _neighbour(file: Path, written: str) -> str | None:
    """The path with the name of a file that lies there and is nearly the same."""
    try:
        names = [each.name for each in file.parent.iterdir() if each.name.endswith(COLUMNS_SUFFIX)]
    except OSError:
        return None
    close = nearest(file.name, names)
    return str(Path(written).with_name(close)) if close else None
