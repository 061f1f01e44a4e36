"""How many bytes a row's key will take, from a look into a few source files."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from framework.errors import FrameworkError
from framework.hudi.bootstrap.inventory import read_files
from framework.hudi.bootstrap.key_pass import key_columns
from framework.hudi.bootstrap.key_sample import sample_keys
from framework.hudi.bootstrap.source_file import open_source
from framework.hudi.keygen.rule import key_faults
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.partition_path import partition_values

if TYPE_CHECKING:
    from framework.hudi.keygen.rule import KeyRule
    from framework.plan.observation import SourceInventory

__all__ = ["sampled_key_bytes"]

_PLACES: Final = (1 / 6, 3 / 6, 5 / 6)


def sampled_key_bytes(source: SourceInventory, rule: KeyRule) -> float | None:
    """Return the bytes of key and sequence number a row; None where they cannot be told.

    Costs reading the key columns of at most three files, of each its first row group. An estimate
    hangs on it and nothing else, so what is wrong with a file or the rule is left to those who
    report it.
    """
    files = source.handle.files
    if source.schema is None or key_faults(rule, source.schema):
        return None
    rows = size = 0
    for number in dict.fromkeys(int(files * place) for place in _PLACES):
        with suppress(FrameworkError):
            more_rows, more_size = _sample(source, rule, number)
            rows, size = rows + more_rows, size + more_size
    return size / rows if rows else None


def _sample(source: SourceInventory, rule: KeyRule, number: int) -> tuple[int, int]:
    """Return rows and bytes of the sample of one file."""
    (file,) = read_files(source.handle, number, number + 1)
    values = partition_values(file.partition_path, rule.partition, rule.layout)
    with open_source(open_storage(source.location), file.fingerprint) as reader:
        return sample_keys(reader, rule, values, key_columns(source.schema, rule))
