"""Checks of a spec and its profiles -> checks as they run, or their faults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from framework.spec.document.positions import child_path
from framework.spec.document.references import Variable
from framework.spec.rules.inclusions import COLUMNS_PATH, PROFILES
from framework.spec.rules.transforms import SqlFinisher
from framework.spec.sections import quality_spec
from framework.spec.sections.faults import Judge
from framework.spec.sections.fields import SpecModel
from framework.spec.sections.transform_spec import TransformSpec
from framework.spec.sql.statement import words_of

__all__ = ["CHECKED_VIEW", "CheckFinisher", "models_by_name", "placed", "running"]

CHECKED_VIEW = "this"
"""The view of the checked rows, for queries."""


class ProfilesDocument(SpecModel):
    """The section `profiles` of a project file, with references resolved."""

    profiles: Mapping[str, quality_spec.Checks]


def models_by_name(data: Mapping[str, object]) -> dict[str, type[SpecModel]]:
    """Return the model of each mapping below a free name, by its path."""
    columns = _mapping(_mapping(data.get("table")).get("columns"))
    found: dict[str, type[SpecModel]] = {
        child_path(COLUMNS_PATH, name): quality_spec.ColumnSpec for name in columns
    }
    profiles = _mapping(data.get(PROFILES))
    return {
        **found,
        **{f"{child_path(PROFILES, name)}[]": quality_spec.CheckSpec for name in profiles},
    }


def placed(data: Mapping[str, object]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield path and fields of each check of the document, those of all profiles first."""
    for name, checks in _mapping(data.get(PROFILES)).items():
        yield from _listed(child_path(PROFILES, name), checks)
    yield from _listed("quality.checks", _mapping(data.get("quality")).get("checks"))


def running(data: Mapping[str, object]) -> Iterator[tuple[str, str, Mapping[str, object]]]:
    """Yield, for each check that runs, the path where the spec names it, its own path and fields.

    First the checks of each named profile, once each, then the spec's own.
    """
    quality, profiles = _mapping(data.get("quality")), _mapping(data.get(PROFILES))
    named = quality.get(PROFILES)
    seen: set[str] = set()
    for index, name in enumerate(named if isinstance(named, list) else []):
        if isinstance(name, str) and name in profiles and name not in seen:
            seen.add(name)
            for path, check in _listed(child_path(PROFILES, name), profiles[name]):
                yield f"quality.{PROFILES}[{index}]", path, check
    for path, check in _listed("quality.checks", quality.get("checks")):
        yield path, path, check


def _listed(path: str, checks: object) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield path and value of the list items that are mappings."""
    for index, check in enumerate(checks if isinstance(checks, list) else []):
        if isinstance(check, Mapping):
            yield f"{path}[{index}]", check


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFinisher:
    """Builder of one document's final checks.

    Attributes:
        judge: reports faults of a profile's fields.
        finisher: finishes the SQL of queries.
    """

    judge: Judge
    finisher: SqlFinisher
    _queries: dict[str, TransformSpec] = field(default_factory=dict)

    def finished(
        self, resolved: Variable, quality: quality_spec.QualitySpec | None
    ) -> tuple[quality_spec.PlacedCheck, ...]:
        """Return the checks that run: those of the named profiles, then the spec's own.

        Faults in profiles and queries are reported, also in those that do not run. A faulty check
        is missing from the result; without `quality` all are.
        """
        data, stored = _mapping(resolved.value), _mapping(resolved.stored)
        profiles = self._profiles(data)
        for path, check in placed(data):
            if isinstance(check.get("query"), str):
                self._finish(f"{path}.query", str(check.get("name")), check["query"])
        written = dict(placed(stored))
        found: list[quality_spec.PlacedCheck] = []
        for name in (quality and quality.profiles) or ():
            checks = profiles.get(name, ())
            found += self._run(checks, child_path(PROFILES, name), written)
        return (*found, *self._run((quality and quality.checks) or (), "quality.checks", written))

    def _profiles(self, data: Mapping[str, object]) -> Mapping[str, quality_spec.Checks]:
        """Return the profiles of the project; none, with findings, if one is faulty."""
        if not self.judge.positions.is_foreign(PROFILES):
            return {}
        document = self.judge.validate(ProfilesDocument, {PROFILES: data[PROFILES]})
        return document.profiles if document else {}

    def _finish(self, path: str, name: str, written: object) -> None:
        """Finish one query; warn if it never reads the checked rows."""
        query = self.finisher.one(name, written, path, (CHECKED_VIEW,))
        if query is None:
            return
        self._queries[path] = query
        if CHECKED_VIEW.upper() not in words_of(query.sql):
            message = f"the query never reads `{CHECKED_VIEW}`, the rows that are checked"
            span = self.judge.positions.span(path)
            self.judge.findings.warn("spec/query-without-this", span, message, key_path=path)

    def _run(
        self, checks: quality_spec.Checks, path: str, written: Mapping[str, Mapping[str, object]]
    ) -> Iterator[quality_spec.PlacedCheck]:
        """Yield each check of a list with its query finished."""
        for index, check in enumerate(checks):
            at = f"{path}[{index}]"
            twin, query = dict(written.get(at, {})), self._queries.get(f"{at}.query")
            if query is None:
                yield quality_spec.PlacedCheck(fields=check, key_path=at, written=twin)
                continue
            yield quality_spec.PlacedCheck(
                fields=check.model_copy(update={"query": query.sql}),
                key_path=at,
                written={**twin, "query": query.stored},
                uses=query.uses,
            )
