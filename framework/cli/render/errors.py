"""Errors for people: what, where, what to do next; and as JSON for machines."""

from __future__ import annotations

import json
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from framework.cli.exits import UNEXPECTED
from framework.cli.render.console import clean, err, write
from framework.cli.render.findings import error_as_json, findings_of
from framework.cli.render.frames import write_findings
from framework.cli.render.progress import log_line
from framework.errors import AuditFailedError, FrameworkError

if TYPE_CHECKING:
    from rich.console import Console


__all__ = ["OutputOptions", "fail", "fail_unexpected", "report_interrupted"]

_PLACES: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """The output formats of a command.

    Attributes:
        json_result: results, and so errors too, are JSON on stdout.
        json_log: stderr is one JSON object per line.
    """

    json_result: bool = False
    json_log: bool = False


def fail(error: FrameworkError, output: OutputOptions) -> int:
    """Print an error on stderr and return its exit code; also as JSON on stdout if requested."""
    _for_machines(error_as_json(error), output, notes=_notes(error))
    if not output.json_log:
        _draw(err(), error)
    return error.exit_code


def fail_unexpected(error: Exception, output: OutputOptions) -> int:
    """Report an internal error, write the traceback to a file, and return 70."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="run-pipeline-", suffix=".txt", delete=False, encoding="utf-8", errors="replace"
    ) as report:
        traceback.print_exception(error, file=report)
    message = f"{type(error).__name__}: {error}"
    _for_machines(
        {
            "condition": "internal/unexpected",
            "message": message,
            "exit_code": UNEXPECTED,
            "traceback": report.name,
        },
        output,
        notes=_notes(error),
    )
    if not output.json_log:
        console = err()
        write(console, Text(f"unexpected error: {clean(message)}", style="bold red"), hang=2)
        for note in _notes(error):
            write(console, f"  {note}")
        write(console, f"  This is a bug in run-pipeline. The traceback is in {report.name}")
        write(console, "  `run-pipeline status` shows the table; running again is safe.")
    return UNEXPECTED


def report_interrupted(word: str, code: int, notes: list[str], output: OutputOptions) -> int:
    """Report an interruption, the state it left and the next step, on one line; return the code."""
    text = " ".join(notes) or "Nothing was changed."
    document = {"condition": f"interrupted/{word}", "message": text, "exit_code": code}
    _for_machines(document, output, notes=[])
    if not output.json_log:
        write(err(), Text.assemble((f"{word}: ", "bold yellow"), clean(text)))
    return code


def _for_machines(document: Mapping[str, Any], output: OutputOptions, *, notes: list[str]) -> None:
    described = {**document, **({"notes": notes} if notes else {})}
    if output.json_result:
        sys.stdout.write(json.dumps({"error": described}) + "\n")
        sys.stdout.flush()
    if output.json_log:
        log_line("error", described)


def _notes(error: BaseException) -> list[str]:
    return list(getattr(error, "__notes__", []))


def _draw(console: Console, error: FrameworkError) -> None:
    findings = findings_of(error)
    if findings:
        write_findings(console, findings)
    else:
        _write_headline(console, error)
    for note in _notes(error):
        write(console, f"  {clean(note)}")


def _write_headline(console: Console, error: FrameworkError) -> None:
    condition, message = (f"[{error.condition}]", "red"), (f": {clean(error.message)}", "bold")
    write(console, Text.assemble(("error", "bold red"), condition, message), hang=2)
    if isinstance(error, AuditFailedError):
        for line in _report_lines(error.report):
            write(console, line, hang=6)
    elif str(error.where):
        write(console, Text(f"  at {clean(error.where)}", style="dim"), hang=5)
    if error.remedy:
        write(console, Text.assemble(("  help: ", "cyan"), clean(error.remedy)))


def _report_lines(report: Mapping[str, Any]) -> Iterator[Text]:
    """Yield one line per sample: the key, then the file and the rows (from 0) that contain it."""
    samples = report.get("samples")
    samples = samples if isinstance(samples, list) else []
    shown = [each for each in samples if "key" in each] or samples[:_PLACES]
    for sample in shown:
        places = sample.get("rows", [sample])
        yield Text.assemble("  ", (_key_text(sample), "yellow"), _places_text(places))
    groups = int(report.get("groups") or 0)
    hidden = (groups or int(report.get("rows") or 0)) - len(shown)
    if shown and hidden > 0:
        yield Text(f"  … and {hidden:,} more {'keys' if groups else 'rows'}", style="dim")


def _key_text(sample: Mapping[str, Any]) -> str:
    return f"{clean(sample['key'])}  " if "key" in sample else ""


def _places_text(places: list[Mapping[str, Any]]) -> str:
    """Return text such as `a.parquet rows 3, 9; b.parquet row 0`."""
    rows: dict[str, list[str]] = {}
    for place in places:
        rows.setdefault(clean(place.get("file")), []).append(str(place.get("row")))
    parts = (f"{f} row{'s' * (len(n) > 1)} {', '.join(n)}" for f, n in rows.items())
    return "; ".join(parts)
