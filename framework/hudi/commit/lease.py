"""The lease: one lakestrap writer at a time.

A lease is a numbered file in `.hoodie/.lakestrap/lease/`; the greatest number counts. Taking,
renewing and stealing each create the next number exclusively, so one contender wins; no file is
ever rewritten. A lease ends when it expires, or when its process is provably dead: same boot and
process table as ours, and no such process.

The lease keeps well-behaved runs apart. The fence makes a late run harmless: a run that takes over
renames the staging folder first (see `staging`). Apache Hudi does not know our lease.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event, RLock, Thread
from typing import Any, Final
from uuid import uuid4

from framework.errors import FrameworkError, LeaseHeldError, StorageError, Where
from framework.hudi.commit.created import create_whole
from framework.hudi.commit.staging import Staging
from framework.hudi.storage.port import Entry, Storage
from framework.hudi.table.layout import HOODIE, LAKESTRAP, LEASE, PROPERTIES, join
from framework.hudi.timeline.clock import Clock

__all__ = [
    "DEFAULT_TTL_MS",
    "Lease",
    "Owner",
    "acquire",
    "current_lease",
    "keep",
    "release",
    "renew",
    "require",
]

DEFAULT_TTL_MS: Final = 120_000
_ATTEMPTS: Final = 16
_LOCK: Final = RLock()
"""Keeps a background renewal from restoring a lease that is being released."""
_UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The holder of a lease.

    Attributes:
        write_id: the run.
        token: identifies one acquisition; a resumed run has the old write id and a new token.
        host: name of the machine, for display.
        pid: process on that machine.
        machine: boot and process table; `pid` is comparable only if they are equal.
        started: start time of the process on its machine's clock, `""` if unknown.
    """

    write_id: str
    token: str
    host: str
    pid: int
    machine: str
    started: str

    @classmethod
    def here(cls, write_id: str) -> Owner:
        """Return this process as a new owner."""
        pid = os.getpid()
        return cls(
            write_id=write_id,
            token=uuid4().hex,
            host=socket.gethostname(),
            pid=pid,
            machine=_machine(),
            started=_process_of(pid)[1],
        )

    def is_gone(self) -> bool:
        """Whether the process is provably dead; False if that cannot be determined from here."""
        if self.machine != _machine():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            return False
        state, started = _process_of(self.pid)
        return state in {"Z", "X"} or bool(started and self.started and started != self.started)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to write to a table.

    Attributes:
        number: incremented by every acquisition and renewal.
        owner: its holder.
        expires_ms: time, in milliseconds since the epoch, from which others may take it.
        created_root: whether the table's root folder was created for it; if so, the folder is
            deleted with it if empty.
    """

    number: int
    owner: Owner
    expires_ms: int
    created_root: bool

    @property
    def path(self) -> str:
        """Its file, relative to the table's root."""
        return join(LEASE, f"{self.number:08}.json")

    def is_over(self, clock: Clock) -> bool:
        """Whether another run may take it."""
        return clock.now_ms() >= self.expires_ms or self.owner.is_gone()


def current_lease(storage: Storage) -> Lease | None:
    """Return the current lease, expired or not, or None if there is none.

    An unreadable file counts as held by an unknown owner for the default time.
    """
    for _ in range(_ATTEMPTS):
        files = _files(storage)
        if not files:
            return None
        with contextlib.suppress(StorageError):  # renewed in between, and the old file deleted
            return _read(storage, files[-1])
    raise _held(None, "it keeps changing")


def acquire(storage: Storage, owner: Owner, clock: Clock, *, ttl_ms: int = DEFAULT_TTL_MS) -> Lease:
    """Take the lease if it is free, expired, or its process is dead.

    Raises:
        LeaseHeldError: `commit/lease-held`, naming the holder.
    """
    found = current_lease(storage)
    if found is not None and not found.is_over(clock):
        raise _held(found, "another run is writing to this table")
    lease = Lease(
        number=found.number + 1 if found else 1,
        owner=owner,
        expires_ms=clock.now_ms() + ttl_ms,
        created_root=found.created_root if found else _is_bare(storage),
    )
    taken = _write(storage, lease)
    found = current_lease(storage)
    if not taken or found is None or found.owner.token != owner.token:
        _tidy(storage, lease)
        raise _held(found, "another run was faster")
    return lease


def require(storage: Storage, lease: Lease) -> Lease:
    """Return the current lease, which must have the token of `lease`.

    Raises:
        LeaseHeldError: `commit/lease-lost`.
    """
    found = current_lease(storage)
    if found is None or found.owner.token != lease.owner.token:
        raise LeaseHeldError(
            "commit/lease-lost",
            "this run has lost its lease: it was paused for too long, or the lease was removed",
            where=Where(file=storage.location),
            remedy="Nothing was published. Run the same command again.",
        )
    return found


def renew(storage: Storage, lease: Lease, clock: Clock, *, ttl_ms: int = DEFAULT_TTL_MS) -> Lease:
    """Renew the lease and return it.

    Raises:
        LeaseHeldError: `commit/lease-lost` if another run has it.
    """
    with _LOCK:
        return _renew(storage, lease, clock, ttl_ms)


