"""What the doctor sees of this machine."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from howdah import __version__
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.doctor import clock, disks, ports
from howdah.doctor.collect import gather
from howdah.doctor.inputs import DATANODE, GATEWAY, JOURNALNODE, NAMENODE, ROUTER
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.tls.http_policy import Place
from tests.support.journals.quorum import VERSION, Quorum


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_the_holder_of_a_port_is_named(taken: int) -> None:
    holder, refused = ports.try_to_bind("127.0.0.1", taken)
    assert holder is not None
    assert refused == ""
    if any(ports._inodes("127.0.0.1", taken)):  # some sandboxes hide what listens
        assert holder.pid == os.getpid()
        assert holder.words


def test_who_has_the_port_at_another_address_is_not_the_holder(taken: int) -> None:
    if not any(ports._inodes("127.0.0.1", taken)):
        pytest.skip("what listens is hidden here")
    with socket.socket() as beside:
        beside.bind(("127.0.0.2", taken))
        beside.listen()
        (here,) = ports._inodes("127.0.0.1", taken)
        (there,) = ports._inodes("127.0.0.2", taken)
        assert here != there
        assert {here, there} <= set(ports._inodes("0.0.0.0", taken))


@pytest.mark.skipif(sys.byteorder != "little", reason="words are in the machine's order of bytes")
def test_addresses_are_read_as_the_kernel_writes_them() -> None:
    assert ports._text_of("0100007F") == "127.0.0.1"
    assert ports._text_of("00000000000000000000000001000000") == "::1"
    assert ports._text_of("0000000000000000FFFF00000100007F") == "127.0.0.1"


def test_an_address_of_another_machine_is_refused() -> None:
    holder, refused = ports.try_to_bind("192.0.2.1", 9866)
    assert holder is None
    assert refused


def test_the_clock_of_a_silent_server_is_unknown(taken: int) -> None:
    assert (
        clock.seconds_ahead(Place(False, "127.0.0.1", taken), 0.2, ClientTls(Configuration()))
        is None
    )


def test_a_directory_that_is_not_there_is_judged_by_the_one_above(tmp_path: Path) -> None:
    seen = disks.inspect_directory("k", DATANODE, tmp_path / "a" / "b")
    assert not seen.is_there
    assert seen.is_directory
    assert seen.is_writable
    assert seen.device == tmp_path.stat().st_dev
    (tmp_path / "file").touch()
    assert not disks.inspect_directory("k", DATANODE, tmp_path / "file").is_directory


class NamenodePage(BaseHTTPRequestHandler):
    """Says which directories its namenode uses."""

    directories: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        active = dict.fromkeys(self.directories, "IMAGE_AND_EDITS")
        bean = {"NameDirStatuses": json.dumps({"active": active, "failed": {}})}
        body = json.dumps({"beans": [bean]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize("is_configured", [True, False])
def test_a_client_sees_the_directories_that_the_namenode_uses(
    is_configured: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not those that a namenode would have by a client's configuration."""
    monkeypatch.setattr(NamenodePage, "directories", [str(tmp_path / "used")])
    with HTTPServer(("127.0.0.1", 0), NamenodePage) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        values = {
            "fs.defaultFS": "hdfs://127.0.0.1:1",
            "dfs.namenode.http-address": f"127.0.0.1:{server.server_address[1]}",
        }
        if is_configured:
            values["dfs.namenode.name.dir"] = str(tmp_path / "configured")
        facts = gather(Configuration(values))
        server.shutdown()
    seen = [each.path for each in facts.directories if each.key == "dfs.namenode.name.dir"]
    assert seen == [str(tmp_path / ("configured" if is_configured else "used"))]


