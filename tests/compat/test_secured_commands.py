"""Our commands on Apache's HDFS in secure mode: each proves who its user is.

What they print is judged elsewhere; here they have to be let in, by a ticket.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from howdah.cli.main import main
from howdah.testing.waiting import wait_until
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.secured_hadoop import AES, SecuredHadoop
from tests.support.security.secured_pair import NAMESERVICE, SecuredPair
from tests.support.small_disks import MIB, NotMounted, small_disks

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

Out = pytest.CaptureFixture[str]


class Commands:
    """Runs commands in this process."""

    def __init__(self, conf: dict[str, str], out: Out) -> None:
        self._conf = [word for name, value in conf.items() for word in ("-D", f"{name}={value}")]
        self._out = out

    def __call__(self, name: str, *words: str) -> tuple[int, str, str]:
        self._out.readouterr()
        code = main([name, *self._conf, *words])
        said = self._out.readouterr()
        return code, said.out, said.err

    def good(self, name: str, *words: str) -> str:
        """What a command printed that succeeded."""
        code, out, err = self(name, *words)
        assert code == 0, (name, words, code, out, err)
        return out


@pytest.fixture
def operator(hadoop: SecuredHadoop, kdc: Kdc, kerberos_environment: Path, capsys: Out) -> Commands:
    """The superuser, with a ticket."""
    kdc.kinit("hdfs", kerberos_environment)
    return Commands(hadoop.client_conf(), capsys)


@pytest.fixture
def pair_operator(
    hadoop_pair: SecuredPair, kdc: Kdc, kerberos_environment: Path, capsys: Out
) -> Commands:
    kdc.kinit("hdfs", kerberos_environment)
    return Commands(hadoop_pair.client_conf(), capsys)


def test_fsck_checks_files_and_says_nothing_about_who_asks(operator: Commands) -> None:
    code, out, err = operator("fsck", "/", "-files")
    assert (code, "is HEALTHY" in out, "ugi=" in err) == (0, True, False)


def test_an_image_is_fetched(operator: Commands, tmp_path: Path) -> None:
    operator.good("dfsadmin", "-fetchImage", str(tmp_path))
    assert [path for path in tmp_path.iterdir() if path.name.startswith("fsimage_")]


@pytest.mark.parametrize(
    "words",
    [
        "dfsadmin -report",
        "dfsadmin -safemode get",
        "dfsadmin -metasave secured",
        "dfsadmin -refreshNodes",
        "dfsadmin -refreshServiceAcl",
        "dfsadmin -refreshUserToGroupsMappings",
        "dfsadmin -refreshSuperUserGroupsConfiguration",
        "dfsadmin -refreshCallQueue",
        "dfsadmin -getDatanodeInfo DATANODE",
        "dfsadmin -getVolumeReport DATANODE",
        "dfsadmin -getBalancerBandwidth DATANODE",
        "dfsadmin -triggerBlockReport DATANODE",
        "dfsadmin -evictWriters DATANODE",
        "dfsadmin -reconfig datanode DATANODE properties",
        "dfsadmin -reconfig namenode NAMENODE properties",
        "dfsadmin -listOpenFiles",
        "dfsadmin -printTopology",
        "dfsadmin -rollEdits",
        "diskbalancer -query DATANODE",
        "cacheadmin -listPools",
        "ec -listPolicies",
        "groups alice",
        "lsSnapshottableDir",
        "storagepolicies -listPolicies",
        "balancer",
    ],
)
def test_a_command_is_let_in(operator: Commands, hadoop: SecuredHadoop, words: str) -> None:
    named = {"NAMENODE": f"localhost:{hadoop.rpc_port}"}
    if "DATANODE" in words:
        with hadoop.connect("hdfs") as fs:
            [datanode] = fs.administration.datanodes("LIVE")
        named["DATANODE"] = f"localhost:{datanode.id.ipcPort}"
    operator.good(*(named.get(word, word) for word in words.split()))


@pytest.mark.parametrize(
    "words",
    [
        "fsck /",
        "haadmin -getServiceState nn1",
        "haadmin -failover nn1 nn2",
        "dfsadmin -report",
        "dfsadmin -fetchImage .",
        "dfsadmin -getDatanodeInfo localhost:1",
        "diskbalancer -query localhost:1",
        "balancer",
        "mover",
        "doctor",
        "groups alice",
        "dfsrouteradmin -ls /",
    ],
)
def test_a_command_without_a_ticket_says_how_to_get_one(
    hadoop_pair: SecuredPair, capsys: Out, words: str
) -> None:
    code, out, err = Commands(hadoop_pair.client_conf(), capsys)(*words.split())
    assert code != 0
    assert "there is no ticket: get one by kinit" in out + err


def test_fsck_acts_for_another_user(
    hadoop: SecuredHadoop,
    kdc: Kdc,
    kerberos_environment: Path,
    capsys: Out,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kdc.kinit("oozie", kerberos_environment)
    monkeypatch.setenv("HADOOP_PROXY_USER", "bob")
    commands = Commands(hadoop.client_conf(), capsys)
    assert "FSCK started by bob" in commands.good("fsck", "/user/bob")
    monkeypatch.setenv("HADOOP_PROXY_USER", "alice")
    code, _, err = commands("fsck", "/user/bob")
    assert (code, "is not allowed to impersonate alice" in err) == (255, True)


@pytest.mark.parametrize(
    "words", ["-report", "-safemode get", "-refreshNodes", "-refreshServiceAcl", "-metasave pair"]
)
def test_dfsadmin_asks_each_namenode(pair_operator: Commands, words: str) -> None:
    pair_operator.good("dfsadmin", *words.split())


def test_haadmin_orders_a_failover(pair_operator: Commands) -> None:
    states = pair_operator.good("haadmin", "-getAllServiceState")
    assert sorted(line.split()[1] for line in states.splitlines()) == ["active", "standby"]
    active = "nn1" if "active" in states.splitlines()[0] else "nn2"
    other = "nn2" if active == "nn1" else "nn1"
    pair_operator.good("haadmin", "-ns", NAMESERVICE, "-checkHealth", active)
    pair_operator.good("haadmin", "-failover", active, other)
    assert pair_operator.good("haadmin", "-getServiceState", other) == "active\n"
    pair_operator.good("haadmin", "-transitionToStandby", other)
    pair_operator.good("haadmin", "-transitionToActive", active)


def test_fsck_and_images_come_over_tls_from_the_active_namenode(
    pair_operator: Commands, tmp_path: Path
) -> None:
    assert "is HEALTHY" in pair_operator.good("fsck", "/")
    pair_operator.good("dfsadmin", "-fetchImage", str(tmp_path))
    assert [path for path in tmp_path.iterdir() if path.name.startswith("fsimage_")]


def test_the_mover_moves_replicas_by_tokens_of_its_own(
    hadoop: SecuredHadoop, kdc: Kdc, capsys: Out
) -> None:
    with hadoop.connect("hdfs") as fs:
        with fs.create("/cold/file", overwrite=True) as out:
            out.write(b"data")
        fs.set_storage_policy("/cold/file", "COLD")
        mover = {
            "dfs.mover.keytab.enabled": "true",
            "dfs.mover.keytab.file": str(kdc.keytab("hdfs")),
            "dfs.mover.kerberos.principal": f"hdfs@{REALM}",
            # How long it pauses before it looks again.
            "dfs.namenode.redundancy.interval.seconds": "1",
        }
        conf = {**hadoop.client_conf(data="privacy", suites=AES), **mover}
        Commands(conf, capsys).good("mover", "-p", "/cold")
        [block] = fs.client.namenode.get_block_locations("/cold/file", 0, 4).blocks
        assert [kind.name for kind in block.storage_types] == ["ARCHIVE"]


@pytest.mark.parametrize(
    ("protection", "suites"),
    [pytest.param("authentication", "", marks=pytest.mark.torture), ("privacy", AES)],
)
def test_the_balancer_moves_replicas_between_secured_datanodes(
    kdc: Kdc, hadoop_classpath: str, tmp_path: Path, capsys: Out, protection: str, suites: str
) -> None:
    """One of two has all: the balancer asks one to fetch from the other, by a token of its own."""
    files = {f"/files/{number}": bytes([number]) * (2 * MIB) for number in range(12)}
    with small_disks(64 * MIB) as mount:
        disks = tmp_path / "disk1", tmp_path / "disk2"
        try:
            for disk in disks:
                mount(disk)
        except NotMounted as error:
            pytest.skip(str(error))
        room = "dfs.datanode.round-robin-volume-choosing-policy.additional-available-space"
        conf = {"dfs.datanode.data.dir": f"file://{disks[0]}", room: "0"}
        cluster = SecuredHadoop(tmp_path / "cluster", hadoop_classpath, kdc, conf)
        try:
            with cluster.connect("hdfs") as fs:
                for path, content in files.items():
                    fs.write_bytes(path, content)
                cluster.add_datanode("datanode2", disks[1])
                wait_until(lambda: len(fs.datanode_report("live")) == 2, 60)
                own = {
                    "dfs.balancer.keytab.enabled": "true",
                    "dfs.balancer.keytab.file": str(kdc.keytab("hdfs")),
                    "dfs.balancer.kerberos.principal": f"hdfs@{REALM}",
                    "dfs.balancer.getBlocks.min-block-size": "1",
                    "dfs.balancer.movedWinWidth": "1",
                    "dfs.namenode.redundancy.interval.seconds": "1",
                }
                mine = cluster.client_conf(rpc=protection, data=protection, suites=suites)
                Commands({**mine, **own}, capsys).good("balancer", "-threshold", "5")
                for path, content in files.items():
                    assert fs.open(path).read() == content
            moved = sum(path.stat().st_size for path in disks[1].rglob("blk_*") if path.is_file())
            assert moved > 4 * MIB
        finally:
            cluster.close()


def test_the_doctor_tells_about_kerberos(
    operator: Commands, hadoop: SecuredHadoop, kdc: Kdc
) -> None:
    out = operator.good("doctor")
    lines = [line for line in out.splitlines() if line.startswith("kerberos: ")]
    said = "\n".join(lines)
    assert f"krb5.conf: {kdc.configuration}; realm EXAMPLE.COM; KDC 127.0.0.1:" in said
    assert ": hdfs@EXAMPLE.COM, for " in said
    assert "is nn/localhost; offers authentication,integrity,privacy" in said
    assert "datanode localhost" in said
    assert "wants no SASL" not in said
