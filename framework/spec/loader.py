"""YAML file -> `PipelineSpec`, or all of its faults at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from framework.errors import Finding, SpecError, Where
from framework.spec.document import section_keys
from framework.spec.document.findings import FindingList, nearest, sort_findings
from framework.spec.document.positions import MapNode, Positions
from framework.spec.document.references import Resolver, Scope, Variable
from framework.spec.document.source import SourceText, one_finding, read_source
from framework.spec.document.walker import parse
from framework.spec.rules import check_semantics
from framework.spec.rules.catalog_semantics import CatalogSemantics
from framework.spec.rules.inclusions import PROFILES, ColumnsFile, SqlFiles, with_profiles
from framework.spec.rules.quality_semantics import ContractSemantics, QualitySemantics
from framework.spec.rules.resolved_checks import CheckFinisher, models_by_name
from framework.spec.rules.semantics import LoadSemantics, MaintenanceSemantics, Semantics
from framework.spec.rules.transforms import SqlFinisher
from framework.spec.sections.faults import Judge
from framework.spec.sections.pipeline_spec import MODELS, PipelineDocument, PipelineSpec
from framework.spec.sections.project import Project, find_project_file, load_project, with_defaults
from framework.spec.sections.quality_spec import PlacedCheck
from framework.spec.sections.transform_spec import TransformSpec

__all__ = ["SPEC_SUFFIX", "find_specs", "load_spec"]

SPEC_SUFFIX = ".pipeline.yml"
"""The suffix of a spec file's name."""

_TAKEN_AS_THEY_ARE = (
    "table",
    "bootstrap",
    "source",
    "quality",
    "write",
    "maintenance",
    "catalog",
    "timeline_service",
    "spark",
    "storage",
)
_Checks = (
    Semantics
    | LoadSemantics
    | MaintenanceSemantics
    | CatalogSemantics
    | ContractSemantics
    | check_semantics.CheckSemantics
    | QualitySemantics
    | check_semantics.SpecTestSemantics
)
_CHECKS: tuple[type[_Checks], ...] = (
    *(Semantics, LoadSemantics, MaintenanceSemantics, CatalogSemantics),
    *(ContractSemantics, check_semantics.CheckSemantics, QualitySemantics),
    check_semantics.SpecTestSemantics,
)


def load_spec(
    path: Path, *, target: str | None = None, variables: Mapping[str, str] | None = None
) -> PipelineSpec:
    """Return the checked spec of the file.

    Searches for `run-pipeline.yml` from the spec's folder upwards. `target` chooses one of its
    targets (None: its `default_target`, if any); `variables` override the target's. Reads only the
    two files, and the SQL files and environment variables that they refer to.

    Raises:
        SpecError: every fault in all of them, errors first, each group by file and line.
    """
    findings = FindingList()
    source = read_source(path)
    project_file = find_project_file(path)
    project = load_project(project_file)
    scope = project.scope(target, variables or {})
    root = _document(source, findings)
    if root is None:
        raise SpecError(_sorted(project, findings))
    named = section_keys.with_options_as_text(section_keys.in_current_names(root, findings))
    columns = ColumnsFile(spec=path, scope=scope, findings=findings)
    whole = with_profiles(columns.put_into(with_defaults(named, project)), project.profiles)
    positions = Positions.of(source, whole)
    resolved = _resolved(positions, scope, findings)
    files = SqlFiles.of(path, project_file, positions=positions, findings=findings)
    document = _checked(resolved, files)
    finisher = SqlFinisher(scope=scope, files=files)
    transforms = finisher.finished(_mapping(resolved.value).get("transforms"))
    checker = CheckFinisher(judge=_judge(resolved, files), finisher=finisher)
    checks = checker.finished(resolved, document.quality if document else None)
    if document is not None and not findings.errors:
        check_semantics.note_unknown_checks(document, checks, positions, findings)
    uses = _uses(transforms, checks)
    findings.extend(_unused(variables or {}, project, positions, uses))
    if document is None or findings.errors or project.findings.errors:
        raise SpecError(_sorted(project, findings))
    return PipelineSpec(
        **{name: getattr(document, name) for name in _TAKEN_AS_THEY_ARE},
        transforms=transforms,
        checks=checks,
        tests=document.tests or (),
        source_path=path,
        positions=positions,
        warnings=_sorted(project, findings),
        written=_mapping(resolved.stored),
    )


def _document(source: SourceText, findings: FindingList) -> MapNode | None:
    """Return the file's mapping; None, with a finding, if there is none."""
    root = parse(source, findings)
    if isinstance(root, MapNode):
        return root
    if not findings.errors:
        rule = "spec/empty-file" if root is None else "spec/wrong-type"
        message = "a spec is a mapping that starts with `version: 1`"
        findings.append(Positions.of(source, root).finding(rule, "", message))
    return None


