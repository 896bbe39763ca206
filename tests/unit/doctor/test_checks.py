"""What the doctor says of facts that are given: each check finds its trouble, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from howdah.config import Configuration
from howdah.doctor.checks import examine
from howdah.doctor.findings import Finding, Level, exit_code
from howdah.doctor.inputs import (
    CONTROLLER,
    DATANODE,
    GATEWAY,
    JOURNALNODE,
    NAMENODE,
    ROUTER,
    AskedKeyServer,
    Build,
    Directory,
    EncryptedZone,
    Encryption,
    ErasureCoding,
    Facts,
    Holder,
    Host,
    JournalNode,
    Limits,
    Listener,
    Namenode,
)
from howdah.native.loader import SWITCHED_OFF

HERE = Host("here", ("10.0.0.1",), True, False)
THERE = Host("there", ("10.0.0.2",), False, False)
DISK = Directory(
    key="dfs.datanode.data.dir",
    role=DATANODE,
    path="/data/1",
    is_there=True,
    is_directory=True,
    device=1,
    free_bytes=500 << 30,
    total_bytes=1000 << 30,
    reserved_bytes=0,
    is_read_only=False,
    is_writable=True,
    is_temporary=False,
)


def facts(values: dict[str, str] | None = None, **changes: Any) -> Facts:
    sound = Facts(
        conf=Configuration({"net.topology.table.file.name": "/racks", **(values or {})}),
        roles=frozenset({DATANODE}),
        nameservices={"": ("",)},
        hosts=(HERE, THERE),
        directories=(DISK,),
        limits=Limits(None, None),
        clock_is_kept=True,
    )
    return replace(sound, **changes)


def found(given: Facts) -> list[tuple[str, str]]:
    return [(each.level.value, each.check) for each in examine(given)]


@pytest.mark.parametrize("roles", [{NAMENODE, DATANODE}, {JOURNALNODE, CONTROLLER}, {ROUTER}])
@pytest.mark.parametrize(
    ("authentication", "names"), [("kerberos", []), ("token", ["hadoop.security.authentication"])]
)
def test_protection_that_servers_have_is_no_error(
    roles: set[str], authentication: str, names: list[str]
) -> None:
    asked = {
        "hadoop.security.authentication": authentication,
        "hadoop.security.authorization": "true",
        "dfs.block.access.token.enable": "true",
        "dfs.encrypt.data.transfer": "true",
    }
    lines = [
        each.line()
        for each in examine(facts(asked, roles=frozenset(roles)))
        if each.check == "protection"
    ]
    assert len(lines) == len(names)
    for line, name in zip(lines, names, strict=True):
        assert name in line


def test_sound_facts_leave_nothing_to_say() -> None:
    assert examine(facts()) == []


@pytest.mark.parametrize(
    ("values", "level", "check", "words"),
    [
        ({"dfs.replicaton": "2"}, "warning", "unknown key", "was dfs.replication meant?"),
        ({"dfs.replication": "1"}, "warning", "replication", "dfs.replication is 1"),
        ({"dfs.namenode.replication.min": "4"}, "error", "replication", "between 4"),
        (
            {"dfs.namenode.maintenance.replication.min": "5"},
            "error",
            "replication",
            "5, more than dfs.replication (3)",
        ),
        ({"dfs.blocksize": "4096001"}, "error", "block size", "no multiple"),
        ({"dfs.blocksize": "512"}, "error", "block size", "is below"),
        (
            {"dfs.datanode.failed.volumes.tolerated": "1"},
            "error",
            "volumes",
            "there are 1 volumes",
        ),
        (
            {"dfs.encrypt.data.transfer": "true"},
            "error",
            "protection",
            "set dfs.block.access.token.enable",
        ),
        (
            {"dfs.ha.automatic-failover.enabled": "true"},
            "error",
            "failover",
            "no nameservice has several",
        ),
        (
            {"dfs.namenode.stale.datanode.interval": "5000"},
            "warning",
            "time-outs",
            "three heartbeats that are late",
        ),
        (
            {"dfs.namenode.stale.datanode.interval": "700000"},
            "warning",
            "time-outs",
            "counts as lost",
        ),
        (
            {"dfs.client.socket-timeout": "600000"},
            "warning",
            "time-outs",
            "gives up a slow reader",
        ),
        ({"dfs.datanode.lifeline.interval.seconds": "2"}, "warning", "time-outs", "late ones"),
        (
            {
                "hadoop.security.authentication": "kerberos",
                "howdah.security.transition": "true",
            },
            "warning",
            "protection",
            "believe everybody who shows no proof",
        ),
        (
            {"howdah.security.transition": "true"},
            "warning",
            "protection",
            "does nothing without hadoop.security.authentication",
        ),
    ],
)
def test_values_that_do_not_fit(values: dict[str, str], level: str, check: str, words: str) -> None:
    findings = examine(facts(values))
    assert [(each.level.value, each.check) for each in findings] == [(level, check)]
    assert words in findings[0].line()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"unreadable": ("dfs.replication = 'x'",)}, ("error", "configuration")),
        ({"missing_files": (("dfs.hosts", "/no, which is not there"),)}, ("error", "missing file")),
        ({"hosts": (HERE, replace(THERE, addresses=()))}, ("error", "host name")),
        (
            {"hosts": (Host("here", ("127.0.1.1",), True, True), THERE)},
            ("error", "loopback"),
        ),
        (
            {
                "listeners": (
                    Listener("dfs.datanode.address", DATANODE, "127.0.0.1", 9866, None, True),
                )
            },
            ("error", "loopback"),
        ),
        (
            {"listeners": (Listener("a", DATANODE, "0.0.0.0", 1, Holder(7, ("nginx",))),)},
            ("error", "port taken"),
        ),
        (
            {"listeners": (Listener("a", DATANODE, "0.0.0.0", 80, refused="Permission denied"),)},
            ("error", "port"),
        ),
        (
            {"listeners": (Listener("a", DATANODE, "h", 50010, is_ephemeral=True),)},
            ("warning", "ephemeral port"),
        ),
        (
            {"namenodes": (Namenode("nn1", "", "there:8020", None, "Connection refused"),)},
            ("warning", "namenode"),
        ),
        (
            {"namenodes": (Namenode("nn1", "", "there:8020", "ACTIVE", "", 60.0, 1.0),)},
            ("warning", "clock"),
        ),
        ({"clock_is_kept": False}, ("warning", "clock")),
        ({"limits": Limits(1024, None)}, ("warning", "descriptors")),
        ({"racks": ("/default-rack",) * 2}, ("warning", "replication")),
        (
            {"racks": ("/a",) * 4 + ("/b",), "coding": ErasureCoding(("RS-6-3-1024k",), 1)},
            ("error", "erasure coding"),
        ),
        (
            {"racks": ("/a",) * 4 + ("/b",), "coding": ErasureCoding(("RS-4-2-64k",), 0)},
            ("warning", "erasure coding"),
        ),
        (
            {"racks": ("/a",) * 4 + ("/b",), "coding": ErasureCoding(("RS-3-2-1024k",), 0)},
            ("warning", "erasure coding"),
        ),
        ({"directories": (replace(DISK, is_read_only=True),)}, ("error", "directory")),
        ({"directories": (replace(DISK, is_writable=False),)}, ("error", "directory")),
        ({"directories": (replace(DISK, is_directory=False),)}, ("error", "directory")),
        ({"directories": (replace(DISK, error="Input/output error"),)}, ("error", "directory")),
        ({"directories": (replace(DISK, is_temporary=True),)}, ("warning", "temporary directory")),
        ({"directories": (replace(DISK, free_bytes=1),)}, ("warning", "space")),
        (
            {"directories": (replace(DISK, reserved_bytes=2000 << 30),)},
            ("error", "reserved space"),
        ),
        (
            {"directories": (DISK, replace(DISK, path="/data/2"))},
            ("warning", "same device"),
        ),
    ],
)
def test_what_is_seen_of_machines(changes: dict[str, Any], expected: tuple[str, str]) -> None:
    assert found(facts(**changes)) == [expected]


def test_locked_memory_has_to_be_granted() -> None:
    given = facts({"dfs.datanode.max.locked.memory": "65537"}, limits=Limits(None, 65536))
    assert found(given) == [("error", "locked memory")]
    assert found(replace(given, limits=Limits(None, 65537))) == []


def test_two_servers_with_one_port_are_found_once() -> None:
    one = Listener("a", DATANODE, "0.0.0.0", 9866)
    other = Listener("b", DATANODE, "10.0.0.1", 9866)
    (finding,) = examine(facts(listeners=(one, other)))
    assert (finding.check, finding.what) == ("same port", "a and b have the same port 9866")
    elsewhere = replace(one, host="10.0.0.2")
    assert examine(facts(listeners=(elsewhere, other))) == []


CLASSES = "org.apache.hadoop.hdfs.server."


@pytest.mark.parametrize(
    "line",
    [
        "",
        "python -P -m howdah datanode --ready-file /x",
        "/opt/howdah/bin/howdah --conf /etc/howdah datanode",
        "/opt/python3 /opt/howdah/bin/howdah -D a=b datanode",
        f"{'/deep' * 50}/python -m howdah datanode",
        f"/usr/bin/java -Dproc_datanode -Xmx1g {CLASSES}datanode.DataNode",
        "python -P -m howdah.testing.launcher",
    ],
)
def test_a_port_that_the_server_itself_has_is_no_trouble(line: str) -> None:
    holder = Holder(7, tuple(line.split()))
    itself = Listener("a", DATANODE, "0.0.0.0", 9866, holder)
    assert examine(facts(listeners=(itself,))) == []


@pytest.mark.parametrize(
    "line",
    [
        "python -m howdah namenode",
        "howdah dfs -get /datanode datanode",
        f"/usr/bin/java {CLASSES}namenode.NameNode",
        "python -m http.server -d /srv/hadoop",
        "vim /etc/hadoop/hdfs-site.xml",
        "tail /var/log/howdah datanode",
        "howdah",
    ],
)
def test_a_port_that_another_program_of_the_same_house_has_is_taken(line: str) -> None:
    listener = Listener("a", DATANODE, "0.0.0.0", 9866, Holder(7, tuple(line.split())))
    (finding,) = examine(facts(listeners=(listener,)))
    assert finding.check == "port taken"
    assert f"process 7 ({line})" in finding.what


def test_the_holder_of_a_port_is_shown_in_a_line() -> None:
    other = Listener("a", DATANODE, "0.0.0.0", 9866, Holder(7, ("nginx", *("-c", "x") * 99)))
    (finding,) = examine(facts(listeners=(other,)))
    assert "taken by process 7 (nginx" in finding.what
    assert len(finding.line()) < 300


def several(**changes: Any) -> Facts:
    values = {
        "dfs.nameservices": "ns",
        "dfs.ha.namenodes.ns": "a,b",
        "dfs.client.failover.proxy.provider.ns": "x",
        "dfs.ha.fencing.methods": "shell(/bin/true)",
    }
    return facts(
        values,
        **{
            "nameservices": {"ns": ("a", "b")},
            "shared_edits": {"ns": ("qjournal://h:1;i:1;j:1/ns",)},
            "journal_nodes": {"ns": 3},
            **changes,
        },
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"shared_edits": {}, "journal_nodes": {}}, [("error", "shared log")]),
        ({"journal_nodes": {"ns": 1}}, [("warning", "one journal")]),
        ({"journal_nodes": {"ns": 4}}, [("warning", "even journals")]),
        (
            {"shared_edits": {"ns": ("file:///mnt/nfs",)}, "journal_nodes": {}},
            [("warning", "one journal")],
        ),
    ],
)
def test_the_log_of_several_namenodes(
    changes: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert found(several(**changes)) == expected


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (["ACTIVE", "STANDBY"], []),
        (["STANDBY", "STANDBY"], [("error", "no active namenode")]),
        (["ACTIVE", "ACTIVE"], [("error", "two active namenodes")]),
        (["ACTIVE", None], [("warning", "namenode")]),
        ([None, None], [("warning", "namenode"), ("warning", "namenode")]),
    ],
)
def test_which_namenodes_are_active(
    states: list[str | None], expected: list[tuple[str, str]]
) -> None:
    asked = tuple(
        Namenode(f"ns.{number}", "ns", f"h{number}:8020", state)
        for number, state in enumerate(states)
    )
    assert found(several(namenodes=asked)) == expected


SILENT = ("warning", "journal node")


@pytest.mark.req("LM-021")
@pytest.mark.parametrize(
    ("formatted", "state", "expected"),
    [
        ([True, True, True], "ACTIVE", []),
        ([True, True, None], "ACTIVE", [SILENT]),
        ([True, None, None], "ACTIVE", [("error", "no majority of journal nodes"), SILENT, SILENT]),
        ([True, True, False], "ACTIVE", [SILENT]),
        ([False, False, False], "ACTIVE", []),
        (
            [None, None, None],
            "STANDBY",
            [
                ("error", "no active namenode"),
                ("error", "no majority of journal nodes"),
                *(SILENT for _ in range(3)),
            ],
        ),
        ([None, None, None], None, [("warning", "namenode"), *(SILENT for _ in range(3))]),
    ],
)
def test_journal_nodes_that_are_silent_are_named(
    formatted: list[bool | None], state: str | None, expected: list[tuple[str, str]]
) -> None:
    given = several(
        namenodes=(Namenode("ns.0", "ns", "h0:8020", state),),
        journal_nodes={"ns": 3},
        journals=tuple(
            JournalNode("ns", f"h{number}:8485", each, "Connection refused")
            for number, each in enumerate(formatted)
        ),
    )
    assert sorted(found(given)) == sorted(expected)
    for finding in examine(given):
        if finding.check == "no active namenode":
            assert "journal nodes" in finding.advice, "the controllers are not to blame"


def test_one_name_directory_is_enough_only_with_journal_nodes() -> None:
    name = replace(DISK, key="dfs.namenode.name.dir", role=NAMENODE, path="/name")
    alone = facts(
        {"dfs.namenode.name.dir": "/name"}, roles=frozenset({NAMENODE}), directories=(name,)
    )
    assert found(alone) == [("warning", "one name directory")]
    two = facts(
        {"dfs.namenode.name.dir": "/name,/other"},
        roles=frozenset({NAMENODE}),
        directories=(name, replace(name, path="/other")),
    )
    assert found(two) == [("warning", "one name directory")]
    second = replace(name, path="/other", device=2)
    assert found(replace(two, directories=(name, second))) == []
    assert found(several(roles=frozenset({NAMENODE, JOURNALNODE}), directories=(name,))) == []


@pytest.mark.parametrize(
    ("racks", "coding"),
    [
        # Everybody has this one enabled.
        (("/a", "/b", "/c"), ErasureCoding(("RS-6-3-1024k",), 0)),
        (("/a", "/b", "/c"), ErasureCoding(("XOR-2-1-1024k",), 7)),
        (("/a", "/b", "/c"), ErasureCoding(("RS-6-3-1024k", "XOR-2-1-1024k"), 7)),
        # One rack is another finding.
        (("/a",) * 5, ErasureCoding(("RS-3-2-1024k",), 7)),
        (("/a", "/b", "/c"), ErasureCoding((), 7)),
        ((), ErasureCoding(("RS-3-2-1024k",), 7)),
    ],
)
def test_enough_for_erasure_coding(racks: tuple[str, ...], coding: ErasureCoding) -> None:
    assert found(facts(racks=racks, coding=coding)) == []


@pytest.mark.req("LM-021")
def test_racks_that_nobody_named() -> None:
    unmapped = Configuration()
    machines = tuple(replace(THERE, name=f"m{number}") for number in range(3))
    given = facts(conf=unmapped, hosts=(HERE, *machines))
    assert found(given) == [("warning", "one rack")]
    assert found(replace(given, racks=("/a", "/a", "/b"))) == []
    assert found(replace(given, racks=("/a", "/a", "/a"))) == [("warning", "one rack")]


def test_errors_come_first_and_decide_the_exit_code() -> None:
    given = facts({"dfs.replicaton": "2", "dfs.blocksize": "512"})
    findings = examine(given)
    assert [each.level for each in findings] == [Level.ERROR, Level.WARNING]
    assert exit_code(findings, strict=False) == 1
    assert exit_code(findings[1:], strict=False) == 0
    assert exit_code(findings[1:], strict=True) == 1
    assert exit_code([], strict=True) == 0


def test_a_finding_is_one_line() -> None:
    finding = Finding(Level.WARNING, "clock", "it is late", "wind it up")
    assert finding.line() == "warning: it is late: wind it up [clock]"
    assert finding.as_dict()["level"] == "warning"


def test_a_kernel_that_is_not_used_is_told_with_the_reason() -> None:
    (finding,) = examine(facts(build=Build("1", "3.11.0", "", "it is not built", "none")))
    assert (finding.level, finding.check) == (Level.WARNING, "kernel")
    assert "it is not built" in finding.line()
    assert "a C compiler" in finding.advice
    (finding,) = examine(facts(build=Build("1", "3.11.0", "", SWITCHED_OFF, "none")))
    assert "out of the environment" in finding.advice
    assert examine(facts(build=Build("1", "3.11.0", "revision 7", "", "none"))) == []


@pytest.mark.parametrize(
    ("words", "role"),
    [
        (("java", "org.apache.hadoop.hdfs.server.federation.router.DFSRouter"), ROUTER),
        (("java", "org.apache.hadoop.fs.http.server.HttpFSServerWebServer"), GATEWAY),
        (("howdah", "dfsrouter"), ROUTER),
        (("python3", "/usr/bin/howdah", "router"), ROUTER),
        (("howdah", "--conf", "/etc/howdah", "httpfs"), GATEWAY),
    ],
)
def test_routers_and_gateways_are_known_by_their_command_lines(
    words: tuple[str, ...], role: str
) -> None:
    port = Listener("k", role, "10.0.0.1", 8888, Holder(7, words))
    assert "port taken" not in [check for _, check in found(facts(listeners=(port,)))]


LOGINS = {
    "howdah.http.authentication": "file",
    "hadoop.http.authentication.signature.secret.file": "/secret",
    "dfs.http.policy": "HTTPS_ONLY",
}


@pytest.mark.parametrize(
    ("values", "changes", "level", "said"),
    [
        ({}, {}, None, ""),
        ({}, {"logins_problem": "line 3"}, Level.ERROR, "do not start: line 3"),
        ({}, {"provider_problem": "refused"}, Level.ERROR, "does not answer: refused"),
        ({}, {"roles": frozenset({ROUTER})}, Level.ERROR, "routers know no logins"),
        ({"hadoop.security.authentication": "kerberos"}, {}, Level.ERROR, "without Kerberos"),
        ({"dfs.http.policy": "HTTP_ONLY"}, {}, Level.WARNING, "from this machine alone"),
        (
            {"howdah.http.authentication.allow-plain-http": "true"},
            {},
            Level.WARNING,
            "can read passwords",
        ),
        ({"hadoop.http.authentication.signature.secret.file": None}, {}, Level.WARNING, "not set"),
        ({"dfs.http.policy": "HTTP_ONLY"}, {"roles": frozenset()}, None, ""),
    ],
)
def test_logins_that_let_nobody_in_or_others(
    values: dict[str, str | None], changes: dict[str, Any], level: Level | None, said: str
) -> None:
    merged = {**LOGINS, **values}
    given = facts({name: value for name, value in merged.items() if value is not None}, **changes)
    found = [finding for finding in examine(given) if finding.check == "logins"]
    assert [finding.level for finding in found] == ([] if level is None else [level])
    assert all(said in finding.what for finding in found)


# -- encryption zones --------------------------------------------------------------------

KMS = "kms://http@k1;k2:9600/kms"
WELL = (AskedKeyServer("k1:9600"), AskedKeyServer("k2:9600"))


def of_encryption(encryption: Encryption) -> list[Finding]:
    return [each for each in examine(facts(encryption=encryption)) if each.check == "encryption"]


@pytest.mark.parametrize(
    ("encryption", "level", "words"),
    [
        (
            Encryption("jceks://file/keys", "'jceks://file/keys' is no address of a key server"),
            Level.ERROR,
            "names what is not supported",
        ),
        (Encryption(zones=(EncryptedZone("/z", "a"),)), Level.ERROR, "is not set for the namenode"),
        (
            Encryption(KMS, servers=(AskedKeyServer("k1:9600", "silent"),)),
            Level.ERROR,
            "no key server answers: silent",
        ),
        (
            Encryption(KMS, servers=(WELL[0], AskedKeyServer("k2:9600", "refused"))),
            Level.WARNING,
            "the key server k2:9600 does not answer: refused",
        ),
        (
            Encryption(KMS, servers=WELL, zones=(EncryptedZone("/z", "a", is_key_there=False),)),
            Level.ERROR,
            "the key a of the encryption zone /z is gone",
        ),
        (
            Encryption(KMS, servers=WELL, zones=(EncryptedZone("/z", "a", True, "a@1"),)),
            Level.WARNING,
            "rolled to a@1, and its files were re-encrypted never",
        ),
        (
            Encryption(KMS, servers=WELL, zones=(EncryptedZone("/z", "a", True, "a@2", "a@1"),)),
            Level.WARNING,
            "re-encrypted last by a@1",
        ),
        (
            Encryption(KMS, servers=WELL, zones=(EncryptedZone("/z", "a", True, "", "a@0", 3),)),
            Level.WARNING,
            "3 files of /z kept their keys",
        ),
    ],
)
def test_trouble_with_zones_and_key_servers_is_named(
    encryption: Encryption, level: Level, words: str
) -> None:
    [finding] = of_encryption(encryption)
    assert finding.level is level
    assert words in finding.what


def test_zones_that_are_in_order_are_no_finding() -> None:
    zones = (
        EncryptedZone("/z", "a", True),
        EncryptedZone("/y", "b", True, "b@1", "b@1"),
        EncryptedZone("/x", "c"),
    )
    assert of_encryption(Encryption(KMS, servers=WELL, zones=zones)) == []
