"""`run-pipeline init`: the first files of a repository of specs."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Final
from urllib.parse import unquote, urlsplit

import typer

from framework.cli.options import Format, JsonFormat
from framework.cli.render.console import err, out, write
from framework.engine.inspect.first_spec import FirstLook, look
from framework.errors import PlanError, StorageError, Where
from framework.vocabulary import PartitionType, SourceLayout

__all__ = ["VARIABLE", "Installation", "command", "installation"]


VARIABLE: Final = "LAKESTRAP_PACKAGE"
"""The repository variable that names the package if it is on this machine only."""

_NAME: Final = "lakestrap"
_PLAIN_URL: Final = re.compile(r"[\w.+:/@#=&%~,-]+")
_ASKED: Final = f'"${{{VARIABLE}:?set this repository variable to a pip requirement}}"'

_EXAMPLE = FirstLook(
    layout=SourceLayout.HIVE,
    partition_by=(("month", PartitionType.INT),),
    columns=(),
    key_guess=("id",),
)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NOT_NAME = re.compile(r"[^A-Za-z0-9]+")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off"}
_ASKS = (
    f"The workflow installs the package in the repository variable {VARIABLE}, because this"
    " installation is a folder on this machine only. Set it to a requirement, such as a Git URL."
)
_PRE_COMMIT = """\
repos:
  - repo: local
    hooks:
      - id: run-pipeline-validate
        name: validate pipeline specs
        entry: run-pipeline validate
        language: system
        files: \\.pipeline\\.yml$
"""
_WORKFLOW = """\
name: pipelines
on:
  pull_request:
    paths: ["pipelines/**", "run-pipeline.yml"]
permissions: {}
jobs:
  validate:
    runs-on: ubuntu-latest
    timeout-minutes: 10
    permissions: {contents: read}
    env:
      LAKESTRAP_PACKAGE: ${{ vars.LAKESTRAP_PACKAGE }}
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {python-version: "3.11"}
      - run: %s
      - run: run-pipeline validate --format github
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """The arguments of `pip install` in a checkout of the user's repository.

    Attributes:
        words: for the shell, quoted.
        copy: a wheel of this machine that the repository needs, and its destination; None if none.
        asks: whether `words` take the package from the repository variable `VARIABLE`.
    """

    words: str
    copy: tuple[Path, Path] | None = None
    asks: bool = False


def installation(folder: Path) -> Installation:
    """Return how a workflow of the repository at `folder` installs this package."""
    try:
        found = distribution(_NAME)
    except PackageNotFoundError:  # run from source
        return _asked()
    return installed_as(found.read_text("direct_url.json"), found.version, folder)


def installed_as(direct_url: str | None, version: str, folder: Path) -> Installation:
    """Return the installation for a record of the package's origin.

    Args:
        direct_url: text of `direct_url.json` (PyPA, "Recording the Direct URL Origin of installed
            distributions"); None if it was installed from an index by name.
        version: of the installed package.
        folder: root of the user's repository.
    """
    if direct_url is None:
        return Installation(words=quote(f"{_NAME}=={version}"))
    origin: dict[str, Any] = json.loads(direct_url)
    url = str(origin.get("url", ""))
    if url.startswith("file:"):
        return _local(Path(unquote(urlsplit(url).path)), folder)
    if not _PLAIN_URL.fullmatch(url):
        return _asked()
    part = f"#subdirectory={origin['subdirectory']}" if origin.get("subdirectory") else ""
    if vcs := origin.get("vcs_info"):
        return Installation(words=quote(f"{_NAME} @ {vcs['vcs']}+{url}@{vcs['commit_id']}{part}"))
    return Installation(words=quote(f"{_NAME} @ {url}{part}"))


def _local(path: Path, folder: Path) -> Installation:
    """Return how to install a file or folder of this machine; a wheel is copied along."""
    root, path = folder.resolve(), path.resolve()
    if path.exists() and path.is_relative_to(root):
        return Installation(words=quote(f"./{path.relative_to(root).as_posix()}"))
    if path.is_file() and path.suffix == ".whl":
        place = Path(".github", "wheels", path.name)
        return Installation(words=quote(f"./{place.as_posix()}"), copy=(path, folder / place))
    return _asked()


def _asked() -> Installation:
    return Installation(words=_ASKED, asks=True)


