"""Hatchling build hook that puts everything in the wheel under the one name `lakestrap`.

In the repository the code is the package `framework`, a name that other packages and users' own
folders may have too. In the wheel it is `lakestrap.framework`, and every import is rewritten:
modules have only that name, in the driver and in Spark's workers (docs/adr/0024).
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_DOTTED = r"(?<![\w./-])framework(?=\.[a-z_])"
_WHOLE = r"(?<=\bfrom )framework(?= import\b)|(?<=\bimport )framework\b(?!\.)"
_NAMES = re.compile(f"{_DOTTED}|{_WHOLE}")


def renamed(text: str) -> str:
    """Return a module's text with the module `framework` renamed to `lakestrap.framework`."""
    return _NAMES.sub("lakestrap.framework", text)


def build_layout(root: Path, into: Path) -> None:
    """Write the package in the wheel's layout, with the JSON Schemas that `init` copies."""
    leave_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(root / "lakestrap", into, ignore=leave_out, dirs_exist_ok=True)
    shutil.copytree(root / "framework", into / "framework", ignore=leave_out)
    shutil.copytree(root / "schemas", into / "framework" / "cli" / "schemas")
    for path in into.rglob("*.py"):
        path.write_text(renamed(path.read_text("utf-8")), "utf-8")


class WheelNames(BuildHookInterface[Any]):
    """Adds the files to the wheel; an editable installation uses the repository itself."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the files, except for an editable installation."""
        if version == "editable":
            return
        self._made = Path(mkdtemp(prefix="lakestrap-wheel-"))
        build_layout(Path(self.root), self._made)
        build_data["force_include"][str(self._made)] = "lakestrap"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the files that `initialize` wrote."""
        del build_data, artifact_path
        if version != "editable":
            shutil.rmtree(self._made)
