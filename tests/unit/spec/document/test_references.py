"""References in a spec: what they give, and what is stored of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from framework.errors import PlanError, SpecError
from framework.spec.document.secret import Secret
from framework.spec.loader import load_spec
from framework.spec.sections.pipeline_spec import PipelineSpec

Write = Callable[..., Path]
CANARY = "canary-7f3a"


def rules_of(load: Callable[[], PipelineSpec]) -> list[str]:
    """The rules of a spec that must not load."""
    with pytest.raises(SpecError) as caught:
        load()
    return [finding.rule for finding in caught.value.findings]


def test_whole_reference_keeps_the_type_of_its_variable(write_spec: Write, spec_text: str) -> None:
    """A number stays a number where a number is wanted, and is a fault where text is."""
    project = "version: 1\nvariables: {cores: 8, empty: true, kind: int, name: 2013}\n"
    text = spec_text.replace("{month: int}", "{month: '${var.kind}'}")
    sound = f"{text}  parallelism: ${{var.cores}}\n  allow_empty: ${{var.empty}}\n"
    bootstrap = load_spec(write_spec(sound, project)).bootstrap
    assert bootstrap is not None
    assert (bootstrap.parallelism, bootstrap.allow_empty) == (8, True)
    wrong = text.replace("nyc.flights", "${var.name}")
    assert rules_of(lambda: load_spec(write_spec(wrong, project))) == ["spec/wrong-type"]


def test_reference_inside_text_makes_text(write_spec: Write, spec_text: str) -> None:
    """Numbers and booleans are spelled as in YAML."""
    project = "version: 1\nvariables: {year: 2013, flag: true, share: 0.5}\n"
    text = spec_text.replace("nyc.flights", "nyc.f_${var.year}_${var.flag}")
    assert load_spec(write_spec(text, project)).table.name == "nyc.f_2013_true"


@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_reference_works_in_any_quotes(write_spec: Write, spec_text: str, quote: str) -> None:
    """Quoting does not turn a reference off."""
    text = spec_text.replace("lake/flights\n", f"{quote}${{var.lake}}/flights{quote}\n", 1)
    spec = load_spec(write_spec(text), variables={"lake": "/lake"})
    assert spec.table.location == "/lake/flights"


def test_value_of_a_reference_is_never_resolved_again(write_spec: Write, spec_text: str) -> None:
    """Text that comes from outside stays text, whatever it looks like."""
    text = spec_text.replace("lake/flights\n", "/x/${var.lake}\n", 1)
    spec = load_spec(write_spec(text), variables={"lake": "${env.HOME}"})
    assert spec.table.location == "/x/${env.HOME}"
    stored = spec.stored()["table"]
    assert isinstance(stored, dict)
    assert stored["location"] == "/x/$${env.HOME}"


def test_doubled_dollar_is_a_dollar(write_spec: Write, spec_text: str) -> None:
    """`$${` writes `${`."""
    text = spec_text.replace("lake/flights\n", "/x/$${var.lake}\n", 1)
    assert load_spec(write_spec(text)).table.location == "/x/${var.lake}"


def test_environment_text_is_typed_by_its_field(
    write_spec: Write, spec_text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment knows only text: `8` is a number only where one is wanted."""
    monkeypatch.setenv("LAKESTRAP_N", "8")
    text = spec_text.replace("nyc.flights", "${env.LAKESTRAP_N}")
    spec = load_spec(write_spec(f"{text}  parallelism: ${{env.LAKESTRAP_N}}\n"))
    assert spec.bootstrap is not None
    assert (spec.table.name, spec.bootstrap.parallelism) == ("8", 8)


