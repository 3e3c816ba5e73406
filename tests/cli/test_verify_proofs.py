"""`boomslang verify` of proofs that need no solver: right without Z3, WRONG or a clear error for whatever else is
there, and never a traceback. And the other ways to show such an answer."""

from __future__ import annotations

import copy
import json
import os
import random
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.commands import environment, program
from support.histories import get, history, put, txn

from boomslang.cli import exit_codes
from boomslang.cli.main import main
from boomslang.trace import Trace, write_trace


def counted() -> Trace:
    """x was 5 seven times, and eight took it from 5."""
    rows = [txn("a", get("x", 5), put("x", 4))] * 8 + [txn("b", get("x", 4), put("x", 5))] * 6
    return history(*rows, initial={"x": 5})


def skewed() -> Trace:
    """Nobody is on call, and whoever went off had seen the other."""
    rows = [
        txn("a", get("a", 1), get("b", 1), put("a", 0)),
        txn("b", get("a", 1), get("b", 1), put("b", 0)),
    ] * 4
    back = [txn("c", put("a", 1)), txn("c", put("b", 1))] * 4
    return history(*rows, *back, txn("d", get("a", 0), get("b", 0)), initial={"a": 1, "b": 1})


@pytest.fixture(params=[counted, skewed])
def proved(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    """A trace, and the certificate that it is not serializable."""
    trace, certificate = tmp_path / "trace.jsonl", tmp_path / "certificate.json"
    write_trace(request.param(), trace)
    assert main(["check", str(trace), "--level", "ser", "--quiet", "--certificate", str(certificate)]) == 1
    assert json.loads(certificate.read_text())["core"]["proof"]["kind"] in ("counting", "states")
    return trace, certificate


def test_it_needs_no_solver(proved: tuple[Path, Path], tmp_path: Path) -> None:
    folder = tmp_path / "no-z3"
    folder.mkdir()
    (folder / "z3.py").write_text("raise ImportError('not here')\n")
    path = os.pathsep.join([str(folder), environment()["PYTHONPATH"]])
    ran = program("verify", *proved, PYTHONPATH=path)
    assert ran.code == 0 and ran.out.startswith("right: ") and ran.err == ""
    data = json.loads(proved[1].read_text())
    del data["core"]["proof"]
    proved[1].write_text(json.dumps(data))
    ran = program("verify", *proved, PYTHONPATH=path)
    assert ran.code == exit_codes.USAGE and "pip install 'boomslang-checker[z3]'" in ran.err


def test_it_says_what_shows_it(proved: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", *map(str, proved)]) == 0
    out = capsys.readouterr().out
    counts = "8 transactions read 'x' and overwrote it, and there were fewer versions of it to overwrite"
    states = "nothing that happened leads out of its 3 states, and what T16 saw fits none of them"
    assert counts in out or states in out


def test_modules_and_encodings_do_not_go_with_it(
    proved: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for more in ({"modules": ["session-order"]}, {"encoding": "cobra"}):
        data = json.loads(proved[1].read_text()) | more
        proved[1].write_text(json.dumps(data))
        assert main(["verify", *map(str, proved)]) == exit_codes.INVALID
        assert "takes no modules and no encoding" in capsys.readouterr().out


STRANGE: tuple[Any, ...] = (
    None, True, -1, 0, 10**30, -(10**30), 1e400, 0.5, "", "0", [], [[]], [None], [[0, 0, 0]], {}, {"kind": "states"},
)  # fmt: skip


def _damaged(rng: random.Random, data: Any) -> Any:
    """The data with something in it replaced, left out or there twice."""
    data = copy.deepcopy(data)
    at, key = None, None
    while isinstance(data if at is None else at[key], (list, dict)) and (data if at is None else at[key]):
        inner = data if at is None else at[key]
        at, key = inner, rng.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
        if rng.random() < 0.3:
            break
    if at is None:
        return rng.choice(STRANGE)
    match rng.randrange(4):
        case 0:
            del at[key]
        case 1 if isinstance(at, list):
            at.append(at[key])
        case 2 if isinstance(at[key], int):
            at[key] += rng.choice((-1, 1, 2))
        case _:
            at[key] = rng.choice(STRANGE)
    return data


def test_damaged_proofs_are_wrong_or_an_error(
    proved: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    rng, whole = random.Random(7), json.loads(proved[1].read_text())
    codes: Counter[int] = Counter()
    for _ in range(150):
        data = copy.deepcopy(whole)
        data["core"]["proof"] = _damaged(rng, data["core"]["proof"])
        proved[1].write_text(json.dumps(data))
        code = main(["verify", *map(str, proved)])
        out, err = capsys.readouterr()
        codes[code] += 1
        assert "Traceback" not in err
        starts = {exit_codes.VALID: out.startswith("right"), exit_codes.INVALID: out.startswith("WRONG")}
        assert starts.get(code, code == exit_codes.USAGE and "a damaged certificate" in err), (data, out, err)
    assert codes[exit_codes.INVALID] > 30 and codes[exit_codes.USAGE] > 30
    assert codes[exit_codes.VALID] < 15  # what changed was not needed


# --- the other ways to show the answer


@pytest.mark.parametrize(
    "command", [("check",), ("check", "--all"), ("check", "--all", "3"), ("explain",), ("explain", "--all")]
)
def test_it_is_shown_everywhere(
    proved: tuple[Path, Path], command: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = [command[0], str(proved[0]), "--level", "ser", *command[1:]]
    for output in ("text", "json", "dot", "sarif", "junit"):
        code = main([*words, "--output", output])
        out, err = capsys.readouterr()
        assert code == exit_codes.INVALID and out and "Traceback" not in err
        if output in ("json", "sarif"):
            json.loads(out)
        if output == "junit":
            ElementTree.fromstring(out)
    report = tmp_path / "report.html"
    assert main([*words, "--quiet", "--report", str(report)]) == exit_codes.INVALID
    assert "<html" in report.read_text()
