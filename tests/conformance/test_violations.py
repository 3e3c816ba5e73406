"""Every public violation has the name that is documented for it, or a note that says why another is right."""

from __future__ import annotations

import pytest
from pages.violations import NAMED, PAGE, REAL, cases, histories, of_case, of_history, page
from support.public_cases import CORPUS, Case

HISTORIES = [history for history in histories() if history.path in REAL]
CASES = cases()
pytestmark = pytest.mark.skipif(not CASES, reason=f"no corpus in {CORPUS}: set BOOMSLANG_CORPUS")


@pytest.mark.parametrize("history", HISTORIES, ids=[history.path for history in HISTORIES])
def test_a_violation_of_a_real_database(history: object) -> None:
    row = of_history(history)  # type: ignore[arg-type]
    assert row.called
    assert row.agrees or row.note or not row.documented
    assert all(len(list(found.lines())) < 40 for found in row.found)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_case_that_names_an_anomaly(case: Case) -> None:
    row = of_case(case)
    assert row.called
    assert row.agrees or row.note


def test_every_name_is_of_some_case() -> None:
    assert set(REAL) == {history.path for history in HISTORIES}
    used = {row.documented for row in map(of_case, CASES)}
    assert used == {word for _, word in NAMED}


@pytest.mark.full
def test_the_page_shows_what_is_found() -> None:
    assert PAGE.read_text() == page(), "run `PYTHONPATH=tests:benchmarks python -m pages.violations`"
