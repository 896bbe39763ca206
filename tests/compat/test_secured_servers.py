"""RPC servers of this project that take tickets and tokens: this project's client and Java's prove
themselves at them, with a KDC of MIT's."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest
import uvloop

from howdah import errors
from howdah.config import Configuration
from howdah.formats.tokens.credentials import Credentials
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.formats.tokens.token import HDFS_DELEGATION, Token
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.negotiation import Offer
from howdah.protocol.rpc.server_hooks import GoOn
from howdah.protocol.rpc.service import Registry, Service, attempt, unanswered
from howdah.protocol.sasl.offered_protections import SameForAll
from howdah.protocol.sasl.principals import Principal
from howdah.protocol.sasl.protection import Protection
from howdah.rpc.client import RpcClient
from howdah.rpc.proofs import EvaluatedBeside
from howdah.rpc.server import RpcServer
from howdah.rpc.threaded_server import ThreadedRpcServer
from howdah.runtime.users.names import ProxyUser, not_allowed
from howdah.security.server_methods import IssuedTokens, MethodsAtServer, ServerIdentity
from howdah.security.settings import SecuritySettings
from howdah.security.users import log_in
from tests.support.hadoop.java import hadoop_java
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.servers import write_site_files

PROTOCOL: Final = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
T = TypeVar("T")
JAVA_S: Final = 120
TOKEN: Final = DelegationTokenIdentifier(f"alice@{REALM}", "hdfs", "", 1, 2, 3, 4)
PASSWORD: Final = b"password of the token"


class Everything:
    """A namespace of one directory, which belongs to whoever asks."""

    def get_file_info(self, request: pb.GetFileInfoRequestProto, caller: Caller) -> Any:
        return pb.GetFileInfoResponseProto(
            fs=types_pb2.HdfsFileStatusProto(
                fileType=types_pb2.HdfsFileStatusProto.IS_DIR,
                path=b"",
                length=0,
                permission=types_pb2.FsPermissionProto(perm=0o755),
                owner=caller.user,
                group=caller.real_user or "none",
                modification_time=0,
                access_time=0,
            )
        )


class OneToken(IssuedTokens):
    def password_of(self, identifier: bytes) -> bytes:
        if identifier != TOKEN.encode():
            raise errors.InvalidToken("Token can't be found in cache")
        return PASSWORD


def may_act(real_user: str, user: str, address: str) -> None:
    """oozie may act for bob."""
    if (real_user, user) != ("oozie", "bob"):
        raise not_allowed(real_user, user)


class MayAct:
    """The same on a loop."""

    def authorize(self, real_user: str, user: str, address: str, done: GoOn) -> None:
        done(attempt("impersonation", lambda: may_act(real_user, user, address)))


def registry() -> Registry:
    descriptor = pb.DESCRIPTOR.services_by_name["ClientNamenodeProtocol"]
    everything = Everything()
    return Registry(
        [Service(PROTOCOL, 1, descriptor, everything, refused=unanswered(descriptor, everything))]
    )


def methods(kdc: Kdc, conf: Mapping[str, str], **changes: Any) -> MethodsAtServer:
    settings = SecuritySettings.from_configuration(Configuration(dict(conf)))
    identity = ServerIdentity(Principal("nn", "localhost", REALM), str(kdc.services_keytab))
    identity.check()
    return MethodsAtServer(
        identity,
        SameForAll(settings.rpc_protections),
        lambda principal: settings.user_of(principal, REALM),
        OneToken(),
        **changes,
    )


@pytest.fixture
def conf(kerberos_environment: Path) -> dict[str, str]:
    return {
        "hadoop.security.authentication": "kerberos",
        "hadoop.rpc.protection": "authentication,integrity,privacy",
        "dfs.namenode.kerberos.principal": f"nn/_HOST@{REALM}",
    }


@pytest.fixture(params=["loop", "threads"])
def port(request: pytest.FixtureRequest, kdc: Kdc, conf: dict[str, str]) -> Iterator[int]:
    """Of both kinds of servers."""
    if request.param == "threads":
        server = ThreadedRpcServer(
            socket.create_server(("127.0.0.1", 0)),
            registry(),
            may_act=may_act,
            methods=methods(kdc, conf),
        )
        server.start()
        yield server.port
        server.close()
        return
    with on_loop(methods(kdc, conf)) as port:
        yield port


@contextmanager
def on_loop(methods: MethodsAtServer) -> Iterator[int]:
    """A server on a loop of its own thread."""
    proofs = EvaluatedBeside(methods)
    loop = uvloop.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def run(work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, loop).result(30)

    server = RpcServer(registry(), impersonation=MayAct(), authentication=proofs)
    port = run(server.start("127.0.0.1", 0))
    yield port
    run(server.stop())
    proofs.close()
    loop.call_soon_threadsafe(loop.stop)
    thread.join(30)
    loop.close()


def ask(
    port: int,
    conf: Mapping[str, str],
    *,
    user: str | None = None,
    keytab: Path | None = None,
    principal: str | None = None,
    token_file: Path | None = None,
) -> tuple[str, str]:
    """Who this client is to the server, and who acts for him."""
    given = str(keytab) if keytab else None, principal, str(token_file) if token_file else None
    whose = log_in(Configuration(dict(conf)), user, *given)
    client = RpcClient(("localhost", port), PROTOCOL, user=whose)
    try:
        answer = client.call(
            "getFileInfo", pb.GetFileInfoRequestProto(src="/"), pb.GetFileInfoResponseProto
        )
    finally:
        client.close()
    return answer.fs.owner, answer.fs.group


@pytest.mark.parametrize("protection", Protection)
def test_a_ticket_proves_who_a_client_is(
    port: int, kdc: Kdc, conf: dict[str, str], protection: Protection
) -> None:
    mine = {**conf, "hadoop.rpc.protection": protection.word}
    assert ask(port, mine, keytab=kdc.keytab("alice"), principal=f"alice@{REALM}") == (
        "alice",
        "none",
    )


@pytest.mark.parametrize("protection", Protection)
def test_a_token_proves_whose_it_is(
    port: int, conf: dict[str, str], tmp_path: Path, protection: Protection
) -> None:
    path = token_file(tmp_path, port)
    mine = {**conf, "hadoop.rpc.protection": protection.word}
    assert ask(port, mine, token_file=path) == ("alice", "none")


def token_file(directory: Path, port: int, password: bytes = PASSWORD) -> Path:
    service = f"127.0.0.1:{port}"
    token = Token(TOKEN.encode(), password, HDFS_DELEGATION, service)
    path = directory / "tokens"
    path.write_bytes(Credentials({service: token}).encode())
    return path


def test_who_knows_a_tokens_name_and_not_its_password_is_refused(
    port: int, conf: dict[str, str], tmp_path: Path
) -> None:
    with pytest.raises(errors.AuthenticationFailed, match="Mismatched response"):
        ask(port, conf, token_file=token_file(tmp_path, port, b"another"))


def test_who_proves_nothing_is_refused(port: int) -> None:
    with pytest.raises(errors.AccessDenied, match="SIMPLE authentication is not enabled"):
        ask(port, {}, user="hdfs")


def test_who_may_acts_for_another(port: int, kdc: Kdc, conf: dict[str, str]) -> None:
    def ask_as(user: str) -> tuple[str, str]:
        mine = f"oozie@{REALM}"
        whose = ProxyUser(user, "oozie")
        return ask(port, conf, user=whose, keytab=kdc.keytab("oozie"), principal=mine)

    assert ask_as("bob") == ("bob", "oozie")
    with pytest.raises(errors.AuthorizationFailed, match="oozie is not allowed to impersonate"):
        ask_as("alice")


class SaysAnother(MethodsAtServer):
    """Says that it is the datanode, and has the namenode's key."""

    @property
    def offers(self) -> Sequence[Offer]:
        return (Offer("KERBEROS", "GSSAPI", "dn", "localhost"),)


