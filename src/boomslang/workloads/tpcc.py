"""TPC-C: a wholesaler's orders (TPC Benchmark C, revision 5.11), all five transactions, on a key-value store.

45 % new orders (1 % of them rolled back for a wrong item), 43 % payments, 4 % each order status, delivery, stock level.
A row is a pair: the primary key in its key, the columns that matter as JSON in its value. Two indexes are pairs too:
customers by last name, and a customer's orders, the newest first. Items and customers are drawn with the
specification's NURand. A client is a terminal of one warehouse, as the specification has it: with fewer warehouses than
clients most transactions meet at a warehouse's row, which every payment writes. Scaled down, for a trace names all it
begins with: per warehouse 10 districts, 30 customers a district and 100 items (a hundredth and a thousandth of the
specification's), no orders at first. --keys is the number of warehouses.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any, ClassVar

from boomslang.workloads.workload import Client, Draw, GiveUp, Settings, Transaction, Workload, after

DISTRICTS = 10
CUSTOMERS = 30
"""In a district."""
ITEMS = 100
NAMES = ("BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING")
RECENT = 20
"""Orders that the stock level looks at."""
LAST_ORDER = 99_999_999

Row = dict[str, Any]


class TPCC(Workload):
    name = "tpcc"
    about = "TPC-C: new order, payment, order status, delivery, stock level"
    defaults = Settings(keys=24)
    uses = frozenset({"keys"})
    keys_are = "warehouses"
    needs = frozenset({"iterator"})
    mix: ClassVar = {"new-order": 45, "payment": 43, "order-status": 4, "delivery": 4, "stock-level": 4}

    def initial(self) -> dict[str, str]:
        rng = Random(f"{self.settings.seed}/initial")
        found = {f"item/{i:03d}": _row(price=rng.randint(100, 10_000)) for i in range(ITEMS)}
        for w in range(self.settings.keys):
            found[f"warehouse/{w}"] = _row(tax=rng.randint(0, 2000), ytd=0)
            found |= {_stock(w, i): _row(quantity=rng.randint(10, 100), sold=0) for i in range(ITEMS)}
            for d in range(DISTRICTS):
                found[f"district/{w}/{d}"] = _row(tax=rng.randint(0, 2000), ytd=0, next=1)
                for c in range(CUSTOMERS):
                    bad = rng.random() < 0.1
                    found[_customer(w, d, c)] = _row(
                        discount=rng.randint(0, 5000), credit="BC" if bad else "GC", balance=-1000, paid=0
                    )
                    found[f"by-name/{w}/{d}/{_name(c)}/{c:04d}"] = str(c)
        return found

    def draw(self, draw: Draw) -> Transaction:
        name = draw.one_of(self.mix)
        w, d = draw.session % self.settings.keys, draw.random.randrange(DISTRICTS)
        made = getattr(self, "_" + name.replace("-", "_"))(draw, w, d)
        return Transaction(name, made)

    def _new_order(self, draw: Draw, w: int, d: int) -> Any:
        rng, warehouses = draw.random, self.settings.keys
        customer = _nurand(rng, 15, CUSTOMERS)
        lines = []
        for _ in range(rng.randint(5, 15)):
            remote = warehouses > 1 and rng.random() < 0.01
            lines.append(
                (_nurand(rng, 63, ITEMS), draw.other(warehouses, w) if remote else w, rng.randint(1, 10))
            )
        if rng.random() < 0.01:
            lines[-1] = (ITEMS, w, 1)  # there is no such item
        when = draw.new()

        def run(c: Client) -> None:
            tax = _get(c, f"warehouse/{w}")["tax"]
            district = _get(c, f"district/{w}/{d}")
            number = district["next"]
            c.put(f"district/{w}/{d}", _row(**district | {"next": number + 1}))
            rate = (10_000 - _get(c, _customer(w, d, customer))["discount"]) * (
                10_000 + tax + district["tax"]
            )
            c.put(_order(w, d, number), _row(customer=customer, carrier=None, lines=len(lines), entered=when))
            c.put(f"new-order/{w}/{d}/{number:08d}", when)
            c.put(f"orders-of/{w}/{d}/{customer:04d}/{LAST_ORDER - number:08d}", str(number))
            for n, (item, supplier, quantity) in enumerate(lines):
                found = c.get(f"item/{item:03d}")
                if found is None:
                    raise GiveUp("an unused item number")
                stock = _get(c, _stock(supplier, item))
                left = stock["quantity"] - quantity
                c.put(
                    _stock(supplier, item),
                    _row(quantity=left if left >= 10 else left + 91, sold=stock["sold"] + quantity),
                )
                amount = quantity * json.loads(found)["price"] * rate // 100_000_000
                c.put(
                    _line(w, d, number, n),
                    _row(item=item, supplier=supplier, quantity=quantity, amount=amount, delivered=None),
                )

        return run

    def _payment(self, draw: Draw, w: int, d: int) -> Any:
        rng, warehouses = draw.random, self.settings.keys
        remote = warehouses > 1 and rng.random() < 0.15
        cw, cd = (draw.other(warehouses, w), rng.randrange(DISTRICTS)) if remote else (w, d)
        who, amount, history = self._whom(draw), rng.randint(100, 500_000), draw.new()

        def run(c: Client) -> None:
            for key in (f"warehouse/{w}", f"district/{w}/{d}"):
                row = _get(c, key)
                c.put(key, _row(**row | {"ytd": row["ytd"] + amount}))
            customer = _found(c, cw, cd, who)
            row = _get(c, _customer(cw, cd, customer))
            row |= {"balance": row["balance"] - amount, "paid": row["paid"] + 1}
            if row["credit"] == "BC":
                row["data"] = f"{customer} {cd} {cw} {d} {w} {amount}"
            c.put(_customer(cw, cd, customer), _row(**row))
            c.put(f"history/{history}", _row(customer=[cw, cd, customer], amount=amount))

        return run

    def _order_status(self, draw: Draw, w: int, d: int) -> Any:
        who = self._whom(draw)

        def run(c: Client) -> None:
            customer = _found(c, w, d, who)
            _get(c, _customer(w, d, customer))
            newest = _first(c, f"orders-of/{w}/{d}/{customer:04d}/")
            if newest is not None:
                number = int(newest[1])
                _get(c, _order(w, d, number))
                prefix = _lines(w, d, number)
                c.scan(prefix, after(prefix))

        return run

    def _delivery(self, draw: Draw, w: int, d: int) -> Any:
        carrier, when = draw.random.randint(1, 10), draw.new()

        def run(c: Client) -> None:
            for district in range(DISTRICTS):
                oldest = _first(c, f"new-order/{w}/{district}/")
                if oldest is None:
                    continue
                number = int(oldest[0].rpartition("/")[2])
                c.delete(oldest[0])
                order = _get(c, _order(w, district, number))
                c.put(_order(w, district, number), _row(**order | {"carrier": carrier}))
                prefix, total = _lines(w, district, number), 0
                for key, value in c.scan(prefix, after(prefix)):
                    line = json.loads(value)
                    total += line["amount"]
                    c.put(key, _row(**line | {"delivered": when}))
                key = _customer(w, district, order["customer"])
                row = _get(c, key)
                c.put(key, _row(**row | {"balance": row["balance"] + total}))

        return run

    def _stock_level(self, draw: Draw, w: int, d: int) -> Any:
        threshold = draw.random.randint(10, 20)

        def run(c: Client) -> None:
            number = _get(c, f"district/{w}/{d}")["next"]
            lines = c.scan(_lines(w, d, max(1, number - RECENT)), _lines(w, d, number))
            items = {(line["supplier"], line["item"]) for line in (json.loads(v) for _, v in lines)}
            stock = [_get(c, _stock(w, item)) for supplier, item in sorted(items) if supplier == w]
            sum(row["quantity"] < threshold for row in stock)

        return run

    def _whom(self, draw: Draw) -> int | str:
        """A customer by number, or in 60 of 100 cases by last name."""
        customer = _nurand(draw.random, 15, CUSTOMERS)
        return _name(customer) if draw.random.random() < 0.6 else customer


def _nurand(rng: Random, spread: int, size: int) -> int:
    """The specification's non-uniform random number below `size`."""
    return (rng.randint(0, spread) | rng.randrange(size)) % size


