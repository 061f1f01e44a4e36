"""A command under way in a session of its own, to be looked at, signalled and waited for."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.support.commands import WITH_SIGNALS, Outcome

__all__ = ["Started", "started", "started_pipeline", "wait_until"]

_REPOSITORY = Path(__file__).parents[2]
_POLL_S = 0.005
_PATIENCE_S = 120.0


class Started:
    """A process that leads a session; what it starts belongs to that session too."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self._out, self._err = folder / "out", folder / "err"
        path = os.pathsep.join([str(_REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])])
        with self._out.open("w") as out, self._err.open("w") as err:
            self.process = subprocess.Popen(
                [*WITH_SIGNALS, *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": path, "NO_COLOR": "1", "COLUMNS": "200"},
            )

    @property
    def pid(self) -> int:
        """The leader's process id."""
        return self.process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the leader still runs."""
        return self.process.poll() is None

    @property
    def state(self) -> str:
        """The leader's state in the kernel, such as `S`, `T` for stopped; `""` if it has exited."""
        return _stat(self.pid)[0]

    @property
    def members(self) -> list[int]:
        """All processes of the session that run, the leader among them."""
        return [pid for pid in _processes() if _session(pid) == self.pid]

    def members_named(self, program: str) -> list[int]:
        """Return those members that run a program of this name."""
        return [pid for pid in self.members if _program(pid) == program]

    def wait_until(self, condition: Callable[[], bool]) -> bool:
        """Wait for a condition; False where the process ended before."""
        wait_until(lambda: condition() or not self.is_alive)
        return condition()

    def send(self, number: signal.Signals) -> None:
        """Signal the leader alone; nothing happens where it has ended."""
        self.process.send_signal(number)

    def send_all(self, number: signal.Signals) -> None:
        """Signal every process of the session."""
        for pid in self.members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def send_group(self, number: signal.Signals) -> None:
        """Signal the leader's process group, as a terminal does."""
        os.killpg(self.pid, number)

    def end(self) -> Outcome:
        """Wait for the leader and return how it ended."""
        code = self.process.wait(_PATIENCE_S)
        return Outcome(code=code, out=self._out.read_text(), err=self._err.read_text())

    def wait_for_all(self) -> None:
        """Wait until no process of the session is left."""
        wait_until(lambda: not self.members)

    def destroy(self) -> None:
        """Kill whatever is left."""
        self.send_all(signal.SIGKILL)
        self.process.wait(_PATIENCE_S)


@contextlib.contextmanager
def started(command: list[str], folder: Path) -> Iterator[Started]:
    """Start a command in a fresh folder; nothing of it outlives the context."""
    folder.mkdir()
    process = Started(command, folder)
    try:
        yield process
    finally:
        process.destroy()


def started_pipeline(
    folder: Path, *words: str | Path
) -> contextlib.AbstractContextManager[Started]:
    """Start our command line with these words."""
    return started([sys.executable, "-m", "framework", *map(str, words)], folder)


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for a condition, for as long as a test may wait."""
    end = time.monotonic() + _PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(_POLL_S)


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def _program(pid: int) -> str:
    """Return the name of the program that a process runs."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().partition("\0")[0].rpartition("/")[2]
    except OSError:
        return ""


def _session(pid: int) -> int:
    """Return the session of a process that runs, else 0."""
    state, session = _stat(pid)
    return 0 if state in {"", "Z", "X"} else session


def _stat(pid: int) -> tuple[str, int]:
    """Return state and session of a process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "", 0
    return fields[0], int(fields[3])
