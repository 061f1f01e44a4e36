"""Faults of a `gx` check that are known before a run, from `gx_catalogue.json`.

The catalogue is generated from Great Expectations (`make schemas`), which takes seconds to import;
this module does not import it. A check is refused here if GX would refuse it, and also if it would
run and prove nothing, such as a range without bounds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any, Final

from framework.spec.document.findings import nearest
from framework.spec.rules.argument_values import misfits, moment

__all__ = ["ArgumentFault", "argument_faults", "checks_rows", "column_arguments", "expectations"]

_CATALOGUE: Final = files(__package__).joinpath("gx_catalogue.json")
_BOUNDS: Final = ("min_value", "max_value")
_SOME_DAY: Final = datetime(2026, 11, 22, 9, 30, 15, 123456, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentFault:
    """One fault of a check.

    Attributes:
        argument: path of the fault, such as `value_set[2]`; the name of a missing argument;
            None if the expectation's own name is wrong.
        rule: `unknown-expectation`, `unknown-argument`, `missing-argument` or `argument-type`.
        message: one sentence, without a full stop.
        suggestion: the right spelling, or None.
    """

    argument: str | None
    rule: str
    message: str
    suggestion: str | None = None


def argument_faults(expectation: str, arguments: Mapping[str, object]) -> list[ArgumentFault]:
    """Return all faults of a check's expectation and its YAML arguments.

    Does not check that the columns exist; see `column_arguments`.
    """
    entry = _entry(expectation)
    if entry is None:
        return [_unknown(expectation)]
    known, needed = entry["properties"], entry["required"]
    faults = [_unknown_argument(expectation, name, known) for name in arguments.keys() - known]
    faults += [
        ArgumentFault(argument=name, rule="missing-argument", message=f"`{name}` is missing")
        for name in needed
        if name not in arguments
    ]
    for name in known:
        if name in arguments:
            faults += _typed(misfits(arguments[name], known[name], name))
    return sorted(faults or _faults_together(known, arguments), key=lambda f: f.argument or "")


def column_arguments(expectation: str, arguments: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return the columns that a check needs, each with the path of the argument that names it.

    Excludes columns whose existence is the check itself, as in `expect_column_to_exist`, and
    columns of a `row_condition`.
    """
    entry = _entry(expectation)
    named: list[tuple[str, str]] = []
    for argument in () if entry is None else entry["columns"]:
        value = arguments.get(argument)
        if isinstance(value, str):
            named.append((argument, value))
        elif isinstance(value, list | tuple):
            named += [(f"{argument}[{i}]", c) for i, c in enumerate(value) if isinstance(c, str)]
    return named


def checks_rows(expectation: str) -> bool:
    """Return whether an expectation judges each row, so that bad rows can be counted and shown."""
    entry = _entry(expectation)
    return entry is not None and bool(entry["per_row"])


def expectations() -> Mapping[str, str]:
    """Return the descriptions of all expectations that a check may name, by name."""
    return {name: entry["about"] for name, entry in _catalogue()["expectations"].items()}


@cache
def _catalogue() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_CATALOGUE.read_text(encoding="utf-8"))
    return found


def _entry(expectation: str) -> dict[str, Any] | None:
    """Return the catalogue entry of an expectation, None if it is unknown."""
    found: dict[str, Any] | None = _catalogue()["expectations"].get(expectation)
    return found


def _unknown(expectation: str) -> ArgumentFault:
    """Return the fault of an expectation that is unknown or not supported here."""
    reason = _catalogue()["left_out"].get(expectation)
    if reason is not None:
        return ArgumentFault(
            argument=None,
            rule="unknown-expectation",
            message=f"Great Expectations has `{expectation}`, but it cannot be used here: {reason}",
        )
    return ArgumentFault(
        argument=None,
        rule="unknown-expectation",
        message="Great Expectations has no such expectation",
        suggestion=nearest(expectation, _catalogue()["expectations"]),
    )


def _unknown_argument(expectation: str, name: str, known: Mapping[str, Any]) -> ArgumentFault:
    """Return the fault of an unknown argument."""
    return ArgumentFault(
        argument=name,
        rule="unknown-argument",
        message=f"`{expectation}` has no such argument; it has {', '.join(known)}",
        suggestion=nearest(name, known),
    )


def _typed(found: Iterator[tuple[str, str]]) -> list[ArgumentFault]:
    return [
        ArgumentFault(argument=path, rule="argument-type", message=message)
        for path, message in found
    ]


def _faults_together(
    known: Mapping[str, Any], arguments: Mapping[str, object]
) -> list[ArgumentFault]:
    """Return the faults of arguments that are valid only separately."""
    faults: list[ArgumentFault] = []
    if known.keys() >= set(_BOUNDS):
        faults += _faults_of_bounds(arguments)
    if "strftime_format" in known:
        faults += _faults_of_format(str(arguments["strftime_format"]))
    if "quantile_ranges" in known:
        faults += _typed(_faults_of_quantiles(arguments["quantile_ranges"]))
    return faults


def _faults_of_bounds(arguments: Mapping[str, object]) -> list[ArgumentFault]:
    """Return the faults of a range that nothing can fail or nothing can pass."""
    low, high = (arguments.get(name) for name in _BOUNDS)
    if low is None and high is None:
        return [
            ArgumentFault(
                argument=_BOUNDS[0],
                rule="missing-argument",
                message="`min_value` or `max_value` is needed, or both",
            )
        ]
    if low is None or high is None:
        return []
    if _kind_of_bound(low) != _kind_of_bound(high):
        message = "`min_value` and `max_value` must both be numbers, dates, or times"
        return _typed(iter([(_BOUNDS[0], message)]))
    if _bound(low) > _bound(high):
        return _typed(iter([(_BOUNDS[0], "`min_value` is above `max_value`, so nothing passes")]))
    return []


def _kind_of_bound(value: object) -> str:
    """Return the kind of a bound; only bounds of one kind can be compared."""
    read = moment(value) if isinstance(value, str) else None
    if read is None:
        return "number"
    if len(str(value)) == len("2026-11-22"):
        return "date"
    return "time" if read.tzinfo is None else "time with an offset"


def _bound(value: Any) -> Any:
    """Return a bound as a comparable value."""
    return moment(value) if isinstance(value, str) else value


def _faults_of_format(text: str) -> list[ArgumentFault]:
    """Return the fault of a format that Python cannot parse back."""
    try:
        datetime.strptime(_SOME_DAY.strftime(text), text).replace(tzinfo=UTC)
    except ValueError:
        message = "must be a format of Python's `strptime`, such as %Y-%m-%d"
        return _typed(iter([("strftime_format", message)]))
    return []


def _faults_of_quantiles(ranges: Any) -> Iterator[tuple[str, str]]:
    """Yield the faults of quantiles and their ranges."""
    quantiles, pairs = ranges["quantiles"], ranges["value_ranges"]
    if len(quantiles) != len(pairs):
        yield "quantile_ranges", "`quantiles` and `value_ranges` must be of the same length"
    for index, (low, high) in enumerate(pairs):
        path = f"quantile_ranges.value_ranges[{index}]"
        if low is None and high is None:
            yield path, "must have a lower or an upper bound"
        elif low is not None and high is not None and low > high:
            yield path, "the lower bound is above the upper one, so nothing passes"
