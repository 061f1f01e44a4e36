"""`run-pipeline serve`: the timeline service as a process of its own, with its status page."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from framework.cli.options import Target, Variables, pairs, size_of
from framework.cli.places import tables_of
from framework.cli.render.console import clean, err, write
from framework.cli.usage import usage_error
from framework.errors import FrameworkError
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.properties import read_properties
from framework.plan.words import count_text
from framework.timeline_service.host import DEFAULT_PORT, Served, ServiceOptions, serving
from framework.vocabulary import ServiceAuth, ViewStore

__all__ = ["command"]

_ENDED = "The service has stopped; no table was changed."
_ENDED_WITH_MARKERS = "The service has stopped; markers that it received are in their tables."


def command(
    place: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SPEC|LOCATION",
            help="Specs, or folders of tables; default: all specs below this folder.",
        ),
    ] = None,
    target: Target = None,
    var: Variables = None,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option("--port", metavar="N", min=0, max=65535, help="TCP port; 0 picks a free one."),
    ] = DEFAULT_PORT,
    auth: Annotated[
        ServiceAuth,
        typer.Option("--auth", help="Authentication: by token, or none (this host only)."),
    ] = ServiceAuth.TOKEN,
    store: Annotated[
        ViewStore, typer.Option("--store", help="Where file groups are stored.")
    ] = ViewStore.MEMORY,
    memory: Annotated[
        str, typer.Option("--memory", metavar="SIZE", help="Memory limit of all stores.")
    ] = "256MB",
    checkpoints: Annotated[
        Path | None,
        typer.Option(
            "--checkpoints", metavar="DIR", help="Keep views in this folder between starts."
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", metavar="FILE", help="Write the token to a file, mode 600."),
    ] = None,
    markers: Annotated[
        bool,
        typer.Option("--markers", help="Write the markers that Apache Hudi's writers send."),
    ] = False,
) -> int:
    """Serve tables to Apache Hudi's clients and ours, with a status page, until Ctrl-C.

    Tables need not exist yet, and are only read, except with --markers. Starts no Spark, no Java.
    """
    service_options = ServiceOptions(
        host=host,
        port=port,
        auth=auth,
        store=store,
        memory_bytes=size_of(memory, "--memory"),
        checkpoints=checkpoints,
        markers=markers,
    )
    if token_file is not None and auth is ServiceAuth.LOOPBACK:
        raise usage_error(
            "no-token", "--token-file: with --auth loopback there is no token", "leave it out"
        )
    locations = _locations(place, target, var)
    try:
        with serving(locations, service_options) as served:
            if token_file is not None and served.token is not None:
                _write_token(token_file, served.token)
            _print(served, locations, token_file, markers=markers)
            served.server.wait()
    except KeyboardInterrupt as stop:
        stop.add_note(_ENDED_WITH_MARKERS if markers else _ENDED)
        raise
    return 0


def _locations(
    places: list[str] | None, target: str | None, var: list[str] | None
) -> tuple[str, ...]:
    """Return the location of each named table, without duplicates."""
    variables = pairs(var, "--var")
    asked: list[str | None] = [*places] if places else [None]
    named = [table for each in asked for table in tables_of(each, target, variables)]
    return tuple(dict.fromkeys(each.location for each in named))


def _write_token(file: Path, token: str) -> None:
    """Write the token to a file of mode 600, atomically: others never see any part of it.

    Raises:
        SpecError: `usage/token-file`.
    """
    scratch = None
    try:
        number, scratch = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        with os.fdopen(number, "w", encoding="ascii") as out:
            out.write(f"{token}\n")
        Path(scratch).replace(file)
    except OSError as error:
        if scratch is not None:
            Path(scratch).unlink(missing_ok=True)
        raise usage_error("token-file", f"--token-file {file}: {error.strerror}") from error


def _print(
    served: Served, locations: Sequence[str], token_file: Path | None, *, markers: bool
) -> None:
    """Report the address of the service, and its tables."""
    console = err()
    listens = f"{served.server.host}:{served.server.port}"
    count = count_text(len(locations), "table")
    write(console, Text.assemble(("serving", "bold green"), f" {count} on {listens}"))
    for each in locations:
        refusal = served.refused.get(each)
        anew = f"  ({refusal}: listed again)" if refusal else ""
        write(console, Text(f"  {clean(each)}{_note(each)}{anew}", style="dim"), hang=4)
    write(console, Text.assemble(("page  ", "cyan"), served.page), hang=6)
    if token_file is not None:
        write(console, Text.assemble(("token ", "cyan"), clean(token_file)), hang=6)
    if markers:
        write(console, Text("Markers of Apache Hudi's writers are written to these tables."))
    write(console, Text("Press Ctrl-C to stop.", style="dim"))


def _note(location: str) -> str:
    """Return a note on a location without a readable table, else ""."""
    try:
        return "" if read_properties(open_storage(location)) else "  (no table yet)"
    except FrameworkError as error:
        return f"  (cannot be read: {clean(error.message)} [{error.condition}])"
