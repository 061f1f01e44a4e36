"""A store in RocksDB: an ordered map in files, with bounded caches (RFC-03).

A record's key is `g<partition path>`, a zero byte and the file id, so a partition is one prefix
scan. A loaded partition also has a key `p<partition path>`, so that one without groups is known
too. It is a cache: it has no write-ahead log, and leftover files are discarded.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rocksdict import BlockBasedOptions, Cache, DBCompressionType, Options, Rdict, WriteBatch
from rocksdict import WriteOptions as RocksWriteOptions

from framework.hudi.view.stores.port import StoreUsage

__all__ = ["EmbeddedKvStore"]

_FOLDER: Final = "view.rocksdb"
_WRITE_BUFFERS: Final = 2
_WRITE_SHARE: Final = 0.0625
"""Share of the bound for each write buffer."""
_CACHE_SHARE: Final = 0.25
"""Share of the bound for blocks, their indexes and filters."""
_BITS_PER_KEY: Final = 10


class EmbeddedKvStore:
    """Records in RocksDB.

    Args:
        memory_bytes: memory bound, of which caches and buffers take a share.
        folder: for its files only; removed with them.
    """

    def __init__(self, memory_bytes: int, folder: str) -> None:
        self._path = Path(folder) / _FOLDER
        shutil.rmtree(self._path, ignore_errors=True)
        self._cache = Cache(int(memory_bytes * _CACHE_SHARE))
        self._db: Rdict | None = Rdict(str(self._path), _options(self._cache, memory_bytes))
        unlogged: Any = RocksWriteOptions()  # its stubs type settings as methods
        unlogged.disable_wal = True
        self._db.set_write_options(unlogged)
        self._unlogged = unlogged
        self._loaded: dict[str, int] = {}

    def records(self, partition_path: str) -> Mapping[str, bytes] | None:
        """Return a partition's records, by one scan."""
        if partition_path not in self._loaded:
            return None
        return dict(self._scan(partition_path))

    def record(self, partition_path: str, file_id: str) -> bytes | None:
        """Return one record, by one lookup."""
        if partition_path not in self._loaded:
            return None
        found: bytes | None = self._open.get(_prefix(partition_path) + file_id.encode())
        return found

    def is_loaded(self, partition_path: str) -> bool:
        """Return whether a partition is loaded."""
        return partition_path in self._loaded

    def loaded(self) -> Iterator[str]:
        """Yield the loaded partitions."""
        yield from self._loaded

    def put(self, partition_path: str, records: Mapping[str, bytes]) -> None:
        """Load a partition, by one batch."""
        self.drop(partition_path)
        prefix = _prefix(partition_path)
        batch = WriteBatch(raw_mode=True)
        batch.put(_marker(partition_path), b"")
        for file_id, record in records.items():
            batch.put(prefix + file_id.encode(), record)
        self._open.write(batch, self._unlogged)
        self._loaded[partition_path] = len(records)

    def change(self, partition_path: str, changed: Mapping[str, bytes | None]) -> None:
        """Update records of a loaded partition, by one batch."""
        count = self._loaded.get(partition_path)
        if count is None:
            return
        prefix = _prefix(partition_path)
        batch = WriteBatch(raw_mode=True)
        for file_id, record in changed.items():
            key = prefix + file_id.encode()
            count -= self._open.get(key) is not None
            if record is None:
                batch.delete(key)
            else:
                batch.put(key, record)
                count += 1
        self._open.write(batch, self._unlogged)
        self._loaded[partition_path] = count

    def drop(self, partition_path: str) -> None:
        """Drop a partition."""
        if self._loaded.pop(partition_path, None) is None:
            return
        prefix = _prefix(partition_path)
        batch = WriteBatch(raw_mode=True)
        batch.delete(_marker(partition_path))
        batch.delete_range(prefix, prefix[:-1] + b"\x01")
        self._open.write(batch, self._unlogged)

    def clear(self) -> None:
        """Drop all partitions."""
        for path in tuple(self._loaded):
            self.drop(path)

    def usage(self) -> StoreUsage:
        """Return the size of the store."""
        files = self._path.rglob("*") if self._path.exists() else ()
        return StoreUsage(
            partitions=len(self._loaded),
            groups=sum(self._loaded.values()),
            memory_bytes=self._cache.get_usage()
            + (self._open.property_int_value("rocksdb.cur-size-all-mem-tables") or 0),
            disk_bytes=sum(each.stat().st_size for each in files if each.is_file()),
        )

    def close(self) -> None:
        """Close the files, and remove them with their folder."""
        if self._db is not None:
            self._db.close()
            self._db = None
            shutil.rmtree(self._path.parent, ignore_errors=True)

    def _scan(self, partition_path: str) -> Iterator[tuple[str, bytes]]:
        """Yield file id and record of each group of a partition."""
        prefix = _prefix(partition_path)
        rows = self._open.iter()
        rows.seek(prefix)
        while rows.valid():
            key = rows.key()
            if not key.startswith(prefix):
                return
            yield key[len(prefix) :].decode(), rows.value()
            rows.next()

    @property
    def _open(self) -> Rdict:
        """The open database; raises if it is closed."""
        if self._db is None:
            raise ValueError("the store is closed")
        return self._db


def _prefix(partition_path: str) -> bytes:
    """Return the key prefix of a partition's records; paths contain no zero byte."""
    return b"g" + partition_path.encode() + b"\x00"


def _marker(partition_path: str) -> bytes:
    """Return the key that marks a partition as loaded."""
    return b"p" + partition_path.encode()


def _options(cache: Cache, memory_bytes: int) -> Options:
    """Return RocksDB's settings for the memory bound."""
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_write_buffer_size(int(memory_bytes * _WRITE_SHARE))
    options.set_max_write_buffer_number(_WRITE_BUFFERS)
    options.set_compression_type(DBCompressionType.lz4())
    options.set_max_open_files(64)
    options.set_keep_log_file_num(1)
    blocks = BlockBasedOptions()
    blocks.set_block_cache(cache)
    blocks.set_cache_index_and_filter_blocks(True)
    blocks.set_bloom_filter(_BITS_PER_KEY, False)
    options.set_block_based_table_factory(blocks)
    return options
