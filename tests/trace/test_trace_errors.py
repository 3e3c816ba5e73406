"""Bad input gets a clear error: file, line, what was found, what was expected, what to do."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from boomslang.trace import TraceError, read_trace

B = '{"session":"a","txn":1,"op":"begin"}'
C = '{"session":"a","txn":1,"op":"commit"}'


def op(fields: str) -> str:
    return f'{{"session":"a","txn":1,{fields}}}'


def deep(levels: int) -> str:
    return op('"op":"get","key":1,"value":1,"ctx":{"a":' + "[" * levels + "]" * levels + "}")


# name: (lines, the line at fault, words of the message)
CASES: dict[str, tuple[list[str], int, str]] = {
    "not JSON": ([B, "hello"], 2, "found 'h' at column 1; expected a JSON object"),
    "a bare value": (["3"], 1, "expected a JSON object"),
    "two objects in a line": ([B + B], 1, "expected the end of the line"),
    "trailing comma": ([op('"op":"begin",')], 1, "expected a field name"),
    "torn line in the middle": ([B, '{"session":"a","txn":1,"op":"pu', C], 2, "found the end of the line"),
    "cut number": ([B, op('"op":"put","key":1,"value":-')], 2, "expected a number"),
    "leading zero": ([B, op('"op":"put","key":1,"value":01')], 2, "leading zeros"),
    "no digits after the point": ([B, op('"op":"put","key":1,"value":1.')], 2, "after the decimal point"),
    "no digits in the exponent": ([B, op('"op":"put","key":1,"value":1e')], 2, "in the exponent"),
    "a misspelt word": ([B, op('"op":"put","key":1,"value":nil')], 2, "expected a number, string, true"),
    "NaN": ([B, op('"op":"put","key":1,"value":NaN')], 2, "found 'N'"),
    "unknown escape": ([B, op('"op":"put","key":"\\x","value":1')], 2, "one of the escapes"),
    "half an escape": ([B, op('"op":"put","key":"\\u12","value":1')], 2, "four hexadecimal digits"),
    "raw control character": ([B, op('"op":"put","key":"\x01","value":1')], 2, "control character"),
    "lone surrogate": ([B, op('"op":"put","key":"\\ud800","value":1')], 2, "a lone surrogate (\\ud800)"),
    "lone low surrogate": ([B, op('"op":"put","key":"\\udc00 ","value":1')], 2, "a lone surrogate (\\udc00)"),
    "two high surrogates": ([B, op('"op":"put","key":"\\ud800\\ud800","value":1')], 2, "a lone surrogate"),
    "float out of range": ([B, op('"op":"put","key":1,"value":1e999')], 2, "the number 1e999"),
    "float too small": ([B, op('"op":"put","key":1,"value":1e-999')], 2, "the number 1e-999"),
    "too deep": ([B, deep(100)], 2, "nesting deeper than 64"),
    "an array as key": ([B, op('"op":"put","key":[1],"value":1')], 2, "found an array"),
    "an object as value": ([B, op('"op":"put","key":1,"value":{"a":1}')], 2, "an object that is not bytes"),
    "an empty object as value": ([B, op('"op":"put","key":1,"value":{}')], 2, "an object that is not bytes"),
    "bytes and more": ([B, op('"op":"put","key":1,"value":{"bytes":"00","a":1}')], 2, "not bytes"),
    "odd bytes": ([B, op('"op":"put","key":1,"value":{"bytes":"abc"}')], 2, "even number of hex"),
    "no hex": ([B, op('"op":"put","key":1,"value":{"bytes":"zz"}')], 2, "even number of hex"),
    "duplicate field": ([B, op('"op":"put","key":1,"key":2,"value":1')], 2, 'the field "key" twice'),
    "duplicate field in ctx": (
        [B, op('"op":"commit","ctx":{"a":1,"b":{"c":1,"c":2}}')],
        2,
        'field "c" twice',
    ),
    "the same ctx field at begin and end": (
        [op('"op":"begin","ctx":{"a":1}'), op('"op":"commit","ctx":{"a":2}')],
        2,
        'the field "a" twice',
    ),
    "unknown op": (
        [B, op('"op":"comit"')],
        2,
        'found the unknown op "comit"; expected one of put, get, delete, scan, iterator, next, begin, '
        "commit, abort, append, list, select; fix",
    ),
    "an element twice": (
        [
            B,
            op('"op":"append","key":1,"value":7'),
            op('"op":"append","key":2,"value":7'),
            op('"op":"append","key":1,"value":7'),
        ],
        4,
        "a second append of 7 to the key 1; the first is at line 2; expected each element to be appended to a",
    ),
    "a register and a list": (
        [B, op('"op":"append","key":1,"value":7'), op('"op":"put","key":1,"value":7')],
        3,
        "a register operation on the key 1, which holds a list; expected append and list operations only",
    ),
    "a get of a list": (
        [B, op('"op":"get","key":"x","value":7'), op('"op":"list","key":"x","elements":[7]')],
        2,
        'a register operation on the key "x", which holds a list',
    ),
    "a scan returns a list": (
        [B, op('"op":"scan","items":[[1,2]]'), op('"op":"append","key":1,"value":7')],
        2,
        "a register operation on the key 1, which holds a list",
    ),
    "elements that are no list": (
        [B, op('"op":"list","key":1,"elements":{"a":1}')],
        2,
        'as "elements"; expected a list of values; fix: write "elements": [1, 2, ...]',
    ),
    "a list in a list": ([B, op('"op":"list","key":1,"elements":[[1]]')], 2, "expected"),
    "no elements": ([B, op('"op":"list","key":1')], 2, 'no field elements in "list"'),
    "lists and an unknown state": (
        ['{"boomslang":1,"initial":"unknown"}', B, op('"op":"append","key":1,"value":7')],
        1,
        "lists in a trace whose initial state is unknown; expected lists that start empty",
    ),
    "a list with an initial value": (
        ['{"boomslang":1,"initial":{"items":[[1,2]]}}', B, op('"op":"append","key":1,"value":7')],
        1,
        "an initial value of the key 1, which holds a list; expected lists that start empty",
    ),
    "no op": ([B, '{"session":"a","txn":1}'], 2, 'no field "op"'),
    "unknown field": (
        [B, op('"op":"put","key":1,"value":1,"vaule":2')],
        2,
        'the unknown field "vaule" in "put"; expected only the fields session, txn, op, key, value, invoke, '
        "return, ctx, error; fix",
    ),
    "a field of another op": ([B, op('"op":"put","key":1,"value":1,"found":true')], 2, 'unknown in "put"'),
    "unknown header field": (['{"boomslang":1,"clok":"x"}', B], 1, 'the unknown field "clok" in a header'),
    "operation fields in a header": (['{"boomslang":1,"op":"begin"}'], 1, "fields op in a header"),
    "another version": (['{"boomslang":2}'], 1, "format version 2; expected version 1"),
    "a late header": ([B, '{"boomslang":1}'], 2, "a header after other lines"),
    "a wrong initial": (['{"boomslang":1,"initial":"full"}'], 1, 'expected "empty", "unknown"'),
    "initial true in a header": (['{"boomslang":1,"initial":true}'], 1, '"initial": true in a header'),
    "a key twice in the initial state": (
        ['{"boomslang":1,"initial":{"items":[["x",1],["x",1]]}}'],
        1,
        'the key "x" twice in the initial state',
    ),
    "put without key": ([B, op('"op":"put","value":1')], 2, 'no field key in "put"'),
    "put without value": ([B, op('"op":"put","key":1')], 2, 'no field value in "put"'),
    "get without result": ([B, op('"op":"get","key":1')], 2, 'no field value and no absent in "get"'),
    "get with two results": (
        [B, op('"op":"get","key":1,"value":1,"absent":true')],
        2,
        "both value and absent",
    ),
    "absent false": ([B, op('"op":"get","key":1,"absent":false')], 2, "expected true, or no such field"),
    "delete without key": ([B, op('"op":"delete"')], 2, "no field key"),
    "found is no boolean": ([B, op('"op":"delete","key":1,"found":1')], 2, "expected true or false"),
    "scan without items": ([B, op('"op":"scan","from":1,"to":2')], 2, "no field items"),
    "items that are no pairs": ([B, op('"op":"scan","items":[[1]]')], 2, "a list of [key, value] pairs"),
    "iterator without id": ([B, op('"op":"iterator","from":1')], 2, "no field id"),
    "next without id": ([B, op('"op":"next","end":true')], 2, "no field id"),
    "next without result": (
        [B, op('"op":"iterator","id":1'), op('"op":"next","id":1')],
        3,
        'no result in "next"; expected key and value, or "end": true',
    ),
    "next with two results": (
        [B, op('"op":"iterator","id":1'), op('"op":"next","id":1,"key":1,"value":1,"end":true')],
        3,
        "both an item and end",
    ),
    "session is no string": (['{"session":1,"txn":1,"op":"begin"}'], 1, "expected a string"),
    "txn is a float": (['{"session":"a","txn":1.5,"op":"begin"}'], 1, "expected an integer or a string"),
    "txn is null": (['{"session":"a","txn":null,"op":"begin"}'], 1, "expected an integer or a string"),
    "ctx is no object": ([op('"op":"begin","ctx":[1]')], 1, "expected an object"),
    "error is no string": ([B, op('"op":"commit","error":1')], 2, "expected a string"),
    "no session and no txn": (['{"op":"begin"}'], 1, "no field txn"),
    "commit without begin": ([C], 1, '"commit" without a begin of transaction 1 of session "a"'),
    "put without begin": (
        [B, C, op('"op":"put","key":1,"value":1').replace('"txn":1', '"txn":2')],
        3,
        "a begin",
    ),
    "commit without begin, unnamed": (['{"session":"a","op":"commit"}'], 1, "has no open transaction"),
    "two begins": ([B, B], 2, 'a second begin of transaction 1 of session "a"; the first is at line 1'),
    "two begins, ended": ([B, C, B], 3, "a second begin"),
    "begin without txn while open": ([B, '{"session":"a","op":"begin"}'], 2, "a begin without txn while"),
    "operation after commit": (
        [B, C, op('"op":"put","key":1,"value":1')],
        3,
        "after the end of transaction 1",
    ),
    "operation after abort": (
        [B, op('"op":"abort"'), '{"session":"a","op":"put","key":1,"value":1}'],
        3,
        "after the end of transaction 1",
    ),
    "commit twice": ([B, C, C], 3, "after the end"),
    "operation after commit, no session": (
        ['{"txn":1,"op":"begin"}', '{"txn":1,"op":"commit"}', '{"txn":1,"op":"commit"}'],
        3,
        "after the end of transaction 1 at line 2",
    ),
    "a transaction the session has left": (
        [B, B.replace("1", "2"), op('"op":"put","key":1,"value":1')],
        3,
        "which the session has left",
    ),
    "mixed bounds": (
        [B, op('"op":"scan","from":1,"to":"z","items":[]')],
        2,
        "type number (1) to one of type string",
    ),
    "mixed bounds of an iterator": (
        [B, op('"op":"iterator","id":1,"from":1.5,"to":true')],
        2,
        "type boolean",
    ),
    "a key of another type": (
        [B, op('"op":"scan","from":1,"items":[["a",1]]')],
        2,
        "expected keys of type number",
    ),
    "bounds the wrong way round": (
        [B, op('"op":"scan","from":10,"to":9,"items":[]')],
        2,
        "from 10 down to 9",
    ),
    "a key below the range": ([B, op('"op":"scan","from":"b","to":"d","items":[["a",1]]')], 2, 'the key "a"'),
    "a key at the upper bound": (
        [B, op('"op":"scan","from":"b","to":"d","items":[["d",1]]')],
        2,
        "inside the range",
    ),
    "a key in an empty range": (
        [B, op('"op":"scan","from":1,"to":1,"items":[[1,1]]')],
        2,
        "inside the range",
    ),
    "a key twice": ([B, op('"op":"scan","items":[["b",1],["b",1]]')], 2, 'the key "b" twice in one scan'),
    "an iterator that goes back": (
        [
            B,
            *(
                op(f'"op":{o}')
                for o in (
                    '"iterator","id":1',
                    '"next","id":1,"key":2,"value":0',
                    '"next","id":1,"key":2,"value":0',
                )
            ),
        ],
        4,
        "the key 2 after 2 from one iterator; expected keys in increasing order",
    ),
    "an iterator outside its range": (
        [B, op('"op":"iterator","id":"i","from":5'), op('"op":"next","id":"i","key":4,"value":0')],
        3,
        "the key 4 returned by an iterator of the range [5, unbounded)",
    ),
    "next after end": (
        [
            B,
            op('"op":"iterator","id":1'),
            op('"op":"next","id":1,"end":true'),
            op('"op":"next","id":1,"end":true'),
        ],
        4,
        "after its end",
    ),
    "next of an unknown id": (
        [B, op('"op":"next","id":"i","end":true')],
        2,
        'next of iterator "i", which is unknown',
    ),
    "next of an iterator that failed": (
        [B, op('"op":"iterator","id":1,"error":"no"'), op('"op":"next","id":1,"end":true')],
        3,
        "which failed to open",
    ),
    "next of another transaction's iterator": (
        [
            B,
            op('"op":"iterator","id":1'),
            C,
            '{"session":"a","txn":2,"op":"begin"}',
            '{"session":"a","op":"next","id":1,"end":true}',
        ],
        5,
        "which is unknown in transaction 2",
    ),
    "an iterator id twice": (
        [B, op('"op":"iterator","id":1'), op('"op":"iterator","id":1')],
        3,
        "a second iterator 1",
    ),
    "return before invoke": ([op('"op":"begin","invoke":5,"return":4')], 1, "return 4 before invoke 5"),
    "invoke before the last return": (
        [op('"op":"begin","invoke":5,"return":8'), op('"op":"commit","invoke":7,"return":9')],
        2,
        "invoke 7 before 8",
    ),
    "times backwards between transactions": (
        [
            op('"op":"begin","invoke":5'),
            op('"op":"commit","return":8'),
            '{"session":"a","txn":2,"op":"begin","invoke":7}',
        ],
        3,
        "invoke 7 before 8",
    ),
    "times backwards without a session": (
        ['{"txn":1,"op":"begin","invoke":5}', '{"txn":1,"op":"commit","return":4}'],
        2,
        "return 4 before the begin at 5",
    ),
    "a float as time": ([op('"op":"begin","invoke":1.5')], 1, "an integer of 64 bits"),
    "a string as time": ([op('"op":"begin","invoke":"now"')], 1, "expected an integer"),
    "a huge time": ([op('"op":"begin","invoke":9223372036854775808')], 1, "an integer of 64 bits"),
    "a get in a loading transaction": (
        [op('"op":"begin","initial":true'), op('"op":"get","key":1,"value":1')],
        2,
        '"get" in a loading transaction',
    ),
    "a loading transaction without commit": ([op('"op":"begin","initial":true')], 1, "without a commit"),
    "a loading transaction that aborted": (
        [op('"op":"begin","initial":true'), op('"op":"abort"')],
        2,
        '"abort" in a loading transaction',
    ),
    "loaded though unknown": (
        ['{"boomslang":1,"initial":"unknown"}', op('"op":"begin","initial":true')],
        2,
        "the header says that the initial state is unknown",
    ),
    "an initial that is not true": ([op('"op":"begin","initial":"empty"')], 1, "other than true"),
}


@pytest.mark.parametrize("name", CASES)
def test_each_mistake_is_named_with_its_line(name: str, tmp_path: Path) -> None:
    lines, line, words = CASES[name]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(TraceError) as caught:
        read_trace(path)
    assert (caught.value.file, caught.value.line) == (str(path), line), str(caught.value)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{path}:{line}: found ")
    assert "; expected " in str(caught.value)
    assert "; fix: " in str(caught.value)


@pytest.mark.parametrize(
    "bad", [b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"]
)
def test_invalid_utf8(bad: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(B.encode() + b'\n{"session":"a","op":"put","key":"' + bad + b'","value":1}\n')
    with pytest.raises(TraceError, match="invalid UTF-8") as caught:
        read_trace(path)
    assert caught.value.line == 2


def test_an_earlier_mistake_is_reported_before_a_later_one_that_is_not_json(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(f"{B}\n{B}\nhello\n")
    with pytest.raises(TraceError, match="a second begin") as caught:
        read_trace(path)
    assert caught.value.line == 2


def test_the_line_number_is_right_far_into_a_file(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    body = op('"op":"put","key":1,"value":"' + "x" * 500 + '"') + "\n"
    path.write_text(B + "\n\n" + body * 10000 + op('"op":"pit"') + "\n")
    with pytest.raises(TraceError, match="unknown op") as caught:
        read_trace(path)
    assert caught.value.line == 10003


def test_a_line_longer_than_64_mb(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with path.open("wb") as file:
        file.write(B.encode() + b'\n{"session":"a","op":"put","key":1,"value":"')
        for _ in range(66):
            file.write(b"x" * (1 << 20))
        file.write(b'"}\n')
    with pytest.raises(TraceError, match="a line longer than 64 MB") as caught:
        read_trace(path)
    assert caught.value.line == 2


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(
        TraceError, match="found no such file or folder; expected a trace; fix: check the path"
    ):
        read_trace(tmp_path / "nothing.jsonl")


@pytest.mark.parametrize("content", ["", "\n", " \n\n"])
def test_an_empty_file(content: str, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(content)
    with pytest.raises(TraceError, match="found nothing in it"):
        read_trace(path)


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="found a folder without traces"):
        read_trace(tmp_path)


def test_a_folder_of_empty_files(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").touch()
    (tmp_path / "b.jsonl").touch()
    with pytest.raises(TraceError, match="found nothing in it"):
        read_trace(tmp_path)


def test_a_transaction_in_two_files(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_text(B + "\n")
    (tmp_path / "2.jsonl").write_text(C + "\n")
    with pytest.raises(TraceError, match=r"which began in .*1.jsonl; expected all operations") as caught:
        read_trace(tmp_path)
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "2.jsonl"), 1)
    (tmp_path / "2.jsonl").write_text(B + "\n")
    with pytest.raises(TraceError, match=r"a second begin .* the first is at .*1.jsonl:1"):
        read_trace(tmp_path)


def test_headers_that_disagree(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_text('{"boomslang":1,"initial":{"items":[["x",1],["y",2]]}}\n')
    (tmp_path / "2.jsonl").write_text('{"boomslang":1,"initial":{"items":[["y",2],["x",1]]}}\n')
    (tmp_path / "3.jsonl").write_text('{"boomslang":1}\n')
    assert len(read_trace(tmp_path)) == 0
    for other in (
        '"unknown"',
        '"empty"',
        '{"items":[["x",1]]}',
        '{"items":[["x",1],["y",3]]}',
        '{"items":[["x",1],["x",1]]}',
    ):
        (tmp_path / "2.jsonl").write_text(f'{{"boomslang":1,"initial":{other}}}\n')
        with pytest.raises(TraceError, match="initial state") as caught:
            read_trace(tmp_path)
        assert (caught.value.file, caught.value.line) == (str(tmp_path / "2.jsonl"), 1)


def test_damaged_gzip(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.gz"
    packed = bytearray(gzip.compress((B + "\n" + C + "\n").encode()))
    packed[-6] ^= 1  # the checksum
    path.write_bytes(packed)
    with pytest.raises(TraceError, match="found damaged gzip data"):
        read_trace(path)
