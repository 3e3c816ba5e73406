"""The pytest plugin, in tests of its own: pytester runs them in a process beside ours."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from support.histories import get, history, put, txn

import boomslang
from boomslang import Trace
from boomslang.assertion import assert_isolation

pytest_plugins = ["pytester"]

REPORTS = importlib.util.find_spec("boomslang.report") is not None
LOAD = ("-p", "no:boomslang", "-p", "boomslang.pytest_plugin", "-p", "no:cacheprovider")
"""The plugin by its module, whether or not an installed Boomslang would load it."""


def lost_update() -> Trace:
    return history(txn("A", get("x", 0), put("x", 1)), txn("B", get("x", 0), put("x", 2)), initial={"x": 0})


@pytest.fixture(autouse=True)
def found_from_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests of the tests run in folders of their own, without other plugins, which would take longer than they."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(boomslang.__file__).parent.parent))


def run(pytester: pytest.Pytester, text: str, *words: str) -> pytest.RunResult:
    pytester.makepyfile(text)
    return pytester.runpytest_subprocess(*LOAD, "-q", *words, timeout=120)


BUILT = """
    import boomslang

    def trace():
        history = boomslang.TraceBuilder(initial={"x": 0})
        for session in ("alice", "bob"):
            with history.transaction(session=session) as t:
                t.get("x", 0)
                t.put("x", session)
        return history.build()
"""


def test_a_violation_fails_with_the_story_and_the_report_s_path(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        BUILT
        + """
    def test_it(assert_isolation):
        assert_isolation(trace(), "si")
    """,
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*AssertionError: this is not snapshot isolation:*",
            "*lost-update (lost update): two transactions read the same version of a key and both overwrote it*",
            "*1. T0 read 'x' = 0 (operation 2), the initial value*",
            "*=> a cycle: T0 -ww('x')-> T1 -rw('x')-> T0*",
            "*report: *isolation-report.html*" if REPORTS else "*report: none*",
        ]
    )
    assert "def assert_isolation(" not in result.stdout.str(), (
        "the assertion's own lines are of no use to a reader"
    )


def test_what_holds_passes(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        BUILT
        + """
    def test_it(assert_isolation):
        assert assert_isolation(trace(), "read committed").valid
    """,
    )
    result.assert_outcomes(passed=1)


def test_the_fixtures_and_the_marker_are_documented(pytester: pytest.Pytester) -> None:
    result = run(pytester, "", "--fixtures", "-v")
    result.stdout.fnmatch_lines(["*isolation_tracer*", "*Records the transactions of a test*"])
    result = run(pytester, "", "--markers")
    result.stdout.fnmatch_lines(["@pytest.mark.isolation_trace(initial=..., clock=...)*"])


def test_the_tracer_records_and_what_it_recorded_is_checked(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
    import pytest

    def clients(tracer):
        # Both look before either writes: what a database under read committed may let happen.
        sessions = [tracer.session(name) for name in ("alice", "bob")]
        for session in sessions:
            session.log("begin")
            session.log("get", ("x",), 0)
        for n, session in enumerate(sessions):
            session.log("put", ("x", n + 1))
            session.log("commit")
        for session in sessions:
            session.close()

    @pytest.mark.isolation_trace(initial={"x": 0})
    def test_it_breaks(isolation_tracer, assert_isolation):
        clients(isolation_tracer)
        assert_isolation(isolation_tracer, "si")

    def test_it_holds(isolation_tracer, assert_isolation):
        clients(isolation_tracer)
        assert_isolation(isolation_tracer, "read committed")

    @pytest.mark.isolation_trace("empty")
    def test_a_wrong_marker(isolation_tracer):
        pass
    """,
        "--strict-markers",
    )
    result.assert_outcomes(failed=1, passed=1, errors=1)
    result.stdout.fnmatch_lines(["*expected named arguments*", "*lost-update (lost update)*"])


# --- the assertion, without the plugin


def test_the_assertion_says_all() -> None:
    with pytest.raises(AssertionError) as failure:
        assert_isolation(lost_update(), "si")
    lines = str(failure.value).splitlines()
    assert lines[0] == "this is not snapshot isolation:"
    assert any(line.startswith("=> a cycle: ") for line in lines)
    assert lines[-1].startswith("report: ")
    if REPORTS:
        Path(lines[-1].removeprefix("report: ")).unlink()


def test_a_path_will_do(tmp_path: Path) -> None:
    from boomslang.trace import write_trace

    path = tmp_path / "trace.jsonl"
    write_trace(lost_update(), path)
    assert_isolation(path, "rc")
    assert_isolation(str(path), "rc")
    with pytest.raises(AssertionError, match=r"trace\.jsonl:"):
        assert_isolation(path, "ser", report=tmp_path / "new folder" / "report.html")
    assert (tmp_path / "new folder" / "report.html").exists() == REPORTS


def test_what_cannot_be_decided_fails() -> None:
    with pytest.raises(AssertionError, match="not known whether this is strict serializable: no times"):
        assert_isolation(history(txn("A", put("x", 1))), "sser")


def test_what_nobody_recorded_fails(tmp_path: Path) -> None:
    tracer = boomslang.Tracer(tmp_path / "unused")
    with pytest.raises(
        AssertionError, match="not known whether this is serializable: there is no transaction"
    ):
        assert_isolation(tracer)
    session = tracer.session()
    session.log("begin")
    session.log("put", ("x", 1))
    with pytest.raises(AssertionError, match="the only transaction is not known to have committed"):
        assert_isolation(tracer)
    session.log("commit")
    assert assert_isolation(tracer).valid


def test_a_module_that_is_broken_is_named(tmp_path: Path) -> None:
    trace = history(txn("A", put("x", 1)), txn("B", get("x", 1)), txn("B", get("x", 0)), initial={"x": 0})
    with pytest.raises(AssertionError, match="this is not read committed with monotonic-reads:"):
        assert_isolation(trace, "rc", modules=["monotonic-reads"], report=tmp_path / "report.html")
