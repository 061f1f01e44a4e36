"""What the adopting commit remembers of the plan."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import CorruptFileError, UnsupportedTableError
from framework.plan.facts import BootstrapFacts

TEXT = st.text(max_size=20)


def some_facts() -> BootstrapFacts:
    """Return facts with every member set."""
    return BootstrapFacts(
        write_id="ab",
        instant="00000000000001",
        spec_hash="cd",
        inventory_sha256="ef",
        source="/lake/raw",
        skeletons=3,
        full=1,
        skipped=("month=1",),
        immutable={"table.type": "copy_on_write"},
        traits={"int96": "2 files in 'month=1'"},
    )


def test_facts_as_json_have_a_version() -> None:
    """A later release knows which members to expect."""
    assert json.loads(some_facts().as_json())["version"] == 1


def test_facts_from_json_with_a_further_member_ignores_it() -> None:
    """Members may be added within a version."""
    body = {**json.loads(some_facts().as_json()), "later": 1}
    assert BootstrapFacts.from_json(json.dumps(body)) == some_facts()


def test_facts_from_json_without_traits_know_none() -> None:
    """Tables that were adopted before traits were remembered can be read."""
    body = json.loads(some_facts().as_json())
    del body["traits"]
    assert BootstrapFacts.from_json(json.dumps(body)).traits == {}


def test_facts_from_json_of_a_newer_version_is_refused() -> None:
    """What a newer release wrote may mean something else."""
    body = {**json.loads(some_facts().as_json()), "version": 2}
    with pytest.raises(UnsupportedTableError) as caught:
        BootstrapFacts.from_json(json.dumps(body))
    assert caught.value.condition == "facts/newer-version"


@pytest.mark.parametrize(
    "change",
    [
        {"write_id": 1},
        {"skeletons": "x"},
        {"skipped": [1]},
        {"immutable": 3},
        {"immutable": {"a": 1}},
        {"traits": []},
        {"version": "1"},
    ],
)
def test_facts_from_json_of_ill_typed_members_are_corrupt(change: dict[str, object]) -> None:
    """A changed commit file is reported as such, not as a crash."""
    body = {**json.loads(some_facts().as_json()), **change}
    with pytest.raises(CorruptFileError) as caught:
        BootstrapFacts.from_json(json.dumps(body))
    assert caught.value.condition == "facts/not-readable"


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", "{}"])
def test_facts_from_json_of_other_json_are_corrupt(text: str) -> None:
    """Neither a cut text nor other JSON is taken for facts."""
    with pytest.raises(CorruptFileError):
        BootstrapFacts.from_json(text)


@pytest.mark.property
@given(
    names=st.lists(TEXT, min_size=5, max_size=5),
    counts=st.tuples(st.integers(0, 2**62), st.integers(0, 2**62)),
    skipped=st.lists(TEXT, max_size=4),
    immutable=st.dictionaries(TEXT, TEXT, max_size=4),
)
def test_facts_of_any_text_come_back_from_json(
    names: list[str],
    counts: tuple[int, int],
    skipped: list[str],
    immutable: dict[str, str],
) -> None:
    """`from_json(as_json(x)) == x`."""
    write_id, instant, spec_hash, inventory, source = names
    facts = BootstrapFacts(
        write_id=write_id,
        instant=instant,
        spec_hash=spec_hash,
        inventory_sha256=inventory,
        source=source,
        skeletons=counts[0],
        full=counts[1],
        skipped=tuple(skipped),
        immutable=immutable,
    )
    assert BootstrapFacts.from_json(facts.as_json()) == facts