def _resolved(positions: Positions, scope: Scope, findings: FindingList) -> Variable:
    """Return the document's data with references resolved, and its storable form."""
    if positions.root is None:
        return Variable(value={}, stored={})
    return Resolver(scope=scope, findings=findings).resolve(positions.root)


def _checked(resolved: Variable, files: SqlFiles) -> PipelineDocument | None:
    """Return the document, or None if a field is faulty.

    Relations between fields are checked too.
    """
    data = _mapping(resolved.value)
    positions, findings, folder = files.positions, files.findings, files.folder
    for checks in _CHECKS:
        checks(data=data, positions=positions, findings=findings, folder=folder).check()
    taken_in = (PROFILES,) if positions.is_foreign(PROFILES) else ()
    own = {name: value for name, value in data.items() if name not in taken_in}
    return _judge(resolved, files).validate(PipelineDocument, own, {"folder": folder})


def _judge(resolved: Variable, files: SqlFiles) -> Judge:
    """Return the validator of fields, including those of the project's profiles."""
    return Judge(
        positions=files.positions,
        models={**MODELS, **models_by_name(_mapping(resolved.value))},
        findings=files.findings,
    )


def _uses(transforms: tuple[TransformSpec, ...], checks: tuple[PlacedCheck, ...]) -> frozenset[str]:
    """Return the variables that the Jinja of the SQL uses."""
    named = (*(each.uses for each in transforms), *(each.uses for each in checks))
    return frozenset().union(*named)


def _unused(
    given: Mapping[str, str],
    project: Project,
    positions: Positions,
    uses: frozenset[str],
) -> Iterator[Finding]:
    """Yield a warning for each `--var` that is neither declared nor used."""
    declared = {*project.variables, *(name for t in project.targets.values() for name in t)}
    for name in given:
        if name not in declared | uses and not positions.mentions(f"${{var.{name}}}"):
            yield Finding(
                rule="spec/unused-variable",
                key_path="",
                where=Where(file=positions.source.file),
                message=f"no `${{var.{name}}}` uses the variable given by --var {name}",
                suggestion=nearest(name, declared),
                severity="warning",
            )


def _sorted(project: Project, findings: FindingList) -> tuple[Finding, ...]:
    """Return all findings without duplicates, errors first, each group by file and line."""
    errors = dict.fromkeys((*project.findings.errors, *findings.errors))
    warnings = dict.fromkeys((*project.findings.warnings, *findings.warnings))
    return (*sort_findings(errors), *sort_findings(warnings))


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def find_specs(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Return the spec files of the paths, in order and without duplicates.

    A file is taken as it is; a folder means every `*.pipeline.yml` at any depth, sorted, but not in
    hidden and linked folders; no path at all means the current folder.

    Raises:
        SpecError: `spec/file-not-found` for each path that does not exist,
            `spec/unreadable-file` for each folder that cannot be listed, `spec/file-name` for
            each file that its name would exclude, `spec/no-specs` if nothing is left.
    """
    findings = FindingList()
    found: dict[Path, None] = {}
    for path in paths or (Path(),):
        if path.is_dir():
            found.update(dict.fromkeys(_below(path, findings)))
        elif path.exists():
            found[path] = None
        else:
            findings.append(_not_found(path))
    if findings.errors:
        raise SpecError(findings.errors)
    if not found:
        folders = ", ".join(str(path) for path in paths or (Path(),))
        message = f"there is no *{SPEC_SUFFIX} below {folders}"
        raise one_finding("spec/no-specs", message, Where(), suggestion="run-pipeline init")
    return tuple(found)


def _below(folder: Path, findings: FindingList) -> Iterator[Path]:
    """Yield the folder's specs, sorted by path; report a wrong suffix."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        message = f"cannot be listed: {error.strerror}"
        findings.append(_about(folder, "spec/unreadable-file", message, None))
        return
    for entry in entries:
        if entry.is_dir():
            if not entry.name.startswith(".") and not entry.is_symlink():
                yield from _below(entry, findings)
        elif entry.name.endswith(SPEC_SUFFIX):
            yield entry
        elif entry.name.endswith(".pipeline.yaml"):
            message = f"a spec's name ends in {SPEC_SUFFIX}"
            right = str(entry.with_suffix(".yml"))
            findings.append(_about(entry, "spec/file-name", message, right))


def _not_found(path: Path) -> Finding:
    """Return a finding for a missing file, with a similar name beside it as suggestion."""
    siblings = {p.name: p for p in path.parent.iterdir()} if path.parent.is_dir() else {}
    close = nearest(path.name, siblings)
    suggestion = str(siblings[close]) if close else None
    return _about(path, "spec/file-not-found", "there is no such file", suggestion)


def _about(path: Path, rule: str, message: str, suggestion: str | None) -> Finding:
    where = Where(file=str(path))
    return Finding(rule=rule, key_path="", where=where, message=message, suggestion=suggestion)
