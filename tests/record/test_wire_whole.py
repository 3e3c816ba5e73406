"""Questions and answers in one piece: recognized only if they are, and texts are taken apart as word by word."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest
from support.effort import examples

from boomslang.record.wire._relay import (
    literals,
    mysql_answer,
    mysql_text_row,
    postgres_answer,
    postgres_request,
)
from boomslang.record.wire.mysql import texts
from boomslang.record.wire.mysql.literals import taken_out
from boomslang.record.wire.mysql.packets import framed
from boomslang.record.wire.mysql.templates import Taken, Templates
from boomslang.record.wire.postgres.messages import message

ROW = message(b"D", b"\0\2" + struct.pack("!i", 2) + b"42" + struct.pack("!i", -1))
DONE = message(b"C", b"SELECT 1\0")
READY = message(b"Z", b"I")
BIND = message(b"B", b"\0s1\0\0\1\0\1\0\2" + struct.pack("!i", 1) + b"7" + struct.pack("!i", -1) + b"\0\0")
EXECUTE = message(b"E", b"\0\0\0\0\0") + message(b"S", b"")
DESCRIBE = message(b"D", b"P\0")
PARSE = message(b"P", b"s1\0SELECT 1\0\0\0")
REQUESTS = [
    BIND + EXECUTE,
    BIND + DESCRIBE + EXECUTE,
    PARSE + BIND + DESCRIBE + EXECUTE,
    message(b"Q", b"SELECT 1\0"),
]
ANSWERS = [
    message(b"2", b"") + message(b"T", b"..") + ROW + ROW + DONE + READY,
    message(b"1", b"") + message(b"2", b"") + message(b"n", b"") + DONE + READY,
    message(b"2", b"") + DONE + READY,
    DONE + message(b"Z", b"T"),
]
OK = framed(b"\0\1\0\2\0\0\0", 1)
COLUMN = b"\3def\0\0\0\1n\0\x0c\x3f\0\x0b\0\0\0\3\0\0\0\0\0"
RESULT = framed(b"\1", 1) + framed(COLUMN, 2) + framed(b"\xfe\0\0\2\0", 3) + framed(b"\00242", 4)
RESULT += framed(b"\xfb", 5) + framed(b"\xfe\0\0\2\0", 6)


def test_what_is_whole_is_taken_apart() -> None:
    assert postgres_request(REQUESTS[0]) == (b"s1", (1,), (b"7", None), (), False, None)
    assert postgres_request(REQUESTS[1]) == (b"s1", (1,), (b"7", None), (), True, None)
    assert postgres_request(REQUESTS[2]) == (b"s1", (1,), (b"7", None), (), True, b"s1\0SELECT 1\0\0\0")
    assert postgres_request(REQUESTS[3]) == (b"SELECT 1",)
    rows = [(b"42", None), (b"42", None)]
    assert postgres_answer(ANSWERS[0]) == (False, True, True, b"..", rows, b"SELECT 1", b"I")
    assert postgres_answer(ANSWERS[1]) == (True, True, True, None, [], b"SELECT 1", b"I")
    assert postgres_answer(ANSWERS[3]) == (False, False, False, None, [], b"SELECT 1", b"T")
    assert mysql_answer(OK, True) == (b"\0\1\0\2\0\0\0", (), [], b"", 1)
    assert mysql_answer(RESULT, True) == (None, (COLUMN,), [b"\00242", b"\xfb"], b"\xfe\0\0\2\0", 6)
    assert mysql_text_row(b"\00242\xfb\0") == (b"42", None, b"")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        REQUESTS[3] * 2,  # two at a time
        message(b"Q", b"SELECT 1\0;\0"),
        message(b"B", b"portal\0s1\0\0\0\0\0\0\0") + EXECUTE,  # one that may be executed again
        BIND + message(b"E", b"\0\0\0\0\5") + message(b"S", b""),  # rows in pieces
        BIND + message(b"D", b"Ss1\0") + EXECUTE,
        BIND + EXECUTE + message(b"S", b""),
        message(b"S", b""),
        message(b"X", b""),
        message(b"B", b"\0s1\0\0\0\xff\xff\0\0") + EXECUTE,
    ],
)
def test_what_is_more_than_that_is_no_question(data: bytes) -> None:
    assert postgres_request(data) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        READY,
        DONE + message(b"Z", b"E"),
        DONE + READY + READY,
        DONE + DONE + READY,
        message(b"E", b"SERROR\0\0") + READY,
        message(b"N", b"SNOTICE\0\0") + DONE + READY,
        message(b"S", b"a\0b\0") + DONE + READY,
        message(b"D", b"\0\2\0\0\0\1x") + DONE + READY,
        ROW + message(b"s", b"") + READY,
    ],
)
def test_what_is_more_than_that_is_no_answer(data: bytes) -> None:
    assert postgres_answer(data) is None


def test_what_is_more_than_that_is_no_answer_of_mysql() -> None:
    for data in (
        b"",
        OK + OK,
        framed(b"\xff\x15\x04#28000no", 1),
        framed(b"\xfbfile", 1),
        framed(b"", 1),
        RESULT + OK,
    ):
        assert mysql_answer(data, True) is None
    assert mysql_answer(framed(b"\0\0\0\2\0\0\0", 2), True) is None  # a number that is not the next
    assert mysql_text_row(b"\5ab") is None and mysql_text_row(b"\xff") is None


def test_nothing_that_is_cut_or_damaged_is_whole_or_breaks_it() -> None:
    for data in (*REQUESTS, *ANSWERS, OK, RESULT):
        readers: list[Any] = [
            postgres_request,
            postgres_answer,
            lambda x: mysql_answer(x, True),
            mysql_text_row,
        ]
        for size in range(len(data)):
            assert not any(read(data[:size]) for read in readers[:3]), data[:size]
        rng = random.Random(len(data))
        for _ in range(examples(300)):
            broken = bytearray(data)
            for _ in range(rng.randint(1, 4)):
                broken[rng.randrange(len(broken))] = rng.randrange(256)
            for read in readers:
                read(bytes(broken))


# --- texts and their values

LITERALS = ("5", "0", "17", "'a'", "''", "'two words'", "'it''s'", "'a\\'b'", "1.5", "1e3", "0x1f", "x'1f'")
LITERALS += ("-3", '"d"')
LITERALS += (
    "NULL",
    "?",
    "- 4",
    "'é'",
    "_binary 'b'",
    "007",
    "'5'",
    "123456789012345678901234567890",
    "`5`",
    "a5",
)
SHAPES = (
    "SELECT n FROM t WHERE id = {}",
    "SELECT n FROM t WHERE id = {} AND name LIKE {} LIMIT {}",
    "SELECT n FROM t{} WHERE id IN ({}, {}) ORDER BY n LIMIT {}, {}",
    "UPDATE t SET n = {}, m = m + {} WHERE id = {}",
    "INSERT INTO t VALUES ({}, {}), ({}, concat({}, {}))",
    "  DELETE FROM t WHERE n BETWEEN {} AND {} OR id<>{}",
    "SELECT {} FROM t WHERE a={}/* {} */ AND b={}",
    "SELECT n FROM t WHERE d = DATE {} AND e > now() - INTERVAL {} DAY -- {}",
    "REPLACE INTO t (a, b) VALUES({},{})",
    "SELECT n FROM t WHERE id = {}; SELECT {}",
    "COMMIT",
    "SELECT n FROM t WHERE (a, b) = ({}, {}) AND c = {}{}",
)


def word_by_word(text: str) -> Taken | None:
    parts = texts.split(text)
    return taken_out(parts[0], "utf-8") if len(parts) == 1 else None


def test_templates_take_out_what_is_taken_out_word_by_word() -> None:
    rng, templates, used = random.Random(4), Templates(word_by_word), 0
    for _ in range(examples(4000)):
        shape = rng.choice(SHAPES)
        few = LITERALS[: rng.choice((6, len(LITERALS)))]
        text = shape.format(*(rng.choice(few) for _ in range(shape.count("{}"))))
        found = templates.taken_out(text.encode(), "utf-8")
        if found is not None:
            used += 1
            expected = word_by_word(text)
            assert found == expected and type(found[1]) is type(expected[1] if expected else None), text
    assert used > examples(4000) / 4


def test_literals_are_found_where_it_is_certain() -> None:
    assert literals(b"SELECT 1 WHERE a = 'b'") == (b"QSELECT ? WHERE a = '?'", [b"1", b"'b'"])
    for text in (b"'a\\'b'", b"'a''b'", b"1 -- 2", b"? + 1", b"1.5", b"'\xe9'"):
        assert literals(b"SELECT " + text) is None, text
