"""A page that shows how a watch is doing, for as long as it goes on: a small server on the loopback interface.

It is for whoever sits at this machine, so it listens on 127.0.0.1 alone, and answers only who asks for it by that
name: a page of somebody else's that had its own name point here would be refused. There is one page and one document
of JSON, which the page asks for each second. As in page.py, nothing of the trace ever meets an HTML parser, and the
security policy allows nothing but the page's own script, its style, and that document.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from string import Template
from typing import TYPE_CHECKING, Any

import boomslang
from boomslang.errors import UsageError
from boomslang.report.page import asset, hash_of, head_of, style_of

if TYPE_CHECKING:
    from boomslang.stream.tally import Status

HOST = "127.0.0.1"
EACH = 1.0
"""Seconds between two points of a curve."""
POINTS = 600
PATIENCE = 3.0
"""Seconds in which a page that is open fetches the answer."""


@dataclass
class _Shown:
    """What the page is told. The command writes it, the server's threads read it."""

    title: str
    status: dict[str, Any] = field(default_factory=dict)
    history: deque[list[float | None]] = field(default_factory=lambda: deque(maxlen=POINTS))
    answer: dict[str, Any] | None = None
    asked: float = 0.0
    """When somebody asked last."""
    fetched: threading.Event = field(default_factory=threading.Event)
    """Somebody has the answer."""

    def document(self) -> bytes:
        data = {"status": self.status, "history": list(self.history), "answer": self.answer}
        return json.dumps(data).encode()


class LivePage:
    """The server. Use it with `with`."""

    def __init__(self, port: int, title: str) -> None:
        self._shown = _Shown(title)
        self._last = 0.0
        try:
            self._server = _Server((HOST, port), _handler(self._shown))
        except OSError as problem:
            raise UsageError(
                f"found port {port} not to be had ({problem.strerror or problem}); expected a free one; fix: name "
                "another with --page PORT, or leave it out"
            ) from None
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True, name="page")

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self._server.server_address[1]}/"

    def __enter__(self) -> LivePage:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def show(self, status: Status) -> None:
        """How it goes now."""
        self._shown.status = status.to_json()
        now = time.monotonic()
        if now - self._last < EACH:
            return
        self._last = now
        latency = status.latency or (None, None, None)
        point = [
            round(status.seconds, 1), status.per_second, status.commits_per_second, status.aborts_per_second,
            status.lag, latency[0], latency[2], status.megabytes,
        ]  # fmt: skip
        self._shown.history.append(point)

    def answer(self, status: str, reason: str, story: Sequence[str], notes: Sequence[str]) -> None:
        """The end. Waits a moment, if the page is open, until it is told there."""
        shown = self._shown
        shown.answer = {"status": status, "reason": reason, "story": list(story), "notes": list(notes)}
        if time.monotonic() - shown.asked < PATIENCE:
            shown.fetched.wait(PATIENCE)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False


def _handler(shown: _Shown) -> type[BaseHTTPRequestHandler]:
    page, policy = _page(shown.title)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version, sys_version = "boomslang", ""
        timeout = 30

        def do_GET(self) -> None:
            port = self.connection.getsockname()[1]
            if self.headers.get("Host", "").lower() not in (f"{HOST}:{port}", f"localhost:{port}"):
                self._answer(403, "text/plain", b"this page is for the machine that it is made on\n")
            elif self.path == "/":
                self._answer(200, "text/html; charset=utf-8", page)
            elif self.path == "/status":
                shown.asked = time.monotonic()
                over = shown.answer is not None
                self._answer(200, "application/json", shown.document())
                if over:
                    shown.fetched.set()
            else:
                self._answer(404, "text/plain", b"there is nothing here\n")

        def _answer(self, code: int, kind: str, body: bytes) -> None:
            self.send_response(code)
            for name, value in (
                ("Content-Type", kind),
                ("Content-Length", str(len(body))),
                ("Content-Security-Policy", policy),
                ("Cache-Control", "no-store"),
                ("X-Content-Type-Options", "nosniff"),
                ("Referrer-Policy", "no-referrer"),
                ("Cross-Origin-Resource-Policy", "same-origin"),
            ):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nobody wants to read that in the middle of a watch."""

    return Handler


def _page(title: str) -> tuple[bytes, str]:
    style, script = style_of("plots", "live"), asset("live.js")
    policy = (
        f"default-src 'none'; script-src '{hash_of(script)}'; style-src '{hash_of(style)}'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    )
    text = Template(asset("live.html")).substitute(
        head=head_of(
            title=escape(title), generator=escape(f"Boomslang {boomslang.__version__}"), style=style
        ),
        title=escape(title),
        brand=asset("brand.html"),
        script=script,
    )
    return text.encode(), policy
