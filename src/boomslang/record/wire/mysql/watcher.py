"""Watches a connection that speaks MySQL's protocol: MariaDB's, MySQL's, TiDB's.

A client sends a command and the server answers it. A client may send the next one before; it is kept until the answer
is there, so that each statement is on file before it is forwarded, and the answers tell in order what became of each.

An error says nothing about the transaction but its number. Where that leaves a doubt, the server is asked with a ping,
whose answer has the flags, before the client hears of the error.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from boomslang.errors import UsageError
from boomslang.record.outcomes import MYSQL_DISCONNECTED, MYSQL_ROLLED_BACK, MYSQL_STATEMENT
from boomslang.record.session import RecordingFailed
from boomslang.record.sql.catalogs import ODD_MODES
from boomslang.record.sql.text import EXECUTED, Numbered
from boomslang.record.sql.understanding import Questions
from boomslang.record.tracer import Tracer
from boomslang.record.wire._relay import mysql_answer, mysql_text_row
from boomslang.record.wire.asking import Asking
from boomslang.record.wire.exchange import Dialogue, Exchange, ServerError, Standing, without_secrets
from boomslang.record.wire.mysql import texts
from boomslang.record.wire.mysql.answers import (
    ERROR,
    MOST_ROWS,
    SHORTEST_ROW_WITH_FE,
    Answer,
    Result,
    Shape,
    end_of,
)
from boomslang.record.wire.mysql.capabilities import (
    AUTOCOMMIT,
    CURSOR_EXISTS,
    DEPRECATE_EOF,
    EXTENDED_METADATA,
    IN_TRANSACTION,
    LAST_ROW_SENT,
    MORE_RESULTS,
    MULTI_STATEMENTS,
    NO_BACKSLASH_ESCAPES,
    SECURE_CONNECTION,
)
from boomslang.record.wire.mysql.commands import (
    LAST_PREPARED,
    MOST_STATEMENTS,
    SHAPES,
    Command,
    Prepared,
    parameters_of,
)
from boomslang.record.wire.mysql.driver import PLAIN, MySQLDriver
from boomslang.record.wire.mysql.handshake import Greeting, Login, greeting, login
from boomslang.record.wire.mysql.literals import taken_out
from boomslang.record.wire.mysql.packets import FULL, HEAD, PIECE, Message, Packets, Reader, framed, whole
from boomslang.record.wire.mysql.templates import Taken, Templates
from boomslang.record.wire.mysql.values import Field, binary_row, charset, field_of, makers_of
from boomslang.record.wire.relay import MUCH, Malformed, Watcher, Wire

NOT_KNOWN = 1047
"""The number of the error that a server answers an unknown command with."""
REFUSED = 1105
MODE = "SELECT @@session.sql_mode"


class Phase(Enum):
    GREETING = "the server is to greet"
    LOGIN = "the client is to say who it is"
    PROOF = "they talk about who it is"
    COMMANDS = "commands and answers"


@dataclass
class Saying:
    """A statement of a command, and what it is to the recorder: nothing, one statement, or two (a commit, a begin)."""

    exchanges: list[Exchange] = field(default_factory=list)
    plain: bool = False
    then: Callable[[], None] | None = None
    """If it succeeded."""
    over: Callable[[], None] | None = None
    """Told when it is."""


@dataclass
class Cursor:
    """Rows that are fetched in pieces."""

    statement: int
    saying: Saying
    rows: list[Any] = field(default_factory=list)


class MySQLWatcher(Watcher):
    def __init__(self, wire: Wire, tracer: Tracer) -> None:
        super().__init__(wire)
        self._driver = MySQLDriver()
        self._dialogue = Dialogue(tracer, self._driver, wire.clock, buffered=wire.buffered)
        self._phase = Phase.GREETING
        self._client, self._server = Packets(), Packets()
        self._waiting: deque[tuple[Message, bool]] = deque()
        """Commands that came before the answer to another: and were they forwarded already?"""
        self._forwarded = False
        """The command that is looked at was."""
        self._waiting_bytes = 0
        self._held = False
        self._greeting: Greeting | None = None
        self._login: Login | None = None
        self._number = 0
        """The sequence number that a message to the client would have now."""
        self._out: list[bytes] = []
        self._encoding: str | None = None
        self._multi = False
        self._database: str | None = None
        self._home: str | None = None
        """The database whose names the recorder knows."""
        self._foreign = False
        """It is not the one of the trace."""
        self._odd_quotes = False
        self._mode_changed = True
        """It must be asked how strings are quoted."""
        self._prepared: dict[int, Prepared] = {}
        self._last_prepared = 0
        self._preparing: str | None = None
        self._answer: Answer | None = None
        self._sayings: deque[Saying] = deque()
        self._cursor: Cursor | None = None
        self._asking: Asking | None = None
        self._executing: int | None = None
        """The prepared statement that is."""
        self._fetching = False
        self._in_doubt: ServerError | None = None
        """An error of which it is not known what it means for the transaction: the server is asked."""
        self._withheld: bytes | None = None
        """The same, for the client."""
        self._no_escapes = False
        self._pieces = False
        """A command that is too long is on its way."""
        self._postponed: tuple[bytes, int] | None = None
        """A whole command that waits for its answer, and when it came."""
        self._templates = Templates(self._only_statement)
        self._said: dict[str, str | None] = {}
        """What texts are to the recorder that are one statement of its own; None: more, or something else."""
        self._columns: dict[
            tuple[bytes, ...], tuple[list[Field], list[Callable[[bytes], Any]], str | None]
        ] = {}
        """Columns that were described before, what makes their values, and in which encoding."""

    def flush(self) -> None:
        self._dialogue.flush()

    # --- what may be forwarded before it is understood

    def _standing(self, text: str, values: Numbered | None) -> Standing:
        word = texts.first_word(text)
        if word in ("commit", "rollback") and texts.ENDS.match(text) and "release" not in text.lower():
            return Standing.PLAIN
        if word in ("begin", "start") and texts.BEGINS.match(text):
            return Standing.PLAIN
        standing = self._dialogue.standing(text, values)
        if word in PLAIN or standing is Standing.ODD:
            return standing
        return Standing.HELD

    def quiet(self) -> bool:
        return (
            self._phase is Phase.COMMANDS
            and self._asking is None
            and self._answer is None  # what comes now would overtake what the recorder knows
            and self._in_doubt is None
            and not self._waiting
            and not self._held
            and not self._pieces
            and not self._mode_changed
            and not self._sends_file()
            and not self._client.partial
            and not self._server.partial
            and not self._dialogue.moved
            and self._dialogue.ready()
        )

    def state(self) -> dict[str, Any] | None:
        login = self._login
        if self._phase is not Phase.COMMANDS or login is None:
            return None
        return {
            "flags": login.flags,
            "extended": login.extended,
            "collation": login.collation,
            "database": login.database,
            "autocommit": self._driver.autocommit,
            "unread": bool(self._waiting or self._dialogue.under_way),
        }

    def resume(self, state: dict[str, Any]) -> None:
        if state["unread"]:
            raise Malformed("commands that were sent with the login, which are not in the spool")
        made = Login(b"", state["flags"], state["extended"], state["collation"], state["database"])
        self._be(made)
        self._driver.autocommit = state["autocommit"]
        self._phase = Phase.COMMANDS

    longest = HEAD + FULL

    def whole(self, data: bytes | bytearray) -> int:
        return whole(data)

    def missing(self, data: bytes | bytearray) -> int:
        return HEAD + int.from_bytes(data[:3], "little") - len(data)

    def masked(self, data: bytes) -> bytes:
        made, at, proves = [], 0, self._phase is Phase.PROOF
        while at < len(data):
            start, at = at, at + HEAD + int.from_bytes(data[at : at + 3], "little")
            raw = data[start:at]
            if proves and raw[3] != 0:
                made.append(raw[:HEAD] + bytes(len(raw) - HEAD))
            elif raw[3:5] == bytes((0, Command.CHANGE_USER)):
                made.append(self._masked_change(raw))
                proves = True
            else:
                made.append(without_secrets(raw))
        return b"".join(made)

    def _masked_change(self, raw: bytes) -> bytes:
        """Of a change of user: the database, and how it writes text. Neither who it is nor how that is proven."""
        try:
            user, proof, database, collation = self._change(raw[HEAD:])
        except Malformed:
            return raw[: HEAD + 1] + bytes(len(raw) - HEAD - 1)
        made = raw[: HEAD + 1] + b"*" * len(user) + b"\0"
        if self._driver.flags & SECURE_CONNECTION:
            made += bytes((len(proof),)) + bytes(len(proof))
        else:
            made += b"*" * len(proof) + b"\0"
        made += database + b"\0" + (b"" if collation is None else collation.to_bytes(2, "little"))
        return made + bytes(len(raw) - len(made))

    # --- what comes

    def from_client(self, data: bytes) -> None:
        if self._postponed is not None and not self._look_at_postponed():
            return
        if self.wire.forwarded and _is_statement(data) and self._nothing_else():
            self._postponed = (data, self.wire.now)
            self._dialogue.known.postponed[self] = self._look_at_postponed
            return
        self._from_client_now(data)

    def _from_client_now(self, data: bytes) -> None:
        for message in self._client.feed(data):
            if self._phase is Phase.COMMANDS:
                if (self._busy() and not self._sends_file()) or self._waiting:
                    self._wait(message)
                else:
                    self._command(message, self.wire.forwarded)
            elif self._phase is Phase.LOGIN:
                self._take_login(message)
            elif self._phase is Phase.PROOF and message.number != 0:
                self.wire.to_server(message.raw)
            elif self._phase is Phase.PROOF:  # a command, which does not wait for the login to end
                self._wait(message)
            else:
                raise Malformed("found a client that speaks before the server has greeted it")

    def _wait(self, message: Message) -> None:
        self._waiting.append((message, self.wire.forwarded))
        self._waiting_bytes += len(message.raw)
        if self._waiting_bytes > MUCH and not self._held:
            self._held = True
            self.wire.hold_client()

    def from_server(self, data: bytes) -> None:
        if self._postponed is not None and (self._whole(data) or not self._look_at_postponed()):
            return
        try:
            for message in self._server.feed(data):
                self._from_server(message)
                if self._waiting and self._answer is None:  # the answer to the next may be here too
                    self._go_on()
        finally:
            if self._out:
                self.wire.to_client(b"".join(self._out))
                self._out.clear()
        if self._waiting:
            self._go_on()

    def gone(self, who: str) -> None:
        if self._postponed is not None:
            self._look_at_postponed()
        if self._asking is not None:
            self._asking.stop()
        if self._cursor is not None and self._answer is None:
            self._leave_cursor()
        while self._sayings:
            self._next_saying()
        if any(forwarded for _, forwarded in self._waiting):
            self.wire.not_understood()
            self._dialogue.promise()
        self._dialogue.closed()

    def refusal(self, why: str) -> bytes:
        return self._error(REFUSED, f"boomslang: {why}")

    def _error(self, code: int, text: str) -> bytes:
        state = b"#HY000" if self._phase is not Phase.GREETING else b""
        said = f"{text}".encode("utf-8", "replace")[:500]
        return framed(b"\xff" + code.to_bytes(2, "little") + state + said, self._number)

    def _busy(self) -> bool:
        return self._phase is not Phase.COMMANDS or self._asking is not None or self._answer is not None

    def _go_on(self) -> None:
        """With what the client has sent meanwhile."""
        while self._waiting and (not self._busy() or self._sends_file()):
            message, forwarded = self._waiting.popleft()
            self._waiting_bytes -= len(message.raw)
            self._command(message, forwarded)
        if self._held and self._waiting_bytes <= MUCH // 2:
            self._held = False
            self.wire.go_on_with_client()

    def _sends_file(self) -> bool:
        return self._answer is not None and self._answer.sends_file

    # --- a command and its answer that came in one piece each

    def _nothing_else(self) -> bool:
        """Was all that was said answered, to its end, and is it known what names mean?"""
        if not (
            self._phase is Phase.COMMANDS
            and self._answer is None
            and self._asking is None
            and self._in_doubt is None
            and self._cursor is None
            and not self._waiting
            and not self._sayings
            and not self._pieces
            and not self._held
            and not self._client.partial
            and not self._server.partial
        ):
            return False
        self._name_tables()
        return self._dialogue.idle()

    def _look_at_postponed(self) -> bool:
        """The long way, for what was postponed. False: the connection is over."""
        assert self._postponed is not None
        (data, at), self._postponed = self._postponed, None
        self._dialogue.known.postponed.pop(self, None)
        return self.wire.look_again(data, at, self._from_client_now)

    def _whole(self, data: bytes) -> bool:
        """A command that waits and all of its answer: what they tell, at once. False, and nothing was done, if there
        is more to it."""
        assert self._postponed is not None and self._login is not None
        sent, at = self._postponed
        flags = self._login.flags
        ends_columns = not flags & DEPRECATE_EOF
        answer = mysql_answer(data, ends_columns) if self.wire.forwarded else None
        if answer is None:
            return False
        ok, columns, raw, end, number = answer
        if ok is None and ends_columns and len(end) >= SHORTEST_ROW_WITH_FE:
            return False
        result = end_of(end if ok is None else ok, flags)
        if result.status is None or result.status & (MORE_RESULTS | CURSOR_EXISTS):
            return False
        statement = (
            None if sent[HEAD] == Command.QUERY else int.from_bytes(sent[HEAD + 1 : HEAD + 5], "little")
        )
        taken = self._taken_apart(sent, statement)
        said = None if taken is None else self._statement_of(taken[0])
        if taken is None or said is None:
            return False
        try:
            rows = [] if ok is not None else self._rows_of(columns, raw, binary=statement is not None)
        except Malformed:
            return False  # the long way says so in its order
        dialogue = self._dialogue
        self._postponed = None
        dialogue.known.postponed.pop(self, None)
        try:
            step = dialogue.take_whole(said, taken[1], at)
        except Exception:
            self.wire.not_understood()
            raise
        if statement is not None:
            self._prepared[statement].forget_pieces()
        self._driver.said = result.said
        self._number = (number + 1) & 0xFF
        self._executing = statement
        if ok is not None:
            dialogue.finish_whole(step, (), result.changed, result.last)
        else:
            dialogue.finish_whole(step, rows if step.wants_rows else [], len(raw))
        self._settle(result.status)
        self.wire.to_server(sent)
        self.wire.to_client(data)
        return True

    def _taken_apart(self, sent: bytes, statement: int | None) -> Taken | None:
        """A statement's text and values; None: the long way."""
        if self._encoding is None:
            return None
        if statement is None:
            return self._templates.taken_out(sent[HEAD + 1 :], self._encoding)
        prepared = self._prepared.get(statement)
        if prepared is None or prepared.text is None or prepared.too_long or sent[HEAD + 5] != 0:
            return None
        try:
            given = parameters_of(sent[HEAD:], prepared, self._encoding)
        except Malformed:
            return None
        return None if given is None else (prepared.text, Numbered(given))

    def _only_statement(self, text: str) -> Taken | None:
        parts = texts.split(text)
        return self._taken_out(parts[0]) if len(parts) == 1 else None

    def _statement_of(self, text: str) -> str | None:
        """What a text is to the recorder, as `_saying` says it; None if it is more than one statement of its own."""
        if text not in self._said:
            if len(self._said) >= MOST_STATEMENTS:
                self._said.clear()
            word = texts.first_word(text)
            end = texts.ENDS.match(text) if word in ("commit", "rollback") else None
            plain = word in PLAIN or (word in ("begin", "start") and texts.BEGINS.match(text) is not None)
            made = end["how"].upper() if end is not None else text if plain else None
            self._said[text] = made if made is not None and self._dialogue.open_text(text) else None
        said = self._said[text]
        if said is not None and self._dialogue.talk.open and texts.BEGINS.match(said):
            return None  # it commits first
        return said

    def _rows_of(self, columns: tuple[bytes, ...], raw: list[bytes], *, binary: bool) -> list[Any]:
        known = self._columns.get(columns)
        if known is None or known[2] != self._encoding:
            if len(self._columns) >= MOST_STATEMENTS:
                self._columns.clear()
            assert self._login is not None
            extended = bool(self._login.extended & EXTENDED_METADATA)
            fields = [field_of(one, extended) for one in columns]
            known = self._columns[columns] = fields, makers_of(fields, self._encoding), self._encoding
        fields, makers, _ = known
        if binary:
            return [binary_row(row, fields, self._encoding) for row in raw]
        made = []
        for row in raw:
            found = mysql_text_row(row)
            if found is None or len(found) != len(makers):
                raise Malformed("a row with another number of columns than was described")
            made.append(
                tuple([None if one is None else make(one) for one, make in zip(found, makers, strict=True)])
            )
        return made

    # --- the beginning

    def _take_greeting(self, message: Message) -> None:
        if message.first == ERROR:
            self._out.append(message.raw)
            return
        made = greeting(_said(message))
        self._greeting = made
        self._driver.autocommit = bool(made.status & AUTOCOMMIT)
        self._out.append(framed(made.contents, message.number))
        self._number = message.number + 2
        self._phase = Phase.LOGIN

    def _take_login(self, message: Message) -> None:
        assert self._greeting is not None
        self._number = message.number + 1
        made = login(_said(message), self._greeting)
        self._be(made)
        self.wire.to_server(framed(made.contents, message.number))
        self._phase = Phase.PROOF
        self._answer = Answer(Shape.LOGIN, made.flags, made.extended, self._logged_in)

    def _be(self, made: Login) -> None:
        self._login = made
        self._driver.flags = made.flags
        self._multi = bool(made.flags & MULTI_STATEMENTS)
        self._encoding = charset(made.collation)
        self._database = made.database

    def _logged_in(self, result: Result) -> None:
        if result.error is None:
            self._phase = Phase.COMMANDS
            if result.status is not None:
                self._settle(result.status)

    # --- a command

    def _command(self, message: Message, forwarded: bool) -> None:
        self._forwarded = forwarded
        self._number = (message.number + 1) & 0xFF
        if self._pieces:
            self._pieces = message.number == PIECE
            self.wire.to_server(message.raw)
            return
        if self._answer is not None and self._answer.sends_file:
            self._answer.sends_file = message.first >= 0  # nothing is its end
            self.wire.to_server(message.raw)
            return
        code = message.first
        shape = SHAPES.get(code)
        if shape is None:
            text = f"boomslang: the proxy does not pass on the command {code}"
            self.wire.to_client(self._error(NOT_KNOWN, text))
            return
        if self._cursor is not None and not self._is_of_cursor(message):
            self._leave_cursor()
        self._pieces = message.number == PIECE
        handle = HANDLERS.get(code)
        if handle is None:
            self._forward(message, shape)
        else:
            handle(self, message)

    def _forward(self, message: Message, shape: Shape) -> None:
        """Send it, and read the answer."""
        self.wire.to_server(message.raw)
        if shape is not Shape.NONE:
            self._answer = self._expect(shape)

    def _expect(self, shape: Shape, **more: Any) -> Answer:
        assert self._login is not None
        return Answer(
            shape, self._login.flags, self._login.extended, self._told, encoding=self._encoding, **more
        )

    def _query(self, message: Message) -> None:
        text = self._text(message.contents, 1)
        parts = [texts.NOT_READ] if text is None else texts.split(text)
        if len(parts) > 1 and not self._multi:
            assert text is not None
            parts = [text]  # the server will call it an error
        self._say(message, Shape.TEXT, [self._taken_out(part) for part in parts])

    def _text(self, contents: bytes | None, start: int) -> str | None:
        """A statement's text; None if nobody can read it."""
        if contents is None:
            return None
        try:
            if self._encoding is None:
                return contents[start:].decode("ascii")
            return contents[start:].decode(self._encoding, "surrogateescape")
        except UnicodeDecodeError:
            return None

    def _taken_out(self, text: str) -> tuple[str, Numbered | None]:
        """A statement without its values. What holds bytes that are no text, or is for some servers, is not read."""
        if EXECUTED.search(text):
            return texts.NOT_READ, None
        made, values = (text, None) if self._encoding is None else taken_out(text, self._encoding)
        if _holds_bytes(made):
            return texts.NOT_READ, None
        return made, values

    def _execute(self, message: Message) -> None:
        contents = message.contents
        if contents is None:
            self._say(message, Shape.BINARY, [(texts.NOT_READ, None)])
            return
        number = Reader(contents, 1).four()
        number = self._last_prepared if number == LAST_PREPARED else number
        statement = self._prepared.get(number)
        if statement is None:  # the server will call it an error, or knows better
            self._say(message, Shape.BINARY, [(texts.NOT_READ, None)])
            return
        given = parameters_of(contents, statement, self._encoding)
        statement.forget_pieces()
        if statement.text is None or given is None:
            self._say(message, Shape.BINARY, [(texts.NOT_READ, None)], number)
        else:
            self._say(message, Shape.BINARY, [(statement.text, Numbered(given))], number)

    def _say(
        self,
        message: Message,
        shape: Shape,
        parts: list[tuple[str, Numbered | None]],
        statement: int | None = None,
    ) -> None:
        """Tell the recorder, after it has asked what it must know, and forward it."""
        questions = self._questions(parts)
        if questions is not None:
            self._ask(questions, lambda: self._say(message, shape, parts, statement))
            return
        held = not self._forwarded
        standing = [self._standing(text, values) for text, values in parts] if held else []
        for text, values in parts:
            self._sayings.append(self._saying(text, values))
        if Standing.ODD in standing:
            self.wire.begin_odd()
            self._sayings[-1].over = self.wire.end_odd
        elif held and Standing.HELD not in standing and message.contents is not None:
            if shape is Shape.TEXT:
                self.wire.know(b"Q", message.contents[1:])
            elif statement is not None:
                self.wire.know_statement(statement)
        if len(self._dialogue.under_way) > 1:
            self._dialogue.promise()
        self.wire.to_server(message.raw)
        self._answer = self._expect(shape, wants_rows=self._wants_rows)
        self._executing = statement

    def _saying(self, text: str, values: Numbered | None) -> Saying:
        """What a statement is to the recorder."""
        dialogue, word = self._dialogue, texts.first_word(text)
        made = Saying(plain=word in PLAIN)
        open_now = dialogue.talk.open or any(saying.exchanges for saying in self._sayings)
        end = texts.ENDS.match(text) if word in ("commit", "rollback") else None
        if end is not None:
            made.exchanges.append(dialogue.sent(end["how"].upper()))
        elif word in ("begin", "start") and texts.BEGINS.match(text):
            if open_now:
                made.exchanges.append(dialogue.sent("COMMIT"))
            made.exchanges.append(dialogue.sent(text))
        elif word == "use":
            name = texts.database_used(text)
            made.then = lambda: self._moved(name)
        elif word == "set":
            made.then = self._set(text)
            if texts.turns_autocommit(text) is None:
                made.exchanges.append(dialogue.sent(texts.without_secrets(text)))
            elif texts.turns_autocommit(text) and not self._driver.autocommit and open_now:
                made.exchanges.append(dialogue.sent("COMMIT"))
        else:
            shown = text if word in PLAIN else texts.without_secrets(text)
            made.exchanges.append(dialogue.sent(shown, values))
        return made

    def _set(self, text: str) -> Callable[[], None]:
        """What a SET changes of the connection, if it succeeds."""
        encoding, mode = texts.charset_set(text), texts.sets_mode(text)

        def then() -> None:
            if encoding is not None:
                self._encoding = encoding.encoding
            self._mode_changed = self._mode_changed or mode

        return then

    def _prepare(self, message: Message) -> None:
        text = self._text(message.contents, 1)
        if text is not None and (EXECUTED.search(text) or _holds_bytes(text)):
            text = None
        self._preparing = text and (texts.split(text) or [""])[0]
        self._forward(message, Shape.PREPARED)

    def _long_data(self, message: Message) -> None:
        contents = message.contents
        number, place, data = 0, 0, b""
        if contents is not None:
            read = Reader(contents, 1)
            number, place, data = read.four(), read.two(), read.rest()
        elif len(message.raw) > 11:
            number = int.from_bytes(message.raw[5:9], "little")
        statement = self._prepared.get(self._last_prepared if number == LAST_PREPARED else number)
        if statement is not None:
            if contents is None:
                statement.too_long = True
            else:
                statement.add_piece(place, data)
        self._forward(message, Shape.NONE)

    def _close(self, message: Message) -> None:
        self._prepared.pop(Reader(_said(message), 1).four(), None)
        self._forward(message, Shape.NONE)

    def _reset_statement(self, message: Message) -> None:
        statement = self._prepared.get(Reader(_said(message), 1).four())
        if statement is not None:
            statement.forget_pieces()
        self._forward(message, Shape.PLAIN)

    def _fetch(self, message: Message) -> None:
        number = Reader(_said(message), 1).four()
        statement = self._prepared.get(number)
        if statement is None or not statement.fields:
            self._forward(message, Shape.FETCHED)
            return
        wants = self._cursor is not None and self._wants_rows()
        self.wire.to_server(message.raw)
        self._fetching = True
        self._answer = self._expect(Shape.FETCHED, wants_rows=lambda: wants, fields=statement.fields)

    def _init_db(self, message: Message) -> None:
        name = self._text(message.contents, 1)
        self._sayings.append(Saying(then=lambda: self._moved(name)))
        self._forward(message, Shape.PLAIN)

    def _drop_db(self, message: Message) -> None:
        self._say(message, Shape.PLAIN, [(f"DROP DATABASE `{self._text(message.contents, 1) or ''}`", None)])

    def _set_option(self, message: Message) -> None:
        on = Reader(_said(message), 1).two() == 0

        def then() -> None:
            self._multi = on

        self._sayings.append(Saying(then=then))
        self._forward(message, Shape.PLAIN)

    def _reset_connection(self, message: Message) -> None:
        def then() -> None:
            assert self._login is not None
            self._encoding = charset(self._login.collation)
            self._prepared.clear()
            self._mode_changed = True

        self._roll_back(then)
        self._forward(message, Shape.PLAIN)

    def _change(self, contents: bytes) -> tuple[bytes, bytes, bytes, int | None]:
        """The user, a proof, the database, and the collation if there is one."""
        read = Reader(contents, 1)
        user = read.until_nul()
        proof = read.take(read.byte()) if self._driver.flags & SECURE_CONNECTION else read.until_nul()
        database = read.until_nul()
        return user, proof, database, read.two() if read.left >= 2 else None

    def _change_user(self, message: Message) -> None:
        _, _, name, collation = self._change(_said(message))
        database = name.decode("utf-8", "replace")

        def then() -> None:
            self._prepared.clear()
            self._mode_changed = True
            if collation is not None:
                self._encoding = charset(collation)
            self._moved(database or None)

        self._roll_back(then)
        self._forward(message, Shape.LOGIN)
        self._phase = Phase.PROOF

    def _roll_back(self, then: Callable[[], None]) -> None:
        """A command that ends the transaction, if there is one."""
        made = Saying(then=then)
        if self._dialogue.talk.open:
            made.exchanges.append(self._dialogue.sent("ROLLBACK"))
        self._sayings.append(made)

    # --- names, and what must be known of them

    def _moved(self, database: str | None) -> None:
        self._database = database

    def _questions(self, parts: list[tuple[str, Numbered | None]]) -> Questions | None:
        """What must be asked before these can be understood."""
        if self._forwarded:
            self._name_tables()
            return None  # they are on their way
        if self._mode_changed:
            return self._ask_for_mode()
        self._name_tables()
        if self._dialogue.talk.names_moved:
            return None
        asked = (self._dialogue.questions(text, values) for text, values in parts)
        found = next((questions for questions in asked if questions is not None), None)
        return None if found is None else self._careful(found)

    def _ask_for_mode(self) -> Questions:
        """How strings are quoted."""
        self._mode_changed = False
        try:
            ((mode,),) = yield MODE
            self._odd_quotes = bool(ODD_MODES.search(_as_text(mode)))
        except (UsageError, ValueError):
            self._odd_quotes = True

    def _name_tables(self) -> None:
        """Does the recorder know what names and quotes mean now?"""
        known = self._database is not None and (self._home is None or self._home == self._database)
        self._dialogue.talk.names_moved = self._foreign or self._odd_quotes or self._no_escapes or not known

    def _ask(self, questions: Questions, then: Callable[[], None]) -> None:
        self._asking = Asking(questions, self._send_question, lambda: self._asked(then), self.wire.later)
        self._asking.start()

    def _careful(self, questions: Questions) -> Questions:
        """The questions; and a connection to another database, or to one that tells nothing, is not understood."""
        self._home = self._database
        try:
            yield from questions
        except RecordingFailed:
            raise
        except (UsageError, ValueError) as why:
            self._foreign = True
            self.wire.trouble(f"{why}; what this connection does is not understood")
        if not self._driver.autocommit and not self._dialogue.talk.open:
            yield "ROLLBACK"

    def _send_question(self, query: str) -> None:
        self.wire.to_server(framed(b"\x03" + query.encode("utf-8")))
        assert self._login is not None
        self._answer = Answer(
            Shape.TEXT,
            self._login.flags,
            self._login.extended,
            self._answered_question,
            wants_rows=lambda: True,
            encoding=self._encoding,
        )

    def _answered_question(self, result: Result) -> None:
        assert self._asking is not None
        self._answer = None
        if result.error is not None:
            self._asking.fail(str(result.error))
        elif not result.whole:
            self._asking.fail("more rows than can be noted down")
        else:
            self._asking.answer(result.rows)

    def _asked(self, then: Callable[[], None]) -> None:
        self._asking = None
        then()

    # --- an answer

    def _from_server(self, message: Message) -> None:
        if self._phase is Phase.GREETING:
            self._take_greeting(message)
            return
        answer = self._answer
        if answer is None:
            if message.first != ERROR:
                raise Malformed("found an answer that nobody asked for")
            self._out.append(message.raw)  # it goes, and says why
            return
        ours = self._asking is not None or self._in_doubt is not None
        if message.number == PIECE:
            if not ours:
                self._out.append(message.raw)
            return
        self._number = (message.number + 1) & 0xFF
        answer.read(message)
        if ours:
            return
        if self._in_doubt is not None:
            self._withheld = message.raw
            self.wire.to_server(framed(bytes([Command.PING])))
            self._answer = Answer(Shape.PLAIN, self._driver.flags, 0, self._pinged)
            return
        self._out.append(message.raw)
        if answer.done:
            self._answer = None

    def _wants_rows(self) -> bool:
        return (
            bool(self._sayings or self._cursor)
            and bool(self._dialogue.under_way)
            and self._dialogue.wants_rows()
        )

    def _told(self, result: Result) -> None:
        """One result of the command that is under way."""
        answer = self._answer
        assert answer is not None
        if self._phase is Phase.PROOF:
            self._phase = Phase.COMMANDS
        if answer.prepared is not None:
            self._was_prepared(*answer.prepared)
        elif self._fetching:
            self._fetched(result)
        elif result.error is not None:
            self._failed(result.error)
        else:
            self._succeeded(result)

    def _was_prepared(self, number: int, parameters: int) -> None:
        if len(self._prepared) >= MOST_STATEMENTS:
            self._prepared.clear()  # those are not understood any more, and may do anything
        self._prepared[number] = Prepared(self._preparing, parameters)
        self._last_prepared = number

    def _succeeded(self, result: Result) -> None:
        more = bool((result.status or 0) & MORE_RESULTS)
        if not self._sayings:
            if not more and result.status is not None:
                self._settle(result.status)
            return
        if more and len(self._sayings) == 1:
            return  # of a procedure; its last result says that it is done
        saying = self._next_saying()
        if not more and self._sayings:
            raise Malformed("found fewer results than statements")
        if result.cursor and saying.exchanges:
            self._cursor = Cursor(self._executing or 0, saying)
            statement = self._prepared.get(self._cursor.statement)
            if statement is not None:
                statement.fields = result.fields or []
            return
        self._done(saying, result)

    def _next_saying(self) -> Saying:
        saying = self._sayings.popleft()
        if saying.over is not None:
            saying.over()
        return saying

    def _done(self, saying: Saying, result: Result) -> None:
        """A statement was done, whole."""
        self._driver.said = result.said
        for number, exchange in enumerate(saying.exchanges, start=1):
            if number < len(saying.exchanges):
                self._dialogue.answered()
            elif result.fields is None:
                self._dialogue.answered((), result.changed, result.last)
            else:
                if not result.whole:
                    exchange.untold = "more rows than are kept"
                self._dialogue.answered(result.rows, result.count)
        if saying.then is not None:
            saying.then()
        if result.status is not None:
            self._settle(result.status)

    def _settle(self, status: int) -> None:
        """By the flags of an answer: is a transaction open?"""
        driver, inside = self._driver, bool(status & IN_TRANSACTION)
        driver.autocommit = bool(status & AUTOCOMMIT)
        self._no_escapes = bool(status & NO_BACKSLASH_ESCAPES)
        if inside or driver.inside:  # else it is open for the recorder at most, and not yet for the server
            self._dialogue.settled(inside)

    # --- an error

    def _failed(self, error: ServerError) -> None:
        if not self._sayings:
            return
        code, plain = error.mysql_code, self._sayings[0].plain
        known = code in MYSQL_DISCONNECTED or (plain and code in CERTAIN)
        if known or not self._sayings[0].exchanges or not self._dialogue.talk.open:
            self._resolve(error, None)
        else:
            self._in_doubt = error

    def _pinged(self, result: Result) -> None:
        """The server said what became of the transaction."""
        error, withheld = self._in_doubt, self._withheld
        assert error is not None and withheld is not None
        self._in_doubt = self._withheld = self._answer = None
        self._resolve(error, result.status)
        self._out.append(withheld)

    def _resolve(self, error: ServerError, status: int | None) -> None:
        driver, dialogue = self._driver, self._dialogue
        saying = self._next_saying()
        was_inside = driver.inside
        if status is not None:
            driver.answered_ping(status)
        driver.plain = saying.plain
        if saying.exchanges:
            dialogue.failed(error)
        skipped = saying.exchanges[1:] + [one for later in self._sayings for one in later.exchanges]
        while self._sayings:
            self._next_saying()
        for _ in skipped:
            dialogue.skipped()
        driver.asked = False
        if status is not None and was_inside and not status & IN_TRANSACTION:
            dialogue.settled(False)

    # --- rows that are fetched in pieces

    def _is_of_cursor(self, message: Message) -> bool:
        contents = message.contents
        return (
            message.first == Command.FETCH
            and self._cursor is not None
            and contents is not None
            and int.from_bytes(contents[1:5], "little") == self._cursor.statement
        )

    def _fetched(self, result: Result) -> None:
        self._fetching = False
        cursor = self._cursor
        if cursor is None:
            return
        cursor.rows += result.rows
        if result.error is not None or not result.whole or len(cursor.rows) > MOST_ROWS:
            self._leave_cursor()
        elif (result.status or 0) & LAST_ROW_SENT:
            self._cursor = None
            result.rows, result.count = cursor.rows, len(cursor.rows)
            self._done(cursor.saying, result)

    def _leave_cursor(self) -> None:
        assert self._cursor is not None
        cursor, self._cursor = self._cursor, None
        cursor.saying.exchanges[-1].untold = "rows that were not fetched to the end at once"
        for _ in cursor.saying.exchanges:
            self._dialogue.answered()


