"""Build what a release consists of, and try it as a stranger would: `make wheels`.

A source distribution, and from it, without the network, a wheel for each Python that is here: one of the stable ABI,
made by the oldest Python from 3.12 on, for all of those; and one each for 3.10 and 3.11, whose stable ABI nanobind
cannot use.
Each is

- repaired and audited (auditwheel: which systems it runs on; abi3audit: that it keeps to the ABI that its name
  promises),
- looked at as the registry would (twine),
- installed into an empty environment by each Python it says it is for, with no compiler on the path and nothing but the
  wheels that were fetched before, and asked for two verdicts that it must get right.

What could not be tried, for want of a Python or a tool, is said at the end.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STABLE_SINCE = (3, 12)
VERSIONS = [(3, 10), (3, 11), (3, 12), (3, 13), (3, 14)]
BUILD = ["scikit-build-core>=0.11", "nanobind>=2.4", "cmake>=3.18", "ninja"]
RUNTIME = ["numpy>=1.24", "rich>=13"]
SMOKE = (
    ("valid.jsonl", "ser,si", 0),
    ("write-skew.jsonl", "ser", 1),
    ("write-skew.jsonl", "si", 0),
)


CONTENTS = {
    "src", "native", "CMakeLists.txt", "pyproject.toml", "PKG-INFO",
    "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff",
}  # fmt: skip
"""What a source distribution has on top: all that builds, and nothing of whoever built it."""


class Failed(Exception):
    """A step did not do what it should; its message says which, and what was seen."""


def run(*command: str | Path, expect: int = 0, **options: object) -> str:
    texts = [str(part) for part in command]
    done = subprocess.run(texts, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)  # type: ignore[call-overload]
    if done.returncode != expect:
        raise Failed(
            f"{' '.join(texts)}\nfound exit code {done.returncode}, expected {expect}:\n{done.stdout[-6000:]}"
        )
    return str(done.stdout)


def pythons() -> dict[tuple[int, int], Path]:
    """The interpreters that can be had here, by version."""
    found = {}
    for version in VERSIONS:
        name = "python{}.{}".format(*version)
        places = [shutil.which(name), *sorted(Path.home().glob(f".pyenv/versions/{name[6:]}.*/bin/python"))]
        for place in places:
            try:
                said = (
                    run(str(place), "-c", "import sys, venv, ensurepip; print(*sys.version_info[:2])")
                    if place
                    else ""
                )
            except (Failed, OSError):
                continue
            if said.split() == [str(part) for part in version]:
                found[version] = Path(str(place))
                break
    return found


def look_into(sdist: Path) -> None:
    """Fails if a source distribution holds more or less than it should."""
    with tarfile.open(sdist) as packed:
        names = packed.getnames()
    tops = {name.split("/")[1] for name in names if "/" in name}
    strange = [name for name in names if name.endswith((".so", ".o", ".pyc"))]
    if tops != CONTENTS or strange:
        found = f"found {sorted(tops)} and {strange[:3]}"
        raise Failed(f"{sdist.name}: {found}; expected {sorted(CONTENTS)} and nothing compiled")


def environment(python: Path, place: Path, *, wheels: Path | None = None) -> Path:
    run(python, "-m", "venv", place)
    inside = place / "bin" / "python"
    if wheels is None:
        run(inside, "-m", "pip", "install", "--quiet", "pip>=23")
    return inside


def fetch(python: Path, wheelhouse: Path, work: Path, requirements: list[str]) -> None:
    """All wheels that building and running need, for this Python, so that what follows may do without the network."""
    inside = environment(python, work)
    run(
        inside,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--only-binary",
        ":all:",
        "--dest",
        wheelhouse,
        *requirements,
    )


def build(python: Path, sdist: Path, wheelhouse: Path, work: Path) -> Path:
    """A wheel from the source distribution, offline."""
    inside = environment(python, work / "builder", wheels=wheelhouse)
    offline = ["--no-index", "--find-links", str(wheelhouse)]
    run(inside, "-m", "pip", "install", "--quiet", *offline, *BUILD)
    out = work / "made"
    path = f"{inside.parent}{os.pathsep}{os.environ['PATH']}"
    run(
        inside, "-m", "pip", "wheel", "--quiet", *offline, "--no-deps", "--no-build-isolation",
        "--wheel-dir", out, sdist, env={**os.environ, "PATH": path},
    )  # fmt: skip
    (wheel,) = out.glob("*.whl")
    return wheel


def audit(wheel: Path, dist: Path) -> tuple[Path, list[str]]:
    """The wheel under the name of the systems it runs on, and what could not be looked at."""
    left = []
    bin_ = Path(sys.executable).parent
    if sys.platform == "linux":
        said = run(
            bin_ / "auditwheel", "repair", "--wheel-dir", dist, wheel,
            env={**os.environ, "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}"},
        )  # fmt: skip
        named = re.search(r"Fixed-up wheel written to (\S+)", said)
        whole = sorted(dist.glob(wheel.name.rsplit("-", 1)[0] + "-*.whl"))
        wheel = Path(named[1]) if named else whole[-1]
    else:
        left.append(f"{wheel.name}: auditwheel is for Linux; nothing repaired")
        wheel = Path(shutil.copy(wheel, dist))
    if "-abi3-" in wheel.name:
        run(bin_ / "abi3audit", "--strict", "--summary", wheel)
    run(bin_ / "twine", "check", "--strict", wheel)
    return wheel, left


def smoke(python: Path, wheel: Path, wheelhouse: Path, work: Path) -> None:
    """Installed where nothing is, it must get two verdicts right."""
    inside = environment(python, work, wheels=wheelhouse)
    bare = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "CXX", "CC")}
    bare["PATH"] = str(inside.parent)
    if any(shutil.which(name, path=bare["PATH"]) for name in ("c++", "g++", "clang++", "cc", "cmake")):
        raise Failed(f"found a compiler on {bare['PATH']}; expected none")
    run(
        inside,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--find-links",
        wheelhouse,
        wheel,
        env=bare,
        cwd=work,
    )
    program = inside.parent / "boomslang"
    for name, levels, code in SMOKE:
        run(program, "check", ROOT / "examples" / name, "--level", levels, expect=code, env=bare, cwd=work)
    run(program, "doctor", env=bare, cwd=work)
    run(
        program, "run", "--db", "sqlite", "--workload", "bank", "--txns", "50", "--out", work / "trace",
        "--check", "ser", env=bare, cwd=work,
    )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the files go (dist)")
    parser.add_argument("--only", action="append", metavar="3.N", help="this Python only; may be given again")
    arguments = parser.parse_args()
    dist: Path = arguments.out.resolve()
    dist.mkdir(parents=True, exist_ok=True)
    for old in (*dist.glob("boomslang_checker-*.whl"), *dist.glob("boomslang_checker-*.tar.gz")):
        old.unlink()
    here = pythons()
    if arguments.only:
        here = {version: path for version, path in here.items() if "{}.{}".format(*version) in arguments.only}
    why = "not asked for" if arguments.only else "not found here"
    untried = ["Python {}.{}: {}".format(*version, why) for version in VERSIONS if version not in here]
    if not here:
        raise Failed("found no Python to build for; expected one of 3.10 to 3.14 on the path")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        wheelhouse = work / "wheelhouse"
        print("source distribution ...", flush=True)
        run(sys.executable, "-m", "build", "--sdist", "--outdir", dist, ROOT)
        (sdist,) = dist.glob("boomslang_checker-*.tar.gz")
        look_into(sdist)
        run(Path(sys.executable).parent / "twine", "check", "--strict", sdist)
        stable: Path | None = None
        for version, python in sorted(here.items()):
            name = "{}.{}".format(*version)
            fetch(python, wheelhouse, work / f"fetch-{name}", [*BUILD, *RUNTIME])
            if version < STABLE_SINCE or stable is None:
                print(f"wheel by Python {name}, offline from the source distribution ...", flush=True)
                wheel, left = audit(build(python, sdist, wheelhouse, work / f"build-{name}"), dist)
                untried += left
                if version >= STABLE_SINCE:
                    stable = wheel
            chosen = wheel if version < STABLE_SINCE or stable is None else stable
            smoke(python, chosen, wheelhouse, work / f"smoke-{name}")
            print(
                f"  {chosen.name}: audited, installed without a compiler, asked, by Python {name}", flush=True
            )
    for made in sorted(dist.glob("boomslang_checker-*")):
        print(f"{made.stat().st_size / 2**20:6.2f} MB  {made.name}")
    for line in untried:
        print(f"not tried: {line}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failed:
        print(failed, file=sys.stderr)
        sys.exit(1)
