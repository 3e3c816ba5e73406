"""`boomslang proxy`: stands between an application and its database, forwards what they say, and records it.

The application connects to the proxy in place of the server and is not changed otherwise, whatever its language. The
first Ctrl-C, or SIGTERM, ends all connections, and the trace is checked if that was asked for.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from boomslang.cli import exit_codes
from boomslang.cli.interruptible import in_thread
from boomslang.cli.options.following import add_following, add_page
from boomslang.cli.options.load import add_answer
from boomslang.cli.options.question import add_within
from boomslang.cli.screen import Screen
from boomslang.errors import UsageError

if TYPE_CHECKING:
    from boomslang.cli.load_plan import Check
    from boomslang.record.wire.proxy import Proxy
    from boomslang.stream.beside import Told

LISTEN = "127.0.0.1:6432"
REPEATED = 5
"""How often the same trouble is told."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Forwards what clients and a database say to each other, unchanged, and records it as a trace: PostgreSQL's "
        "protocol or MySQL's, any client, any language. Runs until Ctrl-C. With --check the trace is then checked, and "
        "the exit code is the verdict's: 0 valid, 1 invalid, 2 unknown."
    )
    add_argument = parser.add_argument
    add_argument(
        "server",
        metavar="SERVER",
        nargs="?",
        help="where the database is: postgres://HOST:PORT or mysql://HOST:PORT, with ?sslmode=require (verify-ca, "
        "verify-full, sslrootcert=FILE) to speak TLS to it. No name or password: each client brings its own",
    )
    add_argument(
        "--listen",
        type=_place,
        default=_place(LISTEN),
        metavar="HOST:PORT",
        help=f"where clients connect, without TLS; else {LISTEN}; port 0: a free one, which is printed",
    )
    add_argument(
        "--beyond-loopback",
        action="store_true",
        help="let --listen name an address that other machines can reach; what they say is not encrypted",
    )
    add_argument("--out", metavar="DIR", help="the trace's folder; must be new or empty")
    add_argument(
        "--recover",
        metavar="DIR",
        help="of a proxy that was killed: understand what it had forwarded, so that its trace is whole; no SERVER",
    )
    add_argument(
        "--check", metavar="LEVEL", help="when it ends, check the trace at a level, or several (ser,si)"
    )
    add_within(parser, of="with --check: the levels")
    add_argument("--certificate", metavar="FILE", help="with --check: write what proves the answer")
    add_argument(
        "--watch",
        action="store_true",
        help="check while it is recorded, at the one level of --check, and end at the first violation",
    )
    add_following(parser)
    add_page(parser)
    add_answer(parser)
    parser.set_defaults(run=run)


def _place(text: str) -> tuple[str, int]:
    found = re.fullmatch(r"(?:\[([^\]]+)\]|([^:\[\]]+)):([0-9]{1,5})", text)
    if found is None or int(found[3]) > 65535:
        raise argparse.ArgumentTypeError(f"found {text!r}; expected HOST:PORT, such as {LISTEN}")
    return found[1] or found[2], int(found[3])


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    from boomslang.record.tracer import Tracer
    from boomslang.record.wire.proxy import Address, Proxy, is_loopback, try_out

    if arguments.recover is not None:
        return _recovered(arguments, screen)
    if arguments.server is None or arguments.out is None:
        missing = "SERVER" if arguments.server is None else "--out DIR"
        raise UsageError(
            f"found no {missing}; expected where to forward to, and where to record; fix: boomslang proxy "
            "postgres://localhost:5432 --out DIR"
        )
    address = Address.parse(arguments.server)
    host, _ = arguments.listen
    if not is_loopback(host) and not arguments.beyond_loopback:
        raise UsageError(
            f"found --listen {host}, which other machines may reach; expected an address of this machine's loopback: "
            "what clients say to the proxy, passwords included, is not encrypted; fix: --listen 127.0.0.1:PORT, or "
            "--beyond-loopback if that is what you want"
        )
    check = _check(arguments)
    try_out(address, *arguments.listen)
    troubles = _Troubles(screen)
    proxy = Proxy(address, Tracer(arguments.out), trouble=troubles.told, unexpected=troubles.unexpected)
    where = f"{address.host}:{address.port}"

    def listening(host: str, port: int) -> None:
        if not arguments.quiet:
            place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            screen.note(
                f"listening on {place}, forwarding to {where}, recording into {arguments.out}; Ctrl-C ends it"
            )
            screen.flush()

    if arguments.watch:
        told = _served_and_watched(arguments, proxy, listening, screen)
    else:
        told = None
        _served(arguments, proxy, listening, screen, lambda: False)
    if not arguments.quiet:
        screen.note(f"{proxy.connections:,} connections were recorded in {arguments.out}")
    if not proxy.complete:
        raise UsageError(
            f"{arguments.out} is not complete: there was no room for all of it; fix: make room, then boomslang proxy "
            f"--recover {arguments.out}"
        )
    if check is None:
        return exit_codes.VALID
    if told is not None:
        from boomslang.cli.watched_run import answer

        return answer(arguments, told, arguments.check, check, screen)
    return check(screen)


