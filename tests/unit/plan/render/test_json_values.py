"""Documents as JSON: one dataclass gives the values and the schema."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

import pytest

from framework.plan.render.json_values import json_members, json_schema, json_text


class Colour(StrEnum):
    """A word that is written as its value."""

    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part."""

    share: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """What is described."""

    version: Literal[1]
    colour: Colour
    kind: Literal["a", "b"] | None = None
    parts: tuple[Part, ...] = ()
    found: dict[str, object]


WHOLE = Whole(version=1, colour=Colour.BLUE, parts=(Part(share=2), Part(share=0.5)), found={})


def test_text_of_a_document_keeps_order_numbers_and_letters() -> None:
    """A whole number stays one where a float is declared, and `é` is not escaped."""
    text = json_text(replace(WHOLE, found={"é": (1, None)}))
    assert json.loads(text) == {
        "version": 1,
        "colour": "blue",
        "kind": None,
        "parts": [{"share": 2}, {"share": 0.5}],
        "found": {"é": [1, None]},
    }
    assert '"share": 2\n' in text
    assert '"é"' in text
    assert list(json.loads(text)) == ["version", "colour", "kind", "parts", "found"]


@pytest.mark.parametrize("change", [{"colour": "blue"}, {"parts": [Part()]}, {"found": 3}])
def test_member_of_another_type_than_declared_warns(change: dict[str, object]) -> None:
    """What is written cannot differ from the schema unnoticed."""
    with pytest.warns(UserWarning, match="PydanticSerializationUnexpectedValue"):
        json_members(replace(WHOLE, **change))  # type: ignore[arg-type]  # the fault that is tried


def test_schema_requires_every_member_and_has_no_titles_or_defaults() -> None:
    """Just what a reader of the JSON must know."""
    schema = json_schema(Whole, title="A whole")
    assert schema == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A whole",
        "$ref": "#/$defs/Whole",
        "$defs": {
            "Colour": {"enum": ["red", "blue"]},
            "Part": {
                "description": "One part.",
                "type": "object",
                "properties": {"share": {"type": "number"}},
                "required": ["share"],
                "additionalProperties": False,
            },
            "Whole": {
                "description": "What is described.",
                "type": "object",
                "properties": {
                    "version": {"const": 1},
                    "colour": {"$ref": "#/$defs/Colour"},
                    "kind": {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]},
                    "parts": {"type": "array", "items": {"$ref": "#/$defs/Part"}},
                    "found": {"type": "object", "additionalProperties": True},
                },
                "required": ["version", "colour", "kind", "parts", "found"],
                "additionalProperties": False,
            },
        },
    }
