"""An object, or all objects below a prefix, with as much of the face of `pathlib.Path` as readers and writers use.

Object storage has no folders; a key with others below it (`runs/1/` of `runs/1/a.jsonl`) is taken for one,
as every tool does. What an address stands for is asked once and remembered: a trace does not change its
kind while it is read.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any

from boomslang.errors import UsageError
from boomslang.extras import how_to_install

PATIENCE = 30
"""Seconds in which a request is tried again. (The library's own three minutes are long for whoever mistyped a host.)"""
PIECE = 8 << 20
"""Bytes of an object that are written at a time; S3 takes no parts below 5 MB."""


def library() -> Any:
    try:
        import obstore
        import obstore.store
    except ImportError:
        raise UsageError(
            f"found the address of an object; expected the package obstore to reach it; fix: {how_to_install('cloud')}"
        ) from None
    return obstore


@lru_cache(maxsize=64)
def store_of(scheme: str, bucket: str) -> Any:
    """The bucket, as the library's environment variables say that it is reached."""
    from datetime import timedelta

    retry = {"max_retries": 5, "retry_timeout": timedelta(seconds=PATIENCE)}
    return library().store.from_url(f"{scheme}://{bucket}", retry_config=retry)


@contextmanager
def as_os_errors(address: str) -> Iterator[None]:
    """What the library raises, as what a file would have raised."""
    kinds = library().exceptions
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "found no such object", address) from None
    except (kinds.PermissionDeniedError, kinds.UnauthenticatedError) as problem:
        words = f"no permission, or no credentials: {_first_line(problem)}"
        raise PermissionError(errno.EACCES, words, address) from None
    except kinds.PreconditionError:
        raise OSError(errno.EBUSY, "it was changed while it was read", address) from None
    except (kinds.BaseError, ValueError) as problem:
        if "404 Not Found" in _first_line(problem):  # of an object it says so as a file would
            raise FileNotFoundError(errno.ENOENT, "found no bucket of that name", address) from None
        raise OSError(errno.EIO, _first_line(problem), address) from None


def _first_line(problem: Exception) -> str:
    """Below it the library writes its own structures down."""
    line = (str(problem).splitlines() or [type(problem).__name__])[0]
    return line if len(line) <= 300 else line[:300] + "..."


class ObjectPath:
    """An address, and what is there."""

    def __init__(self, scheme: str, bucket: str, key: str) -> None:
        self.scheme, self.bucket = scheme, bucket
        self.key = key.rstrip("/")
        self._path = PurePosixPath(self.key)
        self._named_as_folder = key.endswith("/") or not key

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.key}"

    def __repr__(self) -> str:
        return f"ObjectPath({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectPath) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    # --- names

    @property
    def name(self) -> str:
        return self._path.name

    @property
    def stem(self) -> str:
        return self._path.stem

    @property
    def suffix(self) -> str:
        return self._path.suffix

    @property
    def parent(self) -> ObjectPath:
        above = str(self._path.parent)
        return self._at("" if above == "." else above + "/")

    def with_name(self, name: str) -> ObjectPath:
        return self._at(str(self._path.with_name(name)))

    def absolute(self) -> ObjectPath:
        return self

    resolve = absolute

    def _at(self, key: str) -> ObjectPath:
        return ObjectPath(self.scheme, self.bucket, key)

    # --- what is there

    @cached_property
    def head(self) -> dict[str, Any] | None:
        """Size and version of the object; None if there is none of that name."""
        if self._named_as_folder:
            return None
        try:
            with as_os_errors(str(self)):
                found: dict[str, Any] = library().head(self.store, self.key)
                return found
        except FileNotFoundError:
            return None

    @cached_property
    def _below(self) -> list[ObjectPath]:
        """What lies directly below it."""
        with as_os_errors(str(self)):
            listed = library().list_with_delimiter(self.store, self.key or None)
        below = [self._at(one["path"]) for one in listed["objects"] if one["path"] != self.key]
        return below + [self._at(prefix.rstrip("/") + "/") for prefix in listed["common_prefixes"]]

    @property
    def store(self) -> Any:
        with as_os_errors(str(self)):
            return store_of(self.scheme, self.bucket)

    def is_file(self) -> bool:
        return self.head is not None

    def is_dir(self) -> bool:
        return not self.is_file() and bool(self._below)

    def exists(self) -> bool:
        return self.is_file() or self.is_dir()

    def samefile(self, other: object) -> bool:
        return self == other

    def stat(self) -> SimpleNamespace:
        if self.head is None:
            raise FileNotFoundError(errno.ENOENT, "found no such object", str(self))
        return SimpleNamespace(st_size=self.head["size"])

    def iterdir(self) -> Iterator[ObjectPath]:
        return iter(self._below)

    def glob(self, pattern: str) -> Iterator[ObjectPath]:
        return (path for path in self._below if fnmatchcase(path.name, pattern))

    # --- reading and writing

    def open(self, mode: str = "rb", buffering: int = 0) -> Any:
        """To be read once, from its start on."""
        from boomslang.storage.download import Download

        if mode != "rb":
            raise ValueError(f"found the mode {mode!r}; expected rb: objects are written whole")
        return Download(self)

    def slice(self, start: int, end: int) -> bytes:
        """Some of its bytes, of the version that `head` is about."""
        assert self.head is not None
        options: dict[str, Any] = {"range": (start, end)}
        if self.head["e_tag"]:
            options["if_match"] = self.head["e_tag"]
        with as_os_errors(str(self)):
            data: bytes = library().get(self.store, self.key, options=options).bytes().to_bytes()
        if len(data) != end - start:
            raise OSError(errno.EIO, f"found {len(data)} bytes of {end - start} from {start} on", str(self))
        return data

    def read_bytes(self) -> bytes:
        with as_os_errors(str(self)):
            data: bytes = library().get(self.store, self.key).bytes().to_bytes()
            return data

    def read_text(self, encoding: str = "utf-8") -> str:
        return self.read_bytes().decode(encoding)

    def write_pieces(self, pieces: Iterable[str]) -> None:
        """Writes the object: it is there whole or not at all."""
        with as_os_errors(str(self)):
            library().put(self.store, self.key, _parts(pieces))

    def obstacle(self) -> str:
        """Why it could not be written, as far as that shows beforehand; else nothing."""
        if not self.key or self._named_as_folder:
            return "an object needs a name"
        try:
            with as_os_errors(str(self)):
                library().head(self.store, self.key)
        except (FileNotFoundError, PermissionError):
            return ""  # who may write need not be allowed to look
        except OSError as problem:
            return problem.strerror or str(problem)
        return ""


def _parts(pieces: Iterable[str]) -> Iterator[bytes]:
    held = bytearray()
    for piece in pieces:
        held += piece.encode()
        if len(held) >= PIECE:
            yield bytes(held)
            held.clear()
    yield bytes(held)
