"""Other checkers beside this one, on the same histories: whole commands, their CPU time, memory and verdict.

Nothing of the others is here; they run from the executables whose paths are given, and a column without a
path is missing and said to be. Each history is simulated (`simulate.py`), its aborted transactions are left out,
since not every format can say them, and it is written in a tool's own format by `boomslang convert`; both
commands then read that very file. What counts is user plus system time of the whole command, as a machine that is
shared tells it best, and the peak of memory: the median of some runs, of the one and the other in turns. *Work* is
what is left when start-up is taken off: the same command on a history of two transactions. Levels are those that
`docs/levels.md` names for each tool. Where verdicts differ, the page says so first.

    python benchmarks/peers.py --awdit target/release/awdit --plume Plume.jar --write
    python benchmarks/peers.py quick --dbcop dbcop --timekiller 'java -Xmx8g -jar TimeKiller.jar'
    python benchmarks/peers.py million --awdit target/release/awdit

Exit code 1 if a verdict of ours is not the expected one, else 0: speed is reported, never judged.
"""

from __future__ import annotations

import json
import math
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from phases import PATIENCE, page, parser, shown, table
from simulate import BLINDW, DATA, History, generate

VALID, INVALID = "valid", "invalid"
SIZES = {
    "quick": [(10_000, 24)],
    "standard": [(100_000, 24), (100_000, 50), (100_000, 1_000), (100_000, 4_000)],
    "million": [(1_000_000, 50)],
}
"""Transactions and sessions."""
LONG = 30.0
"""Seconds after which once is enough."""
TXN, ABORT = re.compile(r'"txn":(\d+)'), '"op":"abort"'


# ---------------------------------------------------------------- the tools


def said(yes: str, no: str) -> Callable[[int, str], str]:
    """The verdict of a tool that prints one of these (patterns)."""

    def verdict(code: int, output: str) -> str:
        for text, word in ((no, INVALID), (yes, VALID)):
            if re.search(text, output, re.MULTILINE):
                return word
        return f"exit code {code}"

    return verdict


def by_exit_code(code: int, _: str) -> str:
    return {0: VALID, 1: INVALID, 2: "unknown"}.get(code, f"exit code {code}")


@dataclass(frozen=True)
class Tool:
    """Somebody else's checker."""

    name: str
    format: str
    """What `boomslang convert` calls its format."""
    file: str
    """What the history must be called."""
    levels: dict[str, str]
    """Our level -> what the tool calls it."""
    words: Callable[[Path, str], list[str]]
    """What follows the executable: the history, and the tool's word for the level."""
    verdict: Callable[[int, str], str]
    ours: tuple[str, ...] = ()
    """What our command needs beside the level."""
    timed: bool = False
    """Histories need the database's timestamps."""
    reading: Callable[[Path], list[str]] | None = None
    """A command that does little more than read the history."""
    note: str = ""
    """What a reader of its verdicts should know."""

    @property
    def option(self) -> str:
        return self.name.lower()


