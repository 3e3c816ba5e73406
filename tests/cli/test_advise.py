"""`boomslang advise`: anomalies by the shapes of the transactions that met, and what would have forbidden them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT

from boomslang.cli.main import main
from boomslang.explain.shapes import shape_of_text

EXAMPLES = ROOT / "examples"


def shop(file: Path, losses: int) -> Path:
    """Sales of which each pair loses an update; and a restock that looks at another item, and meets nobody."""
    lines: list[dict[str, Any]] = [{"boomslang": 1, "initial": "empty"}]

    def transaction(
        number: int, key: str, seen: Any, made: Any, texts: tuple[str, str]
    ) -> list[dict[str, Any]]:
        read = {"op": "get", "key": key, "ctx": {"sql": 1, "text": texts[0]}}
        read.update({"absent": True} if seen is None else {"value": seen})
        write = {"op": "put", "key": key, "value": made, "ctx": {"sql": 2, "text": texts[1], "write": True}}
        rest = [{"op": "begin"}, read, write, {"op": "commit"}]
        return [{"session": f"s{number}", "txn": number, **line} for line in rest]

    number = 0
    for loss in range(losses):
        for client in (0, 1):
            texts = (f"SELECT stock FROM items WHERE id = {loss}", "UPDATE items SET stock = ?  WHERE id = ?")
            lines += transaction(number, f"items[{loss}].stock", None, f"{loss} {client}", texts)
            number += 1
    lines += transaction(
        number, "orders[1].total", None, 1, ("SELECT total FROM orders", "UPDATE orders SET total = ?")
    )
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return file


def advised(capsys: pytest.CaptureFixture[str], code: int, *words: str) -> dict[str, Any]:
    assert main(["advise", *words, "--output", "json"]) == code
    made: dict[str, Any] = json.loads(capsys.readouterr().out)
    return made


def test_pairs_are_counted_by_their_statements(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    traces = [str(shop(tmp_path / f"{n}.jsonl", n)) for n in (1, 2)]
    made = advised(capsys, 1, *traces, str(EXAMPLES / "write-skew.jsonl"))
    first, second = made["anomalies"]
    assert (first["name"], first["count"], first["transactions"]) == ("lost update", 3, ["A", "A"])
    assert first["forbidden_by"] == ["cursor-stability"] and second["forbidden_by"] == ["repeatable-read"]
    assert made["shapes"]["A"] == {
        "statements": ["SELECT stock FROM items WHERE id = ?", "UPDATE items SET stock = ? WHERE id = ?"],
        "transactions": 6,
    }
    assert made["would_do"] == ["repeatable-read"] and made["complete"] and made["transactions"] == 11


def test_nothing_met_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", str(EXAMPLES / "valid.jsonl")]) == 0
    assert "Nothing was met that serializable forbids" in capsys.readouterr().out
    made = advised(capsys, 0, str(EXAMPLES / "write-skew.jsonl"), "--level", "si")
    assert made["anomalies"] == [] and made["would_do"] == []


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("SELECT a1 FROM t2\n WHERE x = 'it''s 5' AND y=-1.5", "SELECT a1 FROM t2 WHERE x = ? AND y=?"),
        ("SELECT * FROM t WHERE id IN (%s, %s,%s)", "SELECT * FROM t WHERE id IN (...)"),
        ("SELECT * FROM t WHERE id IN (1, 2)", "SELECT * FROM t WHERE id IN (...)"),
        ("INSERT INTO t VALUES ($1::INTEGER, $2::VARCHAR)", "INSERT INTO t VALUES (...)"),
    ],
)
def test_literals_and_lengths_are_no_part_of_a_shape(text: str, shape: str) -> None:
    assert shape_of_text(text) == shape