def test_stored_spec_keeps_environment_and_secrets_as_written(
    write_spec: Write, spec_text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables are put in, `env` and `secret` are not, also when they came by a variable."""
    monkeypatch.setenv("LAKESTRAP_LAKE", "/lake")
    monkeypatch.setenv("RUN_PIPELINE_SECRET_TOKEN", CANARY)
    project = (
        "version: 1\nvariables: {lake: '${env.LAKESTRAP_LAKE}/a', db: nyc, t: '${secret.token}'}\n"
    )
    text = spec_text.replace("lake/flights\n", "${var.lake}/flights\n", 1)
    text = text.replace("nyc.flights", "${var.db}.flights")
    conf = "spark:\n  conf:\n    spark.a: x-${var.t}\n    spark.b: ${secret.token}\n"
    spec = load_spec(write_spec(text + conf, project))
    stored = json.loads(json.dumps(spec.stored()))
    assert spec.table.location == "/lake/a/flights"
    assert stored["table"]["location"] == "${env.LAKESTRAP_LAKE}/a/flights"
    assert stored["table"]["name"] == "nyc.flights"
    assert stored["spark"]["conf"] == {"spark.a": "x-${secret.token}", "spark.b": "${secret.token}"}
    assert spec.spark is not None
    assert spec.spark.revealed_conf() == {"spark.a": f"x-{CANARY}", "spark.b": CANARY}


def test_secret_is_in_nothing_that_can_be_shown(
    write_spec: Write, spec_text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No representation, dump, message or frame of a spec holds a secret's value."""
    monkeypatch.setenv("RUN_PIPELINE_SECRET_TOKEN", CANARY)
    spec = load_spec(write_spec(f"{spec_text}spark: {{conf: {{spark.a: 'x${{secret.token}}'}}}}\n"))
    assert spec.spark is not None
    secret = spec.spark.conf["spark.a"]
    assert isinstance(secret, Secret)
    shown = [repr(spec), str(spec), f"{secret}", f"{secret!r:>9}", json.dumps(spec.stored())]
    assert [s for s in (repr(secret), str(secret)) if s != "***"] == []
    assert CANARY not in "".join(shown)
    with pytest.raises(SpecError) as caught:
        load_spec(write_spec(spec_text.replace("nyc.flights", "${secret.token}")))
    assert CANARY not in f"{caught.value!r} {caught.value} {caught.value.findings}"


def test_secret_comes_from_a_file_where_the_environment_has_none(
    write_spec: Write, spec_text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mounted secret is read at the moment of use, without its line end."""
    (tmp_path / "token").write_text(f"{CANARY}\n", encoding="utf-8")
    monkeypatch.setenv("RUN_PIPELINE_SECRETS", str(tmp_path))
    spec = load_spec(write_spec(f"{spec_text}spark: {{conf: {{spark.a: '${{secret.token}}'}}}}\n"))
    assert spec.warnings == ()
    assert spec.spark is not None
    assert spec.spark.revealed_conf() == {"spark.a": CANARY}


def test_secret_that_is_nowhere_fails_when_it_is_used(write_spec: Write, spec_text: str) -> None:
    """Loading only warns, since pull-request checks have no secrets; using it is an error."""
    spec = load_spec(write_spec(f"{spec_text}spark: {{conf: {{spark.a: '${{secret.none}}'}}}}\n"))
    assert [w.rule for w in spec.warnings] == ["spec/undefined-secret"]
    assert spec.spark is not None
    with pytest.raises(PlanError) as caught:
        spec.spark.revealed_conf()
    assert caught.value.condition == "spec/undefined-secret"


def test_environment_value_is_not_in_a_finding(
    write_spec: Write, spec_text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message quotes what was written, not what the environment holds."""
    monkeypatch.setenv("LAKESTRAP_N", CANARY)
    for old, new in (
        ("copy_on_write", "${env.LAKESTRAP_N}"),
        ("hive", "${env.LAKESTRAP_N}"),
        ("metadata_only\n", "metadata_only\n  parallelism: ${env.LAKESTRAP_N}\n"),
    ):
        with pytest.raises(SpecError) as caught:
            load_spec(write_spec(spec_text.replace(old, new)))
        assert CANARY not in str(caught.value.findings)
