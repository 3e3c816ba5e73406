"""Which texts are alike to the relay (native/wire/plain.hpp): values are taken out where that is certain."""

from __future__ import annotations

import pytest

from boomslang.record.wire._relay import skeleton


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT * FROM t WHERE id = 5", "SELECT * FROM t WHERE id = 617"),
        ("INSERT INTO t VALUES (1, 'a')", "INSERT INTO t VALUES (22, 'b; DROP TABLE t')"),
        ("UPDATE t SET x = 1.5 WHERE id=3", "UPDATE t SET x = 2 WHERE id=4"),
    ],
)
def test_values_make_no_difference(one: str, other: str) -> None:
    assert skeleton(one.encode()) == skeleton(other.encode())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT * FROM t1", "SELECT * FROM t2"),
        ("SELECT * FROM t WHERE id = $1", "SELECT * FROM t WHERE id = $2"),
        ('SELECT * FROM "t1"', 'SELECT * FROM "t2"'),
        ("SELECT * FROM `t1`", "SELECT * FROM `t2`"),
        ("SELECT 1 -- 'a", "SELECT 1 -- 'b"),
        ("SELECT 1 /* 1 */", "SELECT 1 /* 2 */"),
        ("SELECT 'a\\'' FROM t -- '", "SELECT 'a\\'' FROM u -- '"),
        ("SELECT $$a$$", "SELECT $$b$$"),
        ("SELECT 'a' FROM t", "SELECT 'a' FROM u"),
        ("SELECT 'a', x FROM \"it's\" WHERE y = 'b'", "SELECT 'a', x FROM \"it's\" WHERE z = 'b'"),
        ("SELECT 0x10", "SELECT 0x20"),
        ("SELECT 1e5", "SELECT 2e5"),
        ("SELECT a.1", "SELECT a.2"),
        ("SELECT 'a", "SELECT 'b"),
    ],
)
def test_names_and_all_that_is_not_certain_do(one: str, other: str) -> None:
    assert skeleton(one.encode()) != skeleton(other.encode())
