"""Random sequences of loads against a table and against a dictionary, in this process."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings

from framework.engine.load import dedup, key_lots
from tests.support.load_model import LOADS, Loads, Player, Setting, every_setting

pytestmark = [pytest.mark.property, pytest.mark.long]

_TABLES: Iterator[int] = count()


@pytest.mark.parametrize("setting", every_setting(), ids=str)
def test_loads_in_any_order_leave_what_a_dictionary_holds(
    tmp_path_factory: pytest.TempPathFactory, setting: Setting
) -> None:
    """The table holds the model's rows after each load, and time travel returns each state."""
    _play(tmp_path_factory, setting, sequences=5)


@pytest.mark.parametrize("sequences", [15, pytest.param(45, marks=pytest.mark.full)])
@pytest.mark.parametrize("setting", every_setting(), ids=str)
def test_many_loads_in_any_order_leave_what_a_dictionary_holds(
    tmp_path_factory: pytest.TempPathFactory, setting: Setting, sequences: int
) -> None:
    """The same for more than five hundred sequences, of which CI plays a third."""
    _play(tmp_path_factory, setting, sequences)


@pytest.mark.parametrize("setting", every_setting(), ids=str)
def test_loads_with_divided_keys_leave_what_a_dictionary_holds(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    setting: Setting,
) -> None:
    """The same where few keys already count as many: as for millions of rows in one partition."""
    monkeypatch.setattr(key_lots, "_MOST_TEXTS", 1)
    monkeypatch.setattr(key_lots, "_LOT_KEYS", 2)
    monkeypatch.setattr(dedup, "_HELD_HASHES", 1)
    _play(tmp_path_factory, setting, sequences=5)


def _play(factory: pytest.TempPathFactory, setting: Setting, sequences: int) -> None:
    """Play so many sequences, each on a table of its own."""

    @settings(
        max_examples=sequences,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(loads=LOADS)
    def check(loads: Loads) -> None:
        lake = setting.lake(factory.mktemp("model"), f"memory://model-{next(_TABLES)}")
        player = Player(setting=setting, lake=lake)
        player.play(loads)
        player.check_history(player.in_process)

    check()