def command(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where to write; created if missing.")
    ] = Path(),
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="PATH", help="A Parquet data set to write the spec for."),
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="A,B", help="Columns of the record key.")
    ] = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """Write a spec, a pre-commit configuration and a workflow that validates pull requests.

    With --from it reads the folders and one footer, and the spec fits them. Existing files are not
    changed.
    """
    found = look(str(source.resolve())) if source else _EXAMPLE
    given = tuple(word.strip() for word in (key or "").split(",") if word.strip())
    keys = given or found.key_guess or found.columns[:1]
    _check_keys(keys, found, source)
    name = _NOT_NAME.sub("_", source.resolve().name if source else "example").strip("_").lower()
    spec = folder / "pipelines" / f"{name or 'table'}.pipeline.yml"
    path = _seen_from(spec.parent, source) if source else "../raw/example"
    contents = {
        spec: spec_text(found, name=name or "table", path=path, keys=keys),
        folder / "schemas/pipeline.schema.json": _packaged("pipeline.schema.json"),
        folder / ".pre-commit-config.yaml": _PRE_COMMIT,
    }
    made = installation(folder)
    workflow = folder / ".github/workflows/pipelines.yml"
    contents[workflow] = _WORKFLOW % json.dumps(f"python -m pip install {made.words}")
    written, kept = _write(contents)
    if made.copy and str(workflow) in written:
        written += _copied(*made.copy)
    _print(written, kept, spec, form, guess=() if given else keys)
    if made.asks and str(workflow) in written:
        write(err(), _ASKS)
    return 0


def _print(
    written: list[str], kept: list[str], spec: Path, form: JsonFormat, *, guess: Sequence[str]
) -> None:
    if form is JsonFormat.JSON:
        document = {"written": written, "kept": kept, "spec": str(spec), "guess": list(guess)}
        sys.stdout.write(json.dumps(document) + "\n")
        return
    for line in [f"wrote {p}" for p in written] + [f"kept  {p} (it exists)" for p in kept]:
        write(out(), line)
    if guess:
        write(err(), f"The record key ({', '.join(guess)}) is a guess: review it, then prove it.")
    write(err(), f"next: run-pipeline plan {spec} --prove-keys")


def spec_text(found: FirstLook, *, name: str, path: str, keys: Sequence[str]) -> str:
    """Return the YAML of a first spec; `path` is used as given, the table is beside it."""
    partition = ", ".join(f"{_scalar(c)}: {t.value}" for c, t in found.partition_by)
    lines = [
        "# yaml-language-server: $schema=../schemas/pipeline.schema.json",
        "version: 1",
        "table:",
        f"  name: lake.{name}",
        f"  location: {_scalar(path + '_hudi')}  # the new table, beside its source",
        "  type: copy_on_write",
        *([f"  partition_by: {{{partition}}}"] if partition else []),
        "  record_key:",
        *([f"    # columns: {_comment(found.columns)}"] if found.columns else []),
        f"    columns: [{', '.join(_scalar(k) for k in keys)}]",
        "    unique_within: table  # proven before anything is published",
        "bootstrap:",
        f"  path: {_scalar(path)}  # Parquet that stays in place, unchanged",
        f"  layout: {found.layout.value}",
        "  mode: metadata_only",
    ]
    return "\n".join(lines) + "\n"


def _seen_from(folder: Path, source: Path) -> str:
    """Return the source path for a spec in `folder`: relative within one tree, else absolute."""
    here, there = folder.resolve(), source.resolve()
    root = here.parent
    if there.is_relative_to(root):
        return f"../{there.relative_to(root).as_posix()}"
    return str(there)


def _comment(columns: Sequence[str]) -> str:
    return ", ".join("".join(c if c.isprintable() else "?" for c in name) for name in columns)


def _scalar(text: str) -> str:
    """Return the text as a YAML scalar; quoted (as JSON, which is YAML) unless a plain word."""
    words = [w for w in text.split("/") if w not in {"", ".."}]
    plain = words and all(_PLAIN.fullmatch(w.replace(".", "_")) for w in words)
    if plain and text.lower() not in _WORDS:
        return text
    return json.dumps(text, ensure_ascii=False).replace("${", "$${")


def _check_keys(keys: Sequence[str], found: FirstLook, source: Path | None) -> None:
    missing = [k for k in keys if source and k not in found.columns]
    if missing:
        raise PlanError(
            "key/missing-column",
            f"no column {', '.join(missing)} in the data set",
            where=Where(file=str(source)),
            remedy=f"Columns: {', '.join(found.columns)}.",
        )


def _packaged(name: str) -> str:
    """Return a JSON Schema from the project's `schemas` folder, as packaged."""
    inside = files("framework.cli").joinpath("schemas", name)
    if inside.is_file():
        return inside.read_text(encoding="utf-8")
    return (Path(__file__).parents[2] / "schemas" / name).read_text(encoding="utf-8")


def _write(contents: Mapping[Path, str]) -> tuple[list[str], list[str]]:
    """Write each file that does not exist; return the names written, and those kept.

    Raises:
        StorageError: a file or folder cannot be created (`storage/failed`).
    """
    written, kept = [], []
    for path, text in contents.items():
        if path.exists():
            kept.append(str(path))
            continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
            written.append(str(path))
        except OSError as error:
            message = f"cannot be written: {error.strerror}"
            raise StorageError("storage/failed", message, where=Where(file=str(path))) from error
    return written, kept


def _copied(wheel: Path, place: Path) -> list[str]:
    """Copy the installed wheel to where the workflow finds it.

    Raises:
        StorageError: it cannot be written (`storage/failed`).
    """
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(wheel, place)
    except OSError as error:
        message = f"cannot be written: {error.strerror}"
        raise StorageError("storage/failed", message, where=Where(file=str(place))) from error
    return [str(place)]
