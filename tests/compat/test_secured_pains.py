"""What users of Kerberos with HDFS from Python suffer from, each with our client on real KDCs."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.config.nameservices import http_addresses
from howdah.formats.tokens.credentials import Credentials
from howdah.formats.tokens.token import Token
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.webhdfs.filesystem import WebHdfsFileSystem
from howdah.fsspec import HowdahFileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.security.kcm import NoKcm, kcm_server
from tests.support.security.kdc import REALM, Kdc, program
from tests.support.security.secured_hadoop import OTHER_REALM, SecuredHadoop
from tests.support.security.secured_pair import NAMESERVICE, SecuredPair

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]
SHORT: str = "10s"


def connect(hadoop: SecuredHadoop, **conf: str) -> HdfsFileSystem:
    """By whatever this process has."""
    fs = howdah.connect(hadoop.uri, conf=Configuration({**hadoop.client_conf(), **conf}))
    assert isinstance(fs, HdfsFileSystem)
    return fs


def many_at_once(fs: HdfsFileSystem) -> None:
    """More calls than there are connections: most have to prove themselves anew."""
    failed: list[Exception] = []
    barrier = threading.Barrier(6)

    def call() -> None:
        barrier.wait()
        try:
            fs.list_status("/user")
        except Exception as error:  # noqa: BLE001 - raised below
            failed.append(error)

    threads = [threading.Thread(target=call) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    if failed:
        raise failed[0]


def issued(fs: HdfsFileSystem) -> Token:
    token = fs.get_delegation_token(str(fs.user))
    assert token is not None
    return token


def write_tokens(path: Path, *tokens: Token) -> None:
    new = path.with_name(f"{path.name}.new")
    new.write_bytes(Credentials({str(n): token for n, token in enumerate(tokens)}).encode())
    os.replace(new, path)


# -- 1. Tickets end in long jobs.


def test_a_keytab_outlives_tickets_of_ten_seconds(
    hadoop: SecuredHadoop, kdc: Kdc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """mtth/hdfs 49: nobody runs kinit."""
    conf = kdc.write_configuration(tmp_path / "krb5.conf", ticket_lifetime=SHORT)
    monkeypatch.setenv("KRB5_CONFIG", str(conf))
    cache = tmp_path / "clock"
    with hadoop.connect() as fs:
        with fs.create("/user/alice/long", overwrite=True) as out:
            out.write(b"before")
            out.hflush()
            kdc.kinit("alice", cache, "-l", SHORT)

            def is_over() -> bool:
                environment = {**os.environ, "KRB5CCNAME": f"FILE:{cache}"}
                done = subprocess.run(["klist", "-s"], env=environment, check=False)
                return done.returncode != 0

            wait_until(is_over, 60)
            many_at_once(fs)
            out.write(b" and after")
        assert fs.open("/user/alice/long").read() == b"before and after"


# -- 2. A keytab is taken for a ticket cache, or the other way round.


def test_a_keytab_in_the_place_of_a_cache_is_told(
    hadoop: SecuredHadoop, kdc: Kdc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """dask/hdfs3 158."""
    keytab = kdc.keytab("alice")
    monkeypatch.setenv("KRB5CCNAME", str(keytab))
    with pytest.raises(errors.LoginFailed, match=f"{keytab} is a keytab, and no ticket cache"):
        connect(hadoop)
    cache = tmp_path / "a-cache"
    kdc.kinit("alice", cache)
    with pytest.raises(errors.LoginFailed, match=f"{cache} is a ticket cache, and no keytab"):
        howdah.connect(
            hadoop.uri, conf=Configuration(hadoop.client_conf()), keytab=str(cache), principal="a"
        )


# -- 3. Types of ticket caches.


@pytest.fixture
def kcm(
    kdc: Kdc, kerberos_environment: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[None]:
    """This process finds a server of ticket caches."""
    try:
        with kcm_server(tmp_path) as path:
            conf = kdc.write_configuration(tmp_path / "krb5.conf", kcm_socket=path)
            monkeypatch.setenv("KRB5_CONFIG", str(conf))
            yield
    except NoKcm as missing:
        pytest.skip(missing.message)


def check_cache(
    hadoop: SecuredHadoop, kdc: Kdc, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A ticket that kinit puts there is found, as the default cache and by the key."""
    monkeypatch.setenv("KRB5CCNAME", name)
    keytab = str(kdc.keytab("bob"))
    done = subprocess.run(
        [program("kinit"), "-k", "-t", keytab, "bob"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"there are no caches {name} here: {done.stderr.strip()}")
    with connect(hadoop) as fs:
        assert fs.user == "bob"
        fs.list_status("/user")
    monkeypatch.delenv("KRB5CCNAME")
    with connect(hadoop, **{"hadoop.security.kerberos.ticket.cache.path": name}) as fs:
        assert fs.user == "bob"
        fs.list_status("/user")
    subprocess.run([program("kdestroy"), "-c", name], check=True, capture_output=True)
    with pytest.raises(errors.LoginFailed, match="by kinit"):
        connect(hadoop, **{"hadoop.security.kerberos.ticket.cache.path": name})


@pytest.mark.parametrize("kind", ["FILE", "DIR", "KEYRING"])
def test_every_type_of_cache_is_found(
    hadoop: SecuredHadoop,
    kdc: Kdc,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    kind: str,
) -> None:
    """apache/paimon 7716, treeverse/dvc 5645."""
    name = {
        "FILE": f"FILE:{tmp_path}/c",
        "DIR": f"DIR:{tmp_path}/d",
        "KEYRING": f"KEYRING:session:howdah-{os.getpid()}",
    }[kind]
    (tmp_path / "d").mkdir()
    check_cache(hadoop, kdc, monkeypatch, name)


@pytest.mark.usefixtures("kcm")
def test_a_server_of_caches_is_asked(
    hadoop: SecuredHadoop, kdc: Kdc, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_cache(hadoop, kdc, monkeypatch, "KCM:")


# -- 4. Asked for Kerberos, got SIMPLE.


def test_a_cluster_without_security_is_not_taken_for_a_secured_one(
    howdah_cluster: MiniCluster, hadoop: SecuredHadoop, kdc: Kdc
) -> None:
    """apache/arrow 38350, 6320: nothing falls back in silence."""
    conf = {**hadoop.client_conf(), "dfs.client.failover.max.attempts": "1"}

    def connected(**more: str) -> HdfsFileSystem:
        fs = howdah.connect(
            howdah_cluster.uri,
            conf=Configuration({**conf, **more}),
            keytab=str(kdc.keytab("alice")),
            principal=f"alice@{REALM}",
        )
        assert isinstance(fs, HdfsFileSystem)
        return fs

    with connected() as fs:
        with pytest.raises(
            errors.AuthenticationFailed, match=r"ipc\.client\.fallback-to-simple-auth-allowed"
        ):
            fs.list_status("/")
    with connected(**{"ipc.client.fallback-to-simple-auth-allowed": "true"}) as fs:
        assert fs.list_status("/") is not None


def test_over_http_nothing_falls_back_in_silence_either(
    howdah_cluster: MiniCluster, kdc: Kdc, caplog: pytest.LogCaptureFixture
) -> None:
    """A cluster without security is asked for nothing but its proof, unless that is allowed."""
    [(host, port)] = http_addresses(howdah_cluster.conf, None).values()
    by_name = howdah_cluster.connect()
    home = "/user/alice"
    by_name.mkdirs(home)
    by_name.set_owner(home, "alice", "alice")

    def connected(**more: str) -> WebHdfsFileSystem:
        fs = howdah.connect(
            f"webhdfs://{host}:{port}",
            conf=Configuration({"hadoop.security.authentication": "kerberos", **more}),
            keytab=str(kdc.keytab("alice")),
            principal=f"alice@{REALM}",
        )
        assert isinstance(fs, WebHdfsFileSystem)
        return fs

    allowed = "ipc.client.fallback-to-simple-auth-allowed"
    with connected() as fs:
        with pytest.raises(errors.AuthenticationFailed, match=allowed):
            fs.mkdirs("/tmp-of-nobody")
        with pytest.raises(errors.AuthenticationFailed, match=allowed):
            fs.list_status("/")
    assert not by_name.exists("/tmp-of-nobody")
    with connected(**{allowed: "true"}) as fs, caplog.at_level("WARNING"):
        with fs.create(f"{home}/fell-back", overwrite=True) as out:
            out.write(b"data")
        assert fs.open(f"{home}/fell-back").read() == b"data"
        assert fs.get_file_status(f"{home}/fell-back").owner == "alice"
        assert fs.get_delegation_token("alice") is None
    assert caplog.text.count("asks for no proof of who a client is") == 1
    by_name.close()


# -- 5. Executors with only a token file.


def _in_child(fs: HdfsFileSystem) -> None:
    os._exit(0 if fs.exists("/user/alice") and fs.user == "alice" else 1)


def test_a_token_file_alone_is_good_at_both_namenodes_and_after_a_fork(
    hadoop_pair: SecuredPair, kdc: Kdc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """jcrist/skein 59, uber/petastorm 279, apache/arrow 17357: `ha-hdfs:ns`."""
    with hadoop_pair.connect() as fs:
        token = issued(fs)
    assert token.service == f"ha-hdfs:{NAMESERVICE}"
    write_tokens(tmp_path / "tokens", token)
    monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(tmp_path / "tokens"))
    uri = f"hdfs://{NAMESERVICE}"
    conf = hadoop_pair.client_conf()
    with howdah.connect(uri, conf=Configuration(conf)) as by_token:
        assert isinstance(by_token, HdfsFileSystem)
        assert by_token.exists("/user/alice")
        fork = multiprocessing.get_context("fork").Process(target=_in_child, args=(by_token,))
        fork.start()
        fork.join(60)
        assert fork.exitcode == 0
        many_at_once(by_token)
        for _ in range(2):
            hadoop_pair.fail_over()
            with by_token.create("/user/alice/after-failover", overwrite=True) as out:
                out.write(b"data")
            assert by_token.open("/user/alice/after-failover").read() == b"data"
    fs_of_fsspec = HowdahFileSystem(NAMESERVICE, conf=conf, skip_instance_cache=True)
    assert fs_of_fsspec.exists("/user/alice")


READ_THERE = """
import pickle, sys
of_fsspec, hdfs = pickle.load(sys.stdin.buffer)
print([bool(of_fsspec.ls("/user")), bool(hdfs.list_status("/user"))])
"""


@pytest.mark.parametrize("has_ticket", [True, False])
def test_a_pickled_filesystem_is_proven_where_it_is_used(
    hadoop: SecuredHadoop,
    kdc: Kdc,
    kerberos_environment: Path,
    tmp_path: Path,
    has_ticket: bool,
) -> None:
    """A worker has a keytab of the same name, or a token file alone."""
    conf = hadoop.client_conf()
    if has_ticket:
        login: dict[str, Any] = {
            "keytab": str(kdc.keytab("alice")),
            "principal": f"alice@{REALM}",
        }
    else:
        login = {}
        kdc.kinit("alice", kerberos_environment)
    of_fsspec = HowdahFileSystem(
        "localhost", hadoop.rpc_port, conf=conf, skip_instance_cache=True, **login
    )
    assert of_fsspec.exists("/user/alice")
    pickled = pickle.dumps((of_fsspec, of_fsspec.hdfs))
    with hadoop.connect() as fs:
        token = issued(fs)
        assert token.password not in pickled
        environment = {**os.environ, "KRB5CCNAME": f"FILE:{tmp_path / 'none'}"}
        if not has_ticket:
            write_tokens(tmp_path / "worker", token)
            environment["HADOOP_TOKEN_FILE_LOCATION"] = str(tmp_path / "worker")
        done = subprocess.run(
            [sys.executable, "-c", READ_THERE],
            input=pickled,
            env=environment,
            capture_output=True,
            check=False,
        )
        fs.cancel_delegation_token(token)
    assert done.stdout.decode() == "[True, True]\n", done.stderr.decode()


# -- 6. Tokens that end, and a file that is renewed.


@pytest.mark.parametrize("web", [False, True])
def test_a_renewed_token_file_is_read_again(
    hadoop: SecuredHadoop,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    web: bool,
) -> None:
    """apache/spark 9168."""
    path = tmp_path / "tokens"
    uri = f"webhdfs://localhost:{hadoop.http_port}" if web else hadoop.uri
    with hadoop.connect() as owner:
        first = issued(owner)
        write_tokens(path, first)
        monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(path))
        with howdah.connect(uri, conf=Configuration(hadoop.client_conf())) as fs:
            assert fs.exists("/user/alice")
            owner.cancel_delegation_token(first)
            second = issued(owner)
            write_tokens(path, second)
            many_at_once(fs)  # type: ignore[arg-type]
        owner.cancel_delegation_token(second)


# -- 7. Protection that does not match.


def test_a_missing_protection_is_told_by_its_key(hadoop: SecuredHadoop, kdc: Kdc) -> None:
    """colinmarc/hdfs 145, 258; hdfs-native 259."""
    with hadoop.connect() as fs, fs.create("/user/alice/protected", overwrite=True) as out:
        out.write(b"data")
    soon = {"dfs.client.retry.window.base": "1"}
    with hadoop.connect(data="", conf=soon) as fs:
        with pytest.raises(errors.HowdahError, match=r"set dfs\.data\.transfer\.protection"):
            fs.open("/user/alice/protected").read()
        with pytest.raises(errors.HowdahError, match=r"dfs\.data\.transfer\.protection"):
            with fs.create("/user/alice/protected-too", overwrite=True) as out:
                out.write(b"data")


# -- 8. Principals of namenode and datanode differ.


def test_data_needs_no_principal_of_datanodes(hadoop: SecuredHadoop) -> None:
    """colinmarc/hdfs 151: nn/… and dn/… differ, and a client of data need not know dn/…"""
    with hadoop.connect(conf={"dfs.datanode.kerberos.principal": ""}) as fs:
        with fs.create("/user/alice/principals", overwrite=True) as out:
            out.write(b"data")
            out.hsync()
            assert fs.open("/user/alice/principals").read() == b"data"
        assert fs.get_file_checksum("/user/alice/principals") is not None


# -- 9. Canonical names.


def test_a_server_by_its_address_has_the_principal_of_its_name(
    hadoop: SecuredHadoop, kdc: Kdc
) -> None:
    """trinodb/trino 15346, apple/ccs-pykerberos 74: `_HOST` of an IP address."""
    conf = Configuration(hadoop.client_conf())
    keytab, principal = str(kdc.keytab("alice")), f"alice@{REALM}"
    for uri in (f"hdfs://127.0.0.1:{hadoop.rpc_port}", f"webhdfs://127.0.0.1:{hadoop.http_port}"):
        with howdah.connect(uri, conf=conf, keytab=keytab, principal=principal) as fs:
            assert fs.exists("/user/alice")


def test_the_principal_that_was_asked_for_is_shown(hadoop: SecuredHadoop) -> None:
    expected = f"nn/elsewhere.example.com@{REALM}"
    with hadoop.connect(conf={"dfs.namenode.kerberos.principal": expected}) as fs:
        with pytest.raises(errors.AuthenticationFailed, match="elsewhere"):
            fs.list_status("/")


# -- 10. Other realms; clocks are in `test_secured_errors`.


@pytest.fixture
def other_kdc(kdc: Kdc, tmp_path: Path) -> Iterator[Kdc]:
    other = Kdc(tmp_path / "other", OTHER_REALM, services=(), users=("carol",))
    kdc.trust(other)
    yield other
    other.close()


def test_users_of_a_trusted_realm_are_let_in(
    hadoop: SecuredHadoop,
    kdc: Kdc,
    other_kdc: Kdc,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """GoogleCloudDataproc/initialization-actions 369."""
    conf = other_kdc.write_configuration(tmp_path / "both.conf", kdc)
    monkeypatch.setenv("KRB5_CONFIG", str(conf))
    principal = f"carol@{OTHER_REALM}"
    with howdah.connect(
        hadoop.uri,
        conf=Configuration(hadoop.client_conf()),
        keytab=str(other_kdc.keytab("carol")),
        principal=principal,
    ) as fs:
        assert isinstance(fs, HdfsFileSystem)
        assert fs.user == "carol"
        assert fs.exists("/user/alice")
        token = fs.get_delegation_token("carol")
        assert token is not None
        assert fs.renew_delegation_token(token) > 1_700_000_000_000
        fs.cancel_delegation_token(token)


# -- Threads.


def test_many_threads_share_a_login(hadoop: SecuredHadoop) -> None:
    with hadoop.connect(rpc="privacy") as fs:
        work: list[Callable[[], object]] = [lambda: many_at_once(fs)] * 3
        threads = [threading.Thread(target=each) for each in work]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert fs.exists("/user")