def _row(**columns: Any) -> str:
    return json.dumps(columns, separators=(",", ":"))


def _get(c: Client, key: str) -> Row:
    """A row that must be there. Only a database that lost it has none; the trace then shows the read."""
    found = c.get(key)
    if found is None:
        raise GiveUp(f"{key} is not there")
    row: Row = json.loads(found)
    return row


def _first(c: Client, prefix: str) -> tuple[str, str] | None:
    return next(iter(c.iterator(prefix, after(prefix))), None)


def _found(c: Client, w: int, d: int, who: int | str) -> int:
    """The customer; of those of a last name, the one in the middle."""
    if isinstance(who, int):
        return who
    prefix = f"by-name/{w}/{d}/{who}/"
    named = c.scan(prefix, after(prefix))
    if not named:
        raise GiveUp(f"nobody is called {who}")
    return int(named[len(named) // 2][1])


def _name(customer: int) -> str:
    """Last names as the specification makes them, ten of them in a district: three customers share one."""
    return NAMES[customer % 10] + NAMES[customer % 10 * 7 % 10] + NAMES[3]


def _customer(w: int, d: int, c: int) -> str:
    return f"customer/{w}/{d}/{c:04d}"


def _stock(w: int, item: int) -> str:
    return f"stock/{w}/{item:03d}"


def _order(w: int, d: int, number: int) -> str:
    return f"order/{w}/{d}/{number:08d}"


def _lines(w: int, d: int, number: int) -> str:
    return f"line/{w}/{d}/{number:08d}/"


def _line(w: int, d: int, number: int, n: int) -> str:
    return f"{_lines(w, d, number)}{n:02d}"
