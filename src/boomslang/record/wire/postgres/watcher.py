"""PostgreSQL's conversation as it goes by: which answer belongs to which statement.

A client may send as much as it likes before it reads. Answers come in the order of what was sent, so all that is to be
answered waits in `_expected`: a Parse, a Bind, a Describe, an Execute, a Close each have their own, a simple query has
one for each of its statements, and a Sync (or the end of a simple query) has ReadyForQuery, which says whether a
transaction is open. After an error the server ignores what it has been sent up to the next Sync, and so does this.

Outside of BEGIN and COMMIT, all that was sent up to a Sync is one transaction; so is a text of several statements.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from boomslang.record.sql.schema import Unknown
from boomslang.record.sql.text import Numbered
from boomslang.record.tracer import Tracer
from boomslang.record.wire._relay import postgres_answer, postgres_request
from boomslang.record.wire.asking import Asking
from boomslang.record.wire.exchange import Dialogue, Exchange, ServerError, Standing, without_secrets
from boomslang.record.wire.postgres import messages, transport, values
from boomslang.record.wire.postgres.driver import PostgresDriver
from boomslang.record.wire.postgres.messages import Frames, Message
from boomslang.record.wire.postgres.texts import ATOMIC, statements_of
from boomslang.record.wire.relay import Malformed, Watcher, Wire
from boomslang.record.wire.shapes import Shapes

MOST = 16 << 20
"""Bytes of an answer that are held for the recorder."""
UNREAD = "CALL /* a statement that was not read */"
"""In place of a text that nobody knows: it may have done anything."""
IN_PIECES = "rows that were fetched in pieces, with other statements in between"
TOO_MUCH = f"an answer of more than {MOST >> 20} MB"
UNDESCRIBED = "an answer whose columns were not described"
NAMES = (b"search_path", b"options")
ENDS = (b"COMMIT", b"ROLLBACK", b"PREPARE TRANSACTION")
"""What the server says of statements that end transactions."""
DESCRIPTIONS = 1000

PARSE, BIND, DESCRIBE, EXECUTE, CLOSE, QUERY, CALL, SYNC = range(8)
EXTENDED = (PARSE, BIND, DESCRIBE, EXECUTE, CLOSE)


class Prepared:
    """A prepared statement."""

    __slots__ = ("columns", "text", "types")

    def __init__(self, text: str, types: tuple[int, ...]) -> None:
        self.text, self.types = text, types
        self.columns: tuple[int, ...] | None = None
        """The types of its columns, once it was described."""


class Portal:
    """A prepared statement with parameters, which is executed, perhaps bit by bit."""

    __slots__ = ("exchange", "formats", "over", "parameters", "prepared", "rows", "size")

    def __init__(self, prepared: Prepared, parameters: Any, formats: tuple[int, ...]) -> None:
        self.prepared, self.parameters, self.formats = prepared, parameters, formats
        self.exchange: Exchange | None = None
        self.over = False
        """It has been executed to its end, or nobody follows it any more."""
        self.rows: list[bytes] = []
        self.size = 0


class Expected:
    """Something that will be answered."""

    __slots__ = ("columns", "exchanges", "formats", "kind", "most", "portal", "target", "undo", "wants")

    def __init__(self, kind: int) -> None:
        self.kind = kind
        self.exchanges: deque[Exchange] | None = None
        self.portal: Portal | None = None
        self.target: Prepared | None = None
        self.undo: tuple[bytes, Prepared | None] | None = None
        """Of a Parse or Close that the server may not look at: the name, and what it was before."""
        self.wants: bool | None = None
        """The rows of what is answered now."""
        self.most = False
        """An Execute that may end before its rows do."""
        self.columns: tuple[int, ...] | None = None
        self.formats: tuple[int, ...] = ()


class PostgresWatcher(Watcher):
    def __init__(self, wire: Wire, tracer: Tracer, *, tls: bool = False) -> None:
        super().__init__(wire)
        self.dialogue = Dialogue(tracer, PostgresDriver(), wire.clock, buffered=wire.buffered)
        self.dialogue.known.shapes = self.dialogue.known.shapes or Shapes()
        self._client, self._server = Frames(), Frames()
        self._encoding = values.Encoding()
        self._start: transport.Start | None = transport.Start()
        self._unwatched = False
        """A cancel request: nothing to be read."""
        self._ready = False
        """The server said so, and nothing was forwarded since."""
        self._tls = tls
        self._early = False
        """The client said more than who it is before it was let in."""
        self._odd: set[bytes] = set()
        """Prepared statements after which names or tables may not be what they were."""
        self._expected: deque[Expected] = deque()
        self._statements: dict[bytes, Prepared] = {}
        self._portals: dict[bytes, Portal] = {}
        self._ignoring = False
        """After an error: the server ignores everything up to the next Sync."""
        self._status = b""
        self._group = 0
        """Statements since the last Sync."""
        self._alone = False
        """The Execute that is looked at is the only one up to its Sync."""
        self._block = False
        """Whether a transaction block is open when all that was forwarded is done."""
        self._waiting: tuple[Any, int] | None = None
        """The answer to a statement that is committed at the Sync after it."""
        self._suspended: Portal | None = None
        self._copying = False
        self._postponed: tuple[bytes, Any, int] | None = None
        """A whole question that waits for its answer, taken apart, and when it came."""
        self._columns: dict[bytes, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        """Descriptions that were read before: types and formats."""
        self._asking: Asking | None = None
        self._asked: list[bytes] = []
        self._asked_columns: tuple[int, ...] = ()
        self._asked_error: str | None = None

    def refusal(self, why: str) -> bytes:
        return b"" if self._unwatched else messages.refusal(why)  # who cancels expects to hear nothing

    def gone(self, who: str) -> None:
        if self._postponed is not None:
            self._look_at_postponed()
        if self._asking is not None:
            self._asking.stop()
        self.dialogue.closed()

    def flush(self) -> None:
        self.dialogue.flush()

    # --- what may be forwarded before it is understood

    def quiet(self) -> bool:
        return (
            self._status != b""
            and self._asking is None
            and not self._odd
            and not self._client.data
            and not self._copying
            and self.dialogue.ready()
        )

    def state(self) -> dict[str, Any] | None:
        if self._status == b"":
            return None
        encoding = self._encoding
        return {
            "codec": encoding.codec,
            "iso": encoding.iso,
            "moved": self.dialogue.moved,
            "unread": self._early or bool(self.dialogue.under_way),
        }

    def resume(self, state: dict[str, Any]) -> None:
        if state["unread"]:
            raise Malformed("statements that were sent with the login, which are not in the spool")
        self._start = None
        self._encoding.codec, self._encoding.iso = state["codec"], state["iso"]
        if state["moved"]:
            self.dialogue.talk.names_moved = True
        self._settle(b"I")

    longest = messages.HELD

    def whole(self, data: bytes | bytearray) -> int:
        return messages.whole(data)

    def missing(self, data: bytes | bytearray) -> int:
        return 1 + int(messages.LENGTH.unpack_from(data, 1)[0]) - len(data)

    def masked(self, data: bytes) -> bytes:
        return without_secrets(data)

    # --- the client

    def from_client(self, data: bytes) -> None:
        if self._postponed is not None and not self._look_at_postponed():
            return
        if self.wire.forwarded and self._nothing_else() and self.dialogue.idle():
            found = postgres_request(data)
            if found is not None:
                self._postponed = (data, found, self.wire.now)
                self.dialogue.known.postponed[self] = self._look_at_postponed
                return
        self._from_client_now(data)

    def _from_client_now(self, data: bytes) -> None:
        if self._unwatched:
            self.wire.to_server(data)
        elif self._start is not None:
            self._begin(data)
        elif self._asking is not None:
            self._client.data += data
        else:
            self._look(data)

    def _begin(self, data: bytes) -> None:
        start = self._start
        assert start is not None
        while (found := start.next(data)) is not None:
            data = b""
            code, message = found
            if code in (transport.SSL_REQUEST, transport.GSS_REQUEST):
                self.wire.to_client(b"N")
                continue
            rest = start.data
            self._start = None
            if code == transport.CANCEL:
                self._unwatched = True
                self.wire.to_server(message + rest)
                return
            said = transport.settings(message)
            if b"replication" in said:
                raise Malformed(
                    "a connection for replication, which is not recorded; connect to the server itself"
                )
            if any(name in said and b"search_path" in name + said[name] for name in NAMES):
                self.dialogue.talk.names_moved = True
            self.wire.to_server(message)
            if rest:
                self._early = True
                self._look(rest)
            return

    def _look(self, data: bytes) -> None:
        frames = self._client
        found = list(frames.messages(data))
        buffer = frames.buffer
        if self._ready and found and not self.wire.forwarded and self._must_ask(found, buffer):
            frames.again()  # looked at again when the answers are there
            return
        for number, message in enumerate(found):
            if message.letter == 69:
                self._alone = self._group == 0 and _syncs_next(found, number + 1)
            self._from_client(message, buffer)
        self._ready = self._ready and not self._expected
        if len(frames.data) < len(buffer):
            self.wire.to_server(buffer[: len(buffer) - len(frames.data)] if frames.data else buffer)

    def _from_client(self, message: Message, data: bytes) -> None:
        letter, start, end = message.letter, message.start, message.end
        if letter == 83:  # Sync
            self._sync()
        elif self._ignoring or letter in b"dcfHXp":
            if letter in b"cf":  # CopyDone, CopyFail
                self._copying = False
        elif letter == 81:  # Query
            self._query(data[start : end - 1] if end >= 0 else None)
        elif letter == 80:  # Parse
            self._parse(messages.parse(data, start, end) if end >= 0 else None)
        elif letter == 66:  # Bind
            self._bind(messages.bind(data, start, end) if end >= 0 else None)
        elif letter == 69:  # Execute
            name, at = messages.text_at(data, start, end)
            self._execute(name, data[at:end] != b"\0\0\0\0")
        elif letter == 68 or letter == 67:  # Describe, Close
            if end - start < 2:
                raise Malformed("a message that ends too early")
            self._describe_or_close(letter, data[start], messages.text_at(data, start + 1, end)[0])
        elif letter == 70:  # FunctionCall
            self._call()
        else:
            raise Malformed(f"a message {bytes((letter,))!r}")

    def _sync(self) -> None:
        if self._copying and self._expected and self._expected[0].kind == EXECUTE:
            return  # the server ignores it
        self._ignoring = False
        self._group = 0
        under_way = self.dialogue.under_way
        if under_way and not self._block:
            step = under_way[0].step
            if len(under_way) > 1 or step is None or not step.on_file:
                self.dialogue.promise()
        self._expected.append(Expected(SYNC))

    def _query(self, raw: bytes | None) -> None:
        text = None if raw is None else self._encoding.statement(raw)
        parts = (UNREAD,) if text is None or ATOMIC.search(text) else statements_of(text)
        item = Expected(QUERY)
        item.exchanges = deque(self._sent(part, None, alone=len(parts) == 1) for part in parts)
        held = raw is not None and not self.wire.forwarded and UNREAD not in parts
        if held and all(self.dialogue.standing(part, None) is Standing.PLAIN for part in parts):
            assert raw is not None
            self.wire.know(b"Q", raw)
        if len(self.dialogue.under_way) > 1:
            self.dialogue.promise()
        self._expected.append(item)
        self._expected.append(Expected(SYNC))
        self._statements.pop(b"", None)

    def _call(self) -> None:
        item = Expected(CALL)
        item.exchanges = deque((self._sent(UNREAD, None, alone=True),))
        if len(self.dialogue.under_way) > 1:
            self.dialogue.promise()
        self._expected.append(item)
        self._expected.append(Expected(SYNC))

    def _parse(self, found: messages.Parse | None) -> None:
        item = Expected(PARSE)
        name = b"" if found is None else found.name
        item.undo = (name, self._statements.get(name))
        if found is None:  # too long to be read, its name included: what is not known is not understood
            self._statements.clear()
        else:
            parts = statements_of(self._encoding.statement(found.text))
            text = parts[0] if len(parts) == 1 else "" if not parts else UNREAD
            item.target = self._statements[name] = Prepared(text, found.types)
            if not self.wire.forwarded and text:
                standing = Standing.ODD if text is UNREAD else self.dialogue.standing(text, Numbered())
                if standing is Standing.PLAIN:
                    self.wire.know(b"P", found.text)
                (self._odd.add if standing is Standing.ODD else self._odd.discard)(name)
        self._expected.append(item)

    def _bind(self, found: messages.Bind | None) -> None:
        self._expected.append(Expected(BIND))
        if found is None:
            self._portals.clear()
            return
        prepared = self._statements.get(found.statement) or Prepared(UNREAD, ())
        given = values.parameters(self._encoding, prepared.types, found.formats, found.values)
        portal = Portal(prepared, Numbered(given), found.results)
        old = self._portals.get(found.portal)
        if old is not None and old is self._suspended:
            self._leave_suspended()
        self._portals[found.portal] = portal

    def _execute(self, name: bytes, most: bool) -> None:
        item = Expected(EXECUTE)
        item.most = most
        portal = self._portals.get(name)
        if portal is None:
            portal = self._portals[name] = Portal(Prepared(UNREAD, ()), Numbered([Unknown]), ())
        item.portal = portal
        self._expected.append(item)
        if portal.over or not portal.prepared.text:
            return
        if portal.exchange is not None:
            if portal is self._suspended:
                self._suspended = None
                item.exchanges = deque((portal.exchange,))
            return
        portal.exchange = self._sent(portal.prepared.text, portal.parameters, alone=self._alone)
        self._group += 1
        item.exchanges = deque((portal.exchange,))

    def _describe_or_close(self, letter: int, kind: int, name: bytes) -> None:
        item = Expected(DESCRIBE if letter == 68 else CLOSE)
        portal = self._portals.get(name) if kind == 80 else None
        if letter == 68:
            item.target = portal.prepared if portal is not None else self._statements.get(name)
        elif kind == 80:
            if portal is not None and portal is self._suspended:
                self._leave_suspended()
            self._portals.pop(name, None)
        else:
            item.undo = (name, self._statements.pop(name, None))
            self._odd.discard(name)
        self._expected.append(item)

    def _sent(self, text: str, parameters: Any, *, alone: bool) -> Exchange:
        """A statement is about to be forwarded."""
        if self._suspended is not None:
            self._leave_suspended()
        dialogue = self.dialogue
        if dialogue.under_way:
            last = dialogue.under_way[-1]
            if last.untold is None and self._expected and self._expected[-1].most:
                last.untold = IN_PIECES
        kind = dialogue.talk.control(text)
        if kind == "commit" and dialogue.under_way:
            dialogue.promise()
        odd = not self.wire.forwarded and (
            text is UNREAD or dialogue.standing(text, parameters) is Standing.ODD
        )
        made = dialogue.sent(text, parameters, alone=alone)
        if odd:
            self.wire.begin_odd()
            made.over = self.wire.end_odd
        if kind == "begin":
            self._block = True
        elif kind in ("commit", "rollback"):
            self._block = False
        return made

    def _leave_suspended(self) -> None:
        """Nobody follows the rows of this portal to their end."""
        portal, self._suspended = self._suspended, None
        assert portal is not None and portal.exchange is not None
        portal.exchange.untold = IN_PIECES
        portal.over = True
        portal.rows.clear()
        self.dialogue.answered()

    # --- a question and its answer that came in one piece each

    def _nothing_else(self) -> bool:
        """Was all that was said answered, to its end?"""
        return (
            self._ready
            and not self._expected
            and self._start is None
            and self._asking is None
            and self._suspended is None
            and not self._copying
            and not self._ignoring
            and self._client.at_start
            and self._server.at_start
        )

    def _look_at_postponed(self) -> bool:
        """The long way, for what was postponed. False: the connection is over."""
        assert self._postponed is not None
        (data, _, at), self._postponed = self._postponed, None
        self.dialogue.known.postponed.pop(self, None)
        return self.wire.look_again(data, at, self._from_client_now)

    def _whole(self, data: bytes) -> bool:
        """A question that waits and all of its answer: what they tell, at once. False, and nothing was done, if there
        is more to it."""
        assert self._postponed is not None
        sent, request, at = self._postponed
        answer = postgres_answer(data) if self.wire.forwarded else None
        if answer is None:
            return False
        parsed, bound, described, columns, raw, tag, status = answer
        prepared: Prepared | None = None
        parameters: Any = None
        types: tuple[int, ...] | None
        formats: tuple[int, ...]
        if len(request) == 1:
            if parsed or bound or (described and columns is None):
                return False
            text = self._only_statement(request[0])
            if ATOMIC.search(text):
                return False
            types, formats = self._described_before(columns) if columns is not None else (None, ())
        else:
            name, given_formats, given, formats, describes, parse = request
            if parsed != (parse is not None) or not bound or describes != described:
                return False
            prepared = self._statements.get(name) if parse is None else self._prepared_anew(name, parse)
            if prepared is None:
                return False
            text = prepared.text
            if describes:
                types = self._described_before(columns)[0] if columns is not None else ()
            else:
                types = prepared.columns
            parameters = Numbered(values.parameters(self._encoding, prepared.types, given_formats, given))
        dialogue = self.dialogue
        if text is UNREAD or not text or not dialogue.open_text(text):
            return False
        kind = dialogue.talk.control(text)
        if tag in ENDS and (kind is None or (tag == b"ROLLBACK" and kind == "commit")):
            return False
        decoders = None
        if raw:
            decoders = None if types is None else self._encoding.decoders(types, formats)
            if decoders is None or any(len(row) != len(decoders) for row in raw):
                return False
        self._postponed = None
        dialogue.known.postponed.pop(self, None)
        if prepared is not None:
            if described:
                prepared.columns = types
            if parsed:
                self._statements[request[0]] = prepared
        try:
            step = dialogue.take_whole(text, parameters, at)
        except Exception:
            self.wire.not_understood()
            raise
        word, _, last = tag.rpartition(b" ")
        count = int(last) if last.isdigit() and word else -1
        rows: Any = ()
        untold = None
        if step.wants_rows and types is None:
            untold = UNDESCRIBED
        elif step.wants_rows:
            rows = [] if decoders is None else [values.row(decoders, row) for row in raw]
            if word == b"SELECT":
                count = len(rows)
        dialogue.finish_whole(step, rows, count, untold=untold)
        if prepared is None:
            self._statements.pop(b"", None)
        elif status != b"I":
            done = self._portals[b""] = Portal(prepared, parameters, formats)
            done.over = True
        dialogue.settled(status != b"I")
        self._status = status
        self._block = status != b"I"
        if status == b"I":
            self._portals.clear()
        self.wire.to_server(sent)
        self.wire.to_client(data)
        return True

    def _only_statement(self, raw: bytes) -> str:
        parts = statements_of(self._encoding.statement(raw))
        return parts[0] if len(parts) == 1 else UNREAD

    def _prepared_anew(self, name: bytes, body: bytes) -> Prepared | None:
        """By a Parse of this body, if it is of this name."""
        found = messages.parse(body, 0, len(body))
        return Prepared(self._only_statement(found.text), found.types) if found.name == name else None

    def _described_before(self, body: bytes) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The types and formats of a RowDescription."""
        found = self._columns.get(body)
        if found is None:
            if len(self._columns) >= DESCRIPTIONS:
                self._columns.clear()
            size = len(body)
            found = messages.column_types(body, 0, size), messages.formats_of_columns(body, 0, size)
            self._columns[body] = found
        return found

    # --- questions of our own

    def _must_ask(self, found: list[Message], data: bytes) -> bool:
        """Is there something to be asked before these are forwarded? Then it is asked, and they are looked at again."""
        known = self.dialogue.known
        if self._status == b"E" or self.dialogue.under_way or self._server.data:
            return False
        questions = None
        if known.stale or not self.dialogue.talk.identified:
            questions = self.dialogue.questions("", None)
        else:
            for message in found:
                if message.letter in b"PQ" and message.end >= 0:
                    questions = self._questions(message, data)
                    if questions is not None:
                        break
        if questions is None:
            return False
        self.wire.hold_client()
        self._asking = Asking(questions, self._ask, self._go_on, self.wire.later)
        self._asking.start()
        return True

    def _questions(self, message: Message, data: bytes) -> Any:
        given = None
        if message.letter == 81:
            text = data[message.start : message.end - 1]
        else:
            text, given = messages.parse(data, message.start, message.end).text, Numbered()
        for part in statements_of(self._encoding.statement(text)):
            if (questions := self.dialogue.questions(part, given)) is not None:
                return questions
        return None

    def _ask(self, query: str) -> None:
        self._asked, self._asked_columns, self._asked_error = [], (), None
        self.wire.to_server(messages.question(query))

    def _go_on(self) -> None:
        self._asking = None
        self.wire.go_on_with_client()
        self._look(b"")

    def _answer(self, data: bytes) -> None:
        """From the server, while we ask."""
        for message in self._server.messages(data):
            buffer = self._server.buffer
            letter, start, end = message.letter, message.start, message.end
            if self._asking is None:  # all is answered, and what follows is what a server says unasked
                if letter not in b"NASE" or end < 0:
                    raise Malformed("an answer to something that was not asked")
                self._from_server(message, buffer)
                self.wire.to_client(buffer[start - 5 : end])
            elif letter == 68 and end >= 0:
                self._asked.append(buffer[start:end])
            elif letter == 84 and end >= 0:
                self._asked_columns = messages.column_types(buffer, start, end)
            elif letter == 69:
                self._asked_error = str(messages.error(buffer, start, end)) if end >= 0 else "an error"
            elif letter in b"NAS" and end >= 0:
                if letter == 83:
                    self._parameter(buffer, start, end)
                self.wire.to_client(buffer[start - 5 : end])
            elif letter == 90:
                self._status = buffer[start:end]
                asking = self._asking
                if self._asked_error is not None:
                    asking.fail(self._asked_error)
                else:
                    asking.answer(self._rows(self._asked, self._asked_columns, ()) or [])
            elif end < 0:  # a row of somebody's table, which is then not told
                self._asked_error = "an answer too large to be held"

    # --- the server

    def from_server(self, data: bytes) -> None:
        if self._postponed is not None and (self._whole(data) or not self._look_at_postponed()):
            return
        if self._unwatched:
            self.wire.to_client(data)
        elif self._asking is not None:
            self._answer(data)
        else:
            changed: bytes | None = None
            for message in self._server.messages(data):
                if message.letter == 82 and self._tls and message.end >= 0:
                    changed = self._authentication(message, changed)
                else:
                    self._from_server(message, self._server.buffer)
            self.wire.to_client(data if changed is None else changed)

    def _authentication(self, message: Message, changed: bytes | None) -> bytes | None:
        """The offer of SCRAM with channel binding is for those who speak TLS with us, and nobody does."""
        data = self._server.buffer
        body = data[message.start : message.end]
        if body[:4] != messages.LENGTH.pack(transport.SASL) or transport.BOUND not in body:
            return changed
        whole = changed if changed is not None else data
        return whole.replace(
            data[message.start - 5 : message.end],
            messages.message(b"R", transport.without_channel_binding(body)),
        )

    def _from_server(self, message: Message, data: bytes) -> None:
        letter, start, end = message.letter, message.start, message.end
        if letter == 68:  # DataRow
            self._row(data, start, end, message.size)
        elif letter == 67:  # CommandComplete
            self._complete(data[start : end - 1])
        elif letter == 90:  # ReadyForQuery
            self._settle(data[start:end])
        elif letter == 50:  # BindComplete
            self._expect(BIND)
        elif letter == 49:  # ParseComplete
            self._expect(PARSE)
        elif letter == 84 or letter == 110:  # RowDescription, NoData
            self._described(data, start, end, letter == 84)
        elif letter == 69:  # ErrorResponse
            self._failed(messages.error(data, start, end) if end >= 0 else ServerError("an error"))
        elif letter == 83:  # ParameterStatus
            if end >= 0:
                self._parameter(data, start, end)
        elif letter == 51:  # CloseComplete
            self._expect(CLOSE)
        elif letter == 116:  # ParameterDescription
            self._parameters_described(data, start, end)
        elif letter == 115:  # PortalSuspended
            self._suspend()
        elif letter == 73:  # EmptyQueryResponse
            self._empty()
        elif letter == 71 or letter == 87:  # CopyInResponse, CopyBothResponse
            self._copy_in()
        elif letter == 86:  # FunctionCallResponse
            self._function_returned()
        elif letter not in b"NARKvHdcW":
            raise Malformed(f"a message {bytes((letter,))!r}")

    def _parameter(self, data: bytes, start: int, end: int) -> None:
        name, at = messages.text_at(data, start, end)
        self._encoding.told(name, messages.text_at(data, at, end)[0])

    def _expect(self, kind: int) -> Expected:
        expected = self._expected
        if not expected or expected[0].kind != kind:
            raise Malformed("an answer to something that was not asked")
        return expected.popleft()

    def _first(self) -> Expected:
        if not self._expected:
            raise Malformed("an answer to something that was not asked")
        return self._expected[0]

    def _described(self, data: bytes, start: int, end: int, has_rows: bool) -> None:
        item = self._first()
        columns = messages.column_types(data, start, end) if has_rows and end >= 0 else ()
        if item.kind == DESCRIBE:
            self._expected.popleft()
            if item.target is not None:
                item.target.columns = columns
        elif item.kind in (QUERY, EXECUTE):
            item.columns = columns
            item.formats = messages.formats_of_columns(data, start, end) if has_rows and end >= 0 else ()
        else:
            raise Malformed("a description of something that was not asked")

    def _parameters_described(self, data: bytes, start: int, end: int) -> None:
        item = self._first()
        if item.kind != DESCRIBE:
            raise Malformed("a description of something that was not asked")
        if item.target is not None and end >= 0:
            item.target.types = messages.numbers(data, start, end, "I", 4)[0]

    def _row(self, data: bytes, start: int, end: int, size: int) -> None:
        item = self._first()
        if item.kind not in (QUERY, EXECUTE):
            raise Malformed("a row of something that was not asked")
        if not item.exchanges:
            return
        if item.wants is None:
            item.wants = self.dialogue.wants_rows()
            if item.portal is None:
                item.portal = Portal(Prepared("", ()), None, ())
        if not item.wants:
            return
        portal = item.portal
        assert portal is not None
        portal.size += size + 64
        if end < 0 or portal.size > MOST:
            item.exchanges[0].untold = TOO_MUCH
            item.wants = False
            portal.rows.clear()
        else:
            portal.rows.append(data[start:end])

    def _complete(self, tag: bytes) -> None:
        item = self._first()
        if item.kind not in (QUERY, EXECUTE):
            raise Malformed("an end of something that was not asked")
        if item.kind == EXECUTE:
            self._expected.popleft()
        portal, item.wants = item.portal, None
        if portal is not None:
            portal.over = True
        if not item.exchanges:
            return
        exchange = item.exchanges.popleft()
        if exchange.untold is IN_PIECES:
            exchange.untold = None
        wanted = self.dialogue.wants_rows() and exchange.untold is None
        rows: Any = ()
        if wanted:
            raw = portal.rows if portal is not None else []
            if item.columns is not None:
                rows = self._rows(raw, item.columns, item.formats)
            elif portal is not None and portal.prepared.columns is not None:
                rows = self._rows(raw, portal.prepared.columns, portal.formats)
            else:
                rows = None
            if rows is None:
                exchange.untold = UNDESCRIBED
        if item.kind == QUERY:
            item.portal = item.columns = None
        word, _, last = tag.rpartition(b" ")
        count = int(last) if last.isdigit() and word else -1
        if portal is not None and tag.startswith(b"SELECT") and wanted and rows is not None:
            count = len(rows)
        self._done(exchange, rows, count, tag, at_sync=item.kind == EXECUTE)

    def _done(self, exchange: Exchange, rows: Any, count: int, tag: bytes, *, at_sync: bool) -> None:
        dialogue = self.dialogue
        kind = dialogue.talk.control(exchange.text)
        if tag == b"ROLLBACK" and kind == "commit":
            dialogue.rolled_back()
            return
        if at_sync and exchange.step is not None and exchange.step.on_file:
            self._waiting = (rows, count)
            return
        dialogue.answered(rows, count)
        if kind is None and tag in ENDS:
            dialogue.ended(tag == b"COMMIT")
        if exchange.text is UNREAD:
            dialogue.known.changed()

    def _rows(self, raw: list[bytes], columns: tuple[int, ...], formats: tuple[int, ...]) -> Any:
        decoders = self._encoding.decoders(columns, formats)
        if decoders is None:
            return None
        made = []
        for body in raw:
            found, _ = messages.fields(body, 0, len(body))
            if len(found) != len(decoders):
                raise Malformed("a row with another number of columns than was described")
            made.append(values.row(decoders, found))
        return made

    def _suspend(self) -> None:
        item = self._expect(EXECUTE)
        if not item.exchanges:
            return
        portal = item.portal
        assert portal is not None and portal.exchange is not None
        self._suspended = portal
        if portal.exchange.untold is not None:
            self._leave_suspended()

    def _empty(self) -> None:
        item = self._first()
        if item.kind == EXECUTE:
            self._expected.popleft()
        elif item.kind != QUERY:
            raise Malformed("an end of something that was not asked")

    def _copy_in(self) -> None:
        item = self._first()
        self._copying = True
        if item.kind == EXECUTE:  # a Sync that the server finds among the data is none
            kept = [each for each in self._expected if each.kind != SYNC]
            self._expected.clear()
            self._expected.extend(kept)

    def _function_returned(self) -> None:
        item = self._expect(CALL)
        assert item.exchanges is not None
        exchange = item.exchanges.popleft()
        self._done(exchange, (), -1, b"", at_sync=False)

    def _failed(self, error: ServerError) -> None:
        expected, dialogue = self._expected, self.dialogue
        self._copying = False
        told = not expected
        if expected and expected[0].kind in EXTENDED:
            self._ignoring = True
        if self._waiting is not None:
            self._waiting = None
            dialogue.failed(error)
            told = True
        undo: list[tuple[bytes, Prepared | None]] = []
        unprepared = expected[0].target if expected and expected[0].kind == PARSE else None
        while expected and expected[0].kind != SYNC:
            item = expected.popleft()
            if item.undo is not None:
                undo.append(item.undo)
            for _ in item.exchanges or ():
                if told:
                    dialogue.skipped()
                else:
                    dialogue.failed(error)
                    told = True
            if item.portal is not None:
                item.portal.over = True
        if expected:
            self._ignoring = False
        for name, before in reversed(undo):
            if before is None:
                self._statements.pop(name, None)
            else:
                self._statements[name] = before
        if self._suspended is not None:
            self._leave_suspended()
        if told:
            return
        if unprepared is not None and unprepared.text and not dialogue.under_way:
            # A statement that could not even be prepared: to the application it is one that failed.
            dialogue.sent(unprepared.text, Numbered())
            dialogue.failed(error)
        elif dialogue.implicit:
            dialogue.doom(error)

    def _settle(self, status: bytes) -> None:
        if status not in (b"I", b"T", b"E"):
            raise Malformed(f"a transaction status {status!r}")
        dialogue, expected = self.dialogue, self._expected
        if self._waiting is not None:
            rows, count = self._waiting
            self._waiting = None
            dialogue.answered(rows, count)
        while expected:
            item = expected.popleft()
            if item.kind == SYNC:
                break
            for exchange in item.exchanges or ():
                exchange.untold = "a text that the database cut elsewhere"
                dialogue.answered()
        if self._suspended is not None and status != b"T":
            self._leave_suspended()
        dialogue.settled(status != b"I", status == b"E")
        self._status = status
        if status == b"I":
            self._portals.clear()
        if not expected:
            self._ready = True
            self._block = status != b"I"


def _syncs_next(found: list[Message], at: int) -> bool:
    """Does a Sync follow before anything else that does something?"""
    for message in found[at:]:
        if message.letter == 83:
            return True
        if message.letter not in b"CDH":
            return False
    return False
