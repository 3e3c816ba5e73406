"""Where modules come from: shipped ones, installed packages, files that the user names, and Python code.

An installed package offers a module through the entry points group `boomslang.modules`. A file is executed only
because the user named it: `--module file.py`. Nothing is ever loaded from a trace.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import runpy
from collections.abc import Iterable
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from boomslang.errors import UsageError, did_you_mean
from boomslang.modules.module import Function, Module, module
from boomslang.modules.where import at_line

GROUP = "boomslang.modules"
_registered: dict[str, Module] = {}


def register_user_module(function: Function | Module) -> Module:
    """Makes a module known by its name: `check(..., modules=["its-name"])`."""
    made = function if isinstance(function, Module) else module(function)
    for other in (_registered.get(made.name), shipped().get(made.name)):
        if other is not None and other.function is not made.function:
            raise _clash(made, other)
    _registered[made.name] = made
    return made


def shipped() -> dict[str, Module]:
    """The modules that come with Boomslang."""
    package = importlib.import_module("boomslang.modules.shipped")
    found = {}
    for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        for value in vars(importlib.import_module(info.name)).values():
            if isinstance(value, Module):
                found[value.name] = value
    return dict(sorted(found.items()))


def known_modules() -> dict[str, Module]:
    """All modules that have a name: shipped, installed, registered."""
    found = {**shipped()}
    for made in (*_installed(), *_registered.values()):
        other = found.get(made.name)
        if other is not None and other.function is not made.function:
            raise _clash(made, other)
        found[made.name] = made
    return found


def _installed() -> Iterable[Module]:
    for entry in entry_points(group=GROUP):
        owner = (
            f"the package {entry.dist.name}" if entry.dist is not None else f"the entry point {entry.value}"
        )
        try:
            loaded = entry.load()
        except Exception as problem:
            raise UsageError(
                f"{owner} has a module {entry.name!r} that cannot be loaded: {problem}"
            ) from None
        made = loaded if isinstance(loaded, Module) else module(loaded)
        yield replace(made, name=entry.name, owner=owner)


def _clash(one: Module, two: Module) -> UsageError:
    return UsageError(
        f"two modules are called {one.name!r}: one of {one.owner}, one of {two.owner}; rename one of them"
    )


def find_modules(asked: Iterable[str | Module | Function]) -> tuple[Module, ...]:
    """The modules of a list: modules, functions, names, files."""
    found = [m for item in asked for m in find_module(item)]
    for i, one in enumerate(found):
        for two in found[:i]:
            if one.name == two.name and one.function is not two.function:
                raise _clash(one, two)
            if one.name == two.name:
                raise UsageError(f"the module {one.name} is asked for twice")
    return tuple(found)


def find_recorded(recorded: Iterable[str], given: Iterable[Module] = ()) -> tuple[Module, ...]:
    """The modules that a certificate names, with its parameters: of those given, or else by their name.

    A certificate is only data: what it calls a file is not run.
    """
    mine, known = {m.name: m for m in given}, known_modules()
    found = []
    for text in recorded:
        word, values = _split(text)
        if word not in mine and word not in known:
            raise UsageError(
                f"the certificate was made with the module {word!r}, which is not known here; give the file that "
                "has it: --module FILE.py"
            )
        found.append((mine.pop(word, None) or known[word]).given(**values).ready())
    if mine:
        raise UsageError(f"the certificate was not made with the module {next(iter(mine))}")
    return tuple(found)


def find_module(asked: str | Module | Function) -> list[Module]:
    """One module; a file may hold several. `name:parameter=value,...` gives parameters."""
    if isinstance(asked, Module):
        return [asked.ready()]
    if not isinstance(asked, str):
        return [module(asked).ready()]
    word, values = _split(asked)
    if word.endswith(".py") or "/" in word:
        return [m.given(**values).ready() for m in _from_file(Path(word))]
    known = known_modules()
    if word not in known:
        raise UsageError(
            f"unknown module {word!r}{did_you_mean(word, known)}; known modules: {', '.join(known)} "
            f"(a file needs its .py: {word}.py)"
        )
    return [known[word].given(**values).ready()]


_GIVEN = re.compile(r"(?P<head>.*?):(?P<values>\s*\w+\s*=.*)", re.DOTALL)
_PAIR = re.compile(r"\s*(?P<name>\w+)\s*=")


def _split(text: str) -> tuple[str, dict[str, Any]]:
    """A name or file, and parameters: JSON, or else plain text up to the next comma."""
    given = _GIVEN.fullmatch(text)
    if given is None:
        return text, {}
    values: dict[str, Any] = {}
    rest = given["values"]
    while rest:
        pair = _PAIR.match(rest)
        if pair is None:
            raise UsageError(f"found {rest.partition(',')[0]!r} in {text!r}; expected parameter=value")
        value, rest = _value(rest[pair.end() :])
        values[pair["name"]] = value
    return given["head"], values


def _value(text: str) -> tuple[Any, str]:
    """The value at the start of the text, and what is left after the comma that ends it."""
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        end = -1
    if end < 0 or text[end : end + 1] not in ("", ","):
        word, _, rest = text.partition(",")
        return word, rest
    return value, text[end + 1 :]


def _from_file(path: Path) -> list[Module]:
    if not path.is_file():
        raise UsageError(f"{path}: no such file; expected a Python file with a @boomslang.module")
    try:
        names = runpy.run_path(str(path))
    except UsageError:
        raise
    except Exception as problem:
        where = at_line(problem) or str(path)
        raise UsageError(f"{where}: cannot be run: {type(problem).__name__}: {problem}") from problem
    here = {id(m): m for m in names.values() if isinstance(m, Module) and m.owner != "boomslang"}
    if not here:
        raise UsageError(f"{path}: found no module; expected a function with @boomslang.module")
    return list(here.values())
