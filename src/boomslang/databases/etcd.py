"""etcd, through the JSON that it speaks over HTTP: no driver is needed.

`etcd` starts a cluster of three members; `etcd://a:2379,b:2379` is somebody's. Transactions are optimistic, as etcd's
own client makes them: what is written is kept back, all reads are of the revision that the first one saw, and the
commit is one transaction of etcd's, which compares and writes only if nothing that was read has changed since. For a
range that means each pair it held, and that no key in it is newer than the revision.

A transaction's first read is *linearizable* (the member asks the others whether it is behind) or, at `local reads`,
what the member has, which may be old; the commit's comparison is made by all of them either way. All keys are below
one prefix.

Outcomes. A comparison that failed is an abort. Errors before the commit are aborts, too: nothing was sent. Of the
commit's, only one that says that the request itself was refused (InvalidArgument) is certain to have done nothing.
"""

from __future__ import annotations

import base64
import http.client
import json
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, ClassVar

from boomslang.databases.claims import Release, Taken
from boomslang.databases.database import Aborted, Connection, Lost, Offered
from boomslang.databases.server_database import Served
from boomslang.errors import UsageError

PREFIX = "boomslang/"
END = "boomslang0"  # the byte after the slash
PATIENCE = 15.0
"""Seconds after which a member that has not answered is given up."""
REFUSED = 3
"""gRPC's InvalidArgument."""
BLOCK = 1000
"""Pairs that are loaded at a time."""
CLAIM = "boomslang-claim"
CLAIMED = 45.0
"""Seconds in which a claim must have been made."""
LEASE = 15
"""Seconds that a claim outlives its run, if that is killed."""
LOCAL = "local reads"

_GUARANTEES = "etcd.io/docs/v3.5/learning/api_guarantees"


class Etcd(Served):
    name = "etcd"
    title = "etcd"
    levels: ClassVar[Mapping[str, Offered]] = {
        each.name: each
        for each in (
            Offered(LOCAL, "ser", note=f"{_GUARANTEES}: serializable reads may be stale; commits compare"),
            Offered("linearizable reads", "sser", note=f"{_GUARANTEES}: strict serializability"),
        )
    }
    default_level = "linearizable reads"
    capabilities = frozenset({"iterator"})
    server_kind: ClassVar[str | None] = "etcd"

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        for dsn in self.dsns:
            host, colon, port = dsn.removeprefix("etcd://").rstrip("/").rpartition(":")
            if not (host and colon and port.isdigit()):
                raise UsageError(f"found the address {dsn!r} of etcd; expected etcd://host:2379")

    def connect_at(self, dsn: str) -> EtcdConnection:
        return EtcdConnection(dsn.removeprefix("etcd://").rstrip("/"))

    def connect(self) -> EtcdConnection:
        return self.connect_at(self.dsn)

    def claim_tables(self) -> Release | None:
        mine = uuid.uuid4().hex
        end = time.monotonic() + CLAIMED
        while True:
            try:
                return Lease(self.dsns, self._claimed_by(mine)).end
            except (
                Refused,
                Lost,
            ) as problem:  # it may be busy; whether it did what was asked shows next time
                if time.monotonic() > end:
                    raise UsageError(f"cannot claim the prefix {PREFIX} of etcd: {problem}") from None
                time.sleep(0.2)

    def _claimed_by(self, mine: str) -> str:
        """The lease that the claim hangs on, which is ours from now on, or was from an attempt without an answer."""
        connection = self.connect()
        try:
            lease = str(connection.call("lease/grant", {"TTL": LEASE})["ID"])
            absent = {"key": coded(CLAIM), "target": "CREATE", "result": "EQUAL", "create_revision": 0}
            put_mine = {"request_put": {"key": coded(CLAIM), "value": coded(mine), "lease": lease}}
            look = {"request_range": {"key": coded(CLAIM)}}
            told = connection.call("kv/txn", {"compare": [absent], "success": [put_mine], "failure": [look]})
        finally:
            connection.close()
        if told.get("succeeded"):
            return lease
        for found in told["responses"][0]["response_range"].get("kvs", []):
            if decoded(found["value"]) == mine:
                return str(found["lease"])
        raise Taken(
            self.title, f"the prefix {PREFIX} (the claim of one that was killed ends within {LEASE} s)"
        )

    def prepare(self, initial: Mapping[str, str]) -> None:
        connection = self.connect()
        try:
            connection.call("kv/deleterange", {"key": coded(PREFIX), "range_end": coded(END)})
            pairs = list(initial.items())
            for first in range(0, len(pairs), BLOCK):
                puts = [put(key, value) for key, value in pairs[first : first + BLOCK]]
                connection.call("kv/txn", {"success": puts})
        finally:
            connection.close()

    def version(self) -> str:
        connection = self.connect()
        try:
            told = connection.call("maintenance/status", {})["version"]
        finally:
            connection.close()
        return f"etcd {told}" + (f" with {len(self.dsns)} members" if len(self.dsns) > 1 else "")


def coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def decoded(text: str) -> str:
    return base64.b64decode(text).decode()


def put(key: str, value: str) -> dict[str, Any]:
    return {"request_put": {"key": coded(PREFIX + key), "value": coded(value)}}


def remove(key: str) -> dict[str, Any]:
    return {"request_delete_range": {"key": coded(PREFIX + key)}}


