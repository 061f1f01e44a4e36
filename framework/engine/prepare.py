"""From a spec file to a plan: load, observe, plan. The engine's only module that knows specs."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Final

from framework.engine.events import Events, silent
from framework.engine.inspect.observe import observe
from framework.engine.tasks import InProcessTasks, Tasks
from framework.errors import CorruptFileError, PlanError, Where
from framework.hudi.storage.object_uri import is_object_uri
from framework.hudi.storage.port import storage_error
from framework.hudi.storage.store_settings import StoreSettings, use_settings
from framework.plan.build import Earlier, build
from framework.plan.definition import Plan
from framework.plan.load_stages import load_request
from framework.plan.observation import Observation
from framework.plan.saved import Invocation, check_fresh, load_plan
from framework.plan.target import target_of
from framework.spec.document.source import NotRegularError, TooBigError, read_regular
from framework.spec.loader import load_spec
from framework.spec.sections.pipeline_spec import PipelineSpec

__all__ = [
    "PlanningContext",
    "Prepared",
    "Request",
    "build_plan",
    "load",
    "locations_of",
    "prepare",
    "prepare_loaded",
    "prepare_saved",
    "store_settings",
]

_MAX_PLAN_BYTES: Final = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A spec, and how to load it.

    Attributes:
        path: the spec file.
        target: name of a target of the project file, or None.
        variables: override the target's variables.
        earlier: what to do about an unfinished earlier run.
        run_id: the caller's id of the run; a load with that id is published once. None: no id.
    """

    path: Path
    target: str | None = None
    variables: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    earlier: Earlier = Earlier.AUTO
    run_id: str | None = None

    @property
    def invocation(self) -> Invocation:
        """The invocation that a saved plan records."""
        return Invocation(spec=str(self.path), target=self.target, variables=dict(self.variables))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningContext:
    """The resources of planning.

    Attributes:
        tasks: read the footers.
        scratch: an empty folder for the inventory; it must outlive the plan.
        events: receives progress.
    """

    tasks: Tasks
    scratch: Path
    events: Events = silent


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A spec with its observation and its plan.

    `begun` is when its source was first read, of `time.monotonic`.
    """

    request: Request
    spec: PipelineSpec
    observation: Observation
    plan: Plan
    begun: float


def load(request: Request) -> PipelineSpec:
    """Return the spec of a request; its section `storage` applies to this process from now on.

    Raises:
        SpecError: every fault of the spec.
        PlanError: it has neither `bootstrap` nor `write` (`plan/nothing-to-run`).
    """
    spec = load_spec(request.path, target=request.target, variables=request.variables)
    use_settings(store_settings(spec))
    if spec.bootstrap is None and spec.write is None:
        raise PlanError(
            "plan/nothing-to-run",
            "the spec defines neither a bootstrap nor a load",
            where=Where(file=str(request.path)),
            remedy="Add a section `bootstrap`, or `source` and `write`.",
        )
    return spec


def locations_of(spec: PipelineSpec) -> tuple[str, ...]:
    """Return the locations that a spec names: of table, sources, and quarantined rows."""
    found = (
        spec.table.location,
        spec.bootstrap.path if spec.bootstrap else None,
        spec.source.path if spec.source else None,
        spec.quality.quarantine.location if spec.quality and spec.quality.quarantine else None,
    )
    return tuple(filter(None, found))


def store_settings(spec: PipelineSpec) -> dict[str, StoreSettings]:
    """Return how the spec reaches object stores, by scheme; it may hold secrets.

    Empty if no location of the spec is in a store, so that secrets are read only where needed.

    Raises:
        PlanError: `spec/undefined-secret`.
    """
    used = any(map(is_object_uri, locations_of(spec)))
    if not used or spec.storage is None or spec.storage.s3 is None:
        return {}
    found: Any = spec.storage.s3.revealed()
    return {"s3": StoreSettings(**found)}


def prepare(request: Request, planning: PlanningContext) -> Prepared:
    """Return the plan of a spec; changes nothing but the scratch folder.

    Costs the listing of the source and, for a table that does not exist yet, one read of each
    footer, both in tasks.

    Raises:
        SpecError, PlanError: the spec is faulty, or does not fit source or table.
        RetryableError, EngineError: see `observe` and `build`.
    """
    return prepare_loaded(load(request), request, planning)


def prepare_loaded(spec: PipelineSpec, request: Request, planning: PlanningContext) -> Prepared:
    """Return the plan of a loaded spec; the parts of the request that load a spec are ignored.

    Cost and errors are those of `prepare`.
    """
    begun = time.monotonic()
    observation = observe(
        target_of(spec),
        planning.tasks,
        planning.scratch,
        request=load_request(spec, run_id=request.run_id),
        events=planning.events,
    )
    plan = build(spec, observation, earlier=request.earlier)
    return Prepared(request=request, spec=spec, observation=observation, plan=plan, begun=begun)


def build_plan(
    spec: str | Path, *, target: str | None = None, variables: Mapping[str, str] | None = None
) -> Plan:
    """Return the plan of a run of the spec file, for inspection; changes nothing.

    Lists the source and reads its footers on threads of this process. To run a plan, use
    `framework.spark.run`, which makes its own plan.

    Raises:
        SpecError, PlanError: the spec is faulty, or does not fit source or table.
        RetryableError, EngineError: source or table cannot be read.
    """
    request = Request(path=Path(spec), target=target, variables=variables or {})
    with TemporaryDirectory() as scratch:
        tasks = InProcessTasks(os.cpu_count() or 1)
        return prepare(request, PlanningContext(tasks=tasks, scratch=Path(scratch))).plan


def prepare_saved(path: Path, planning: PlanningContext) -> Prepared:
    """Return the plan of a plan file, planned again and found to be the same.

    Raises:
        PlanStaleError: `plan/stale`, with what has changed.
        CorruptFileError, StorageError: the plan file cannot be read.
    """
    try:
        text = read_regular(path, _MAX_PLAN_BYTES).decode("utf-8")
    except (UnicodeDecodeError, NotRegularError, TooBigError) as error:
        raise CorruptFileError(
            "saved-plan/not-readable",
            "this is not a plan file",
            where=Where(file=str(path)),
            remedy="Pass a file that `plan --out` wrote, or plan again.",
        ) from error
    except OSError as error:
        raise storage_error(error, str(path)) from error
    saved = load_plan(text, file=str(path))
    how = saved.invocation
    request = Request(path=Path(how.spec), target=how.target, variables=how.variables)
    prepared = prepare(request, planning)
    check_fresh(saved, prepared.plan, prepared.observation.table)
    return prepared
