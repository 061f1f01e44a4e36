"""A headless Chromium that is steered: addresses, keys, sizes, colours, scripts, pictures.

It speaks Chromium's own protocol over two pipes, so nothing but the browser is needed.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from tests.support.browser import NO_CHROMIUM, chromium

__all__ = ["Tab", "a_tab"]

_PATIENCE_S = 20.0
_WITH_PIPES = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); "
    "os.execv(sys.argv[3], sys.argv[3:])"
)
"""Gives a browser the pipes where it looks for them."""
_KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}


class Tab:
    """One page of a browser.

    Attributes:
        console: what its scripts logged, what they threw, and what its policy refused.
        requests: addresses that it asked for.
    """

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._out = to_browser
        self._in = from_browser
        self._left = b""
        self._number = 0
        self._session: str | None = None
        self.console: list[str] = []
        self.requests: list[str] = []

    def attach(self) -> Self:
        """Begin with an empty page."""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        found = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._call(f"{domain}.enable")
        return self

    def look_like(self, *, width: int, height: int = 900, dark: bool = False) -> None:
        """Have a screen of this size and these colours."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, address: str) -> None:
        """Go to an address."""
        self._call("Page.navigate", url=address)

    def value(self, script: str) -> Any:
        """Return what a script comes to, as JSON has it."""
        found = self._call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait_for(self, script: str, seconds: float = _PATIENCE_S) -> Any:
        """Return what an expression comes to once that is true in its sense and throws nothing."""
        end = time.monotonic() + seconds
        patient = f"(() => {{ try {{ return ({script}); }} catch {{ return null; }} }})()"
        while not (found := self.value(patient)):
            assert time.monotonic() < end, f"never came true: {script}\n{self.console}"
            time.sleep(0.05)
        return found

    def text(self) -> str:
        """Return the text that is to be seen."""
        return str(self.value("document.body.innerText"))

    def press(self, key: str, times: int = 1) -> None:
        """Press a key and let it go."""
        code = {"key": key, "windowsVirtualKeyCode": _KEYS[key]}
        text = {"text": "\r"} if key == "Enter" else {"text": key} if key == " " else {}
        for _ in range(times):
            self._call("Input.dispatchKeyEvent", type="keyDown", **code, **text)
            self._call("Input.dispatchKeyEvent", type="keyUp", **code)

    def write(self, text: str) -> None:
        """Write text where the focus is."""
        self._call("Input.insertText", text=text)

    def offline(self, *, offline: bool = True) -> None:
        """Cut the network, or bring it back."""
        self._call(
            "Network.emulateNetworkConditions",
            offline=offline,
            latency=0,
            downloadThroughput=-1,
            uploadThroughput=-1,
        )

    def picture(self, file: Path, *, whole: bool = True) -> Path:
        """Keep a picture of the page as PNG; `whole`: also what is below the screen."""
        found = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(found["data"]))
        return file

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result; events on the way are kept."""
        self._number += 1
        said: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            said["sessionId"] = self._session
        os.write(self._out, json.dumps(said).encode() + b"\0")
        while True:
            found = self._message()
            if found.get("id") == self._number:
                assert "error" not in found, (method, found["error"])
                result = found["result"]
                assert isinstance(result, dict)
                return result
            self._keep(found.get("method", ""), found.get("params", {}))

    def _message(self) -> dict[str, Any]:
        """Return the next message."""
        while b"\0" not in self._left:
            piece = os.read(self._in, 1 << 20)
            assert piece, "the browser went away"
            self._left += piece
        text, _, self._left = self._left.partition(b"\0")
        found = json.loads(text)
        assert isinstance(found, dict)
        return found

    def _keep(self, event: str, said: dict[str, Any]) -> None:
        """Record an event."""
        if event == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
        elif event == "Runtime.exceptionThrown":
            self.console.append(json.dumps(said["exceptionDetails"]))
        elif event == "Runtime.consoleAPICalled":
            self.console.append(json.dumps(said["args"]))
        elif event == "Log.entryAdded":
            self.console.append(f"{said['entry']['source']}: {said['entry']['text']}")


@contextmanager
def a_tab(profile: Path) -> Iterator[Tab]:
    """Start a browser with a profile of its own, and end it after the block."""
    browser = chromium()
    assert browser, NO_CHROMIUM
    ours_in, theirs_out = os.pipe()
    theirs_in, ours_out = os.pipe()
    high = [fcntl.fcntl(each, fcntl.F_DUPFD, 20) for each in (theirs_in, theirs_out)]
    command = [
        *(sys.executable, "-c", _WITH_PIPES, *map(str, high), browser),
        *("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
        *("--remote-debugging-pipe", "--no-first-run", f"--user-data-dir={profile}"),
    ]
    with subprocess.Popen(
        command, pass_fds=high, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        for each in (theirs_in, theirs_out, *high):
            os.close(each)
        try:
            yield Tab(ours_out, ours_in).attach()
        finally:
            os.close(ours_out)
            os.close(ours_in)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(_PATIENCE_S)