class Lease:
    """Keeps a lease alive, through whichever member answers."""

    def __init__(self, dsns: tuple[str, ...], number: str) -> None:
        self._dsns, self._number = dsns, number
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True, name="etcd lease")
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join(PATIENCE)
        self._ask("lease/revoke")

    def _keep(self) -> None:
        while not self._over.wait(LEASE / 5):
            self._ask("lease/keepalive")

    def _ask(self, what: str) -> None:
        for dsn in self._dsns:
            with suppress(Lost, Refused):
                connection = EtcdConnection(dsn.removeprefix("etcd://").rstrip("/"), LEASE / 5)
                try:
                    connection.call(what, {"ID": self._number})
                    return
                finally:
                    connection.close()


class Refused(Exception):
    """etcd answered with an error; its code and text."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class EtcdConnection(Connection):
    def __init__(self, place: str, patience: float = PATIENCE) -> None:
        host, _, port = place.rpartition(":")
        self._http = http.client.HTTPConnection(host, int(port), timeout=patience)
        self._local = False
        self._begin()
        try:
            self._http.connect()
        except OSError as problem:
            raise Lost(f"{place}: {problem}") from None

    def call(self, what: str, asked: Mapping[str, Any]) -> Any:
        """One request. Raises `Lost`, or `Refused` if it was answered with an error."""
        try:
            body = json.dumps(asked)
            self._http.request("POST", f"/v3/{what}", body, {"Content-Type": "application/json"})
            answer = self._http.getresponse()
            told = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as problem:
            self.close()
            raise Lost(f"{type(problem).__name__}: {problem}") from None
        if answer.status != 200:
            raise Refused(int(told.get("code", 0)), str(told.get("error", told)))
        return told

    # --- a transaction

    def _begin(self) -> None:
        self._revision: int | None = None
        self._read: dict[str, int] = {}
        """Each key that was read, and the revision that its value was written in; 0 if there was none."""
        self._ranges: list[tuple[str, str]] = []
        self._written: dict[str, str | None] = {}

    def begin(self, level: str) -> None:
        self._begin()
        self._local = level == LOCAL

    def _range(self, key: str, end: str | None, limit: int = 0) -> list[tuple[str, str]]:
        """The pairs that the database holds in a range (or at a key) in this transaction's revision."""
        asked: dict[str, Any] = {"key": coded(key), "serializable": self._local, "limit": limit}
        if end is not None:
            asked["range_end"] = coded(end)
        if self._revision is not None:
            # What this member held in a revision that it has shown is the same for ever: the others need not be asked.
            asked |= {"revision": self._revision, "serializable": True}
        try:
            told = self.call("kv/range", asked)
        except Refused as problem:
            self._begin()
            raise Aborted(str(problem)) from None
        if self._revision is None:
            self._revision = int(told["header"]["revision"])
        pairs = []
        for each in told.get("kvs", []):
            name = decoded(each["key"])[len(PREFIX) :]
            self._read[name] = int(each["mod_revision"])
            pairs.append((name, decoded(each.get("value", ""))))
        return pairs

    def get(self, key: str) -> str | None:
        if key in self._written:
            return self._written[key]
        found = self._range(PREFIX + key, None)
        if not found:
            self._read[key] = 0
        return found[0][1] if found else None

    def put(self, key: str, value: str) -> None:
        self._written[key] = value

    def delete(self, key: str) -> None:
        self._written[key] = None

    def scan(self, lo: str | None, hi: str | None) -> list[tuple[str, str]]:
        start, end = PREFIX + (lo or ""), END if hi is None else PREFIX + hi
        if start >= end:
            return []
        found = dict(self._range(start, end))
        self._ranges.append((start, end))
        for key, value in self._written.items():
            if start <= PREFIX + key < end:
                found.pop(key, None)
                if value is not None:
                    found[key] = value
        return sorted(found.items(), key=lambda pair: pair[0].encode())

    def iterator(self, lo: str | None, hi: str | None) -> Iterator[tuple[str, str]]:
        return iter(self.scan(lo, hi))

    def commit(self) -> None:
        read, ranges, written, revision = self._read, self._ranges, self._written, self._revision
        self._begin()
        if not written:
            return  # it read one revision, and is over
        compared: list[dict[str, Any]] = [
            {"key": coded(PREFIX + key), "target": "MOD", "result": "EQUAL", "mod_revision": at}
            for key, at in read.items()
        ]
        for start, end in ranges:
            newest = {"target": "MOD", "result": "LESS", "mod_revision": (revision or 0) + 1}
            compared.append({"key": coded(start), "range_end": coded(end), **newest})
        done = [remove(key) if value is None else put(key, value) for key, value in written.items()]
        try:
            told = self.call("kv/txn", {"compare": compared, "success": done})
        except Refused as problem:
            if problem.code == REFUSED:
                raise Aborted(str(problem)) from None
            self.close()
            raise Lost(str(problem)) from None
        if not told.get("succeeded"):
            raise Aborted("something that was read has changed")

    def abort(self) -> None:
        self._begin()

    def close(self) -> None:
        with suppress(OSError):
            self._http.close()

    def cut(self) -> None:
        """Break the connection, whatever it is doing."""
        if (wire := self._http.sock) is not None:
            with suppress(OSError):
                wire.shutdown(2)
