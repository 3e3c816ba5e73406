"""A real browser for the tests: headless Chromium, spoken to through a pair of pipes in its DevTools protocol.

No driver and no library: messages are JSON with a zero byte after each, written to the browser's file descriptor 3 and
read from its 4. A page's console, its exceptions and what its security policy refused are kept, so that a test can say
that there was nothing.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)
PATIENCE = 20.0
"""Seconds to wait for an answer."""


def find_chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


class Browser:
    """A browser with one page. Use it with `with`."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.number = 0
        self.rest = b""
        self.session: str | None = None
        self.complaints: list[str] = []
        """Of the page that is open: errors, warnings, and what the security policy refused."""
        self.requests: list[str] = []
        """What the page asked for, itself included."""
        self.loaded = False

    def __enter__(self) -> Browser:
        self.folder = tempfile.mkdtemp(prefix="browser-")
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        # Out of the way of the numbers that the browser is to find them under.
        pair = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (theirs_in, theirs_out)]
        sink = os.open(os.devnull, os.O_RDWR)
        spare = fcntl.fcntl(sink, fcntl.F_DUPFD_CLOEXEC, 10)
        actions = [(os.POSIX_SPAWN_DUP2, spare, fd) for fd in (0, 1, 2)]
        actions += [(os.POSIX_SPAWN_DUP2, pair[0], 3), (os.POSIX_SPAWN_DUP2, pair[1], 4)]
        words = [self.program, *FLAGS, f"--user-data-dir={self.folder}", "about:blank"]
        environment = {**os.environ, "HOME": self.folder}
        self.process = os.posix_spawn(self.program, words, environment, file_actions=actions, setpgroup=0)
        for fd in (theirs_in, theirs_out, sink, spare, *pair):
            os.close(fd)
        self.reading, self.writing = ours_in, ours_out
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.reading)
        os.close(self.writing)
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- messages

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Asks the browser, or its page once there is one, and waits for the answer."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        text = json.dumps(message).encode() + b"\0"
        while text:
            text = text[os.write(self.writing, text) :]
        stop = time.monotonic() + PATIENCE
        while True:
            answer = self._receive(stop)
            if answer.get("id") != self.number:
                self._note(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            else:
                result: dict[str, Any] = answer["result"]
                return result

    def _receive(self, stop: float) -> dict[str, Any]:
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.reading], [], [], max(0, stop - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self.reading, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has gone")
            self.rest += piece
        message, _, self.rest = self.rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                self.complaints.append(details.get("exception", {}).get("description", details["text"]))
            case "Runtime.consoleAPICalled":
                self.complaints.append(" ".join(str(a.get("value")) for a in params["args"]))
            case "Log.entryAdded":
                self.complaints.append(params["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Page.javascriptDialogOpening":
                self.complaints.append(f"a dialog: {params['message']}")
            case "Page.loadEventFired":
                self.loaded = True

    # --- what a person does

    def open(self, path: Path | str) -> None:
        """Opens a page, a file or an address, and waits until it has been drawn."""
        self.load(path)
        self.settle()

    def load(self, path: Path | str) -> None:
        self.complaints, self.requests, self.loaded = [], [], False
        self.call("Page.navigate", url=path if isinstance(path, str) else path.resolve().as_uri())
        stop = time.monotonic() + PATIENCE
        while not self.loaded:
            self._note(self._receive(stop))

    def settle(self) -> None:
        """Waits until the page has been drawn twice: observers of sizes have had their say."""
        self.js("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def js(self, expression: str) -> Any:
        """The value of an expression; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", "failed"))
        return answer["result"].get("value")

    def spot(self, selector: str) -> tuple[float, float]:
        """The middle of an element, scrolled into view."""
        x, y = self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect();"
            "return [b.left + b.width / 2, b.top + b.height / 2]; })()"
        )
        return x, y

    def click(self, selector: str) -> None:
        x, y = self.spot(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def hover(self, selector: str) -> None:
        x, y = self.spot(selector)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def key(self, key: str, *, shift: bool = False) -> None:
        codes = {
            "Tab": 9,
            "Enter": 13,
            "Escape": 27,
            "ArrowLeft": 37,
            "ArrowUp": 38,
            "ArrowRight": 39,
            "ArrowDown": 40,
        }
        text = {"Enter": "\r"}.get(key)
        common = {
            "key": key,
            "code": key,
            "windowsVirtualKeyCode": codes.get(key, 0),
            "modifiers": 8 if shift else 0,
        }
        down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
        self.call("Input.dispatchKeyEvent", **common, **down)
        self.call("Input.dispatchKeyEvent", **common, type="keyUp")
        self.settle()

    def window(self, width: int, height: int, *, scale: float = 1) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=False,
        )
        self.settle()

    def colours(self, scheme: str, *, media: str = "") -> None:
        """Light or dark; on paper with media="print"."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)
        self.settle()

    def picture(self, *, whole: bool = False) -> bytes:
        """A PNG of what is in the window, or of the whole page."""
        answer = self.call(
            "Page.captureScreenshot", format="png", captureBeyondViewport=whole, **self._clip(whole)
        )
        return base64.b64decode(answer["data"])

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}

    def paper(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(
            self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"]
        )


def opened_browser(what: str, size: tuple[int, int] | None = None) -> Iterator[Browser]:
    """For fixtures; without Chromium the test is skipped, and says that `what` was not opened."""
    program = find_chromium()
    if program is None:
        pytest.skip(f"no Chromium here: {what} not opened in a browser (Debian: apt install chromium)")
    with Browser(program) as opened:
        if size is not None:
            opened.window(*size)
        yield opened
