"""`run-pipeline safe-to-delete`: source files that nothing in a table needs any more."""

from __future__ import annotations

import json
import sys
from collections import Counter

from framework.cli.options import Format, JsonFormat, Target, Variables, pairs
from framework.cli.places import table_of
from framework.cli.quarantine import PlaceOrSpec
from framework.cli.render.console import clean, err, out, write
from framework.engine.reading.table import open_table
from framework.engine.services.source_use import observe_sources
from framework.plan.services.source_use import SourceState
from framework.plan.words import count_text, number_text, size_text

__all__ = ["command"]

_WHY = {
    SourceState.LATEST: "needed by the table's rows",
    SourceState.OLDER: "needed by slices that clean has not removed",
    SourceState.SAVEPOINT: "held by a savepoint",
    SourceState.UNKNOWN: "without a skeleton, for an unknown reason",
}


def command(
    table: PlaceOrSpec,
    target: Target = None,
    var: Variables = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """List the source files whose skeletons clean has removed, one a line; delete nothing.

    A file is listed only if no slice needs it, not even an old one, and no savepoint holds it.
    """
    location = table_of(table, target, pairs(var, "--var")).location
    counts: Counter[SourceState] = Counter()
    safe = []
    for each in observe_sources(open_table(location)):
        counts[each.state] += 1
        if each.state is SourceState.SAFE:
            safe.append(each)
    size = sum(each.size for each in safe)
    if form is JsonFormat.JSON:
        document = {
            "location": location,
            "safe_to_delete": [
                {
                    "uri": each.uri,
                    "bytes": each.size,
                    "partition": each.partition_path,
                    "file_id": each.file_id,
                }
                for each in safe
            ],
            "bytes": size,
            "kept": {state.value: counts[state] for state in _WHY},
        }
        sys.stdout.write(json.dumps(document) + "\n")
        return 0
    for each in safe:
        write(out(), clean(each.uri))
    write(err(), f"{count_text(len(safe), 'source file')} safe to delete, {size_text(size)}")
    for state, why in _WHY.items():
        if counts[state]:
            write(err(), f"{number_text(counts[state])} {why}")
    return 0
