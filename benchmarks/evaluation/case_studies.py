"""The case studies of the paper's evaluation: nine of them, each in a row with where it is here."""

from __future__ import annotations

from evaluation.figure import NOT_HERE, Shown, table
from evaluation.lines_of_code import lines_of
from evaluation.plan import Plan


def case_studies(plan: Plan) -> Shown:
    mariadb = lines_of(["modules/shipped/mariadb_repeatable_read.py"])
    own = lines_of(["modules/shipped/read_own_writes.py"])
    finding = "findings/mariadb-same-value.md"
    rows = [
        [
            "1: a new bug in TiDB",
            "found in TiDB 8.5.4",
            f"{NOT_HERE} a TiDB server; [MariaDB's kin of it]({finding})",
        ],
        [
            "2: bugs in PostgreSQL 12.3 and MariaDB 10.6",
            "within tens of runs",
            f"[hunts](benchmarks-hunts.md); [12.3](findings/postgres-list-birth.md), [MariaDB]({finding})",
        ],
        [
            "3: a file system's metadata",
            "JuiceFS on TiKV",
            "the row JuiceFS above; [a finding](findings/juicefs-create-rmdir.md)",
        ],
        [
            "4: MariaDB's repeatable read",
            "85 lines",
            f"a module of {mariadb} lines; level `mariadb-repeatable-read`",
        ],
        [
            "5: reads of one's own writes",
            "3 policies, 38 lines",
            f"4 policies (one is `inferred`), {own} lines",
        ],
        ["6: timestamp inversion", "a trace of Tapir", f"{NOT_HERE} the authors' trace"],
        [
            "7: new checkers",
            "8 checkers, under 370 lines each",
            "[lines](#lines-of-code-of-each-checker); [one of your own](write-a-level.md)",
        ],
        ["8: earlier checkers again", "3 checkers", "[5 encodings](#lines-of-code-of-earlier-checkers)"],
        [
            "9: a fair comparison",
            "Viper's encoding ahead of PolySI's",
            "[the two on one back end](#polysis-and-vipers-encodings-of-si)",
        ],
    ]
    return Shown(table(("case", "the paper", "here"), rows))
