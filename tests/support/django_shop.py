"""The same shop on Django's ORM, as a program:

    python -m support.django_shop URL LEVEL FOLDER CLIENTS EACH [SCRIPT [COMMITS]]

It is recorded by one line, `trace_django(tracer)`. With a SCRIPT, two clients do what it says at the same time in place
of the shop's usual day. That does not end before there are so many COMMITS.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django
from django.conf import settings


def database(url: str, level: str) -> dict[str, Any]:
    """Django's settings for a database."""
    parts = urlsplit(url)
    kind = parts.scheme.split("+")[0]
    if kind == "sqlite":
        options = {"timeout": 20, "transaction_mode": "IMMEDIATE" if level == "IMMEDIATE" else "DEFERRED"}
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": parts.path, "OPTIONS": options}
    where = {
        "NAME": parts.path.lstrip("/"),
        "USER": parts.username,
        "PASSWORD": parts.password or "",
        "HOST": parts.hostname,
        "PORT": parts.port,
    }
    if kind == "postgresql":
        from psycopg import IsolationLevel

        options = {"isolation_level": IsolationLevel[level.replace(" ", "_")]}
        return {"ENGINE": "django.db.backends.postgresql", **where, "OPTIONS": options}
    import pymysql

    pymysql.version_info = (2, 2, 1, "final", 0)  # Django asks for a mysqlclient that is new enough
    pymysql.install_as_MySQLdb()
    return {"ENGINE": "django.db.backends.mysql", **where, "OPTIONS": {"isolation_level": level.lower()}}


def main(
    url: str, level: str, folder: str, clients: str, each: str, script: str = "", commits: str = "0"
) -> None:
    settings.configure(
        DATABASES={"default": database(url, level)},
        INSTALLED_APPS=["django.contrib.contenttypes"],
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        USE_TZ=True,
    )
    django.setup()
    from boomslang.record import Tracer, trace_django

    shop = Shop()
    shop.clear()
    trace_django(Tracer(Path(folder)))
    shop.furnish()
    if script:
        shop.two_at_a_time(script)
    else:
        shop.run(int(clients), int(each), int(commits))


