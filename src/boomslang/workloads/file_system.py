"""A file system's metadata, as JuiceFS keeps it in a transactional key-value store (its engine "TKV").

Inode i has its attributes at `Ai/I`, a directory's entries are `Ai/D<name>`, a file's written slices `Ai/C<chunk>`; the
key `C/nextInode` counts inodes, of which a client takes a hundred at a time. Creating, linking, renaming and removing
read the parent's attributes and the entry, check what POSIX asks for (no entry twice, no directory removed that holds
something) and write all of them; readdir goes through the entries with an iterator and reads the attributes of each.
What fails a check ends as a transaction that only read, as ENOENT does there. The paper this project is built after
traced JuiceFS's own benchmark on TiKV; the mix below is ours: 25 % create, 15 % lookup, 15 % write, 10 % each stat,
readdir and unlink, 8 % rename, 4 % link, 2 % mkdir, 1 % rmdir. --keys is how many names the clients use, in 8
directories.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import islice
from typing import Any, ClassVar

from boomslang.workloads.workload import Client, Draw, Settings, Transaction, Workload, after

DIRECTORIES = 8
"""In the root, from the beginning; in each of them there may be more."""
BATCH = 100
"""Inodes that a client takes at a time."""
CHUNKS = 4
"""Of a file."""
PAGE = 50
"""Entries that one readdir returns at most."""

Attributes = dict[str, Any]


class FileSystem(Workload):
    name = "filesystem"
    about = "a file system's metadata as JuiceFS keeps it: create, rename, link, unlink, readdir and more"
    defaults = Settings(keys=400)
    uses = frozenset({"keys", "distribution"})
    keys_are = "names of files"
    needs = frozenset({"iterator"})
    mix: ClassVar = {
        "create": 25, "lookup": 15, "write": 15, "stat": 10, "readdir": 10, "unlink": 10,
        "rename": 8, "link": 4, "mkdir": 2, "rmdir": 1,
    }  # fmt: skip

    def initial(self) -> dict[str, str]:
        found = {
            "C/nextInode": str(2 + DIRECTORIES),
            _inode(1): _packed("d", "initial", links=2 + DIRECTORIES),
        }
        for n in range(DIRECTORIES):
            found |= {_entry(1, f"dir{n}"): f"d{2 + n}", _inode(2 + n): _packed("d", "initial", links=2)}
        return found

    def draw(self, draw: Draw) -> Transaction:
        if draw.number % BATCH == 0:  # before anything is created: a client's inodes
            return Transaction("new-inodes", self._take_inodes)
        name = draw.one_of(self.mix)
        at, to = self._place(draw), self._place(draw)
        chunk, now = draw.random.randrange(CHUNKS), draw.new()
        doing: Callable[[_Operations], None] = {
            "create": lambda f: f.make(at, "f"),
            "mkdir": lambda f: f.make((at[0], "sub" + at[1]), "d"),
            "lookup": lambda f: f.lookup(at),
            "stat": lambda f: f.stat(at),
            "write": lambda f: f.write(at, chunk),
            "readdir": lambda f: f.readdir(at[0]),
            "unlink": lambda f: f.unlink(at),
            "rmdir": lambda f: f.rmdir((at[0], "sub" + at[1])),
            "rename": lambda f: f.rename(at, to),
            "link": lambda f: f.link(at, to),
        }[name]
        new = _new_inode(draw)
        return Transaction(name, lambda c: doing(_Operations(c, now, new)))

    def _take_inodes(self, c: Client) -> None:
        # Which numbers a client takes follows from its session, so that the stream is the same each time; the
        # counter is what clients meet at.
        c.put("C/nextInode", str(int(c.get("C/nextInode") or 0) + BATCH))

    def _place(self, draw: Draw) -> tuple[int, str]:
        """A directory and a name in it: a name has its directory."""
        number = draw.key()
        return 2 + number % DIRECTORIES, f"file{number // DIRECTORIES}"


class _Operations:
    """The calls of one client at one moment; `new` is the inode that it would give to a new file."""

    def __init__(self, c: Client, now: str, new: str) -> None:
        self.c, self.now, self.new = c, now, new

    def lookup(self, place: tuple[int, str]) -> str | None:
        return self.c.get(_entry(*place))

    def stat(self, place: tuple[int, str]) -> None:
        entry = self.lookup(place)
        if entry is not None:
            self._attributes(entry[1:])

    def make(self, place: tuple[int, str], kind: str) -> None:
        parent = self._attributes(place[0])
        if parent is None or self.lookup(place) is not None:
            return  # ENOENT, EEXIST
        self.c.put(_entry(*place), kind + self.new)
        self.c.put(_inode(self.new), _packed(kind, self.now, links=2 if kind == "d" else 1, length=0))
        self._touch(place[0], parent, links=1 if kind == "d" else 0)

    def write(self, place: tuple[int, str], chunk: int) -> None:
        entry = self.lookup(place)
        if entry is None:
            return
        attributes = self._attributes(entry[1:])
        if attributes is None:
            return
        key = f"A{entry[1:]}/C{chunk}"
        slices = self.c.get(key)
        self.c.put(key, self.now if slices is None else f"{slices.rpartition('+')[2]}+{self.now}")
        length = max(attributes["length"], (chunk + 1) * 64)
        self.c.put(_inode(entry[1:]), _packed(**attributes | {"changed": self.now, "length": length}))

    def readdir(self, directory: int) -> None:
        prefix = _entry(directory, "")
        for _, entry in islice(self.c.iterator(prefix, after(prefix)), PAGE):
            self._attributes(entry[1:])

    def unlink(self, place: tuple[int, str]) -> None:
        parent, entry = self._attributes(place[0]), self.lookup(place)
        if parent is None or entry is None:
            return
        self._forget(entry[1:])
        self.c.delete(_entry(*place))
        self._touch(place[0], parent)

    def rmdir(self, place: tuple[int, str]) -> None:
        parent, entry = self._attributes(place[0]), self.lookup(place)
        if parent is None or entry is None:
            return
        prefix = f"A{entry[1:]}/D"
        if next(iter(self.c.iterator(prefix, after(prefix))), None) is not None:
            return  # ENOTEMPTY
        self.c.delete(_inode(entry[1:]))
        self.c.delete(_entry(*place))
        self._touch(place[0], parent, links=-1)

    def rename(self, place: tuple[int, str], target: tuple[int, str]) -> None:
        entry, there = self.lookup(place), self.lookup(target)
        parents = {n: self._attributes(n) for n in (place[0], target[0])}
        if entry is None or entry == there or place == target:
            return
        if there is not None:
            self._forget(there[1:])
        attributes = self._attributes(entry[1:])
        if attributes is not None:
            self.c.put(_inode(entry[1:]), _packed(**attributes | {"changed": self.now}))
        self.c.delete(_entry(*place))
        self.c.put(_entry(*target), entry)
        for n, parent in parents.items():
            if parent is not None:
                self._touch(n, parent)

    def link(self, place: tuple[int, str], target: tuple[int, str]) -> None:
        entry, parent = self.lookup(place), self._attributes(target[0])
        if entry is None or parent is None or self.lookup(target) is not None:
            return
        attributes = self._attributes(entry[1:])
        if attributes is None:
            return
        more = {"changed": self.now, "links": attributes["links"] + 1}
        self.c.put(_inode(entry[1:]), _packed(**attributes | more))
        self.c.put(_entry(*target), entry)
        self._touch(target[0], parent)

    def _attributes(self, inode: int | str) -> Attributes | None:
        found = self.c.get(_inode(inode))
        return None if found is None else json.loads(found)

    def _touch(self, directory: int, attributes: Attributes, links: int = 0) -> None:
        more = {"changed": self.now, "links": attributes["links"] + links}
        self.c.put(_inode(directory), _packed(**attributes | more))

    def _forget(self, inode: str) -> None:
        """One name less: the last one takes the inode with it, and leaves a note to delete its data."""
        attributes = self._attributes(inode)
        if attributes is None:
            return
        if attributes["links"] > 1:
            more = {"changed": self.now, "links": attributes["links"] - 1}
            self.c.put(_inode(inode), _packed(**attributes | more))
        else:
            self.c.delete(_inode(inode))
            self.c.put(f"D{inode}/{attributes['length']}", self.now)


def _inode(inode: int | str) -> str:
    return f"A{inode}/I"


def _entry(directory: int | str, name: str) -> str:
    return f"A{directory}/D{name}"


def _new_inode(draw: Draw) -> str:
    """Of the client's own, so that no two give the same one away."""
    return f"{draw.session}x{draw.number}"


def _packed(kind: str, changed: str, *, links: int, length: int = 0) -> str:
    return json.dumps(
        {"kind": kind, "changed": changed, "links": links, "length": length}, separators=(",", ":")
    )