def release(storage: Storage, lease: Lease) -> None:
    """Release the lease, if it is still ours, and remove folders that are no longer needed."""
    with _LOCK:
        found = current_lease(storage)
        if found is not None and found.owner.token != lease.owner.token:
            return
        if found is not None:  # a later one belongs to another run
            older = (each.path for each in _files(storage) if each.path <= found.path)
            storage.delete(*older)
    _tidy(storage, lease)


@contextlib.contextmanager
def keep(
    storage: Storage, lease: Lease, clock: Clock, *, ttl_ms: int = DEFAULT_TTL_MS
) -> Iterator[None]:
    """Renew the lease in the background, every third of `ttl_ms`, while the context lasts.

    A lost lease is not retaken: the next `require` or `renew` raises in the foreground.
    """
    stop = Event()

    def renew_now_and_then() -> None:
        """Renew until stopped or lost; retry after a storage error."""
        while not stop.wait(ttl_ms / 3000):
            try:
                renew(storage, lease, clock, ttl_ms=ttl_ms)
            except StorageError:
                continue
            except FrameworkError:
                return

    thread = Thread(target=renew_now_and_then, name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _renew(storage: Storage, lease: Lease, clock: Clock, ttl_ms: int) -> Lease:
    """Renew the lease; the caller holds `_LOCK`."""
    for _ in range(_ATTEMPTS):
        found = require(storage, lease)
        longer = Lease(
            number=found.number + 1,
            owner=lease.owner,
            expires_ms=clock.now_ms() + ttl_ms,
            created_root=found.created_root,
        )
        if _write(storage, longer):
            older = (each.path for each in _files(storage) if each.path < longer.path)
            storage.delete(*older)
            return longer
    raise _held(None, "it keeps changing")


def _is_bare(storage: Storage) -> bool:
    """Whether the root is missing, or holds only the leftovers of a killed lakestrap run."""
    if storage.stat(PROPERTIES) is not None:
        return False
    if storage.stat("") is None:
        return True
    found = [e.path for e in storage.list("")]
    below = [e.path for e in storage.list(HOODIE)]
    return found == [HOODIE] and below == [LAKESTRAP]


def _files(storage: Storage) -> list[Entry]:
    """Return the lease files; the last one counts."""
    return [e for e in storage.list(LEASE) if not e.is_folder and e.name.endswith(".json")]


def _read(storage: Storage, file: Entry) -> Lease:
    with storage.open_input(file.path) as source:
        text = source.read()
    number = int(file.name.split(".")[0]) if file.name.split(".")[0].isdecimal() else 0
    try:
        fields: dict[str, Any] = json.loads(text)
        return Lease(
            number=number,
            owner=Owner(**fields["owner"]),
            expires_ms=int(fields["expires_ms"]),
            created_root=bool(fields["created_root"]),
        )
    except (ValueError, KeyError, TypeError):
        nobody = Owner(
            write_id=_UNKNOWN, token=_UNKNOWN, host=_UNKNOWN, pid=0, machine="", started=""
        )
        until = file.mtime_ns // 1_000_000 + DEFAULT_TTL_MS
        return Lease(number=number, owner=nobody, expires_ms=until, created_root=False)


def _write(storage: Storage, lease: Lease) -> bool:
    """Create the lease's file whole; return False if another run has the number.

    Retries if an ending run deletes an empty folder in between.
    """
    fields = {
        "owner": asdict(lease.owner),
        "expires_ms": lease.expires_ms,
        "created_root": lease.created_root,
    }
    temporary = join(Staging(write_id=lease.owner.write_id).root, f"lease-{uuid4().hex}")
    for attempt in range(_ATTEMPTS):
        try:
            create_whole(storage, lease.path, temporary, json.dumps(fields).encode())
        except StorageError as error:
            storage.delete(temporary)
            if error.condition == "storage/exists":
                return False
            if error.condition != "storage/not-found" or attempt == _ATTEMPTS - 1:
                _tidy(storage, lease)
                raise
        else:
            return True
    return False


def _tidy(storage: Storage, lease: Lease) -> None:
    """Remove the empty folders of a lease."""
    staging = Staging(write_id=lease.owner.write_id)
    for folder in (staging.publish, staging.root, LEASE, LAKESTRAP, HOODIE):
        storage.delete(folder, only_empty=True)
    if lease.created_root:
        with contextlib.suppress(StorageError):  # an empty folder left over is harmless
            storage.delete("", only_empty=True)


def _held(lease: Lease | None, message: str) -> LeaseHeldError:
    """Return the error that names the holder."""
    who = f": process {lease.owner.pid} on {lease.owner.host}" if lease else ""
    return LeaseHeldError(
        "commit/lease-held",
        f"{message}{who}",
        where=Where(file=lease.path if lease else LEASE),
        remedy="Wait until it is done. The lease of a dead process ends by itself.",
    )


def _machine() -> str:
    """Return an identifier of this machine's process table."""
    parts = [socket.gethostname()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(parts)


def _process_of(pid: int) -> tuple[str, str]:
    """Return state letter and start time of a process, or empty texts if unreadable."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "", ""
    return fields[0], fields[19]
