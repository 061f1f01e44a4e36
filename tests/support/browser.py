"""A headless Chromium that opens a page of ours, measures it, and records its requests."""

from __future__ import annotations

import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import threading
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

__all__ = ["NO_CHROMIUM", "Seen", "chromium", "seen"]

NO_CHROMIUM = (
    "no Chromium is installed (Debian: apt-get install chromium), and $CHROMIUM is not set"
)
_NAMES = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome")

_PROBE = """<!DOCTYPE html><meta charset="utf-8"><title>probe</title><link rel="icon" href="data:,">
<body style="margin:0"><iframe id="page" src="page.html" style="border:0"></iframe>
<pre id="found"></pre><script>
const frame = document.getElementById("page");
frame.width = new URLSearchParams(location.search).get("width");
frame.height = 800;
addEventListener("load", () => {
  const page = frame.contentDocument, root = page.documentElement;
  page.querySelectorAll("details").forEach((each) => { each.open = true; });
  const right = (each) => Math.ceil(each.getBoundingClientRect().right);
  const wide = [...page.body.querySelectorAll("*")].filter((e) =>
    !e.closest("svg") && !e.classList.contains("skip") && right(e) > root.clientWidth);
  const found = {
    client: root.clientWidth, scroll: root.scrollWidth,
    wide: wide.slice(0, 5).map((e) => e.outerHTML.slice(0, 120)),
    checks: page.querySelectorAll("details").length,
    focusable: page.querySelectorAll("summary, a[href]").length,
    background: getComputedStyle(page.body).backgroundColor,
    scripts: page.scripts.length,
    elements: page.querySelectorAll("*").length,
  };
  document.getElementById("found").textContent = JSON.stringify(found);
});
</script>"""


def chromium() -> str | None:
    """Return the browser's path: `$CHROMIUM`, or what is installed; None without any."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a browser made of a page: measures, requests it made, and lines of its console."""

    measures: dict[str, Any]
    requests: list[str]
    console: list[str]


def seen(folder: Path, html: str, *, width: int, dark: bool = False) -> Seen:
    """Open a page in a frame of this width, all of its folds opened, and say what was seen."""
    browser = chromium()
    assert browser, NO_CHROMIUM
    (folder / "page.html").write_text(html, encoding="utf-8")
    (folder / "probe.html").write_text(_PROBE, encoding="utf-8")
    requests: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            requests.append(self.path.partition("?")[0])

    serving = functools.partial(Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serving) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = subprocess.run(
            [
                browser,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--enable-logging=stderr",
                f"--user-data-dir={folder / 'profile'}",
                *(["--blink-settings=preferredColorScheme=0"] if dark else []),
                "--window-size=1400,1000",
                "--dump-dom",
                f"http://127.0.0.1:{server.server_port}/probe.html?width={width}",
            ],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        server.shutdown()
    found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr
    return Seen(
        measures=json.loads(unescape(found[1])),
        requests=requests,
        console=[line for line in done.stderr.splitlines() if "CONSOLE" in line],
    )
