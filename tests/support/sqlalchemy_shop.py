"""An application that nobody wrote the SQL of: a shop with doctors and seats, on SQLAlchemy's ORM.

Its tables are the usual ones: orders that take from a stock, doctors of whom one must be on call, seats that are booked
with optimistic locking. Each function below is one transaction, as such applications are written; nothing in it knows
that it is recorded.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import ForeignKey, Numeric, String, create_engine, delete, event, func, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError, InvalidRequestError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship
from sqlalchemy.orm.exc import StaleDataError


class Base(DeclarativeBase):
    pass


class Item(Base):
    __tablename__ = "items"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(40), unique=True)
    stock: Mapped[int]
    price: Mapped[Decimal] = mapped_column(Numeric(10, 2))


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("items.id"))
    quantity: Mapped[int]
    status: Mapped[str] = mapped_column(String(20), default="open")
    note: Mapped[str | None] = mapped_column(String(40))
    at: Mapped[datetime] = mapped_column(server_default=func.now())
    item: Mapped[Item] = relationship()
    __mapper_args__ = {"confirm_deleted_rows": False}  # noqa: RUF012


class Doctor(Base):
    __tablename__ = "doctors"
    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    on_call: Mapped[bool]


class Seat(Base):
    __tablename__ = "seats"
    row: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    holder: Mapped[str | None] = mapped_column(String(40))
    version: Mapped[int] = mapped_column()
    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012


def engine_of(url: str, level: str, **options: Any) -> Any:
    """An engine at this level; SQLite's as its documentation recommends, with a begin that is one."""
    if not url.startswith("sqlite"):
        return create_engine(url, isolation_level=level, **options)
    engine = create_engine(url, connect_args={"timeout": 20}, **options)

    @event.listens_for(engine, "connect")
    def connect(connection: Any, record: Any) -> None:
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine


def clear(url: str) -> None:
    """As if nobody had been here."""
    engine = create_engine(url)
    Base.metadata.drop_all(engine)
    engine.dispose()


def furnish(engine: Any) -> None:
    """The tables, and what is in them at the start."""
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        session.add_all(Item(name=f"item {n}", stock=20, price=Decimal("9.90") + n) for n in range(4))
        session.add_all(Doctor(name=name, on_call=True) for name in ("Ann", "Ben", "Cleo"))
        session.add_all(Seat(row=row, number=number) for row in (1, 2) for number in (1, 2))
        session.commit()


# --- transactions


def buy(session: Session, draw: random.Random) -> None:
    item = session.get_one(Item, draw.randint(1, 4))
    wanted = draw.randint(1, 3)
    if item.stock >= wanted:
        item.stock -= wanted
        session.add(Order(item=item, quantity=wanted, note=draw.choice(("gift", None))))


def restock(session: Session, draw: random.Random) -> None:
    name = f"item {draw.randrange(4)}"
    item = session.scalars(select(Item).where(Item.name == name).with_for_update()).one()
    item.stock += 5
    item.price = Decimal(draw.randint(100, 999)) / 100


def cancel(session: Session, draw: random.Random) -> None:
    order = session.scalars(select(Order).where(Order.status == "open").order_by(Order.id).limit(1)).first()
    if order is not None:
        order.status = "cancelled"
        order.item.stock += order.quantity


def sweep(session: Session, draw: random.Random) -> None:
    gone = session.scalars(select(Order).where(Order.status == "cancelled")).all()
    for order in gone[:2]:
        session.delete(order)


def go_home(session: Session, draw: random.Random) -> None:
    """Whoever goes home has seen somebody else on call."""
    on_call = session.scalars(select(Doctor).where(Doctor.on_call)).all()
    if len(on_call) >= 2:
        draw.choice(on_call).on_call = False
    else:
        for doctor in session.scalars(select(Doctor).where(Doctor.on_call.is_(False))):
            doctor.on_call = True


def book(session: Session, draw: random.Random) -> None:
    seat = session.get_one(Seat, (draw.randint(1, 2), draw.randint(1, 2)))
    seat.holder = None if seat.holder else draw.choice(("Dora", "Emil", "Fritz"))


def take_one(session: Session, draw: random.Random) -> None:
    """A statement that computes, and a count that decides."""
    item = draw.randint(1, 4)
    found = session.execute(update(Item).where(Item.id == item, Item.stock > 0).values(stock=Item.stock - 1))
    if not found.rowcount:  # type: ignore[attr-defined]
        session.execute(update(Item).where(Item.id == item).values(stock=7))


def look(session: Session, draw: random.Random) -> None:
    for order in session.scalars(select(Order).join(Item).where(Item.price < 12).limit(5)):
        _ = order.item.name
    session.scalars(select(Item).where(Item.id.in_((1, 3, 99)))).all()
    session.scalar(select(func.count()).select_from(Order))


def expire(session: Session, draw: random.Random) -> None:
    session.execute(delete(Order).where(Order.id == draw.randint(1, 50)))


TRANSACTIONS: tuple[Callable[[Session, random.Random], None], ...] = (
    buy, buy, restock, cancel, sweep, go_home, book, book, look, expire,
)  # fmt: skip
EXPECTED = (DBAPIError, IntegrityError, StaleDataError, InvalidRequestError)


def run(
    engine: Any, clients: int, each: int, seed: int = 1, *, computes: bool = False, commits: int = 0
) -> int:
    """Clients at the same time; returns how many transactions were committed. Each client tries so many, and as many
    more until these are committed by all together: how many of them the database refuses hangs on how busy the machine
    is."""
    committed: list[int] = []
    trouble: list[BaseException] = []
    choices = (*TRANSACTIONS, take_one) if computes else TRANSACTIONS

    def client(number: int) -> None:
        draw = random.Random(1000 * seed + number)
        tried = 0
        while tried < each or (len(committed) < commits and not trouble):
            tried += 1
            try:
                with Session(engine) as session:
                    draw.choice(choices)(session, draw)
                    if draw.random() < 0.05:
                        session.rollback()
                    session.commit()
                committed.append(number)
            except EXPECTED:
                pass
            except BaseException as error:
                trouble.append(error)
                return

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if trouble:
        raise trouble[0]
    return len(committed)


def two_at_a_time(engine: Any, first: Callable[[Session], Any], then: Callable[[Session, Any], None]) -> int:
    """Two clients: both have looked before either writes. Returns how many were committed."""
    barrier = threading.Barrier(2, timeout=20)
    committed: list[bool] = []
    trouble: list[BaseException] = []

    def client(number: int) -> None:
        try:
            with Session(engine) as session:
                seen = first(session)
                barrier.wait()
                then(session, (number, seen))
                session.commit()
            committed.append(True)
        except EXPECTED:
            pass
        except BaseException as error:
            trouble.append(error)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if trouble:
        raise trouble[0]
    return len(committed)
