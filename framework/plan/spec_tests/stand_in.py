"""A spec as its tests run it: the same pipeline in another folder, so nothing real is touched."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from framework.spec.document.secret import Secret
from framework.spec.sections.pipeline_spec import PipelineSpec
from framework.spec.sections.quality_spec import MAX_SAMPLES
from framework.spec.sections.source_spec import FILE_FORMATS, SourceLoad, SourceSpec, WriteSpec
from framework.vocabulary import SchemaEvolution, WriteOperation

__all__ = ["StandIn", "plain_conf", "stand_in"]

_CHOOSING: Final = frozenset({"pathglobfilter", "modifiedbefore", "modifiedafter"})
"""Options that select files by properties that test files lack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIn:
    """What is run for one test.

    Attributes:
        opening: the run that creates the table beforehand; None if there is none.
        spec: the run that is tested.
        opens_by_bootstrap: whether the rows before are those of the bootstrap's source.
        begins: whether the tested run is itself a bootstrap.
        folder: absolute; holds everything.
        format: of the files with the input rows.
        options: for the writer of these files.
    """

    opening: PipelineSpec | None
    spec: PipelineSpec
    opens_by_bootstrap: bool
    begins: bool
    folder: str
    format: str
    options: dict[str, str]

    @property
    def location(self) -> str:
        """Location of the table."""
        return f"{self.folder}/table"

    @property
    def keeps_columns(self) -> bool:
        """Whether the table must have all loaded columns before the load."""
        write = self.spec.write
        if write is None or write.operation is WriteOperation.DELETE:
            return False
        return write.schema_evolution is SchemaEvolution.FREEZE

    @property
    def source(self) -> str:
        """Folder of the input rows."""
        return f"{self.folder}/source"

    @property
    def opening_source(self) -> str:
        """Folder of the table's rows before the run."""
        return f"{self.folder}/before"


def stand_in(spec: PipelineSpec, folder: str, *, has_rows_before: bool) -> StandIn:
    """Return what is run for one test of a spec in an absolute folder.

    The gate's checks are unchanged, except that they show all bad rows. Rules of a bootstrap may
    match nothing, `readers` is empty, and no secret is used. A source in a format other than
    parquet, csv, json and orc becomes Parquet. The rows before are loaded by an insert without
    checks; if the spec has both `bootstrap` and `source`, by its bootstrap.
    """
    placed = _placed(spec, folder)
    begins = spec.write is None
    by_bootstrap = has_rows_before and not begins and spec.bootstrap is not None
    opening = None
    if has_rows_before:
        unchecked = replace(placed, quality=None, checks=(), transforms=(), tests=())
        table = placed.table.model_copy(update={"columns": None})
        opening = replace(unchecked, table=table, source=None, write=None)
        if not by_bootstrap:
            opening = replace(opening, source=_before(folder), write=_INSERT, bootstrap=None)
    source = placed.source
    of_files = source is not None and source.format in FILE_FORMATS
    tested = placed if begins or by_bootstrap else replace(placed, bootstrap=None)
    return StandIn(
        opening=opening,
        spec=replace(tested, source=_source(source, folder) if source else None, tests=()),
        opens_by_bootstrap=by_bootstrap,
        begins=begins,
        folder=folder,
        format=source.format if source is not None and of_files else "parquet",
        options=_options(source) if source is not None and of_files else {},
    )


def plain_conf(spec: PipelineSpec) -> dict[str, str]:
    """Return the Spark settings of a spec, without secrets."""
    conf = spec.spark.conf if spec.spark else {}
    return {name: str(value) for name, value in conf.items() if not isinstance(value, Secret)}


_INSERT: Final = WriteSpec(operation=WriteOperation.INSERT)


def _placed(spec: PipelineSpec, folder: str) -> PipelineSpec:
    """Return the spec with its table, bootstrap and quarantined rows in the folder."""
    table = spec.table.model_copy(update={"location": f"{folder}/table", "readers": ()})
    bootstrap, quality = spec.bootstrap, spec.quality
    if bootstrap is not None:
        place = "source" if spec.write is None else "before"
        rules = tuple(
            each.model_copy(update={"may_match_nothing": True}) for each in bootstrap.rules
        )
        bootstrap = bootstrap.model_copy(update={"path": f"{folder}/{place}", "rules": rules})
    if quality is not None:
        quarantine = quality.quarantine and quality.quarantine.model_copy(update={"location": None})
        shown = {"samples": MAX_SAMPLES, "redact": (), "quarantine": quarantine}
        quality = quality.model_copy(update=shown)
    return replace(spec, table=table, bootstrap=bootstrap, quality=quality, catalog=None)


def _source(source: SourceSpec, folder: str) -> SourceSpec:
    path = f"{folder}/source"
    if source.format not in FILE_FORMATS:
        return SourceSpec(format="parquet", path=path, load=SourceLoad.ALL)
    return source.model_copy(update={"path": path, "options": _options(source)})


def _options(source: SourceSpec) -> dict[str, str]:
    """Return the reader's options, without secrets and without selection of files."""
    return {
        name: str(value)
        for name, value in source.options.items()
        if not isinstance(value, Secret) and name.lower() not in _CHOOSING
    }


def _before(folder: str) -> SourceSpec:
    return SourceSpec(format="parquet", path=f"{folder}/before", load=SourceLoad.ALL)
