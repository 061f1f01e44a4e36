"""The project file `run-pipeline.yml`: settings that the specs of a folder share.

    version: 1
    variables: {lake: /data/lake}
    default_target: dev
    targets:
      dev: {variables: {lake: /tmp/lake}}
      prod: {variables: {lake: /srv/lake}}
    defaults:
      table: {type: merge_on_read}
      spark: {conf: {spark.sql.shuffle.partitions: 8}}
    profiles:
      money: [{name: amount_positive, expect: amount > 0}]
    storage:
      s3: {endpoint: https://s3.example.com, profile: lake}

A value from the command line overrides the target's, which overrides the variable's own. A field in
a spec replaces the default's whole field; only `spark.conf` is merged setting by setting. Defaults
of `table` and `bootstrap` fill sections that the spec has, those of `spark` any spec. The section
`storage` is used by each spec without one of its own, and may refer to the variables of its target.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from framework.errors import Finding, SpecError, Where
from framework.spec.document.findings import FindingList, nearest
from framework.spec.document.positions import Entry, ListNode, MapNode, Node, Positions
from framework.spec.document.references import LooseText, Resolver, Scope, Variable
from framework.spec.document.secret import Secret
from framework.spec.document.source import read_source
from framework.spec.document.walker import parse
from framework.spec.sections.faults import Judge
from framework.spec.sections.fields import SpecModel, fault
from framework.spec.sections.pipeline_spec import SpecVersion

__all__ = [
    "PROJECT_FILE",
    "Project",
    "ProjectDocument",
    "find_project_file",
    "load_project",
    "with_defaults",
]

PROJECT_FILE = "run-pipeline.yml"
"""The project file's name."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECTIONS = ("table", "bootstrap", "spark")


def _name(text: object) -> object:
    """Return the name, if it is valid in a reference."""
    if isinstance(text, str) and not _NAME.fullmatch(text):
        raise fault("bad-name", "names consist of letters, digits and `_`", _near_name(text))
    return text


def _near_name(text: str) -> str:
    """Return a valid name close to the text."""
    name = re.sub(r"[^A-Za-z0-9_]+", "_", text)
    return name if _NAME.fullmatch(name) else f"_{name}"


def _variable_value(value: object) -> object:
    """Return the value, if it is one scalar."""
    if not isinstance(value, str | int | float | Secret | None):
        raise PydanticCustomError("string_type", "Input should be a valid string")
    return value


Name = Annotated[str, BeforeValidator(_name)]
VariableValue = Annotated[
    Any,
    BeforeValidator(_variable_value),
    WithJsonSchema({"type": ["string", "integer", "number", "boolean"]}),
]
Variables = Annotated[
    Mapping[Name, VariableValue],
    Field(default={}, description="Name to value; `${var.name}` refers to it."),
]


Section = Mapping[str, Any] | None


class TargetModel(SpecModel):
    """The values that one target changes."""

    variables: Variables


class DefaultsModel(SpecModel):
    """Sections that fill missing fields of specs; they are checked within each spec."""

    table: Section = Field(default=None, description="Fields for the section `table`.")
    bootstrap: Section = Field(default=None, description="Fields for the section `bootstrap`.")
    spark: Section = Field(default=None, description="Fields for the section `spark`.")


class ProjectDocument(SpecModel):
    """Settings that the specs below the project file's folder share."""

    version: SpecVersion = Field(description="The version of the spec language.", examples=[1])
    variables: Variables
    targets: Mapping[Name, TargetModel] = Field(
        default={}, description="Environments such as dev and prod; --target chooses one."
    )
    default_target: str | None = Field(default=None, description="The target without --target.")
    defaults: DefaultsModel | None = Field(
        default=None, description="Sections whose fields fill missing ones of specs."
    )
    profiles: Mapping[Name, Any] = Field(
        default={},
        description="Lists of checks by name; a spec's `quality.profiles` includes them.",
    )
    storage: Section = Field(default=None, description="How object stores are reached.")