def test_roles_follow_from_the_configuration() -> None:
    conf = Configuration(
        {
            "dfs.nameservices": "ns",
            "dfs.ha.namenodes.ns": "a,b",
            "dfs.namenode.rpc-address.ns.a": "127.0.0.1:1",
            "dfs.namenode.rpc-address.ns.b": "192.0.2.1:1",
            "dfs.namenode.shared.edits.dir": "qjournal://127.0.0.1:2;192.0.2.1:2;192.0.2.2:2/ns",
            "dfs.datanode.data.dir": "/data",
        }
    )
    facts = gather(conf, asks=False)
    assert facts.roles == {NAMENODE, DATANODE, JOURNALNODE}
    assert facts.spans_machines
    assert facts.journal_nodes == {"ns": 3}
    named = {each.key for each in facts.listeners}
    assert "dfs.namenode.rpc-address.ns.a" in named
    assert "dfs.namenode.rpc-address.ns.b" not in named


def test_a_router_and_a_gateway_follow_from_their_addresses(tmp_path: Path) -> None:
    conf = Configuration(
        {
            "dfs.federation.router.rpc-address": "127.0.0.1:1",
            "dfs.federation.router.admin-bind-host": "0.0.0.0",
            "dfs.federation.router.store.driver.file.directory": str(tmp_path),
            "httpfs.http.port": "2",
        }
    )
    facts = gather(conf, asks=False)
    assert {ROUTER, GATEWAY} <= facts.roles
    listening = {each.key: (each.role, each.host, each.port) for each in facts.listeners}
    assert listening["dfs.federation.router.rpc-address"] == (ROUTER, "127.0.0.1", 1)
    assert listening["dfs.federation.router.admin-address"] == (ROUTER, "0.0.0.0", 8111)
    assert listening["dfs.federation.router.http-address"] == (ROUTER, "127.0.0.1", 50071)
    assert listening["httpfs.http.port"] == (GATEWAY, "127.0.0.1", 2)
    assert [each.path for each in facts.directories if each.role == ROUTER] == [str(tmp_path)]
    elsewhere = {
        "dfs.federation.router.rpc-address": "192.0.2.1:1",
        "httpfs.http.hostname": "192.0.2.1",
    }
    assert not gather(Configuration(elsewhere), asks=False).roles & {ROUTER, GATEWAY}


def test_a_gateway_has_its_own_site_file(tmp_path: Path) -> None:
    (tmp_path / "httpfs-site.xml").write_text(
        "<configuration><property><name>httpfs.http.port</name><value>3</value></property>"
        "</configuration>"
    )
    facts = gather(Configuration.load(tmp_path), asks=False)
    assert [each.port for each in facts.listeners if each.role == GATEWAY] == [3]


def test_a_router_without_a_place_for_its_mount_table_is_told() -> None:
    facts = gather(Configuration(), [ROUTER], asks=False)
    assert any(
        "a router needs a directory for its mount table" in each for each in facts.unreadable
    )


def test_the_build_is_told_in_words_and_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["doctor", "--offline", "-D", "fs.defaultFS=hdfs://127.0.0.1:1"]
    main(words)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"howdah {__version__}, Python ")
    assert lines[1].startswith("kernel: ")
    assert lines[2].startswith("hot modules of a namenode: ")
    main([*words, "--json"])
    told = json.loads(capsys.readouterr().out)["build"]
    assert told["howdah"] == __version__
    assert told.keys() == {"howdah", "python", "kernel", "hotModules"}


def test_values_that_make_no_sense_are_told_and_the_rest_is_judged() -> None:
    conf = Configuration({"dfs.replication": "many", "fs.defaultFS": "hdfs://127.0.0.1:1"})
    facts = gather(conf, asks=False)
    assert any("dfs.replication = 'many'" in text for text in facts.unreadable)


