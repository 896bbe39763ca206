"""MiniCluster(secure=True), as a user's test has it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.testing import MiniCluster, NoKdc
from howdah.testing.waiting import wait_until

CONTENT = bytes(range(256)) * 1000


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    try:
        made = MiniCluster(datanodes=2, secure=True)
    except NoKdc as missing:
        pytest.skip(missing.message)
    with made:
        yield made


def test_a_user_writes_and_reads_by_his_keytab(cluster: MiniCluster) -> None:
    with cluster.connect("alice") as fs:
        fs.write_bytes("/user/alice/written", CONTENT)
        assert fs.read_bytes("/user/alice/written") == CONTENT
        assert fs.get_file_status("/user/alice/written").owner == "alice"
    with cluster.connect("bob") as fs, pytest.raises(errors.AccessDenied):
        fs.write_bytes("/user/alice/bobs", CONTENT)


def test_who_proves_nothing_is_refused(cluster: MiniCluster) -> None:
    simple = Configuration(
        {**dict(cluster.conf.items()), "hadoop.security.authentication": "simple"}
    )
    with (
        howdah.connect(cluster.uri, conf=simple, user="alice") as fs,
        pytest.raises(errors.AccessDenied, match="SIMPLE authentication is not enabled"),
    ):
        fs.exists("/")


def test_who_has_no_keytab_or_is_unknown_to_the_kdc_is_refused(cluster: MiniCluster) -> None:
    with pytest.raises(errors.InvalidConfiguration, match="has no user mallory, only"):
        cluster.connect("mallory")
    keytab, principal = str(cluster.keytab_of("alice")), cluster.principal_of("alice")
    with pytest.raises(errors.LoginFailed, match="has no key of mallory"):
        howdah.connect(cluster.uri, conf=cluster.conf, keytab=keytab, principal="mallory")
    assert principal.startswith("alice@HOWDAH")


def test_who_runs_the_test_is_the_superuser_and_users_are_not(cluster: MiniCluster) -> None:
    with cluster.connect() as admin:
        admin.set_owner("/user/bob", "bob", "users")
    with cluster.connect("bob") as fs, pytest.raises(errors.AccessDenied):
        fs.set_owner("/user/alice", "bob", "users")


def test_other_programs_are_a_user_by_the_environment(cluster: MiniCluster) -> None:
    def run(*arguments: str, user: str | None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "howdah", "dfs", *arguments],
            env=os.environ | cluster.environment(user),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    made = run("-mkdir", "by-program", user="bob")
    assert (made.returncode, made.stderr) == (0, "")
    with cluster.connect("bob") as fs:
        assert fs.get_file_status("/user/bob/by-program").owner == "bob"
    nobody = run("-ls", "/", user=None)
    assert nobody.returncode != 0
    assert "ticket cache" in nobody.stderr


def test_keys_are_for_who_runs_the_test_alone(cluster: MiniCluster) -> None:
    directory = cluster.dir / "kerberos"
    files = [directory, *directory.rglob("*")]
    assert len(files) > 10
    open_to_others = [path for path in files if stat.S_IMODE(path.stat().st_mode) & 0o077]
    assert open_to_others == []


def test_users_are_added_while_it_runs(cluster: MiniCluster) -> None:
    cluster.add_user("carol")
    with cluster.connect("carol") as fs:
        fs.write_bytes("/user/carol/hers", b"data")


def test_the_web_port_asks_who_comes(cluster: MiniCluster) -> None:
    for path in ("/jmx", "/webhdfs/v1/?op=LISTSTATUS&user.name=alice"):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"{cluster.http}{path}", timeout=20)
        assert caught.value.code == 401
    where = cluster.http.replace("http", "webhdfs")
    keytab, principal = str(cluster.keytab_of("alice")), cluster.principal_of("alice")
    with howdah.connect(where, conf=cluster.conf, keytab=keytab, principal=principal) as fs:
        fs.write_bytes("/user/alice/by-web", CONTENT)
        assert fs.read_bytes("/user/alice/by-web") == CONTENT
        assert fs.get_file_status("/user/alice/by-web").owner == "alice"


def test_a_gateway_and_a_secondary_start_beside_it(cluster: MiniCluster, tmp_path: Path) -> None:
    conf, ready = cluster.dir / "namenode" / "conf", tmp_path / "ready"
    environment = {**os.environ, **cluster.environment()}
    howdah_with = [sys.executable, "-m", "howdah", "--conf", str(conf)]
    own = ["-D", f"dfs.namenode.checkpoint.dir={(tmp_path / 'checkpoints').as_uri()}"]
    done = subprocess.run(
        [*howdah_with, "secondarynamenode", *own, "-checkpoint", "force"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, "has the image" in done.stderr) == (0, True), done.stderr
    own = ["-D", "httpfs.http.port=0", "--ready-file", str(ready)]
    with subprocess.Popen([*howdah_with, "httpfs", *own], env=environment) as gateway:
        try:
            wait_until(lambda: ready.exists() or gateway.poll() is not None, 60)
            port = json.loads(ready.read_text())["http"].rpartition(":")[2]
            keytab, principal = str(cluster.keytab_of("alice")), cluster.principal_of("alice")
            where = f"webhdfs://localhost:{port}"
            with howdah.connect(where, conf=cluster.conf, keytab=keytab, principal=principal) as fs:
                fs.write_bytes("/user/alice/by-gateway", CONTENT)
                assert fs.read_bytes("/user/alice/by-gateway") == CONTENT
                assert fs.get_file_status("/user/alice/by-gateway").owner == "alice"
        finally:
            gateway.terminate()


def test_who_has_a_ticket_goes_on_without_the_kdc_and_nobody_gets_another(
    cluster: MiniCluster,
) -> None:
    with cluster.connect("alice") as fs:
        fs.exists("/")
        cluster.kill("kdc")
        try:
            fs.write_bytes("/user/alice/without-kdc", b"data")
            with cluster.connect("bob") as other, pytest.raises(errors.LoginFailed):
                other.exists("/")
        finally:
            cluster.restart("kdc")
    with cluster.connect("bob") as other:
        assert other.exists("/user/alice/without-kdc")


def test_namenodes_take_over_and_the_realm_is_kept_with_the_data(tmp_path: Path) -> None:
    try:
        first = MiniCluster(datanodes=1, namenodes=2, secure=True, dir=tmp_path / "a c")
    except NoKdc as missing:
        pytest.skip(missing.message)
    with first as cluster:
        with cluster.connect("alice") as fs:
            fs.write_bytes("/user/alice/before", CONTENT)
            cluster.kill(cluster.active())
            fs.write_bytes("/user/alice/after", b"taken over")
        keytab = cluster.keytab_of("alice").read_bytes()
    with (
        MiniCluster(datanodes=1, namenodes=2, secure=True, dir=tmp_path / "a c") as cluster,
        cluster.connect("alice") as fs,
    ):
        assert fs.read_bytes("/user/alice/before") == CONTENT
        assert fs.read_bytes("/user/alice/after") == b"taken over"
        assert cluster.keytab_of("alice").read_bytes() == keytab
