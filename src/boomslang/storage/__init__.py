"""Traces and results that are no local files, but objects in a cloud's storage, by their addresses.

`s3://bucket/key`, `gs://bucket/key` and `az://container/key` may stand wherever a trace, a certificate or a
report is named. `located` turns what a user wrote into something with the face of a `pathlib.Path`: a path,
or an `ObjectPath` (object_path.py), which can be opened, listed and written like one; so no reader knows
where its bytes come from. Objects are read in slices, a few ahead of the reader (download.py), and never
stored on a disk. What ends in `/`, or has objects below it, is a folder: of sessions, as on a disk.

The work is done by obstore (an extra), and so is signing in: it takes credentials from its environment
variables (`AWS_...`, `GOOGLE_...`, `AZURE_...`) or from the machine's own role. None are read, asked for or
kept here.

`file://` addresses are paths, and need nothing.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import cast

from boomslang.errors import UsageError

SCHEMES = ("s3", "gs", "az")
"""Of object storage."""
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")  # one letter would be a drive


def is_address(path: str | os.PathLike[str]) -> bool:
    """Is this an object's address, and no path?"""
    match = _ADDRESS.match(str(path))
    return match is not None and match[1].lower() != "file"


def located(path: str | os.PathLike[str]) -> Path:
    """The file, folder or object that a user named."""
    text = str(path)
    match = _ADDRESS.match(text)
    if match is None:
        return Path(path)
    scheme, rest = match[1].lower(), text[match.end() :]
    if scheme == "file":
        if not rest.startswith("/"):
            raise UsageError(
                f"found {text!r}; expected an absolute path after file://, as in file:///tmp/trace.jsonl"
            )
        from urllib.parse import unquote

        return Path(unquote(rest))
    if scheme not in SCHEMES:
        raise UsageError(
            f"found the address {text!r}; expected {', '.join(f'{s}://' for s in SCHEMES)} or file://; "
            "fix: copy it to one of these, or download it"
        )
    from boomslang.storage.object_path import ObjectPath

    bucket, _, key = rest.partition("/")
    if not bucket:
        raise UsageError(f"found {text!r}; expected a bucket in it: {scheme}://bucket/key")
    return cast(Path, ObjectPath(scheme, bucket, key))


def matching(address: str) -> list[str]:
    """The objects and folders that an address with * in its last part stands for (no shell expands it), in natural
    order; itself, if there is no * in it."""
    folder, _, pattern = address.rpartition("/")
    if not is_address(address) or "*" not in pattern:
        return [address]
    from fnmatch import fnmatchcase

    from boomslang.trace.files import natural_order

    found = [path for path in located(folder + "/").iterdir() if fnmatchcase(path.name, pattern)]
    if not found:
        raise UsageError(f"found nothing that {address} stands for; expected traces; fix: check the address")
    return [str(path) for path in sorted(found, key=natural_order)]
