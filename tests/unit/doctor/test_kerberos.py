"""The doctor's chapter on Kerberos: what it judges, and how servers are asked."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from howdah.config import Configuration
from howdah.doctor import kerberos as looking
from howdah.doctor import secured
from howdah.doctor.collect import gather
from howdah.doctor.findings import Level
from howdah.doctor.inputs import Facts, Kerberos, SecuredServer
from howdah.doctor.kerberos import data_protections_of, offers_of
from howdah.errors import HowdahError
from howdah.proto import data_transfer_pb2
from howdah.protocol.sasl.protection import Protection
from howdah.protocol.varint import delimited
from tests.support.security.digest_server import DigestServer
from tests.support.security.rpc_server import Behaviour, serving

SOUND = Kerberos(
    files=(("/etc/krb5.conf", True),),
    realm="EXAMPLE.COM",
    source="the default ticket cache",
    principal="alice@EXAMPLE.COM",
    left_s=36_000,
    kdc_ahead_s=0.4,
    rpc_protections=("privacy",),
    data_protections=("integrity", "privacy"),
    servers=(
        SecuredServer(
            "namenode nn1",
            "h:8020",
            ("TOKEN", "KERBEROS"),
            "nn/h",
            protections=("authentication", "privacy"),
        ),
        SecuredServer("datanode d", "d:9866", protections=("privacy",)),
    ),
)
NAMENODE, DATANODE = SOUND.servers


def findings(kerberos: Kerberos | None) -> list[tuple[Level, str]]:
    facts = Facts(Configuration({}), frozenset(), kerberos=kerberos)
    return [(finding.level, finding.line()) for finding in secured.check(facts)]


def test_nothing_is_said_of_what_is_sound() -> None:
    assert findings(None) == []
    assert findings(SOUND) == []


@pytest.mark.parametrize(
    ("changed", "level", "said"),
    [
        ({"files": (("/x", False),)}, Level.ERROR, "/x cannot be read"),
        ({"realm": ""}, Level.WARNING, "no default_realm"),
        ({"problem": "no ticket", "principal": ""}, Level.ERROR, "no ticket"),
        ({"left_s": 30}, Level.WARNING, "ends in 30 s"),
        ({"kdc_ahead_s": 301.0}, Level.ERROR, "clock is 301 s behind that of the KDC"),
        ({"kdc_ahead_s": -90.0}, Level.WARNING, "clock is 90 s ahead of that of the KDC"),
        (
            {"rpc_protections": ("integrity",)},
            Level.ERROR,
            "offers the protections authentication,privacy, and hadoop.rpc.protection = integrity",
        ),
        (
            {"data_protections": ()},
            Level.ERROR,
            "offers the protections privacy, and dfs.data.transfer.protection = nothing here",
        ),
        (
            {"servers": (replace(DATANODE, protections=()),)},
            Level.ERROR,
            "wants no SASL, and dfs.data.transfer.protection = integrity,privacy here",
        ),
        (
            {"servers": (replace(NAMENODE, problem="nn/evil is not nn/h"),)},
            Level.ERROR,
            "is not believed: nn/evil is not nn/h",
        ),
        (
            {"servers": (replace(NAMENODE, methods=("SIMPLE",)),)},
            Level.ERROR,
            "asks for no proof (SIMPLE)",
        ),
        (
            {"servers": (replace(NAMENODE, methods=("TOKEN", "KERBEROS", "SIMPLE")),)},
            Level.WARNING,
            "believes everybody who shows no proof, beside tickets: take "
            "howdah.security.transition out",
        ),
    ],
)
def test_what_is_wrong_is_told(changed: dict[str, object], level: Level, said: str) -> None:
    [(found, line)] = findings(replace(SOUND, **changed))  # type: ignore[arg-type]
    assert found is level
    assert said in line


def test_a_keytab_renews_its_tickets_itself() -> None:
    assert findings(replace(SOUND, left_s=30, keytab_principals=("alice@EXAMPLE.COM",))) == []


def test_where_the_namenode_encrypts_the_protection_of_data_does_not_matter() -> None:
    assert findings(replace(SOUND, data_protections=(), encrypts_data=True)) == []


def test_the_chapter_is_for_people() -> None:
    lines = replace(SOUND, tokens=("HDFS_DELEGATION_TOKEN for ha-hdfs:ns",)).lines()
    assert lines == [
        "krb5.conf: /etc/krb5.conf; realm EXAMPLE.COM, whose clock differs by 0 s",
        "login: the default ticket cache: alice@EXAMPLE.COM, for 10 h 0 min",
        "token: HDFS_DELEGATION_TOKEN for ha-hdfs:ns",
        "protection here: privacy for calls, integrity,privacy for data",
        "namenode nn1 at h:8020: takes TOKEN, KERBEROS; is nn/h; offers authentication,privacy",
        "datanode d at d:9866: offers privacy",
    ]


def test_a_namenode_is_asked_for_its_offers() -> None:
    how = Behaviour(protections=(Protection.INTEGRITY,))
    with serving(how) as address:
        token, kerberos = offers_of(address, 5)
    assert (token.method, b'qop="auth-int"' in token.challenge) == ("TOKEN", True)
    assert (kerberos.method, kerberos.serverId) == ("KERBEROS", "evil.example.com")
    with serving(Behaviour(asks_for_nothing=True)) as address:
        assert [offer.method for offer in offers_of(address, 5)] == ["SIMPLE"]


@contextmanager
def answering(reply: bytes) -> Iterator[tuple[str, int]]:
    """A server that answers what it is sent with these bytes, and closes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            peer, _ = listener.accept()
            with peer:
                peer.recv(1024)
                peer.sendall(reply)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield listener.getsockname()
        thread.join(10)