TOOLS = (
    Tool(
        "AWDIT",
        "text",
        "history.txt",
        {
            "rc-be": "read-committed",
            "strong-session-ra": "read-atomic",
            "strong-session-causal": "causal",
        },
        lambda path, level: ["check", "--isolation", level, str(path)],
        said(r"^Consistent\.", r"^Inconsistent\."),
        reading=lambda path: ["stats", str(path)],
    ),
    Tool(
        "Plume",
        "text",
        "history.txt",
        {"rc-be": "RC", "strong-session-ra": "RA", "strong-session-causal": "TCC"},
        lambda path, level: ["-t", "PLUME", "-i", level, str(path)],
        said("^ACCEPT", "^REJECT"),
    ),
    Tool(
        "dbcop",
        "dbcop-json",
        "history.json",
        {
            "rc-be": "committed-read",
            "strong-session-ra": "atomic-read",
            "strong-session-causal": "causal",
            "strong-session-si": "snapshot-isolation",
            "strong-session-ser": "serializable",
        },
        lambda path, level: ["verify", "--input-dir", str(path.parent), "--consistency", level],
        said(": PASS", ": FAIL"),
        note="version 0.2.0 rejects, at every level, a transaction that reads a key twice from one writer (it draws an "
        "edge from that writer to itself); there are some in longer histories.",
    ),
    Tool(
        "VeriStrong",
        "dbcop-bincode",
        "history.bincode",
        {"strong-session-si": "si", "strong-session-ser": "ser"},
        lambda path, level: ["--pruning", "fast", "--isolation-level", level, str(path)],
        said("^accept: true", "^accept: false"),
    ),
    Tool(
        "PolySI",
        "text",
        "history.txt",
        {"strong-session-si": "SI"},
        lambda path, _: ["audit", "--type=text", str(path)],
        said(r"\[ ACCEPT \]", r"\[ REJECT \]"),
    ),
    Tool(
        "TimeKiller",
        "timekiller",
        "history.json",
        {"si": "SI", "ser": "SER"},
        lambda path, level: ["--consistency_model", level, "--history_path", str(path)],
        said("^Satisfy S(I|ER)$", "^Do NOT satisfy"),
        ours=("--module", "commit-timestamps"),
        timed=True,
    ),
)


def executable(text: str) -> list[str]:
    """A path, a jar, or a whole launcher command."""
    if text.endswith(".jar") and " " not in text:
        return ["java", "-jar", text]
    return [text] if Path(text).exists() else shlex.split(text)


# ---------------------------------------------------------------- histories


def committed(history: History) -> Path:
    """Its committed transactions as JSON Lines; with `times`, those of the simulated database's own order."""
    path = DATA / f"peers-{history.short_name()}.jsonl"
    if path.exists():
        return path
    DATA.mkdir(exist_ok=True)
    whole, witness = path.with_suffix(".whole"), path.with_suffix(".witness")
    generate(replace(history, times=False), whole, witness)
    moments: dict[tuple[str, str], int] = {}
    if history.times:
        lines = (line.split() for line in witness.read_text().splitlines())
        moments = {(what, txn): n for n, (what, txn) in enumerate(lines, 1)}
    with whole.open() as file:
        aborted = {match[1] for line in file if ABORT in line and (match := TXN.search(line))}
    fresh = path.with_suffix(".part")
    with whole.open() as file, fresh.open("w") as out:
        for line in file:
            match = TXN.search(line)
            if match is None or match[1] not in aborted:
                out.write(with_time(line, match[1], moments) if moments and match else line)
    fresh.rename(path)
    whole.unlink()
    witness.unlink()
    return path


def with_time(line: str, txn: str, moments: dict[tuple[str, str], int]) -> str:
    for what, name in (("begin", "invoke"), ("commit", "return")):
        if f'"op":"{what}"' in line:
            return line.rstrip("}\n") + f',"{name}":{moments[what, txn]}}}\n'
    return line


def two_transactions(timed: bool) -> Path:
    """One writes, the next reads it: all that a command does on it is start."""
    path = DATA / f"peers-two{'-timed' if timed else ''}.jsonl"
    DATA.mkdir(exist_ok=True)
    lines = ['{"boomslang":1}']
    for n, op in ((1, "put"), (2, "get")):
        begin, end = (f',"invoke":{2 * n}', f',"return":{2 * n + 1}') if timed else ("", "")
        head = f'{{"session":"c{n}","txn":{n}'
        lines += [f'{head},"op":"begin"{begin}}}', f'{head},"op":"{op}","key":1,"value":1}}']
        lines.append(f'{head},"op":"commit"{end}}}')
    path.write_text("\n".join(lines) + "\n")
    return path


def converted(source: Path, format: str, file: str) -> Path:
    """The history in a format, in a folder of its own."""
    path = DATA / f"{source.stem}-{format}" / file
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        fresh = path.with_name(f"part-{file}")
        words = [*OURS, "convert", str(source), str(fresh), "--to", format, "--lossy"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment())
        if done.returncode != 0:
            raise SystemExit(f"{source} cannot be written as {format}: {done.stderr.strip()}")
        fresh.rename(path)
    return path


