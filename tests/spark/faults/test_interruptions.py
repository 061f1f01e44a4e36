"""Ctrl-C and other signals during a run on Spark: it stops cleanly, and the next run resumes."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from framework.hudi.commit.lease import current_lease
from framework.hudi.storage.locations import open_storage
from tests.support.lakes import FILES, Lake
from tests.support.started import Started, started_pipeline

pytestmark = pytest.mark.spark

ON_SPARK = ("--master", "local[2,4]")
Send = tuple[signal.Signals, "Callable[[Started, signal.Signals], None]"]

TERM: Send = (signal.SIGTERM, Started.send)
"""As `kill` does."""
TERM_ALL: Send = (signal.SIGTERM, Started.send_all)
"""As a service manager or a container does: the JVM and its workers get it too."""
CTRL_C: Send = (signal.SIGINT, Started.send_group)
"""As a terminal does."""
HANG_UP: Send = (signal.SIGHUP, Started.send)


@pytest.mark.parametrize(
    ("how", "word"),
    [
        pytest.param(TERM, "terminated", id="term", marks=pytest.mark.full),
        pytest.param(CTRL_C, "interrupted", id="ctrl-c"),
        pytest.param(TERM_ALL, "terminated", id="term-all", marks=pytest.mark.full),
        pytest.param(HANG_UP, "hung up", id="hang-up", marks=pytest.mark.full),
    ],
)
def test_interrupted_run_stops_cleanly_and_the_next_resumes(
    lake: Lake, tmp_path: Path, how: Send, word: str
) -> None:
    """It exits with 128 plus the signal and one line; what was journaled is not written again."""
    number, send = how
    spec = lake.scene.spec
    with started_pipeline(tmp_path / "first", "run", spec, *ON_SPARK) as run:
        assert run.wait_until(lambda: lake.records >= 1)
        send(run, number)
        ended = run.end()
        run.wait_for_all()
    assert ended.code == 128 + number, ended.err
    (line,) = re.findall(rf"^{word}: .*$", ended.err, re.MULTILINE)
    assert "resumes it" in line
    assert "Traceback" not in ended.err
    assert "rror" not in ended.err
    assert not lake.check_absent_or_whole()
    assert current_lease(open_storage(str(lake.table))) is None
    kept = lake.journaled()
    assert 2 <= len(kept) < FILES
    with started_pipeline(tmp_path / "second", "run", spec, *ON_SPARK) as run:
        assert run.end().code == 0
    assert f"resumes with {len(kept)} files" in (tmp_path / "second" / "err").read_text()
    lake.check_whole()
    assert {name: lake.inode(name) for name in kept} == kept


@pytest.mark.full
def test_run_whose_jvm_is_killed_fails_as_the_engine_and_leaves_nothing(
    lake: Lake, tmp_path: Path
) -> None:
    """The kernel kills it for its memory, say: exit 5, all undone, and another run succeeds."""
    spec = lake.scene.spec
    with started_pipeline(tmp_path / "first", "run", spec, *ON_SPARK) as run:
        assert run.wait_until(lambda: lake.records >= 1)
        (jvm,) = run.members_named("java")
        os.kill(jvm, signal.SIGKILL)
        ended = run.end()
        run.wait_for_all()
    assert ended.code == 5, ended.err
    assert "error[spark/gone]" in ended.err
    assert "Traceback" not in ended.err
    lake.check_absent()
    with started_pipeline(tmp_path / "second", "run", spec, "--in-process") as run:
        assert run.end().code == 0
    lake.check_whole()
