"""A head start changes nothing: the same trace, the same errors, and it is given up where it is not wanted."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from boomslang.trace import TraceError, begun, read_trace


@pytest.fixture(autouse=True)
def cores_enough(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(begun, "all_cores", lambda: 2)
    monkeypatch.setattr(begun, "LEAST", 1)
    yield
    begun.given_up()


def written(path: Path, transactions: int = 40_000, also: str = "") -> Path:
    with path.open("w") as file:
        for t in range(transactions):
            start = 4 * t
            file.write(f'{{"op": "begin", "session": "s{t % 7}", "txn": {t}, "invoke": {start}}}\n')
            file.write(
                f'{{"op": "put", "session": "s{t % 7}", "txn": {t}, "key": "k{t % 100}", "value": {t}}}\n'
            )
            file.write(f'{{"op": "commit", "session": "s{t % 7}", "txn": {t}, "return": {start + 2}}}\n')
        file.write(also)
    return path


def same(a: object, b: object) -> bool:
    return set(vars(a)) == set(vars(b)) and all(
        np.array_equal(x, y) if isinstance(x := vars(a)[name], np.ndarray) else repr(x) == repr(y)
        for name, y in vars(b).items()
        if not hasattr(y, "offset")
    )


def test_what_has_begun_is_gone_on_with(tmp_path: Path) -> None:
    path = written(tmp_path / "trace.jsonl")
    plain = read_trace(path, jobs=2)
    begun.begin([str(path), "--level", "ser"])
    mine = begun._begun
    assert mine is not None
    seen: list[int] = []
    trace = read_trace(path, jobs=2, progress=lambda done, _total: seen.append(done))
    assert begun._begun is None and mine.file.closed
    assert same(trace, plain) and list(trace.keys) == list(plain.keys)
    assert seen == sorted(seen)


def test_a_second_reading_starts_anew(tmp_path: Path) -> None:
    path = written(tmp_path / "trace.jsonl", 100)
    begun.begin([str(path)])
    assert len(read_trace(path, jobs=2)) == len(read_trace(path, jobs=2)) == 100


@pytest.mark.parametrize(
    "also",
    ['{"op": "gett"}\n', '{"op": "begin", "session": "s5", "txn": 5}\n', "{broken\n", '{"op": "begin", "ses'],
)
def test_mistakes_are_told_as_ever(tmp_path: Path, also: str) -> None:
    path = written(tmp_path / "trace.jsonl", 300, also)

    def told() -> str:
        try:
            return "\n".join(read_trace(path, jobs=2).warnings)
        except TraceError as error:
            return str(error)

    expected = told()
    begun.begin([str(path)])
    assert begun._begun is not None
    begun._begun._thread.join()  # it has met the mistake before anybody asked
    assert told() == expected and expected


@pytest.mark.parametrize(
    "words",
    [
        ["--jobs", "1"],
        ["--jobs=1"],
        ["--jobs", "many"],
        ["--memory", "500"],
        ["--memory=500"],
        ["--stream"],
        ["--on", "ray"],
        ["--format", "jsonl"],
    ],
)
def test_left_to_others(tmp_path: Path, words: list[str]) -> None:
    begun.begin([str(written(tmp_path / "trace.jsonl", 10)), *words])
    assert begun._begun is None


def test_only_one_file_of_our_own_lines(tmp_path: Path) -> None:
    a, b = written(tmp_path / "a.jsonl", 10), written(tmp_path / "b.jsonl", 10)
    begun.begin([str(a), str(b)])
    assert begun._begun is None
    begun.begin([str(tmp_path), str(tmp_path / "absent.jsonl")])
    assert begun._begun is None
    other = tmp_path / "other.jsonl"
    other.write_text('[{"op": "begin"}]\n')
    begun.begin([str(other)])
    assert begun.taken(other, 2) is None


def test_another_file_and_other_jobs_are_not_it(tmp_path: Path) -> None:
    a, b = written(tmp_path / "a.jsonl", 10), written(tmp_path / "b.jsonl", 20)
    begun.begin([str(a), "--jobs", "2"])
    assert len(read_trace(b, jobs=2)) == 20
    begun.begin([str(a), "--jobs", "2"])
    assert len(read_trace(a, jobs=3)) == 10
    begun.begin([str(a)])
    a.unlink()
    written(a, 30)  # another file of that name
    assert len(read_trace(a, jobs=2)) == 30


def test_the_command_takes_it(tmp_path: Path) -> None:
    path = written(tmp_path / "trace.jsonl", 2_000)
    program = (
        "import sys\n"
        "from boomslang.trace import begun\n"
        "begun.LEAST, begun.all_cores = 1, lambda: 2\n"
        "taken = begun.taken\n"
        "def told(path, jobs):\n"
        "    found = taken(path, jobs)\n"
        "    print('taken' if found else 'read', file=sys.stderr)\n"
        "    return found\n"
        "begun.taken = told\n"
        "from boomslang.cli.entry import run\n"
        "run()\n"
    )

    def ran(*words: str) -> tuple[str, str, int]:
        done = subprocess.run(
            [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False
        )
        return done.stdout.split("\n\nread in")[0], done.stderr, done.returncode

    out, err, code = ran("check", str(path), "--level", "ser", "--jobs", "2")
    assert (err, code) == ("taken\n", 0) and "valid" in out
    assert ran("check", str(path), "--level", "ser", "--jobs", "1") == (out, "read\n", 0)
    assert ran("check", str(path), "--level", "nonsense")[2] == 254
    assert ran("check", str(path), str(path), "--level", "ser")[2] == 0