def test_a_datanode_is_asked_for_its_challenge() -> None:
    challenge = DigestServer(lambda _: None, protections=(Protection.PRIVACY,)).challenge()
    message = data_transfer_pb2.DataTransferEncryptorMessageProto(
        status=data_transfer_pb2.DataTransferEncryptorMessageProto.SUCCESS, payload=challenge
    )
    with answering(delimited(message)) as address:
        assert data_protections_of(address, 5) == ("privacy",)
    with answering(b"") as address:
        assert data_protections_of(address, 5) == ()
    with answering(b"\x03HTT") as address, pytest.raises(HowdahError):
        data_protections_of(address, 5)


def test_a_datanode_at_a_privileged_port_is_not_asked_for_a_handshake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It wants none, and clients begin none there: that is no difference of protections."""
    monkeypatch.setenv("KRB5_CONFIG", str(tmp_path / "krb5.conf"))
    asked: list[tuple[str, int]] = []

    def offered(address: tuple[str, int], timeout_s: float) -> tuple[str, ...]:
        asked.append(address)
        return ("privacy",)

    monkeypatch.setattr(looking, "data_protections_of", offered)
    datanodes = [("low", ("127.0.0.1", 1023)), ("high", ("127.0.0.1", 1024))]
    seen = looking.look(
        Configuration({"dfs.data.transfer.protection": "privacy"}),
        None,
        "nobody",
        [],
        datanodes,
        timeout_s=5,
        asks=True,
        encrypts_data=False,
    )
    assert asked == [("127.0.0.1", 1024)]
    low, high = seen.servers
    assert (low.protections, high.protections) == (None, ("privacy",))
    assert "privileged port" in low.remark
    assert findings(replace(SOUND, servers=(NAMENODE, low, high))) == []


def test_a_client_without_a_login_is_told_so_and_needs_no_role(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path / 'nothing'}")
    monkeypatch.setenv("KRB5_CONFIG", str(tmp_path / "krb5.conf"))
    for name in ("KRB5KEYTAB", "HADOOP_TOKEN_FILE_LOCATION"):
        monkeypatch.delenv(name, raising=False)
    conf = Configuration(
        {"hadoop.security.authentication": "kerberos", "dfs.datanode.data.dir": str(tmp_path)}
    )
    how = Behaviour()
    with serving(how) as (host, port):
        conf = conf.with_values({"dfs.namenode.rpc-address": f"{host}:{port}"}, source="test")
        facts = gather(conf)
    # It was asked for its offers, and nothing was called.
    assert (how.connections, how.contexts) == (1, [])
    assert facts.roles == frozenset()
    assert facts.namenodes == ()
    assert facts.kerberos is not None
    said = [line for _, line in findings(facts.kerberos)]
    assert ["there is no krb5.conf" in said[0], "nothing to prove" in said[1]] == [True, True]
    assert "default_realm" not in "".join(said[1:])