MODELS: Mapping[str, type[SpecModel]] = {
    "": ProjectDocument,
    "defaults": DefaultsModel,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project file, with everything in it that could be read.

    Attributes:
        positions: the positions of its paths; None if there is no project file.
        variables: the variables of every target.
        targets: the variables that each target changes.
        default_target: its name, or None.
        defaults: the nodes of the section, or None.
        profiles: the entry of that section, or None; specs check its content.
        storage: likewise.
        findings: the faults of the file.
    """

    positions: Positions | None = None
    variables: Mapping[str, Variable] = field(default_factory=dict)
    targets: Mapping[str, Mapping[str, Variable]] = field(default_factory=dict)
    default_target: str | None = None
    defaults: MapNode | None = None
    profiles: Entry | None = None
    storage: Entry | None = None
    findings: FindingList = field(default_factory=FindingList)

    def scope(self, target: str | None, given: Mapping[str, str]) -> Scope:
        """Return the target's variables, overridden by those of the command line.

        Faults in target and names are added to the findings.
        """
        chosen = target or self.default_target
        if chosen is not None and chosen not in self.targets:
            self.findings.append(self._unknown_target(chosen))
        elsewhere: dict[str, tuple[str, ...]] = {}
        for name, variables in self.targets.items():
            for variable in variables:
                elsewhere[variable] = (*elsewhere.get(variable, ()), name)
        variables = {**self.variables, **self.targets.get(chosen or "", {})}
        for name, text in given.items():
            if not _NAME.fullmatch(name):
                self.findings.append(_bad_option(name))
            variables[name] = _given(text, variables.get(name))
        return Scope(variables=variables, other_targets=elsewhere)

    def _unknown_target(self, name: str) -> Finding:
        """Return the finding that no target has this name."""
        known = ", ".join(self.targets) or "none"
        message = f"the target `{name}` is not defined; known targets: {known}"
        close = nearest(name, self.targets)
        if self.positions is None:
            message = f"the target `{name}` is not defined: there is no {PROJECT_FILE}"
            return _whole("spec/unknown-target", message, f"--target {name}")
        path = "targets" if self.positions.has("targets") else ""
        return self.positions.finding("spec/unknown-target", path, message, suggestion=close)


def _bad_option(name: str) -> Finding:
    """Return the finding of a `--var` whose name is not valid in a reference."""
    message = f"`{name}` is not a valid variable name"
    found = _whole("spec/bad-name", message, f"--var {name}")
    return replace(found, suggestion=_near_name(name))


def _whole(rule: str, message: str, place: str) -> Finding:
    return Finding(rule=rule, key_path="", where=Where(file=place), message=message)


def _given(text: str, declared: Variable | None) -> Variable:
    """Return a command-line value; it is text if the declared value is."""
    is_text = declared is not None and type(declared.value) is str
    return Variable(value=text if is_text else LooseText(text), stored=text.replace("${", "$${"))


def find_project_file(spec: Path) -> Path | None:
    """Return the nearest `run-pipeline.yml` at or above the spec's folder.

    The search ends at the first folder that contains `.git`, or at the root. The path is relative
    to the current folder if the spec's is and the current folder contains it.
    """
    here = Path.cwd()
    for folder in spec.absolute().parents:
        candidate = folder / PROJECT_FILE
        if candidate.exists() and not candidate.is_dir():
            typed_relative = not spec.is_absolute() and candidate.is_relative_to(here)
            return candidate.relative_to(here) if typed_relative else candidate
        if (folder / ".git").exists():
            return None
    return None


def load_project(path: Path | None) -> Project:
    """Return the project file with its faults reported; an empty project for None."""
    findings = FindingList()
    if path is None:
        return Project(findings=findings)
    try:
        source = read_source(path)
    except SpecError as error:
        findings.extend(error.findings)
        return Project(findings=findings)
    root = parse(source, findings)
    positions = Positions.of(source, root)
    if not isinstance(root, MapNode):
        if not findings.errors:
            message = "a project file is a mapping that starts with `version: 1`"
            findings.append(positions.finding("spec/wrong-type", "", message))
        return Project(positions=positions, findings=findings)
    return _project(root, positions, findings)


def _project(root: MapNode, positions: Positions, findings: FindingList) -> Project:
    """Return the project from a parsed file."""
    plain = replace(root, entries=tuple(_hollow(entry) for entry in root.entries))
    data = Resolver(scope=Scope(variables={}, in_project=True), findings=findings).resolve(plain)
    checked = _mapping(data.value)
    models = dict(MODELS)
    models.update({f"targets.{name}": TargetModel for name in _mapping(checked.get("targets"))})
    judge = Judge(positions=positions, models=models, findings=findings)
    judge.validate(ProjectDocument, checked)
    stored = _mapping(data.stored)
    default_target = checked.get("default_target")
    targets = _mapping(checked.get("targets"))
    return Project(
        positions=positions,
        variables=_variables(checked.get("variables"), stored.get("variables")),
        targets={
            name: _variables(
                _mapping(target).get("variables"),
                _mapping(_mapping(_mapping(stored.get("targets")).get(name))).get("variables"),
            )
            for name, target in targets.items()
        },
        default_target=default_target if isinstance(default_target, str) else None,
        defaults=_map_at(root, "defaults"),
        profiles=root.get("profiles") if _map_at(root, "profiles") else None,
        storage=root.get("storage") if _map_at(root, "storage") else None,
        findings=findings,
    )


def _hollow(entry: Entry) -> Entry:
    """Return the entry; empty the parts of sections that specs check."""
    if entry.name not in ("defaults", "profiles", "storage") or not isinstance(
        entry.value, MapNode
    ):
        return entry
    sections = tuple(replace(each, value=_empty(each.value)) for each in entry.value.entries)
    return replace(entry, value=replace(entry.value, entries=sections))


def _empty(node: Node) -> Node:
    """Return the mapping or list without its content; a scalar unchanged."""
    if isinstance(node, MapNode):
        return replace(node, entries=())
    return replace(node, items=()) if isinstance(node, ListNode) else node


def _variables(values: object, stored: object) -> dict[str, Variable]:
    """Return each variable with its storable form; faulty ones are kept and reported."""
    twins = _mapping(stored)
    return {
        name: Variable(value=value, stored=twins[name]) for name, value in _mapping(values).items()
    }


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _map_at(node: MapNode, name: str) -> MapNode | None:
    entry = node.get(name)
    return entry.value if entry and isinstance(entry.value, MapNode) else None


def with_defaults(root: MapNode, project: Project) -> MapNode:
    """Return the spec with the project's defaults and storage added; nodes keep their positions."""
    if project.storage is not None and root.get("storage") is None:
        root = replace(root, entries=(*root.entries, project.storage))
    for entry in project.defaults.entries if project.defaults else ():
        if not isinstance(entry.value, MapNode) or entry.name not in _SECTIONS:
            continue
        own = root.get(entry.name)
        if own is None and entry.name == "spark":
            root = replace(root, entries=(*root.entries, entry))
        elif own is not None and isinstance(own.value, MapNode):
            filled = replace(own, value=_filled(own.value, entry.value))
            root = replace(root, entries=tuple(filled if e is own else e for e in root.entries))
    return root


def _filled(own: MapNode, default: MapNode) -> MapNode:
    """Return the section with the default's other fields added; `conf` is merged."""
    entries = {entry.name: entry for entry in own.entries}
    for entry in default.entries:
        mine = entries.setdefault(entry.name, entry)
        if mine is not entry and entry.name == "conf":
            entries["conf"] = replace(mine, value=_merged(mine.value, entry.value))
    return replace(own, entries=tuple(entries.values()))


def _merged(own: Node, default: Node) -> Node:
    """Return both mappings merged; the spec's entries come first and win."""
    if not isinstance(own, MapNode) or not isinstance(default, MapNode):
        return own
    names = {entry.name for entry in own.entries}
    rest = [entry for entry in default.entries if entry.name not in names]
    return replace(own, entries=(*own.entries, *rest))