def test_a_wrong_configuration_is_an_exit_code_and_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["doctor", "--offline", "--json", "--role", "datanode"]
    values = ["-D", "fs.defaultFS=hdfs://127.0.0.1:1", "-D", f"dfs.datanode.data.dir={tmp_path}"]
    free = [f"dfs.datanode.{name}=127.0.0.1:0" for name in ("address", "ipc.address")]
    free.append("dfs.datanode.http.address=127.0.0.1:0")
    values += [word for each in free for word in ("-D", each)]
    assert main([*words, *values]) == 0
    assert main([*words, *values, "-D", "dfs.blocksize=100"]) == 1
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["exitCode"] for each in told] == [0, 1]
    assert told[1]["findings"][0]["check"] == "block size"
    assert told[0]["roles"] == ["datanode"]


@pytest.mark.req("LM-021")
def test_each_journal_node_is_asked_for_its_journal(tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        quorum = Quorum(tmp_path)
        quorum.log().format(VERSION)
        (first, second, _), journal = quorum.uri.nodes, quorum.uri.journal_id
        try:
            nodes = ";".join(f"{host}:{port}" for host, port in (first, second))
            values = {
                "dfs.nameservices": "ns",
                "dfs.ha.namenodes.ns": "a,b",
                "dfs.namenode.rpc-address.ns.a": f"127.0.0.1:{port}",
                "dfs.namenode.rpc-address.ns.b": f"127.0.0.1:{port}",
                "dfs.namenode.shared.edits.dir": f"qjournal://{nodes};127.0.0.1:{port}/{journal}",
            }
            found = gather(Configuration(values), []).journals
        finally:
            quorum.close()
    assert [each.is_formatted for each in found] == [True, True, None]
    assert "is the journal node up" in found[2].error
    assert gather(Configuration(values), [], asks=False).journals == ()


def test_the_policy_of_protocols_is_read_as_servers_read_it(tmp_path: Path) -> None:
    (tmp_path / "core-site.xml").write_text(
        Configuration({"hadoop.security.authorization": "true"}).to_xml()
    )
    (tmp_path / "hadoop-policy.xml").write_text(
        Configuration(
            {
                "security.client.protocl.acl": "joe",
                "security.client.protocol.hosts": "10.0.0.0/99",
            }
        ).to_xml()
    )
    facts = gather(Configuration.load(tmp_path, environment=False), [DATANODE], asks=False)
    assert ("security.client.protocl.acl", "security.client.protocol.acl") in facts.conf.misspelt()
    assert any("security.client.protocol.hosts = '10.0.0.0/99'" in e for e in facts.unreadable)


def test_a_provider_that_cannot_be_used_or_does_not_answer_is_named() -> None:
    pytest.importorskip("authlib", reason="authlib is not installed")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        issuer = f"http://127.0.0.1:{closed.getsockname()[1]}"
    values = {
        "howdah.http.authentication": "oidc",
        "howdah.http.authentication.oidc.issuer": issuer,
    }
    found = gather(Configuration(values), [DATANODE])
    assert found.logins_problem.endswith("oidc.client-id is not set")
    assert found.provider_problem == ""
    values["howdah.http.authentication.oidc.client-id"] = "howdah"
    found = gather(Configuration(values), [DATANODE])
    assert found.logins_problem == ""
    assert "refused" in found.provider_problem
    assert gather(Configuration(values), [DATANODE], asks=False).provider_problem == ""


def test_a_file_of_passwords_that_servers_refuse_is_named(tmp_path: Path) -> None:
    path = tmp_path / "passwords"
    path.write_text("alice:secret\n")
    path.chmod(0o600)
    values = {"howdah.http.authentication": "file", "howdah.http.authentication.file": str(path)}
    problem = gather(Configuration(values), [DATANODE], asks=False).logins_problem
    assert problem.startswith(f"{path}: line 1: ")
    assert "secret" not in problem
    path.write_text("")
    assert gather(Configuration(values), [DATANODE], asks=False).logins_problem == ""
    del values["howdah.http.authentication.file"]
    problem = gather(Configuration(values), [DATANODE], asks=False).logins_problem
    assert problem == "howdah.http.authentication.file is not set"
