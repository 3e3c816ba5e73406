"""TLS from the proxy to a MariaDB that lets nobody in without, of a client that speaks none."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pymysql
import pytest
from support.mysql_work import comparable, make_tables, proxied, recorded_in_python, run_plainly
from support.recorded_sql import address

from boomslang import check, read_trace
from boomslang.databases.servers import ServerMissing, start_server
from boomslang.record.wire.mysql.handshake import offers_tls, with_tls
from boomslang.record.wire.relay import Malformed


@pytest.fixture(scope="module")
def certificate() -> Iterator[Path]:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    with (
        TemporaryDirectory() as name
    ):  # the server may be another user's, who may not look into pytest's folders
        yield _made_certificate(Path(name))


def _made_certificate(folder: Path) -> Path:
    folder.chmod(0o755)
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "server.key", "-out", "server.crt"],
        check=True, capture_output=True, cwd=folder,
    )  # fmt: skip
    (folder / "server.key").chmod(0o644)
    return folder / "server.crt"


@pytest.fixture(scope="module")
def mariadb(certificate: Path) -> Iterator[dict[str, Any]]:
    """How to connect to it: as one who must speak TLS, with one of two ways to prove who it is."""
    settings = {"ssl_cert": str(certificate), "ssl_key": str(certificate.with_suffix(".key"))}
    try:
        running = start_server("mariadb", more={"settings": settings})
    except ServerMissing as missing:
        pytest.skip(str(missing))
    with running:
        connect = address(running.dsn)
        with pymysql.connect(**connect, autocommit=True) as c, c.cursor() as cursor:
            cursor.execute("SHOW VARIABLES LIKE 'have_ssl'")
            if cursor.fetchall() != (("have_ssl", "YES"),):
                pytest.skip("a MariaDB that was built without TLS")
            cursor.execute("CREATE USER secure@'%' IDENTIFIED BY 'sesame' REQUIRE SSL")
            cursor.execute(f"GRANT ALL ON {connect['database']}.* TO secure@'%'")
        yield {**connect, "user": "secure", "password": "sesame"}


def test_the_trace_is_the_one_that_is_recorded_without(mariadb: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(pymysql.OperationalError, match="Access denied"):
        pymysql.connect(**mariadb, ssl_disabled=True)
    with_tls_of_its_own = {**mariadb, "ssl": {"check_hostname": False, "verify_mode": False}}
    expected = recorded_in_python(with_tls_of_its_own, tmp_path / "python")
    make_tables(with_tls_of_its_own)
    with proxied(mariadb, tmp_path / "wire", "?sslmode=require") as (there, troubles):
        with pymysql.connect(**there, autocommit=True) as connection, connection.cursor() as cursor:
            run_plainly(connection)
            cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
            assert cursor.fetchone()[1]
        with pytest.raises(pymysql.OperationalError, match="Access denied"):
            pymysql.connect(**{**there, "password": "wrong"})
        assert troubles == []
    trace = comparable(tmp_path / "wire")
    assert (
        trace[: len(expected)] == expected and len(trace) - len(expected) <= 3
    )  # the question for the cipher
    assert check(read_trace(tmp_path / "wire"), "strict serializable").valid
    assert not any(b"sesame" in path.read_bytes() for path in (tmp_path / "wire").iterdir())


def test_who_the_server_is(mariadb: dict[str, Any], certificate: Path, tmp_path: Path) -> None:
    trusted = f"?sslmode=verify-full&sslrootcert={certificate}"
    with proxied(mariadb, tmp_path / "trusted", trusted) as (there, troubles):
        pymysql.connect(**there).close()
        assert troubles == []
    with proxied(mariadb, tmp_path / "untrusted", "?sslmode=verify-full") as (there, troubles):
        with pytest.raises(pymysql.OperationalError, match="no TLS with the server"):
            pymysql.connect(**there)
        assert len(troubles) == 1 and "certificate" in troubles[0].lower()


@pytest.mark.full
def test_a_server_that_speaks_none(tmp_path: Path) -> None:
    try:
        running = start_server("mariadb", more={"settings": {"skip_ssl": "1"}})
    except ServerMissing as missing:
        pytest.skip(str(missing))
    with running, proxied(address(running.dsn), tmp_path / "t", "?sslmode=require") as (there, troubles):
        with pytest.raises(pymysql.OperationalError, match="speaks none"):
            pymysql.connect(**there)
        assert "leave sslmode out" in troubles[0]


def test_a_login_of_an_old_protocol_is_refused() -> None:
    with pytest.raises(Malformed):
        with_tls(b"\0" * 40)
    assert not offers_tls(b"\x0a5.5\0" + bytes(4 + 8 + 1) + b"\0\0")
