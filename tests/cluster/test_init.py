"""A cluster starts from what `howdah init` wrote, and the doctor finds no error in it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import howdah
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.local.ports import Ports
from howdah.local.servers import environment
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.tls.http_policy import Place
from howdah.testing.waiting import wait_until


@contextlib.contextmanager
def server(conf: Path, log: Path, *words: str) -> Iterator[Path]:
    """A server in the background; yields the file that it writes once it can serve."""
    ready = log.with_suffix(".ready")
    command = [sys.executable, "-m", "howdah", words[0], "--conf", str(conf), *words[1:]]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--ready-file", str(ready)], stdout=output, stderr=output, env=environment()
        )
    try:
        yield ready
    finally:
        process.terminate()
        process.wait(60)


def run(conf: Path, *words: str) -> None:
    command = [sys.executable, "-m", "howdah", words[0], "--conf", str(conf), *words[1:]]
    done = subprocess.run(
        command, env=environment(), capture_output=True, text=True, timeout=110, check=False
    )
    assert done.returncode == 0, done.stderr


def test_one_machine_starts_from_what_init_wrote(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf_dir = tmp_path / "conf"
    ports = Ports()
    values = {
        "fs.defaultFS": f"hdfs://{ports.address()}",
        "dfs.namenode.http-address": ports.address(),
        "dfs.datanode.address": ports.address(),
        "dfs.datanode.ipc.address": ports.address(),
        "dfs.datanode.http.address": ports.address(),
        "dfs.namenode.safemode.extension": "0",
    }
    given = [word for pair in values.items() for word in ("-D", "=".join(pair))]
    words = ["init", "--machines", "127.0.0.1", "--to", str(conf_dir), "--base", str(tmp_path)]
    assert main([*words, *given]) == 0
    conf = Configuration.load(conf_dir, environment=False)
    doctor = ["--conf", str(conf_dir), "doctor"]
    assert main([*doctor, "--offline"]) == 0, capsys.readouterr().out
    run(conf_dir, "namenode", "-format")
    with (
        server(conf_dir, tmp_path / "namenode.log", "namenode") as namenode,
        server(conf_dir, tmp_path / "datanode.log", "datanode") as datanode,
    ):
        wait_until(namenode.exists, timeout_s=60)
        wait_until(datanode.exists, timeout_s=60)
        with howdah.connect(conf=conf) as fs:
            with fs.create("/a") as out:
                out.write(b"content")
            with fs.open("/a") as stream:
                assert stream.read() == b"content"
        capsys.readouterr()
        assert main(doctor) == 0, capsys.readouterr().out


@pytest.mark.req("FS-298")
def test_a_namenode_serves_over_tls_with_what_init_made(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="certificates are made by cryptography")
    conf_dir = tmp_path / "conf"
    ports = Ports()
    secure = ports.address()
    values = {
        "fs.defaultFS": f"hdfs://{ports.address()}",
        "dfs.namenode.https-address": secure,
    }
    given = [word for pair in values.items() for word in ("-D", "=".join(pair))]
    words = ["init", "--machines", "127.0.0.1", "--to", str(conf_dir), "--base", str(tmp_path)]
    assert main([*words, "--self-signed", *given]) == 0
    run(conf_dir, "namenode", "-format")
    with server(conf_dir, tmp_path / "namenode.log", "namenode") as ready:
        wait_until(ready.exists, timeout_s=60)
        host, _, port = secure.partition(":")
        client = ClientTls(Configuration.load(conf_dir, environment=False))
        connection = client.http(Place(True, host, int(port)), 60)
        connection.request("GET", "/health")
        assert connection.getresponse().status == 200
        connection.close()


@pytest.mark.torture
def test_three_machines_start_from_what_init_wrote(tmp_path: Path) -> None:
    """Each machine is a loopback address with directories of its own."""
    hosts = ["127.0.0.21", "127.0.0.22", "127.0.0.23"]
    ports = Ports()
    rpc, journal = [ports.free(host) for host in hosts], [ports.free(host) for host in hosts]
    given = {
        "dfs.namenode.shared.edits.dir": "qjournal://"
        + ";".join(f"{host}:{port}" for host, port in zip(hosts, journal, strict=True))
        + "/howdah"
    }
    for number, host in enumerate(hosts, 1):
        given[f"dfs.namenode.rpc-address.howdah.nn{number}"] = f"{host}:{rpc[number - 1]}"
        given[f"dfs.namenode.http-address.howdah.nn{number}"] = f"{host}:{ports.free(host)}"
        given[f"dfs.ha.zkfc.port.howdah.nn{number}"] = str(ports.free(host))
    shared = [word for pair in given.items() for word in ("-D", "=".join(pair))]
    confs = []
    for number, host in enumerate(hosts, 1):
        own = {
            "dfs.ha.namenode.id": f"nn{number}",
            "dfs.journalnode.rpc-address": f"{host}:{journal[number - 1]}",
            "dfs.journalnode.http-address": f"{host}:{ports.free(host)}",
            "dfs.datanode.address": f"{host}:{ports.free(host)}",
            "dfs.datanode.ipc.address": f"{host}:{ports.free(host)}",
            "dfs.datanode.http.address": f"{host}:{ports.free(host)}",
            "howdah.failover-controller.http-address": f"{host}:{ports.free(host)}",
        }
        words = ["init", "--machines", ",".join(hosts), "--to", str(tmp_path / host / "conf")]
        words += ["--base", str(tmp_path / host)]
        words += [word for pair in own.items() for word in ("-D", "=".join(pair))]
        assert main([*words, *shared]) == 0
        confs.append(tmp_path / host / "conf")
    with contextlib.ExitStack() as stack:

        def start(name: str) -> None:
            begun = [
                stack.enter_context(server(conf, conf.parent / f"{name}.log", name))
                for conf in confs
            ]
            for ready in begun:
                wait_until(ready.exists, timeout_s=60)

        start("journalnode")
        run(confs[0], "namenode", "-format")
        first = stack.enter_context(server(confs[0], confs[0].parent / "first.log", "namenode"))
        wait_until(first.exists, timeout_s=60)
        for conf in confs[1:]:
            run(conf, "namenode", "-bootstrapStandby")
        others = [
            stack.enter_context(server(conf, conf.parent / "namenode.log", "namenode"))
            for conf in confs[1:]
        ]
        for ready in others:
            wait_until(ready.exists, timeout_s=60)
        start("zkfc")
        start("datanode")
        client = Configuration.load(confs[0], environment=False)
        with howdah.connect(conf=client) as fs:
            with fs.create("/a") as out:
                out.write(b"content")
            with fs.open("/a") as stream:
                assert stream.read() == b"content"
        run(confs[0], "doctor")