# ---------------------------------------------------------------- measuring


OURS = [sys.executable, "-m", "boomslang"]


def environment() -> dict[str, str]:
    """As a user has it: compiled Python files are kept."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True)
class Cost:
    """Of a command."""

    seconds: float
    megabytes: float
    code: int = 0
    output: str = ""
    over: bool = False
    """It was stopped at the limit."""
    full: bool = False
    """It was stopped because it took more memory than it may."""


LAUNCH = """
import json, os, resource, signal, sys, threading, time
limit, longest, pages = (int(word) for word in sys.argv[1:4])
report, words, full = sys.argv[4], sys.argv[5:], []
child = os.fork()
if not child:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    resource.setrlimit(resource.RLIMIT_CPU, (limit + 1, limit + 2))
    signal.alarm(longest)
    try:
        os.execvp(words[0], words)
    except OSError:
        os._exit(127)
def end_with_whoever_asked():
    os.read(0, 1)
    os.kill(child, signal.SIGKILL)
def end_when_memory_is_full():
    while not full:
        time.sleep(0.1)
        try:
            if int(open(f"/proc/{child}/statm").read().split()[1]) > pages:
                full.append(True)
                os.kill(child, signal.SIGKILL)
        except (OSError, IndexError):
            return
threading.Thread(target=end_with_whoever_asked, daemon=True).start()
if pages:
    threading.Thread(target=end_when_memory_is_full, daemon=True).start()
