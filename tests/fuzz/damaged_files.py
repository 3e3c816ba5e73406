"""Damaged files of every format, for as long as you like:

    PYTHONPATH=tests python -m fuzz.damaged_files --seconds 60 [--format viper] [--seed 17] [--out fuzz-failures]

A good file of a format (hand-made, or a random history that our own writer wrote) is damaged: bits flip, pieces go
missing or come twice, lines change places, words of the format appear where nobody expects them. Whatever comes
out has to be read as a trace that keeps all rules, and that is still the same when it was written as JSON Lines and
read again; or it is refused with an error that says where, what was found, what was expected and what to do. All
of that within a few seconds and a bounded memory.

The reading happens in a child process: it writes down each input before it looks at it, so that even a crash or an
endless loop leaves the input behind. Failures are kept in the folder `--out`, and become tests.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from support.foreign import check, story
from support.strategies import DEFAULT, Mix, generate

from boomslang.trace import Absent, Trace, TraceBuilder, TraceError, write_trace
from boomslang.trace.formats import FORMATS, Format, find, jsonl
from boomslang.trace.reader import read_trace
from boomslang.trace.rules import check_rules

Input = dict[str, bytes]
"""File name -> content; the one file of a format that is no folder is called "history"."""

SECONDS = 10.0
"""No input of this size may take longer, even on a busy machine."""
LEAST = 150
"""So many inputs even if there is no time."""
MEMORY = 4 << 30
WHOLE = re.compile(r"\bbyte\b|^found no")
"""Errors without a line: they name the byte, or miss something in the whole file. (Arrow's library says neither.)"""
NAMES = [format.name for format in FORMATS]


# --- good files -------------------------------------------------------------------------------------------

HAND_MADE: dict[str, list[bytes | Input]] = {
    "jsonl": [
        b'{"boomslang": 1, "clock": "a/b", "initial": {"items": [["x", 1], [{"bytes": "00ff"}, null]]}}\n'
        b'{"session": "s", "txn": 1, "op": "begin", "invoke": 1, "ctx": {"k": [1, {"z": "\\u00e9"}]}}\n'
        b'{"session": "t", "txn": "a", "op": "begin"}\n'
        b'{"session": "s", "txn": 1, "op": "put", "key": 1, "value": "\\ud83d\\ude00", "return": 5}\n'
        b'{"session": "t", "txn": "a", "op": "iterator", "id": 7, "from": "a", "to": "zz"}\n'
        b'{"session": "t", "txn": "a", "op": "next", "id": 7, "key": "b", "value": true}\n'
        b'{"session": "t", "txn": "a", "op": "next", "id": 7, "end": true}\n'
        b'{"session": "s", "txn": 1, "op": "scan", "from": 1, "to": 99, "items": [[2, "a"], [3, 1e-7]]}\n'
        b'{"session": "s", "txn": 1, "op": "append", "key": "l", "value": 1}\n'
        b'{"session": "t", "txn": "a", "op": "list", "key": "l", "elements": [1, 2]}\n'
        b'{"session": "s", "txn": 1, "op": "delete", "key": "x", "found": true}\n'
        b'{"session": "t", "txn": "a", "op": "get", "key": "x", "error": "no"}\n'
        b'{"session": "s", "txn": 1, "op": "commit", "return": 9}\n'
        b'{"session": "t", "txn": "a", "op": "commit", "error": "timeout"}\n',
        {
            "c2.jsonl": b'{"boomslang": 1, "clock": "a"}\n'
            b'{"op": "begin"}\n{"op": "put", "key": 1, "value": 2}\n{"op": "commit"}\n',
            "c10.jsonl": b'{"txn": 4, "op": "begin"}\n'
            b'{"txn": 4, "op": "get", "key": 1, "absent": true}\n{"op": "abort"}\n',
        },
    ],
    "viper": [
        {
            "J1.log": b'{"value": [["w", 1, 5, true], ["r", 2, 77, false]], "preBeginTS": 5, "postCommitTS": 9}\n'
            b'{"value": [["i", 3, 8, 0, true, true], ["d", 1, 9, 5, false, true], ["r", 1, 9, true]]}\n'
            b'{"value": [["range", 1, "nil", [{"id": 3, "sk": 3, "val": 8}], [{"id": 1, "sk": 1, "val": 9}]]]}\n',
            "J2.log": b'{"value": [{"opType": "w", "key": "k", "value": -7, "succ": true, "reqTS": 1, "resTS": 2}]}\n'
            b'{"value": [{"opType": "range", "key1": 1, "key2": 4, "liveKVs": [], "deadKVs": []}], "isFinal": true}\n',
            "init.log": b'{"value": [["w", 1, 4, true], ["w", 2, 77, true]], "isInitial": true}\n',
        },
        {
            "J24.log": b'{"value":[["w",1,1,true],["r",2,0,true]]}\n{"value":[["w",1,2,false]]}\n',
            "J25.log": b'{"value":[["r",1,1,true]]}\n',
        },
    ],
    "jepsen-edn": [
        b"; a comment\n"
        b"{:index 0, :type :invoke, :process 0, :time 5, :f :txn, :value [[:append :x 1] [:r :y nil]]}\n"
        b"{:index 1, :type :invoke, :process 1, :time 6, :f :txn, :value [[:r :x nil] [:append :y 2]]}\n"
        b"{:index 2, :type :ok, :process 0, :time 7, :f :txn, :value [[:append :x 1] [:r :y []]]}\n"
        b'{:index 3, :type :info, :process :nemesis, :f :start, :value #{1 2}, :error "a\\n"}\n'
        b'{:index 4, :type :info, :process 1, :f :txn, :value [[:r :x nil] [:append :y 2]], :error [:x #inst "2"]}\n'
        b"{:index 5, :type :invoke, :process 2, :f :txn, :value [[:r :x nil]]}\n"
        b"{:index 6, :type :ok, :process 2, :f :txn, :value [[:r :x [1]]]}\n",
        b"[#jepsen.history.Op{:type :invoke, :process 0, :value [[:w 1 1.5] [:r [1 2] nil]]}\n"
        b'{:type :fail, :process 0, :value ((:w 1 1.5) (:r [1 2] nil)), :error "no"} #_{:a 1}\n'
        b'{:type :ok, :process 1, :value [[:w "a b" -7] [:w 2 12345678901234567890N] [:w 3 true]]}]',
    ],
    "jepsen-json": [
        b'[{"index":0,"type":"invoke","process":0,"time":5,"f":"txn","value":[["append","x",1],["r","y",null]]},\n'
        b'{"index":1,"type":"ok","process":0,"time":7,"f":"txn","value":[["append","x",1],["r","y",[]]]},\n'
        b'{"index":2,"type":"info","process":"nemesis","f":"kill","value":{"a":[]}},\n'
        b'{"index":3,"type":"invoke","process":1,"f":"txn","value":[["r","x",null]]}]\n',
        b'{"type":"invoke","process":0,"value":[["w",1,1],["r",2,null]]}\n'
        b'{"type":"fail","process":0,"value":[["w",1,1],["r",2,null]],"error":"x"}\n'
        b'{"type":"ok","process":1,"value":[["w",1,"\\u00e9"],["r",2,null]]}\n',
    ],
    "timekiller": [
        b'[{"tid": 1, "sid": 4, "sts": {"p": "10", "l": 0}, "cts": {"p": "12", "l": 1},\n'
        b'  "ops": [{"t": "w", "k": 3, "v": 7}, {"t": "read", "k": 5, "v": null}, {"t": "r", "k": 6}]},\n'
        b' {"tid": 2, "sid": 4, "sts": {"p": 13, "l": 0}, "cts": {"p": 14, "l": 0},\n'
        b'  "ops": [{"t": "append", "k": 9, "v": 1}, {"t": "r", "k": 9, "v": [1]}, {"t": "r", "k": 3, "v": 0}]}]\n',
    ],
    "dbcop-json": [
        b'{"params": {"id": 0, "n_node": 2}, "info": "x", "start": "2024-01-01T00:00:00Z", "end": "", "data":\n'
        b'[[{"events": [{"Write": {"variable": 0, "version": 1}}, {"Read": {"variable": 1, "version": null}}],\n'
        b'"committed": true}], [{"events": [{"Read": {"variable": 0, "version": 1}}], "committed": false}], []]}\n',
    ],
    "dbcop-hist": [b"// two sessions\n[x:=1 y==?]\n[y:=2]!\n---\n[x==1 y==0] [z:=18446744073709551615]\n"],
    "text": [
        b"w(1,1,0,0)\nr(2,0,0,0)\nw(2,5,1,1)\nr(1,1,1,1)\nw(1,9,1,-1)\nr(1,9,0,2)\n",
        b"w(1,0,0,0)\r\nw(2,0,0,0)\r\nr(1,0,1,1)\r\nw(1,3,1,1)\r\nr(2,0,2,2)\r\n",
    ],
    "awdit": [b"w 1 1\nr 2 0\n----\nw 2 5\n====\nr 1 1\nr 2 5\n-\nw 1 2\n=====\nw 1 0\nw 2 0\n"],
}
"""What our own writers never write: the ways in which others say things."""

TOKENS: dict[str, list[bytes]] = {
    "jsonl": [
        *(
            b'"op": "%s", ' % op
            for op in b"begin commit abort put get delete scan iterator next append list".split()
        ),
        b'"key": 1, ',
        b'"value": null, ',
        b'"txn": 1, ',
        b'"session": "s", ',
        b'"items": [[1, 2]], ',
        b'"end": true, ',
        b'"elements": [], ',
        b'"from": 1, ',
        b'"to": 2, ',
        b'"invoke": 3, ',
        b'"return": -1, ',
        b'"error": "x", ',
        b'"found": false, ',
        b'"iterator": 7, ',
        b'"initial": true, ',
        b'{"boomslang": 1, "initial": "unknown"}\n',
    ],
    "viper": [
        b'["w", 1, 0, true], ',
        b'["r", 1, 0, false], ',
        b'["d", 1, 2, 3, false, true], ',
        b'"nil"',
        b'"isInitial": true, ',
        b'["i", "k", 5, 0, true, true], ',
        b'["range", "nil", "nil", [], []], ',
        b'"preBeginTS": 3, ',
        b'{"value": []}\n',
        b'{"id": 1, "val": 0}, ',
        b"-9223372036854775808",
        b'"postCommitTS": -1, ',
    ],
    "jepsen-edn": [
        b":type :ok ",
        b":type :info ",
        b":process 0 ",
        b":value ",
        b"[:append 1 1] ",
        b"[:r 1 nil] ",
        b"[:r 1 [1 1]] ",
        b"#_",
        b"#{",
        b"#inst ",
        b"nil ",
        b":f :txn ",
        b"\\a ",
        b'"',
        b";",
        b":index 0 ",
        b"1e400 ",
        b"7N ",
        b"##NaN ",
        b"^{}",
    ],
    "jepsen-json": [
        b'"type":"ok",',
        b'"type":"info",',
        b'"process":0,',
        b'"value":[],',
        b'["append",1,1],',
        b'["r",1,null],',
        b'["r",1,[1,1]],',
        b'"index":0,',
        b'"time":-1,',
        b"null",
        b"1e400,",
        b'"f":"txn",',
    ],
    "timekiller": [
        b'{"t": "a", "k": 1, "v": 1}, ',
        b'{"t": "r", "k": 1, "v": [1, 1]}, ',
        b'"sts": {"p": 1, "l": 5}, ',
        b'"tid": 1, ',
        b'"v": null, ',
        b'"sid": -1, ',
        b'{"t": "w", "k": 3, "v": 0}, ',
        b'"p": "99999999999999999999", ',
    ],
    "dbcop-json": [
        b'{"Write": {"variable": 0, "version": 0}}, ',
        b'{"Read": {"variable": 0, "version": 0}}, ',
        b'"committed": false, ',
        b'"events": [], ',
        b"[], ",
        b"18446744073709551616",
        b"null",
    ],
    "dbcop-hist": [
        b"[x:=0] ",
        b"x==0 ",
        b"x==? ",
        b"!",
        b"---\n",
        b"// ",
        b"[",
        b"] ",
        b"18446744073709551616",
    ],
    "text": [
        b"r(1,0,0,0)\n",
        b"w(1,0,1,-1)\n",
        b"w(1,0,0,-2)\n",
        b"\r",
        b"-1",
        b"99999999999999999999",
        b"(",
        b",,",
    ],
    "awdit": [b"r 1 0\n", b"w 1 0\n", b"---\n", b"===\n", b"-", b"=", b"99999999999999999999 ", b"\r"],
    "cobra": [
        b"S" + b"\0" * 7 + b"\1",
        b"C" + b"\0" * 7 + b"\1",
        b"A" + b"\0" * 7 + b"\1",
        b"W" + b"\0" * 24,
        b"R" + b"\0" * 32,
        b"\0\0\0\0\xbe\xbe\xeb\xee",
        b"\0\0\0\0\xde\xad\xbe\xef",
        b"\0\0\0\0\xab\xcd\xef\xab",
        b"\0\0\0\0\xab\xdd\xef\xee",
    ],
    "dbcop-bincode": [
        b"\0" * 8,
        b"\1" + b"\0" * 7,
        b"\xff" * 8,
        b"\0" * 7 + b"\x80",
        b"\1",
        b"\0",
        b"\2",
        b"\0" * 4 + b"\1" + b"\0" * 3,
        b"\1" + b"\0" * 16 + b"\1",
    ],
    "arrow": [b"ARROW1", b"\xff" * 4, b"\0" * 8, b"\xff" * 8, b"\x80"],
    "parquet": [b"PAR1", b"\xff" * 4, b"\0" * 8, b"\x15", b"\x80"],
}
TOKENS["dbcop-bincode-committed"] = TOKENS["dbcop-bincode"]

MIXES = (
    DEFAULT,
    Mix(ranges=False, lists=0.7, initial=("empty",)),
    Mix(ranges=False, deletes=False, errors=False, initial=("empty",), times=("none",)),
)


def registers(rng: random.Random) -> Trace:
    """Numbers only, as most formats have them; now and then with times, lists, aborted and unknown transactions."""
    lists, timed, odd = rng.random() < 0.3, rng.random() < 0.3, rng.random() < 0.5
    key: Callable[[int], Any] = (lambda n: f"k{n}") if rng.random() < 0.2 else int
    b = TraceBuilder()
    value, clock = 0, 0
    had: dict[int, list[int]] = {n: [] for n in range(1, 4)}
    for _ in range(rng.randint(1, 8)):
        clock += 2
        times: dict[str, Any] = {"begin": clock, "end": clock + 1} if timed else {}
        outcome: Any = rng.choice(["committed", "committed", "aborted", "unknown"]) if odd else "committed"
        with b.transaction(str(rng.randint(1, 3)), outcome=outcome, **times) as t:
            for _ in range(rng.randint(1, 4)):
                k = rng.randint(1, 3)
                if rng.random() < 0.5:
                    value += 1
                    had[k].append(value)
                    (t.append if lists else t.put)(key(k), value)
                elif lists:
                    t.list(key(k), had[k][: rng.randint(0, len(had[k]))])
                else:
                    t.get(key(k), rng.choice([*had[k], Absent]))
    return b.build()


def written(format: Format, trace: Trace, folder: Path) -> Input | None:
    """The trace as a file of this format, unless it cannot be said there."""
    writer = find("dbcop-bincode") if format.write is None else format
    if writer.write is None or any(loss.fatal for loss in writer.losses(trace)):
        return None
    with tempfile.TemporaryDirectory(dir=folder) as name:
        path = Path(name) / "history"
        try:
            writer.write(trace, path)
        except TraceError:  # several clocks, in a file of ours
            return None
        if path.is_dir():
            return {file.name: file.read_bytes() for file in path.iterdir()}
        return {"history": path.read_bytes()}


def good_file(format: Format, rng: random.Random, folder: Path) -> Input:
    made = HAND_MADE.get(format.name, [])
    if made and rng.random() < 0.5:
        chosen = rng.choice(made)
        return dict(chosen) if isinstance(chosen, dict) else {"history": chosen}
    while True:
        trace = registers(rng) if rng.random() < 0.6 else generate(rng, rng.choice(MIXES))
        if len(trace) and (input := written(format, trace, folder)):
            return input


# --- damage -----------------------------------------------------------------------------------------------


def damaged(data: bytes, tokens: list[bytes], rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        at = rng.randrange(len(out) + 1)
        match rng.randrange(9):
            case 0 if at < len(out):
                out[at] ^= 1 << rng.randrange(8)
            case 1 if at < len(out):
                out[at] = rng.randrange(256)
            case 2:
                del out[at : at + rng.randint(1, 30)]
            case 3:
                del out[at:]
            case 4:
                out[at:at] = rng.choice(tokens)
            case 5:
                out[at:at] = out[rng.randrange(len(out) + 1) :][: rng.randint(1, 80)]
            case 6:
                out[at : at + 8] = rng.choice(
                    (b"\xff" * 8, b"\0" * 8, b"\x7f" + b"\xff" * 7, bytes(out[at : at + 8])[::-1])
                )
            case 7:
                lines = bytes(out).split(b"\n")
                i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
                lines[i], lines[j] = lines[j], lines[i]
                out = bytearray(b"\n".join(lines))
            case _:  # a word of the file itself, elsewhere
                words = bytes(out).replace(b",", b" ").split() or [b" "]
                out[at:at] = rng.choice(words)
    return bytes(out)


def damaged_input(input: Input, tokens: list[bytes], rng: random.Random) -> Input:
    input = dict(input)
    name = rng.choice(sorted(input))
    input[name] = damaged(input[name], tokens, rng)
    match rng.randrange(40):
        case 0 if len(input) > 1:
            del input[rng.choice(sorted(input))]
        case 1 if len(input) > 1:
            input[name] = input[rng.choice(sorted(input))]
        case 2:
            input[name] = gzip.compress(input[name], 1, mtime=0)  # else its header has the time of day
    return input


def put_down(input: Input, path: Path) -> None:
    if set(input) == {"history"}:
        path.write_bytes(input["history"])
        return
    path.mkdir()
    for name, data in input.items():
        (path / name).write_bytes(data)


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


# --- one input --------------------------------------------------------------------------------------------


class Wrong(Exception):
    """What a reader must not do."""


def examine(format: Format, path: Path) -> bool:
    """Reads it. True: a trace; False: refused. Raises `Wrong` if neither is done well."""
    try:
        trace = format.read(path, lambda: None)
    except TraceError as error:
        said = str(error)
        placed = error.line or WHOLE.search(error.message) or format.name in ("arrow", "parquet")
        if not (placed and said.startswith(str(path))):
            raise Wrong(f"an error that does not say where: {said}") from error
        if not all(word in said for word in ("found ", "; expected ", "; fix: ")):
            raise Wrong(f"an error that does not say what to do: {said}") from error
        return False
    try:
        check_rules(trace, str(path))
        check(trace)
    except (TraceError, AssertionError) as error:
        raise Wrong(f"a trace that breaks the rules: {error}") from error
    if not any(loss.fatal for loss in jsonl.FORMAT.losses(trace)):
        again(trace, path)
    return True


def again(trace: Trace, path: Path) -> None:
    """Our own reader, which keeps all rules itself, must read the same trace."""
    folder = len(np.unique(trace.txn_clock)) > 1
    copy = path.with_name("copy" if folder else "copy.jsonl")
    remove(copy)
    try:
        write_trace(trace, copy)
        same = story(read_trace(copy, format="jsonl")) == story(trace)
    except TraceError as error:
        raise Wrong(f"a trace that cannot be written and read again: {error}") from error
    if not same:
        raise Wrong(f"a trace that is another one when it is written and read again (see {copy.name})")


# --- the child: reads, and may die of it ------------------------------------------------------------------


def work(format: Format, seed: int, seconds: float, least: int, folder: Path) -> dict[str, Any]:
    """Until the time (its own, not the clock's: the machine may be busy) is over or something is wrong; the input is in
    `folder` then. So many, at least, are looked at in any case."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    rng = random.Random(seed)
    path = folder / "input"
    counts = {"traces": 0, "refused": 0}
    stop = time.process_time() + seconds
    good: list[Input] = []
    while time.process_time() < stop or sum(counts.values()) < least:
        if len(good) < 20 or rng.random() < 0.02:
            good = [*good[-19:], good_file(format, rng, folder)]
        input = rng.choice(good)
        if rng.random() < 0.98:
            input = damaged_input(input, TOKENS[format.name], rng)
        remove(path)
        put_down(input, path)
        # Nobody handles this signal, so it ends native code as well; the parent sees that.
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            counts["traces" if examine(format, path) else "refused"] += 1
        except Exception as error:
            told = str(error) if isinstance(error, Wrong) else "".join(traceback.format_exception(error)[-4:])
            return {**counts, "wrong": told}
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return counts


# --- the parent: keeps what went wrong --------------------------------------------------------------------


@dataclass
class Run:
    """What became of one format's inputs."""

    traces: int = 0
    refused: int = 0
    failures: list[str] = field(default_factory=list)


def fuzz(format: Format, seconds: float, seed: int, out: Path, most: int = 10, least: int = LEAST) -> Run:
    """`most`: so many failures are enough."""
    run = Run()
    stop = time.monotonic() + seconds
    while (left := stop - time.monotonic()) > 0 and len(run.failures) < most:
        seed += 1
        with tempfile.TemporaryDirectory() as name:
            words = [format.name, str(seed), str(left), str(least), name]
            command = [sys.executable, str(Path(__file__).resolve()), "--child", *words]
            child = subprocess.run(command, capture_output=True, text=True, check=False)
            try:
                said = json.loads(child.stdout)
            except ValueError:
                died = (
                    signal.Signals(-child.returncode).name if child.returncode < 0 else str(child.returncode)
                )
                slow = f"no answer within {SECONDS:g} seconds" if died == "SIGALRM" else f"a crash: {died}"
                said = {"wrong": f"{slow}\n{child.stderr[-2000:]}".strip()}
            run.traces += said.get("traces", 0)
            run.refused += said.get("refused", 0)
            if "wrong" in said:
                run.failures.append(
                    f"seed {seed}: {said['wrong']}\n  the input is in {kept(name, out, format, seed)}"
                )
    return run


def kept(folder: str, out: Path, format: Format, seed: int) -> Path:
    target = out / f"{format.name}-{seed}"
    out.mkdir(parents=True, exist_ok=True)
    remove(target)
    source = Path(folder) / "input"
    if source.exists():
        shutil.move(source, target)
    return target


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--child"]:
        name, seed, seconds, least, folder = arguments[1:]
        print(json.dumps(work(find(name), int(seed), float(seconds), int(least), Path(folder))))
        return 0
    parser = argparse.ArgumentParser(prog="fuzz_formats.py", description="Damaged files of every format.")
    parser.add_argument("--seconds", type=float, default=60, help="for each format")
    parser.add_argument("--format", choices=NAMES, action="append", help="only these formats")
    parser.add_argument("--seed", type=int, help="count up from this seed; without it seeds are random")
    parser.add_argument("--out", type=Path, default=Path("fuzz-failures"), help="folder for failing inputs")
    given = parser.parse_args(arguments)
    failures = 0

    def one(name: str) -> Run:
        seed = random.SystemRandom().randrange(2**40) if given.seed is None else given.seed
        return fuzz(find(name), given.seconds, seed, given.out)

    names = given.format or NAMES
    cores = ThreadPoolExecutor(os.cpu_count())  # children are processes; their threads only wait
    for name, run in zip(names, cores.map(one, names), strict=True):
        failures += len(run.failures)
        print(
            f"  {name:24} {run.traces:7} traces {run.refused:7} refused {len(run.failures):3} failures",
            flush=True,
        )
        for failure in run.failures:
            print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
