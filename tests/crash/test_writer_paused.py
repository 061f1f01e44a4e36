"""A run that is paused while another takes over does no harm when it continues.

In a child process, since the paused run must not notice how late it is (`paused.py`).
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.crash

PROGRAM = Path(__file__).with_name("paused.py")
ROOT = PROGRAM.parents[2]
SAMPLE = (2, 9, 30, 60, 75, 86, 90, 124)
FENCED = {"4 commit/fenced", "4 commit/lease-lost", "4 commit/staged-file-gone"}


def paused_at(folder: Path, *steps: int) -> list[dict[str, Any]]:
    """Pause a run before each of the steps, before all of them without any; return what came."""
    command = [sys.executable, "-m", "tests.crash.paused", str(folder), *map(str, steps)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(found: dict[str, Any]) -> None:
    """Check that the table is absent or whole at each look, and whole at the end."""
    assert found["other"] == "0", found
    assert found["third"] == "0", found
    assert found["in the end"], found
    after_other, still_there, nothing_more = found["whole"]
    assert (after_other, still_there, nothing_more) == (True, True, True), found
    assert found["paused"] == "0" or found["paused"].startswith(("4 ", "6 ")), found


def test_paused_run_does_no_harm_when_it_continues(tmp_path: Path) -> None:
    """At a sample of steps, with a follower that resumes and one that starts afresh."""
    found = paused_at(tmp_path, *SAMPLE)
    assert len(found) == 2 * len(SAMPLE)
    for each in found:
        check(each)
    assert {each["paused"] for each in found} & FENCED


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_run_that_is_paused_at_any_step_does_no_harm_when_it_continues(tmp_path: Path) -> None:
    """Each storage step of the driver, with both followers."""
    found = paused_at(tmp_path)
    assert len(found) > 100
    for each in found:
        check(each)
