"""Table services killed at every call that changes the table, and so is their recovery."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.crash.forks import Forks
from tests.crash.killed_services import Scene, a_scene
from tests.crash.service_scenes import SERVICES, Service, Shape

pytestmark = [pytest.mark.crash]

CASES = [
    pytest.param(service, shape, id=f"{service}-{shape}")
    for service in SERVICES
    for shape in service.shapes
]
QUICK = [pytest.param(service, service.shapes[-1], id=f"{service}") for service in SERVICES]
SAMPLE = 2
SPARE = 2
FIRSTS = 4
SECONDS = 4

Count = Callable[[Scene], None]


@pytest.fixture
def count(record_property: Callable[[str, object], None]) -> Count:
    """Report the points of a scene; their sum is printed at the end of the run."""
    return lambda scene: record_property("crash_points", len(scene.killed))


@pytest.fixture
def scene(
    prepared: Forks, tmp_path_factory: pytest.TempPathFactory, service: Service, shape: Shape
) -> Scene:
    """A table in a shape, and the service that is killed on it."""
    return a_scene(prepared, service, shape, tmp_path_factory.mktemp("killed") / "shop")


@pytest.mark.parametrize(("service", "shape"), QUICK)
def test_service_killed_at_sampled_calls_is_whole_or_absent_after_the_next_run(
    scene: Scene, count: Count
) -> None:
    """A few of its calls."""
    points = scene.points()
    for point in random.Random(str(scene.service)).sample(points, SAMPLE + SPARE):
        if len(scene.killed) < SAMPLE:
            scene.kill(point)
    assert len(scene.killed) == SAMPLE
    count(scene)


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("service", "shape"), CASES)
def test_service_killed_at_every_call_is_whole_or_absent_after_the_next_run(
    scene: Scene, count: Count
) -> None:
    """Rows, files and timeline are as before the service, or as after it."""
    points = scene.points()
    missed = [point for point in points if not scene.kill(point)]
    assert len(missed) <= len(points) // 20, missed
    count(scene)


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("service", "shape"), CASES)
def test_recovery_killed_at_sampled_calls_is_recovered_by_the_run_after_it(
    scene: Scene, count: Count
) -> None:
    """The run that recovers is killed, and where it gets so far the one after it as well."""
    draw = random.Random(f"{scene.service} again")
    points = scene.points()
    for first in draw.sample(points, min(FIRSTS, len(points))):
        scene.kill_recoveries(first, SECONDS, draw)
    assert any(len(each) > 1 for each in scene.killed)
    count(scene)