class Shop:
    """The models, and what happens to them."""

    def __init__(self) -> None:
        from django.db import models

        class Item(models.Model):
            name = models.CharField(max_length=40, unique=True)
            stock = models.IntegerField()
            price = models.DecimalField(max_digits=10, decimal_places=2)

            class Meta:
                app_label = "shop"

        class Order(models.Model):
            item = models.ForeignKey(Item, on_delete=models.CASCADE)
            quantity = models.IntegerField()
            status = models.CharField(max_length=20, default="open")
            at = models.DateTimeField(auto_now_add=True)

            class Meta:
                app_label = "shop"

        class Doctor(models.Model):
            name = models.CharField(max_length=40)
            on_call = models.BooleanField(default=True)

            class Meta:
                app_label = "shop"

        class Seat(models.Model):
            holder = models.CharField(max_length=40, null=True)
            version = models.IntegerField(default=1)

            class Meta:
                app_label = "shop"

        self.Item, self.Order, self.Doctor, self.Seat = Item, Order, Doctor, Seat
        self.models: list[Any] = [Item, Order, Doctor, Seat]

    def clear(self) -> None:
        from django.db import connection

        with connection.cursor() as cursor:
            for model in reversed(self.models):
                cursor.execute(f"DROP TABLE IF EXISTS {model._meta.db_table}")
        connection.close()

    def furnish(self) -> None:
        from django.db import connection, transaction

        with connection.schema_editor() as editor:
            for model in self.models:
                editor.create_model(model)
        with transaction.atomic():
            self.Item.objects.bulk_create(
                self.Item(name=f"item {n}", stock=20, price=Decimal("9.90") + n) for n in range(4)
            )
            for name in ("Ann", "Ben", "Cleo"):
                self.Doctor.objects.create(name=name)
            self.Seat.objects.bulk_create(self.Seat() for _ in range(3))
        connection.close()

    # --- transactions

    def buy(self, draw: random.Random) -> None:
        item = self.Item.objects.get(name=f"item {draw.randrange(4)}")
        if item.stock:
            item.stock -= 1
            item.save(update_fields=["stock"])
            self.Order.objects.create(item=item, quantity=1)

    def restock(self, draw: random.Random) -> None:
        item = self.Item.objects.select_for_update().get(name=f"item {draw.randrange(4)}")
        item.stock += 5
        item.price = Decimal(draw.randint(100, 999)) / 100
        item.save()

    def cancel(self, draw: random.Random) -> None:
        order = self.Order.objects.filter(status="open").order_by("id").select_related("item").first()
        if order is not None:
            order.status = "cancelled"
            order.save()
            self.Item.objects.filter(pk=order.item.pk).update(stock=order.item.stock + order.quantity)

    def sweep(self, draw: random.Random) -> None:
        for order in list(self.Order.objects.filter(status="cancelled")[:2]):
            order.delete()

    def go_home(self, draw: random.Random) -> None:
        on_call = list(self.Doctor.objects.filter(on_call=True))
        if len(on_call) >= 2:
            doctor = draw.choice(on_call)
            doctor.on_call = False
            doctor.save()
        else:
            for doctor in self.Doctor.objects.filter(on_call=False):
                doctor.on_call = True
                doctor.save()

    def book(self, draw: random.Random) -> None:
        """Optimistic locking: by the count of an UPDATE."""
        seat = self.Seat.objects.get(pk=draw.choice(self.Seat.objects.values_list("pk", flat=True)))
        holder = None if seat.holder else draw.choice(("Dora", "Emil"))
        same = self.Seat.objects.filter(pk=seat.pk, version=seat.version)
        same.update(holder=holder, version=seat.version + 1)

    def look(self, draw: random.Random) -> None:
        for order in self.Order.objects.select_related("item").filter(item__price__lt=12)[:5]:
            _ = order.item.name
        self.Order.objects.count()
        self.Seat.objects.filter(pk__in=[1, 2, 99]).exists()
        self.Item.objects.in_bulk([1, 2, 99])

    def run(self, clients: int, each: int, commits: int = 0) -> None:
        """Each client tries so many transactions, and as many more until these are committed by all together: how many
        of them the database refuses hangs on how busy the machine is."""
        from django.db import DatabaseError, connection, transaction

        choices = [
            self.buy,
            self.buy,
            self.restock,
            self.cancel,
            self.sweep,
            self.go_home,
            self.book,
            self.look,
        ]
        trouble: list[BaseException] = []
        committed: list[int] = []

        def client(number: int) -> None:
            draw = random.Random(number)
            tried = 0
            try:
                while tried < each or (len(committed) < commits and not trouble):
                    tried += 1
                    if getattr(connection.connection, "closed", False):  # it was cut
                        connection.close()
                    with suppress(DatabaseError, KeyError, self.Item.DoesNotExist), transaction.atomic():
                        draw.choice(choices)(draw)
                        if draw.random() < 0.1:
                            with suppress(ZeroDivisionError), transaction.atomic():
                                self.book(draw)
                                _ = 1 // draw.randrange(2)
                        if draw.random() < 0.05:
                            raise KeyError
                        transaction.on_commit(lambda: committed.append(number))
                with suppress(DatabaseError):
                    self.look(random.Random(1))  # in autocommit mode
            except BaseException as error:
                trouble.append(error)
            finally:
                connection.close()

        threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if trouble:
            raise trouble[0]

    def two_at_a_time(self, script: str) -> None:
        """Both have looked before either writes."""
        from django.db import DatabaseError, connection, transaction

        barrier = threading.Barrier(2, timeout=20)

        def last_doctor(number: int) -> None:
            on_call = list(self.Doctor.objects.filter(on_call=True).order_by("id"))
            barrier.wait()
            for doctor in on_call[number : number + 1 + number]:  # all three, between the two of them
                doctor.on_call = False
                doctor.save()

        def last_item(number: int) -> None:
            item = self.Item.objects.get(name="item 1")
            barrier.wait()
            item.stock -= 1 + number
            item.save()

        scripts: dict[str, Callable[[int], None]] = {"last doctor": last_doctor, "last item": last_item}

        def client(number: int) -> None:
            with suppress(DatabaseError), transaction.atomic():
                scripts[script](number)
            connection.close()

        threads = [threading.Thread(target=client, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
