"""HTTP over TLS as a server of ours speaks it, beside clients that mean no good."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import ssl
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from howdah.config import Configuration
from howdah.local import certificates
from howdah.runtime.tls import server as tls_server
from howdah.runtime.tls.client import ClientTls, NotTrusted
from howdah.runtime.tls.http_policy import Place
from howdah.runtime.tls.server import ServerTls
from howdah.runtime.tls.stores import server_stores
from howdah.testing.waiting import wait_until
from howdah.web.http import Request, text_response
from howdah.web.server import HttpServer

pytestmark = [pytest.mark.req("FS-294"), pytest.mark.kind("hdfs")]


@dataclass
class Served:
    place: Place
    conf: Configuration
    directory: Path
    http: HttpServer

    def get(self, conf: Configuration | None = None) -> bytes:
        connection = ClientTls(conf or self.conf).http(self.place, 20)
        try:
            connection.request("GET", "/")
            return connection.getresponse().read()
        finally:
            connection.close()

    def raw(self) -> socket.socket:
        return socket.create_connection((self.place.host, self.place.port), timeout=20)


def said(request: Request) -> str:
    return f"over TLS: {request.is_secure}"


@contextmanager
def serving(directory: Path, *, needs_auth: bool = False, limit: int = 64) -> Iterator[Served]:
    certificates.make(directory, ["127.0.0.1"])
    values = certificates.settings(directory)
    values["dfs.client.https.need-auth"] = str(needs_auth).lower()
    conf = Configuration(values)
    http = HttpServer(
        lambda request: text_response(200, said(request)), timeout_s=20, max_connections=limit
    )
    stores = replace(server_stores(conf), reload_s=0)
    port = http.start("127.0.0.1", 0, ServerTls(stores))
    try:
        yield Served(Place(True, "127.0.0.1", port), conf, directory, http)
    finally:
        http.stop()


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("cluster") / "tls"
    certificates.make(directory, ["127.0.0.1"])
    return directory


@pytest.fixture
def served(certified: Path) -> Iterator[Served]:
    with serving(certified) as found:
        yield found


@pytest.mark.req("FS-291")
def test_a_request_over_tls_says_so(served: Served) -> None:
    assert served.get() == b"over TLS: True\n"


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\x00" * 1000,
        os.urandom(5000),
        b"\x16\x03\x01\xff\xff" + b"\x01" * 1000,  # a record that is longer than any may be
        b"\x16\x03\x01\x00\x04\x01\xff\xff\xff",  # a greeting of 16 MiB
        b"\x80\x2e\x01\x00\x02" + b"\x00" * 41,  # of SSL 2
        b"hrpc\x09\x00\x00" + b"\x00" * 100,
    ],
    ids=["nothing", "zeros", "noise", "long record", "huge greeting", "SSL 2", "RPC"],
)
def test_garbage_ends_its_own_connection_alone(served: Served, sent: bytes) -> None:
    with served.raw() as connection:
        # It may be ended before all is sent, or read.
        with contextlib.suppress(OSError):
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass
    assert served.get() == b"over TLS: True\n"


def test_a_greeting_without_an_end_is_cut_off_and_not_kept(served: Served) -> None:
    """OpenSSL gives up within the first records: so much a peer may make a server keep."""
    record = b"\x16\x03\x01\x40\x00" + b"\x01\xff\xff\xff" + b"\x00" * (0x4000 - 4)
    with served.raw() as connection:
        sent = 0
        try:
            while sent < 1 << 30:
                connection.sendall(record)
                sent += len(record)
        except ConnectionError:
            pass
    assert sent < 64 << 20


def test_half_open_handshakes_make_room_for_those_who_speak(certified: Path) -> None:
    with serving(certified, limit=8) as served:
        silent = [served.raw() for _ in range(30)]
        try:
            for connection in silent[::2]:
                connection.sendall(b"\x16\x03\x01")
            assert served.get() == b"over TLS: True\n"
            assert len(served.http._connections) <= 8
        finally:
            for connection in silent:
                connection.close()


def test_a_handshake_that_trickles_is_over_in_time(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_server.shake_hands, "__defaults__", (0.2,))
    with served.raw() as connection:
        connection.sendall(b"\x16\x03\x01")
        assert connection.recv(10) == b""


def test_waiting_peers_take_no_turn(served: Served) -> None:
    """So many as may compute at once wait in their handshakes, and more; others get theirs."""
    waiting = [served.raw() for _ in range(3 * tls_server.AT_ONCE)]
    try:
        for connection in waiting:
            connection.sendall(b"\x16\x03\x01\x02")
        assert served.get() == b"over TLS: True\n"
    finally:
        for connection in waiting:
            connection.close()


@pytest.mark.parametrize("version", ["TLSv1", "TLSv1_1"])
def test_old_versions_make_no_connection(served: Served, version: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = ssl.TLSVersion[version]
    with served.raw() as connection, pytest.raises(OSError):  # noqa: PT011 - an alert, or the end
        context.wrap_socket(connection)
    assert served.get() == b"over TLS: True\n"


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_both_versions_are_spoken(served: Served, version: str) -> None:
    context = ssl.create_default_context(cafile=str(served.directory / "ca.pem"))
    context.minimum_version = context.maximum_version = ssl.TLSVersion[version]
    with served.raw() as raw, context.wrap_socket(raw, server_hostname="localhost") as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        received = b""
        while piece := connection.recv(4096):
            received += piece
    # The end was said, and not only cut: else this would have raised an error.
    assert received.endswith(b"over TLS: True\n")


# Whom clients believe.


def test_a_certificate_of_another_authority_is_not_believed(served: Served) -> None:
    certified_for = served.directory.parent / "other" / "tls"
    certificates.make(certified_for, [])
    with serving(certified_for) as other:
        assert other.get() == b"over TLS: True\n"
        with pytest.raises(NotTrusted, match="is not believed"):
            served.get(other.conf)


@pytest.mark.parametrize(
    ("verifier", "host", "passes"),
    [
        ("DEFAULT", "stranger.example", False),
        ("STRICT", "stranger.example", False),
        ("STRICT_IE6", "stranger.example", False),
        ("DEFAULT_AND_LOCALHOST", "stranger.example", False),
        ("ALLOW_ALL", "stranger.example", True),
        ("DEFAULT", "localhost", True),
        ("DEFAULT", "127.0.0.1", True),
    ],
)
def test_the_verifier_says_how_names_are_held_against_certificates(
    served: Served, verifier: str, host: str, passes: bool
) -> None:
    conf = served.conf.with_values({"hadoop.ssl.hostname.verifier": verifier})
    place = Place(True, host, served.place.port)
    with served.raw() as raw:
        if passes:
            ClientTls(conf).wrap(raw, place).close()
        else:
            with pytest.raises(NotTrusted, match=r"Hostname mismatch.*stranger.example"):
                ClientTls(conf).wrap(raw, place)


def test_localhost_needs_no_name_where_that_is_said() -> None:
    tls = ClientTls(Configuration({"hadoop.ssl.hostname.verifier": "DEFAULT_AND_LOCALHOST"}))
    assert not tls.context("localhost").check_hostname
    assert tls.context("elsewhere").check_hostname


def test_a_client_without_a_certificate_is_sent_away_where_one_is_asked_for(
    certified: Path, tmp_path: Path
) -> None:
    with serving(certified, needs_auth=True) as served:
        with pytest.raises(OSError):  # noqa: PT011 - an alert, or the end of the connection
            served.get()
        described = (certified / "ssl-server.xml").read_text().replace("ssl.server", "ssl.client")
        (tmp_path / "with-key.xml").write_text(described)
        key = {"dfs.client.https.keystore.resource": str(tmp_path / "with-key.xml")}
        assert served.get(served.conf.with_values(key)) == b"over TLS: True\n"


# Renewal.


@pytest.mark.req("FS-293")
def test_a_new_certificate_is_shown_without_a_restart_and_drops_nobody(tmp_path: Path) -> None:
    with serving(tmp_path / "a" / "tls") as served:
        kept = ClientTls(served.conf).http(served.place, 20)
        kept.request("GET", "/")
        assert kept.getresponse().read() == b"over TLS: True\n"
        fresh = tmp_path / "b" / "tls"
        certificates.make(fresh, [])
        # The password in ssl-server.xml stays: only the key is another one.
        _repacked(fresh, served.directory / "new.p12", served.directory)
        os.replace(served.directory / "new.p12", served.directory / "keystore.p12")
        trusting = Configuration(certificates.settings(fresh))
        wait_until(lambda: _gets(served, trusting), 20, "the new certificate is shown")
        with pytest.raises(NotTrusted):
            served.get()
        kept.request("GET", "/")
        assert kept.getresponse().read() == b"over TLS: True\n"
        kept.close()


@pytest.mark.req("FS-293")
def test_a_keystore_that_is_half_written_leaves_the_one_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(tmp_path / "a" / "tls") as served:
        path = served.directory / "keystore.p12"
        whole = path.read_bytes()
        path.write_bytes(whole[:100])
        assert served.get() == b"over TLS: True\n"
        assert "what was there before stays" in caplog.text
        path.unlink()
        assert served.get() == b"over TLS: True\n"
        path.write_bytes(whole)
        assert served.get() == b"over TLS: True\n"


def _gets(served: Served, conf: Configuration) -> bool:
    try:
        return served.get(conf) == b"over TLS: True\n"
    except NotTrusted:
        return False


def _repacked(source: Path, target: Path, like: Path) -> None:
    """The key of one directory, under the password of another one."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.serialization import pkcs12

    def password(directory: Path) -> bytes:
        stores = server_stores(Configuration(certificates.settings(directory)))
        assert stores.keystore is not None
        assert stores.keystore.password is not None
        return stores.keystore.password.text.encode()

    found = pkcs12.load_pkcs12((source / "keystore.p12").read_bytes(), password(source))
    assert found.cert is not None
    target.write_bytes(
        pkcs12.serialize_key_and_certificates(
            b"server",
            found.key,  # type: ignore[arg-type]
            found.cert.certificate,
            [each.certificate for each in found.additional_certs],
            serialization.BestAvailableEncryption(password(like)),
        )
    )


# A stop.


def test_a_stopped_server_ends_connections_over_tls(certified: Path) -> None:
    with serving(certified) as served:
        context = ClientTls(served.conf)
        with served.raw() as raw:
            connection = context.wrap(raw, served.place)
            ended = threading.Event()

            def wait() -> None:
                try:
                    connection.recv(10)
                except OSError:
                    pass
                ended.set()

            threading.Thread(target=wait, daemon=True).start()
            served.http.stop()
            assert ended.wait(20)
            connection.close()


def test_files_of_keys_are_for_their_owner_alone(certified: Path) -> None:
    shutil.copy(certified / "ca.pem", certified / "ca-copy.pem")
    for name in ("keystore.p12", "ssl-server.xml"):
        assert (certified / name).stat().st_mode & 0o077 == 0
