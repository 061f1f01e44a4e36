"""What the pending instant of a write holds."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.hudi.codecs.avro import AVRO_MAGIC, read_container
from framework.hudi.commit.intent import Intent, read_intent
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.instant import Action, InstantState
from tests.support.loads import LOADER, a_load
from tests.support.storage_suite import put

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ACTIONS = st.sampled_from([Action.COMMIT, Action.DELTACOMMIT, Action.REPLACECOMMIT])
INTENTS = st.builds(
    Intent,
    write_id=st.text("0123456789abcdef", min_size=32, max_size=32),
    requested_time=st.just("20260101000000000"),
    action=ACTIONS,
    operation=st.sampled_from(["UPSERT", "INSERT_OVERWRITE"]),
    is_new_table=st.booleans(),
    facts=st.dictionaries(TEXTS, TEXTS, max_size=3),
)


@pytest.mark.property
@settings(deadline=None)
@given(INTENTS)
def test_pending_files_say_whose_they_are_and_are_the_same_after_a_crash(intent: Intent) -> None:
    """Both are found by our write id, in whatever form they are."""
    storage = MemoryStorage(uuid4().hex)
    put(storage, intent.staging.begin, intent.begin_bytes())
    again = read_intent(storage, intent.staging.root)
    assert again is not None
    assert again.pending_files() == intent.pending_files()
    states = [instant.state for instant, _ in intent.pending_files()]
    assert states == [InstantState.REQUESTED, InstantState.INFLIGHT]
    for instant, data in intent.pending_files():
        put(storage, instant.path, data)
        found = dict(read_commit_head(storage, instant.path).extra)
        assert found == {**intent.facts, "lakestrap.write_id": intent.write_id}
    storage.forget()


def test_pending_files_of_a_replacecommit_are_a_plan_and_a_commit() -> None:
    """Apache Hudi reads the first as Avro, the second as JSON; of others it asks neither."""
    (_, requested), (_, inflight) = a_load(action=Action.REPLACECOMMIT).pending_files()
    assert read_container(requested)["extraMetadata"]["lakestrap.write_id"] == LOADER
    assert json.loads(inflight)["extraMetadata"]["lakestrap.write_id"] == LOADER
    assert not any(data.startswith(AVRO_MAGIC) for _, data in a_load().pending_files())
