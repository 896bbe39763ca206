"""A key server over TLS: who trusts its certificate gets keys, and nobody else sends it a word."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.local import certificates
from howdah.protocol.encryption_zones.provider_address import ProviderAddress
from howdah.runtime.tls.client import NotTrusted
from howdah.security.key_servers import KeyServers
from howdah.testing import MiniCluster
from tests.support.key_server import KEY_ACCESS, key_servers

pytestmark = pytest.mark.timeout(120)

DATA = b"for those who trust the certificate " * 5000


@dataclass(frozen=True)
class Scene:
    provider: str
    tls: Path
    others: Path
    """Certificates by another authority."""

    def keys(self, directory: Path | None, provider: str = "") -> KeyServers:
        """The key servers, by who trusts the authority in a directory."""
        values = {} if directory is None else certificates.client_settings(directory)
        values["hadoop.security.kms.client.failover.max.retries"] = "0"
        values["hadoop.security.kms.client.timeout"] = "5s"
        address = ProviderAddress.of(provider or self.provider)
        return KeyServers(address, Configuration(values), "root")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("kms-tls")
    tls, others = directory / "tls", directory / "others"
    for place in (tls, others):
        certificates.make(place, ())
    settings = {
        **KEY_ACCESS,
        "hadoop.kms.ssl.enabled": "true",
        "hadoop.ssl.server.conf": str(tls / "ssl-server.xml"),
    }
    with key_servers(directory / "kms", settings) as (provider, _):
        scene = Scene(provider, tls, others)
        with closing(scene.keys(tls)) as servers:
            servers.create("secured")
        yield scene


def test_files_are_written_and_read_by_keys_over_tls(scene: Scene) -> None:
    assert scene.provider.startswith("kms://https@")
    with ExitStack() as stack:
        cluster = stack.enter_context(
            MiniCluster(
                datanodes=1,
                conf={
                    "hadoop.security.key.provider.path": scene.provider,
                    **certificates.client_settings(scene.tls),
                },
            )
        )
        fs = stack.enter_context(cluster.connect())
        assert isinstance(fs, HdfsFileSystem)
        fs.mkdirs("/zone")
        fs.create_encryption_zone("/zone", "secured")
        with fs.create("/zone/file") as out:
            out.write(DATA)
        assert fs.read_bytes("/zone/file") == DATA
        assert DATA[:30] not in fs.read_bytes("/.reserved/raw/zone/file")
        # Who does not trust the certificate is told so, by the file's name and the server's.
        conf = cluster.conf.with_values(certificates.client_settings(scene.others))
        with (
            howdah.connect(cluster.uri, conf=conf) as other,
            pytest.raises(NotTrusted, match=r"key server https://127\.0\.0\.1"),
        ):
            other.open("/zone/file")


@pytest.mark.parametrize("who", ["nobody", "another authority"])
def test_a_certificate_that_is_not_trusted_is_named_at_once(scene: Scene, who: str) -> None:
    trusted = None if who == "nobody" else scene.others
    with (
        closing(scene.keys(trusted)) as servers,
        pytest.raises(NotTrusted, match=r"key server https://127\.0\.0\.1.*certificate"),
    ):
        servers.names()


def test_a_certificate_for_another_host_is_not_trusted(scene: Scene) -> None:
    port = ProviderAddress.of(scene.provider).port
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(scene.tls / "ca.pem")
    with socket.create_connection(("127.0.0.1", port)) as plain:
        with pytest.raises(ssl.SSLCertVerificationError):
            context.wrap_socket(plain, server_hostname="elsewhere.example")


def test_a_server_that_speaks_no_tls_gets_no_word(scene: Scene) -> None:
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def listen() -> None:
            connection, _ = listening.accept()
            with connection:
                heard.append(connection.recv(10_000))
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]")

        listener = threading.Thread(target=listen)
        listener.start()
        port = listening.getsockname()[1]
        with (
            closing(scene.keys(scene.tls, f"kms://https@127.0.0.1:{port}/kms")) as servers,
            pytest.raises((errors.Unreachable, NotTrusted), match="key server"),
        ):
            servers.names()
        listener.join()
    assert b"user.name" not in heard[0]
    assert heard[0][:1] == b"\x16", "the hello of TLS, and nothing else"


def test_a_client_that_speaks_no_tls_is_told(scene: Scene) -> None:
    plain = scene.provider.replace("https@", "http@")
    with (
        closing(scene.keys(None, plain)) as servers,
        pytest.raises(errors.HowdahError, match=r"key server|https"),
    ):
        servers.names()


def test_the_key_command_asks_over_tls(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    [(name, value)] = certificates.client_settings(scene.tls).items()
    asked = ["-D", f"{name}={value}", "key", "list", "-provider", scene.provider]
    assert main(asked) == 0
    assert "secured" in capsys.readouterr().out