def _said(message: Message) -> bytes:
    if message.contents is None:
        raise Malformed("found a message that is too long for what it is")
    return message.contents


def _is_statement(data: bytes) -> bool:
    """One whole command with a statement."""
    return (
        len(data) > HEAD + 1
        and data[3] == 0
        and (data[HEAD] == Command.QUERY or (data[HEAD] == Command.EXECUTE and len(data) > HEAD + 5))
        and int.from_bytes(data[:3], "little") == len(data) - HEAD
    )


def _holds_bytes(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)


def _as_text(x: Any) -> str:
    return x.decode("ascii", "replace") if isinstance(x, bytes) else str(x)


CERTAIN = frozenset((*MYSQL_ROLLED_BACK, *MYSQL_STATEMENT))
HANDLERS: dict[int, Callable[[MySQLWatcher, Message], None]] = {
    Command.QUERY: MySQLWatcher._query,
    Command.EXECUTE: MySQLWatcher._execute,
    Command.PREPARE: MySQLWatcher._prepare,
    Command.LONG_DATA: MySQLWatcher._long_data,
    Command.CLOSE: MySQLWatcher._close,
    Command.RESET_STATEMENT: MySQLWatcher._reset_statement,
    Command.FETCH: MySQLWatcher._fetch,
    Command.INIT_DB: MySQLWatcher._init_db,
    Command.DROP_DB: MySQLWatcher._drop_db,
    Command.SET_OPTION: MySQLWatcher._set_option,
    Command.RESET_CONNECTION: MySQLWatcher._reset_connection,
    Command.CHANGE_USER: MySQLWatcher._change_user,
}
