"""Draw `docs/img/demo.svg`: real commands on the demo's flights, with their real output.

Run by hand when that output changes: `.venv/bin/python tools/picture.py`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

from demo import COMMAND, RAW, ROOT, SPEC, prepare

WIDTH = 96
PICTURE = ROOT / "docs" / "img" / "demo.svg"
GOOD = "year, month, day, carrier, flight, origin"
WRONG = "year, month, day, carrier, flight"
STEPS = (
    ("plan", "flights.pipeline.yml"),
    ("run", "flights.pipeline.yml"),
    ("status", "flights.pipeline.yml"),
    ("run", "wrong_key.pipeline.yml"),
)
SHOWN_LINES = 18
"""Longer output is cut, with a line that counts the omitted lines."""


def main() -> int:
    """Run the steps in a temporary folder and write the picture."""
    prepare()
    folder = Path(tempfile.gettempdir()) / "nyc"
    folder.mkdir()
    try:
        shutil.copytree(RAW, folder / "lake" / "raw" / "flights")
        (folder / "flights.pipeline.yml").write_text(SPEC.format(name="flights", key=GOOD))
        wrong = SPEC.format(name="wrong_key", key=WRONG)
        (folder / "wrong_key.pipeline.yml").write_text(wrong)
        console = Console(record=True, width=WIDTH, file=StringIO())
        for words in STEPS:
            show(console, folder, words)
    finally:
        shutil.rmtree(folder)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    console.save_svg(str(PICTURE), title="run-pipeline", unique_id="demo")
    return 0


def show(console: Console, folder: Path, words: tuple[str, ...]) -> None:
    """Run one command, and print it and its output to the recording console."""
    console.print(Text.assemble(("$ ", "bold green"), ("run-pipeline " + " ".join(words), "bold")))
    done = subprocess.run(
        [COMMAND, *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={
            **os.environ,
            "FORCE_COLOR": "1",
            "TTY_INTERACTIVE": "0",
            "COLUMNS": str(WIDTH),
            "PYTHONUNBUFFERED": "1",
        },
    )
    lines = done.stdout.splitlines()
    kept = lines if len(lines) <= SHOWN_LINES + 3 else [*lines[: SHOWN_LINES - 2], "", lines[-1]]
    for line in kept:
        left = len(lines) - len(kept) + 1
        console.print(Text.from_ansi(line) if line else Text(f"    … {left} lines", style="dim"))
    console.print(Text(f"exit code {done.returncode}\n", style="dim") if done.returncode else "")


if __name__ == "__main__":
    sys.exit(main())
