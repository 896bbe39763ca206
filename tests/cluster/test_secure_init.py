"""A cluster is secured with what `howdah init --secure` wrote, and keeps its data."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.config_generator.kerberos import (
    GATEWAY_KEYTAB,
    GATEWAY_SECRET,
    KADMIN_SCRIPT,
    KEYTAB,
)
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.local.ports import Ports
from howdah.testing.waiting import wait_until
from tests.cluster.test_init import run, server
from tests.support.security.kdc import REALM, Kdc, NoKdc, program


@pytest.fixture
def kdc(tmp_path: Path) -> Iterator[Kdc]:
    """One that knows users, and no servers yet."""
    try:
        made = Kdc(tmp_path / "kdc", services=(), users=("hdfs", "alice"))
    except NoKdc as missing:
        pytest.skip(missing.message)
    with made.in_environment():
        yield made
    made.close()


def start(stack: ExitStack, conf_dir: Path, logs: Path) -> None:
    """Start both servers, and wait until they serve."""
    logs.mkdir()
    for name in ("namenode", "datanode"):
        ready = stack.enter_context(server(conf_dir, logs / f"{name}.log", name))
        wait_until(ready.exists, timeout_s=90)


def test_a_cluster_becomes_a_secured_one_by_a_restart(
    tmp_path: Path,
    kdc: Kdc,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("cryptography")
    conf_dir, ports = tmp_path / "conf", Ports()
    values = {
        "fs.defaultFS": f"hdfs://{ports.address('localhost:0')}",
        "dfs.namenode.https-address": ports.address("localhost:0"),
        "dfs.datanode.address": ports.address("localhost:0"),
        "dfs.datanode.ipc.address": ports.address("localhost:0"),
        "dfs.datanode.https.address": ports.address("localhost:0"),
        "dfs.namenode.safemode.extension": "0",
        "dfs.heartbeat.interval": "1",
    }
    words = ["init", "--machines", "localhost", "--to", str(conf_dir), "--base", str(tmp_path)]
    words += [
        "--self-signed",
        *(word for each in values.items() for word in ("-D", "=".join(each))),
    ]
    assert main(words) == 0
    run(conf_dir, "namenode", "-format")
    with ExitStack() as stack:
        start(stack, conf_dir, tmp_path / "simple")
        conf = Configuration.load(conf_dir, environment=False)
        with howdah.connect(conf=conf, user="alice") as fs, pytest.raises(errors.AccessDenied):
            fs.mkdirs("/user/alice")
        with howdah.connect(conf=conf) as fs:
            fs.mkdirs("/user/alice")
            fs.set_owner("/user/alice", "alice")
            fs.write_bytes("/user/alice/before", b"content")
            fs.set_owner("/user/alice/before", "alice")

    front = ports.address("localhost:0")
    more = {
        "dfs.namenode.secondary.https-address": ports.address("localhost:0"),
        "httpfs.http.port": front.partition(":")[2],
        "hadoop.user.group.static.mapping.overrides": "alice=users;hdfs=supergroup;dr.who=",
    }
    words += ["--secondary", "localhost", "--gateways", "localhost"]
    words += [word for each in more.items() for word in ("-D", "=".join(each))]
    assert main([*words, "--secure", "--realm", REALM, "--force"]) == 0
    subprocess.run(
        [program("kadmin.local"), "-r", REALM],
        input=(conf_dir / KADMIN_SCRIPT).read_text(),
        cwd=tmp_path,
        env=os.environ | kdc.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    shutil.move(tmp_path / "localhost.keytab", conf_dir / KEYTAB)
    shutil.move(tmp_path / "localhost.httpfs.keytab", conf_dir / GATEWAY_KEYTAB)
    secret = conf_dir / GATEWAY_SECRET
    secret.write_text("a secret of cookies, which nobody guesses")
    secret.chmod(0o600)
    monkeypatch.setenv("KRB5KEYTAB", str(kdc.keytab("hdfs")))
    monkeypatch.setenv("KRB5PRINCIPAL", f"hdfs@{REALM}")
    capsys.readouterr()
    doctor = ["--conf", str(conf_dir), "doctor", "--role", "namenode", "--role", "datanode"]
    assert main([*doctor, "--offline"]) == 0, capsys.readouterr().out
    with ExitStack() as stack:
        start(stack, conf_dir, tmp_path / "secured")
        conf = Configuration.load(conf_dir, environment=False)

        def connected(user: str) -> HdfsFileSystem:
            fs = howdah.connect(conf=conf, keytab=str(kdc.keytab(user)), principal=user)
            assert isinstance(fs, HdfsFileSystem)
            return fs

        with connected("hdfs") as admin:
            wait_until(lambda: not admin.set_safe_mode("get"), timeout_s=60)
            admin.mkdirs("/hdfs-is-the-superuser")
        with connected("alice") as fs:
            assert fs.read_bytes("/user/alice/before") == b"content"
            fs.write_bytes("/user/alice/after", b"more")
            with pytest.raises(errors.AccessDenied):
                fs.mkdirs("/alices")
        images = {path.name for path in (tmp_path / "name/current").glob("fsimage_*")}
        run(conf_dir, "secondarynamenode", "-checkpoint", "force")
        assert {path.name for path in (tmp_path / "name/current").glob("fsimage_*")} - images
        gateway = stack.enter_context(server(conf_dir, tmp_path / "gateway.log", "httpfs"))
        wait_until(gateway.exists, timeout_s=90)

        def at_gateway(user: str) -> FileSystem:
            keytab = str(kdc.keytab(user))
            return howdah.connect(f"swebhdfs://{front}", conf=conf, keytab=keytab, principal=user)

        with at_gateway("alice") as fs:
            assert fs.read_bytes("/user/alice/before") == b"content"
            fs.write_bytes("/user/alice/by-gateway", b"more")
            assert fs.get_file_status("/user/alice/by-gateway").owner == "alice"
        with at_gateway("hdfs") as fs, pytest.raises(errors.AuthorizationFailed):
            fs.mkdirs("/the-superuser-does-not-come-this-way")