def _recovered(arguments: argparse.Namespace, screen: Screen) -> int:
    from boomslang.record.wire.recovery import recover

    if arguments.server is not None or arguments.out is not None or arguments.watch:
        raise UsageError("--recover DIR stands alone, or with --check; expected no SERVER, --out or --watch")
    arguments.out = arguments.recover
    check = _check(arguments)
    count = recover(Path(arguments.recover), _Troubles(screen).told)
    if not arguments.quiet:
        screen.note(f"{count:,} connections are in {arguments.recover}, which is whole now")
    return exit_codes.VALID if check is None else check(screen)


def _check(arguments: argparse.Namespace) -> Check | None:
    """The question that follows, looked at before anything is recorded."""
    from boomslang.cli import load_plan

    if arguments.check is None:
        for name in ("within", "certificate", "report"):
            if getattr(arguments, name) is not None:
                raise UsageError(f"--{name} is for --check: there is nothing to ask without it")
        if arguments.watch:
            raise UsageError("--watch is for --check LEVEL: there is nothing to ask without it")
        return None
    arguments.check = load_plan.within(arguments.check, arguments.within)
    return load_plan.check_command(
        arguments, Path(arguments.out), arguments.check, (), arguments.certificate, {}
    )


def _served(
    arguments: argparse.Namespace,
    proxy: Proxy,
    listening: Callable[[str, int], None],
    screen: Screen,
    enough: Callable[[], bool],
    show: Callable[[], object] = lambda: None,
) -> None:
    """Until Ctrl-C, or until `enough`."""
    over = threading.Event()

    async def main() -> None:
        stop = asyncio.Event()

        async def look() -> None:
            while not over.is_set() and not enough():
                await asyncio.sleep(0.1)
            stop.set()

        looking = asyncio.get_running_loop().create_task(look())
        try:
            host, port = arguments.listen
            await proxy.serve(host, port, listening, stop)
        finally:
            looking.cancel()

    in_thread(lambda: asyncio.run(main()), show, over.set)


def _served_and_watched(
    arguments: argparse.Namespace, proxy: Proxy, listening: Callable[[str, int], None], screen: Screen
) -> Told:
    from boomslang.cli.live_status import LiveStatus, page_of
    from boomslang.cli.watched_run import answer_of, watched_level
    from boomslang.stream.beside import Beside

    asked = watched_level(arguments.check, ())
    with Beside(Path(arguments.out), asked, idle=arguments.idle, memory=arguments.memory) as beside:
        title = f"{arguments.out} at {asked.title}"
        with page_of(arguments.page, title, screen) as page:
            with LiveStatus(screen, quiet=arguments.quiet or arguments.json, page=page) as live:
                _served(arguments, proxy, listening, screen, beside.found, lambda: live.show(beside.status))
                beside.end()
                told = answer_of(beside)
            if page is not None:
                page.show(told.last)
                page.answer(told.status, told.reason, told.story, told.notes)
        return told


class _Troubles:
    """What ended connections that neither side has ended, or lets them wait: told, but not a thousand times."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._counts: dict[str, int] = {}

    def told(self, why: str) -> None:
        count = self._counts[why] = self._counts.get(why, 0) + 1
        if count <= REPEATED:
            more = "; it is not told again" if count == REPEATED else ""
            self._screen.warning(f"trouble with a connection: {why}{more}")

    def unexpected(self, error: Exception) -> None:
        import os
        import traceback

        if os.environ.get("BOOMSLANG_DEBUG"):
            traceback.print_exception(error)