def test_a_ticket_of_another_service_is_not_taken(
    kdc: Kdc, conf: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    """The client hears what Hadoop's server says, and the log has the reason."""
    mine = methods(kdc, conf)
    liar = SaysAnother(mine.identity, mine.protections, mine.user_of)
    theirs = {**conf, "dfs.namenode.kerberos.principal": f"dn/_HOST@{REALM}"}
    with on_loop(liar) as port, pytest.raises(errors.AuthenticationFailed) as caught:
        ask(port, theirs, keytab=kdc.keytab("alice"), principal=f"alice@{REALM}")
    assert "GSS initiate failed" in str(caught.value)
    assert "the proof of a client is not taken" in caplog.text
    assert "GSS initiate failed: " in caplog.text


def test_a_protocol_between_servers_is_spoken_by_them_alone(kdc: Kdc, conf: dict[str, str]) -> None:
    """Whatever hadoop.security.authorization says."""
    theirs = methods(kdc, conf, required={PROTOCOL: f"dn/*@{REALM}"})
    with on_loop(theirs) as port:
        dn = kdc.services_keytab
        assert ask(port, conf, keytab=dn, principal=f"dn/localhost@{REALM}")[0] == "dn"
        with pytest.raises(errors.AuthorizationFailed, match="is only accessible by dn"):
            ask(port, conf, keytab=kdc.keytab("alice"), principal=f"alice@{REALM}")


def test_a_server_whose_keytab_is_of_another_does_not_begin(kdc: Kdc, tmp_path: Path) -> None:
    alice = ServerIdentity(Principal("nn", "localhost", REALM), str(kdc.keytab("alice")))
    with pytest.raises(errors.LoginFailed, match=f"has no key of nn/localhost@{REALM}"):
        alice.check()
    missing = ServerIdentity(Principal("nn", "localhost", REALM), str(tmp_path / "none"))
    with pytest.raises(errors.LoginFailed, match="cannot be read: No such file"):
        missing.check()


def test_many_clients_at_once_prove_themselves(kdc: Kdc, conf: dict[str, str]) -> None:
    with on_loop(methods(kdc, conf)) as port, ThreadPoolExecutor(8) as threads:
        keytab, alice = kdc.keytab("alice"), f"alice@{REALM}"
        asked = [threads.submit(ask, port, conf, keytab=keytab, principal=alice) for _ in range(40)]
        assert {each.result(60) for each in asked} == {("alice", "none")}


# -- Java's client -----------------------------------------------------------------


def java_ls(
    jars: str, directory: Path, port: int, conf: Mapping[str, str], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """`hdfs dfs -ls -d /` of Hadoop's."""
    uri = f"hdfs://localhost:{port}"
    write_site_files(directory / "conf", {**conf, "fs.defaultFS": uri})
    options = [f"-Djava.security.krb5.conf={os.environ['KRB5_CONFIG']}"]
    return subprocess.run(
        [
            *hadoop_java(jars, directory / "conf", options=options),
            *("org.apache.hadoop.fs.FsShell", "-ls", "-d", "/"),
        ],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=JAVA_S,
        check=False,
    )


@pytest.mark.parametrize(
    ("proof", "protection"),
    [
        ("ticket", Protection.PRIVACY),
        ("token", Protection.INTEGRITY),
        *[
            pytest.param(proof, protection, marks=pytest.mark.torture)
            for proof in ("ticket", "token")
            for protection in Protection
        ],
    ],
)
def test_javas_client_proves_itself(
    hadoop_classpath: str,
    kdc: Kdc,
    conf: dict[str, str],
    tmp_path: Path,
    proof: str,
    protection: Protection,
) -> None:
    mine = {**conf, "hadoop.rpc.protection": protection.word}
    with on_loop(methods(kdc, conf)) as port:
        environment = {"HADOOP_TOKEN_FILE_LOCATION": str(token_file(tmp_path, port))}
        if proof == "ticket":
            keytab = str(kdc.keytab("alice"))
            environment = {"KRB5KEYTAB": keytab, "KRB5PRINCIPAL": f"alice@{REALM}"}
        done = java_ls(hadoop_classpath, tmp_path, port, mine, environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[2:4] == ["alice", "none"]


def test_javas_client_is_told_why_it_is_refused(
    hadoop_classpath: str, kdc: Kdc, conf: dict[str, str], tmp_path: Path
) -> None:
    with on_loop(methods(kdc, conf)) as port:
        simple = {"hadoop.security.authentication": "simple"}
        done = java_ls(hadoop_classpath, tmp_path, port, simple, {})
    assert done.returncode == 1
    assert "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]" in done.stderr