_, status, usage = os.wait4(child, 0)
told = os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss, bool(full)
open(report, "w").write(json.dumps(told))
"""
"""A process of the smallest size starts the command: the peak of a process begins with that of whoever forked it. When
its input ends, which is when we end, however that comes about, so does the command."""


def once(words: list[str], limit: float, most_megabytes: int = 0) -> Cost:
    """Run it, with a limit of CPU seconds (and of PATIENCE times as many by the clock), and of memory if one is given:
    what it really takes (on Linux), as Java asks for far more than that."""
    if shutil.which(words[0]) is None:
        raise SystemExit(f"found no executable {words[0]}; give the path of one")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        pages = (most_megabytes << 20) // resource.getpagesize()
        limits = [str(math.ceil(limit)), str(math.ceil(PATIENCE * limit) + 10), str(pages)]
        launch = [sys.executable, "-I", "-S", "-c", LAUNCH, *limits, str(report), *words]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            launch, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, env=environment()
        ) as process:
            assert process.stdout is not None
            output = process.stdout.read().decode(errors="replace")
            process.wait()
        code, seconds, peak, full = json.loads(report.read_text())
    over = not full and (-code in (signal.SIGXCPU, signal.SIGKILL, signal.SIGALRM) or seconds > limit)
    scale = 2**20 if sys.platform == "darwin" else 2**10
    return Cost(seconds, peak / scale, code, output, over, full)


def in_turns(commands: list[list[str]], repeat: int, limit: float) -> list[Cost]:
    """The median of each."""
    runs: list[list[Cost]] = [[] for _ in commands]
    for _ in range(repeat):
        for words, costs in zip(commands, runs, strict=True):
            if not costs or (costs[0].seconds < LONG and not costs[0].over):
                costs.append(once(words, limit))
    return [
        replace(
            costs[0],
            seconds=median(c.seconds for c in costs),
            megabytes=median(c.megabytes for c in costs),
        )
        for costs in runs
    ]


# ---------------------------------------------------------------- the comparison


@dataclass(frozen=True)
class Row:
    """One tool beside ours, on one history at one level."""

    history: str
    level: str
    tool: str
    verdict: str
    cost: Cost
    start: Cost
    our_verdict: str
    our_cost: Cost
    our_start: Cost

    def cells(self) -> list[str]:
        theirs, ours = work(self.cost, self.start), work(self.our_cost, self.our_start)
        ratio = f"{theirs / ours:.2f}" if not self.cost.over and not self.our_cost.over else ""
        told = [self.history, self.level, self.tool, self.verdict, *figures(self.cost, self.start)]
        return [*told, self.our_verdict, *figures(self.our_cost, self.our_start), ratio]

    @property
    def decided(self) -> bool:
        return {self.verdict, self.our_verdict} <= {VALID, INVALID}


def work(cost: Cost, start: Cost) -> float:
    """Seconds without start-up; a hundredth is as little as can be told apart."""
    return max(0.01, cost.seconds - start.seconds)


def figures(cost: Cost, start: Cost) -> list[str]:
    if cost.over:
        return ["", "", "", ""]
    more = max(0.0, cost.megabytes - start.megabytes)
    return [f"{cost.seconds:.2f}", f"{work(cost, start):.2f}", f"{cost.megabytes:.0f}", f"{more:.0f}"]


NAMES = (
    "transactions, sessions",
    "level",
    "tool",
    "verdict",
    "CPU s",
    "work s",
    "MB",
    "work MB",
    "ours",
    "CPU s",
    "work s",
    "MB",
    "work MB",
    "work, tool / ours",
)
WIDTHS = (22, 21, 10, 10, 7, 7, 6, 7, 8, 7, 7, 6, 7, 7)


def verdict_of(tool: Tool | None, cost: Cost, limit: float) -> str:
    if cost.over:
        return f"over {limit:g} s"
    return by_exit_code(cost.code, "") if tool is None else tool.verdict(cost.code, cost.output)


@dataclass
class Comparison:
    """Runs the tools that are there."""

    tools: dict[str, list[str]]
    """Name -> the words that start it."""
    repeat: int
    limit: float
    starts: dict[tuple[str, ...], Cost] = field(default_factory=dict)

    def start(self, words: list[str]) -> Cost:
        key = tuple(words)
        if key not in self.starts:
            (self.starts[key],) = in_turns([words], self.repeat, self.limit)
        return self.starts[key]

    def rows(self, sizes: list[tuple[int, int]], levels: set[str]) -> Iterator[Row]:
        for transactions, sessions in sizes:
            name = f"{transactions:,}, {sessions:,}"
            for tool in TOOLS:
                if tool.name not in self.tools:
                    continue
                small = converted(two_transactions(tool.timed), tool.format, tool.file)
                for level, word in tool.levels.items():
                    if levels and level not in levels:
                        continue
                    # By its timestamps only a database with snapshots has snapshot isolation.
                    promise = "si" if tool.timed and level == "si" else "ser"
                    history = replace(BLINDW, level=promise, transactions=transactions, sessions=sessions)
                    source = committed(replace(history, times=tool.timed))
                    path = converted(source, tool.format, tool.file)
                    yield self.row(name, tool, level, word, path, small)

    def row(self, name: str, tool: Tool, level: str, word: str, path: Path, small: Path) -> Row:
        theirs = [[*self.tools[tool.name], *tool.words(p, word)] for p in (path, small)]
        ours = [[*OURS, "check", str(p), "--level", level, *tool.ours] for p in (path, small)]
        cost, our_cost = in_turns([theirs[0], ours[0]], self.repeat, self.limit)
        return Row(
            name,
            level,
            tool.name,
            verdict_of(tool, cost, self.limit),
            cost,
            self.start(theirs[1]),
            verdict_of(None, our_cost, self.limit),
            our_cost,
            self.start(ours[1]),
        )


# ---------------------------------------------------------------- start-up, statistics, reading

READ = "import sys; from boomslang import read_trace; read_trace(sys.argv[1])"


def startup(run: Comparison) -> tuple[list[str], str]:
    """A check of two transactions beside the import of NumPy, which both need."""
    check = [*OURS, "check", str(two_transactions(False)), "--level", "ser"]
    bare = [sys.executable, "-c", "import numpy"]
    once(check, run.limit)  # compiles what has not been compiled yet
    ours, numpy = in_turns([check, bare], 3 * run.repeat, run.limit)
    cells = [f"{ours.seconds:.3f}", f"{numpy.seconds:.3f}", f"{ours.seconds / numpy.seconds:.2f}"]
    return cells, f"start-up: {cells[0]} s, import numpy {cells[1]} s, ratio {cells[2]} (to reach: 1.5)"


def counting(run: Comparison, sizes: list[tuple[int, int]]) -> Iterator[list[str]]:
    """`stats` beside `check --level rc`, on text."""
    for transactions, sessions in sizes:
        path = converted(
            committed(replace(BLINDW, transactions=transactions, sessions=sessions)), "text", "history.txt"
        )
        stats, check = in_turns(
            [[*OURS, "stats", str(path)], [*OURS, "check", str(path), "--level", "rc"]], run.repeat, run.limit
        )
        yield [
            f"{transactions:,}, {sessions:,}",
            f"{stats.seconds:.2f}",
            f"{check.seconds:.2f}",
            f"{stats.seconds / check.seconds:.2f}",
        ]


def reading(run: Comparison, sizes: list[tuple[int, int]]) -> Iterator[list[str]]:
    """Reading alone, without start-up; beside a tool that can do that, the same file."""
    for transactions, sessions in sizes:
        source = committed(replace(BLINDW, transactions=transactions, sessions=sessions))
        for format, file in (("text", "history.txt"), ("awdit", "history.awdit"), ("jsonl", "history.jsonl")):
            path = source if format == "jsonl" else converted(source, format, file)
            two = two_transactions(False)
            small = two if format == "jsonl" else converted(two, format, file)
            commands = [[sys.executable, "-c", READ, str(p)] for p in (path, small)]
            tool = next((t for t in TOOLS if t.reading and t.name in run.tools), None)
            beside = format != "jsonl" and tool is not None
            if beside:
                assert tool is not None and tool.reading is not None
                extra = ["--format", "test"] if format == "awdit" else []
                commands += [[*run.tools[tool.name], *tool.reading(p), *extra] for p in (path, small)]
            costs = in_turns(commands, run.repeat, run.limit)
            ours = work(costs[0], costs[1])
            row = [f"{transactions:,}, {sessions:,}", format, f"{ours:.2f}", f"{costs[0].megabytes:.0f}"]
            if beside:
                theirs = work(costs[2], costs[3])
                row += [f"{theirs:.2f}", f"{costs[2].megabytes:.0f}", f"{theirs / ours:.2f}"]
            yield row + [""] * (7 - len(row))


# ---------------------------------------------------------------- the page


def disagreements(rows: list[Row]) -> list[str]:
    """In words, each history and level on which a tool says otherwise than ours, or gives no verdict."""
    told = []
    for row in rows:
        if row.decided and row.verdict != row.our_verdict:
            told.append(
                f"{row.tool} says {row.verdict}, Boomslang {row.our_verdict}: {row.history} sessions, {row.level}."
            )
        elif not row.decided:
            told.append(
                f"No verdict to compare: {row.tool} {row.verdict}, Boomslang {row.our_verdict}: "
                f"{row.history} sessions, {row.level}."
            )
    return told


def columns(tools: dict[str, list[str]]) -> list[str]:
    """Which tools were measured, and which are missing."""
    there = [tool.name for tool in TOOLS if tool.name in tools]
    missing = [tool.name for tool in TOOLS if tool.name not in tools]
    lines = [f"Measured: {', '.join(there)}." if there else "Measured: none of the others."]
    if missing:
        lines.append(f"Missing, as no path to an executable was given: {', '.join(missing)}.")
    return lines


def paragraphs(run: Comparison, rows: list[Row], cells: list[str]) -> list[str]:
    told = disagreements(rows)
    verdicts = ["All verdicts agree."] if rows and not told else [f"- {line}" for line in told]
    heading = ["## Verdicts on which tools disagree, or that are missing"] if told else []
    return [
        "Other checkers beside Boomslang, each as a whole command on the same file, in the tool's own format. The "
        "histories are valid: BlindW, 8 operations a transaction, half of them writes, 10,000 keys, from a simulated "
        "serializable database (from one with snapshots where timestamps are checked at `si`). Seconds are user and "
        "system time; *work* is what is left without start-up, which is the same command on two transactions. Ratios "
        "above 1 say that Boomslang took less.",
        " ".join(columns(run.tools)),
        *heading,
        "\n".join(verdicts) if verdicts else "No history was compared.",
        "## Start-up",
        f"`boomslang check` of two transactions: {cells[0]} s; `python -c 'import numpy'`: {cells[1]} s; ratio "
        f"{cells[2]} (to reach: 1.5).",
    ]


def sections(rows: list[Row], counted: list[list[str]], read: list[list[str]]) -> list[str]:
    sized = "transactions, sessions"
    lines = ["## `stats` beside `check --level rc`", ""]
    lines += table((sized, "stats, CPU s", "check, CPU s", "ratio"), counted)
    lines += ["", "## Reading alone", ""]
    names = (sized, "format", "ours, work s", "MB", "AWDIT's stats, work s", "MB", "work, AWDIT / ours")
    lines += table(names, read, words=2)
    if rows:
        lines += ["", "## Checking", ""]
        lines += table(NAMES, [row.cells() for row in rows], words=4)
    return lines


def given_arguments(arguments: list[str]) -> tuple[Comparison, list[tuple[int, int]], set[str], bool]:
    made = parser(__doc__, "peers")
    made.add_argument("size", nargs="?", choices=[*SIZES, "all"], default="standard")
    for tool in TOOLS:
        text = f"{tool.name}: an executable, a jar, or the words that start it"
        made.add_argument(f"--{tool.option}", metavar="PATH", help=text)
    made.add_argument("--repeat", type=int, default=3, help="runs of which the median counts")
    made.add_argument("--limit", type=float, default=120.0, help="CPU seconds of a command")
    made.add_argument("--levels", default="", help="only these, with commas")
    given = made.parse_args(arguments)
    tools = {tool.name: executable(path) for tool in TOOLS if (path := getattr(given, tool.option))}
    sizes = SIZES["standard"] + SIZES["million"] if given.size == "all" else SIZES[given.size]
    return (
        Comparison(tools, given.repeat, given.limit),
        sizes,
        set(filter(None, given.levels.split(","))),
        given.write,
    )


def main(arguments: list[str]) -> int:
    run, sizes, levels, write = given_arguments(arguments)
    for line in columns(run.tools):
        print(line)
    cells, line = startup(run)
    print(line)
    # One of each size: how many sessions there are matters little here.
    each = list({transactions: (transactions, sessions) for transactions, sessions in sizes}.values())
    counted, read = [], []
    for row in counting(run, each):
        print(f"stats beside check: {', '.join(row)}", flush=True)
        counted.append(row)
    for row in reading(run, each):
        print(f"reading: {', '.join(row)}", flush=True)
        read.append(row)
    rows: list[Row] = []
    if run.tools:
        print(shown(NAMES, WIDTHS))
    for found in run.rows(sizes, levels):
        rows.append(found)
        print(shown(found.cells(), WIDTHS), flush=True)
    for line in disagreements(rows):
        print(line)
    if write:
        page(
            "benchmarks-peers",
            "Beside other checkers",
            paragraphs(run, rows, cells),
            sections(rows, counted, read),
            command_words(arguments),
            script="peers",
        )
    return 1 if any(row.our_verdict not in (VALID, f"over {run.limit:g} s") for row in rows) else 0


def command_words(arguments: list[str]) -> list[str]:
    """As they were given, without the folders of this machine."""
    options = {f"--{tool.option}" for tool in TOOLS}
    words, path_next = [], False
    for word in arguments:
        parts = [word] if not path_next or Path(word).exists() else shlex.split(word)
        words.append(shlex.quote(" ".join(Path(part).name if "/" in part else part for part in parts)))
        path_next = word in options
    return words


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
