"""Several namespaces over the same datanodes (federation), by what users see of them."""

from __future__ import annotations

import contextlib
import functools
import getpass
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from howdah.cli.main import main
from howdah.config import Configuration
from howdah.errors import HowdahError, InvalidConfiguration
from howdah.formats.version import NamenodeVersion
from howdah.fs.hdfs.administration import DatanodeAdministration
from howdah.namenode.server.process.format import format_namenode
from howdah.storage.layout import StorageDirectory
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.failover.writers import Writer
from tests.support.replicas import found_below
from tests.support.volumes import set_volumes

pytestmark = pytest.mark.req("FS-043", "FS-044", "FS-046")


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    conf = {"dfs.client.retry.window.base": "10"}
    # A namenode that was refused is asked again after 5, 10, 20 seconds.
    with MiniCluster(datanodes=2, nameservices=["a", "b"], conf=conf, timeout_s=90) as cluster:
        yield cluster


NAMENODES = ("namenode0", "namenode1")


def write(cluster: MiniCluster, nameservice: str, path: str, data: bytes) -> None:
    with cluster.connect(nameservice=nameservice) as fs, fs.create(path, overwrite=True) as out:
        out.write(data)


def read(cluster: MiniCluster, nameservice: str, path: str) -> bytes:
    with cluster.connect(nameservice=nameservice) as fs, fs.open(path) as source:
        return bytes(source.read())


def run(cluster: MiniCluster, *words: str, code: int = 0) -> str:
    """What `howdah` prints for a client of the cluster; what goes wrong, where it does."""
    environment = {**os.environ, "HADOOP_CONF_DIR": str(cluster.conf_dir)}
    done = subprocess.run(
        [sys.executable, "-m", "howdah", *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stderr if code else done.stdout


def pools(volume: Path) -> list[str]:
    return sorted(path.name for path in (volume / "current").glob("BP-*"))


def test_namespaces_are_apart_and_every_datanode_has_a_block_pool_of_each(
    cluster: MiniCluster,
) -> None:
    for name in "ab":
        write(cluster, name, "/apart", name.encode() * 1000)
    for name in "ab":
        assert read(cluster, name, "/apart") == name.encode() * 1000
    assert cluster.uri_of("b") == "hdfs://b"
    found = {tuple(pools(cluster.data_dirs(f"datanode{number}")[0])) for number in range(2)}
    assert len(found) == 1
    (both,) = found
    assert len(both) == 2
    for name in both:
        volume = cluster.data_dirs("datanode0")[0]
        assert f"blockpoolID={name}" in (volume / "current" / name / "current/VERSION").read_text()


def test_the_command_line_goes_to_the_namespace_of_a_uri(cluster: MiniCluster) -> None:
    write(cluster, "b", "/only-b", b"content")
    assert "/only-b" in run(cluster, "dfs", "-ls", "-C", "hdfs://b/")
    assert "/only-b" not in run(cluster, "dfs", "-ls", "-C", "/")
    assert "Live datanodes (2):" in run(cluster, "dfsadmin", "-fs", "hdfs://b", "-report")
    assert "is HEALTHY" in run(cluster, "fsck", "hdfs://b/only-b")


@pytest.mark.req("FS-047")
def test_a_strangers_client_mounts_both_namespaces(cluster: MiniCluster) -> None:
    hdfs_native = pytest.importorskip("hdfs_native", reason="hdfs-native is not installed")
    # It looks nameservices up only where they are highly available.
    a, b = (f"hdfs://{cluster.process(name).addresses['rpc']}" for name in NAMENODES)
    table = "fs.viewfs.mounttable.views"
    rust = hdfs_native.Client(
        "viewfs://views",
        {
            f"{table}.link./first": f"{a}/mounted",
            f"{table}.link./second/one": f"{b}/mounted",
            f"{table}.linkFallback": f"{a}/",
        },
    )
    for path in ("/first/file", "/second/one/file", "/fallback"):
        with rust.create(path) as out:
            out.write(path.encode())
    assert read(cluster, "a", "/mounted/file") == b"/first/file"
    assert read(cluster, "b", "/mounted/file") == b"/second/one/file"
    assert read(cluster, "a", "/fallback") == b"/fallback"
    with pytest.raises(Exception, match=r"(?i)mount|rename|different"):
        rust.rename("/first/file", "/second/one/other")
    rust.rename("/second/one/file", "/second/one/other")
    assert [status.path for status in rust.list_status("/second/one")] == ["/second/one/other"]


def test_getconf_names_all_namenodes(cluster: MiniCluster) -> None:
    addresses = [cluster.process(f"namenode{number}").addresses["rpc"] for number in range(2)]
    assert run(cluster, "getconf", "-nnRpcAddresses").split() == addresses
    assert run(cluster, "getconf", "-namenodes").split() == ["127.0.0.1", "127.0.0.1"]


def test_a_cluster_that_is_up_may_have_several_nameservices(tmp_path: Path) -> None:
    def howdah(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "howdah", *words, "--dir", str(tmp_path / "c")],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    try:
        facts = json.loads(howdah("up", "--nameservices", "2", "--datanodes", "1", "--json"))
        assert facts["uris"] == ["hdfs://ns1", "hdfs://ns2"]
        assert facts["uri"] == "hdfs://ns1"
        found = {each["name"]: each["nameservice"] for each in facts["processes"]}
        assert found == {"namenode0": "ns1", "namenode1": "ns2", "datanode0": None}
        said = howdah("status")
        assert "hdfs://ns1  hdfs://ns2  in " in said
        assert re.search(r"^  namenode1 .* of ns2$", said, re.MULTILINE)
    finally:
        howdah("down")


# --- namenodes that are down, and namespaces that come and go ---


def ipc_of(cluster: MiniCluster, name: str) -> str:
    return cluster.process(name).addresses["ipc"]


def only(cluster: MiniCluster, datanode: str, *nameservices: str) -> None:
    """Have the files of a datanode's configuration name these nameservices."""
    path = cluster.dir / datanode / "conf" / "hdfs-site.xml"
    pattern = r"(<name>dfs\.nameservices</name>\s*<value>)[^<]*"
    text, count = re.subn(pattern, rf"\g<1>{','.join(nameservices)}", path.read_text())
    assert count == 1
    path.write_text(text)


def refresh(cluster: MiniCluster, datanode: str, *nameservices: str) -> None:
    only(cluster, datanode, *nameservices)
    host, _, port = ipc_of(cluster, datanode).rpartition(":")
    administration = DatanodeAdministration((host, int(port)), getpass.getuser())
    try:
        administration.refresh_namenodes()
    finally:
        administration.close()


def pool_of(cluster: MiniCluster, namenode: str) -> str:
    storage = StorageDirectory(cluster.data_dirs(namenode)[0])
    return storage.read_version(NamenodeVersion).block_pool_id


@pytest.mark.req("FS-045")
def test_while_a_namenode_is_down_the_other_namespace_is_served_and_its_pool_is_kept(
    cluster: MiniCluster,
) -> None:
    for name in "ab":
        write(cluster, name, "/kept", name.encode() * 1000)
    with cluster.connect(nameservice="a") as fs, fs.create("/through", overwrite=True) as out:
        out.write(b"before")
        out.hflush()
        cluster.kill("namenode1")
        out.write(b" and after")
    assert read(cluster, "a", "/through") == b"before and after"
    cluster.restart("datanode0")
    write(cluster, "a", "/meanwhile", b"served")
    assert read(cluster, "a", "/meanwhile") == b"served"
    # Nobody has said since which pool belongs to b: none is deleted, though it be forced.
    pool = pool_of(cluster, "namenode1")
    place = ipc_of(cluster, "datanode0")
    refused = run(cluster, "dfsadmin", "-deleteBlockPool", place, pool, "force", code=255)
    assert "no namenode of nameservice b has said yet" in refused
    assert pool in pools(cluster.data_dirs("datanode0")[0])
    cluster.restart("namenode1")
    assert read(cluster, "b", "/kept") == b"b" * 1000


@pytest.mark.req("FS-045")
def test_the_whole_cluster_is_reported_and_shown_with_a_namespace_that_is_down(
    cluster: MiniCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    def report(*words: str) -> tuple[int, str, str]:
        command = ["dfsadmin", "-conf", str(cluster.conf_dir / "hdfs-site.xml")]
        options = ["-D", "ipc.client.connect.max.retries=0", "-D", "fs.defaultFS=viewfs://views"]
        capsys.readouterr()
        code = main([*command, *options, "-report", "-all", *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    code, both, complaint = report()
    assert (code, complaint) == (0, "")
    first, _, second = both.partition("\nNameservice b: hdfs://b\n")
    for part in (first.removeprefix("Nameservice a: hdfs://a\n"), second):
        assert part.startswith("Configured Capacity: ")
        assert "Live datanodes (2):" in part
    http = cluster.process("namenode0").addresses["http"]
    cluster.kill("namenode1")
    code, one, complaint = report("-dead")
    assert code == 255
    first, _, second = one.partition("\nNameservice b: hdfs://b\n")
    assert first.startswith("Nameservice a: hdfs://a\nConfigured Capacity: ")
    assert "Dead datanodes (0):" in first
    assert "Live datanodes" not in first
    assert second.startswith("It does not answer: Cannot connect to ")
    assert second.count("\n") == 1
    assert complaint == "report: 1 of 2 nameservices did not answer: hdfs://b\n"

    def page() -> str:
        with urlopen(f"http://{http}/cluster", timeout=60) as answer:
            return re.sub(r"<[^>]*>", " ", answer.read().decode())

    # What it has heard is shown for a moment.
    wait_until(lambda: "b: no namenode answers" in page(), 60, "the page says that b is down")
    assert len(re.findall(r"\bdoes not answer\b", page())) == 1
    cluster.restart("namenode1")
    wait_until(lambda: "does not answer" not in page(), 60, "the page has b again")


def test_a_namespace_is_taken_from_running_datanodes_and_given_back(cluster: MiniCluster) -> None:
    for name in "ab":
        write(cluster, name, "/stays", name.encode() * 1000)
    before = [cluster.process(name).pid for name in ("datanode0", "datanode1")]
    pool, volume = pool_of(cluster, "namenode1"), cluster.data_dirs("datanode0")[0]
    place = ipc_of(cluster, "datanode0")
    running = run(cluster, "dfsadmin", "-deleteBlockPool", place, pool, code=255)
    assert "The block pool is still running. First do a refreshNamenodes" in running
    only(cluster, "datanode0", "a")
    assert run(cluster, "dfsadmin", "-refreshNamenodes", place) == ""
    refresh(cluster, "datanode1", "a")
    with pytest.raises(HowdahError):
        read(cluster, "b", "/stays")
    assert read(cluster, "a", "/stays") == b"a" * 1000
    assert pool in pools(volume)
    with_blocks = run(cluster, "dfsadmin", "-deleteBlockPool", place, pool, code=255)
    assert "Cannot delete block pool, it contains some block files" in with_blocks
    # Given back to both while the other one is written to, and nothing of it was lost.
    with Writer(cluster.connect) as writer:
        for name in ("datanode0", "datanode1"):
            refresh(cluster, name, "a", "b")
            writer.go_on()
        assert read(cluster, "b", "/stays") == b"b" * 1000
        write(cluster, "b", "/more", b"more")
        writer.go_on()
    # Taken from one of them for good: its pool goes, and the other one's repairs nothing there.
    refresh(cluster, "datanode0", "a")
    assert run(cluster, "dfsadmin", "-deleteBlockPool", place, pool, "force") == ""
    assert pool not in pools(volume)
    assert read(cluster, "a", "/stays") == b"a" * 1000
    assert read(cluster, "b", "/stays") == b"b" * 1000
    # An empty pool, once it is served again, gets what it lacks.
    refresh(cluster, "datanode0", "a", "b")
    current = volume / "current" / pool / "current"
    wait_until(lambda: len(found_below(current, "finalized/*/*/blk_*.meta")) >= 1, 60)
    assert [cluster.process(name).pid for name in ("datanode0", "datanode1")] == before


def test_a_datanode_keeps_its_namenodes_when_the_configuration_is_wrong(
    cluster: MiniCluster,
) -> None:
    place = ipc_of(cluster, "datanode1")
    only(cluster, "datanode1", "a", "nowhere")
    wrong = run(cluster, "dfsadmin", "-refreshNamenodes", place, code=255)
    assert "no address of namenode nowhere" in wrong
    only(cluster, "datanode1", "a", "b")
    for name in "ab":
        write(cluster, name, "/still", b"served")
        assert read(cluster, name, "/still") == b"served"


@pytest.mark.req("FS-045")
def test_a_writer_goes_on_while_the_namenode_of_another_namespace_is_killed_or_frozen(
    cluster: MiniCluster,
) -> None:
    write(cluster, "b", "/before", b"b")
    with Writer(cluster.connect) as writer:
        cluster.pause("namenode1")
        writer.go_on()
        cluster.kill("namenode1")
        writer.go_on()
        cluster.restart("namenode1")
        writer.go_on()
        assert read(cluster, "b", "/before") == b"b"


@pytest.mark.req("FS-045")
def test_a_namenode_of_another_cluster_is_refused_for_its_nameservice_alone(
    cluster: MiniCluster,
) -> None:
    write(cluster, "b", "/mine", b"b")
    cluster.stop("namenode1")
    cluster.stop("datanode0")
    own = cluster.data_dirs("namenode1")[0]
    aside = own.with_name("aside")
    own.rename(aside)
    conf = Configuration.load(cluster.dir / "namenode1" / "conf")
    format_namenode(conf, cluster_id="CID-another")
    cluster.start("namenode1")
    cluster.start("datanode0")
    wait_until(
        lambda: "nameservice b is not served" in cluster.log("datanode0"), 60, "it is refused"
    )
    assert "Incompatible clusterIDs" in cluster.log("datanode0")
    write(cluster, "a", "/meanwhile", b"served")
    assert read(cluster, "a", "/meanwhile") == b"served"
    cluster.stop("namenode1")
    shutil.rmtree(own)
    aside.rename(own)
    cluster.restart("namenode1")
    cluster.wait_ready()
    assert read(cluster, "b", "/mine") == b"b"


def test_the_mover_goes_over_all_namespaces(
    cluster: MiniCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in "ab":
        write(cluster, name, "/moved", name.encode())
    command = ["mover", "--conf", str(cluster.conf_dir), "--json"]
    capsys.readouterr()
    assert main(command) == 0
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["namenode"] for line in said if "namenode" in line} == {"hdfs://a", "hdfs://b"}
    assert main([*command, "-p", "/moved"]) == 251
    assert main([*command, "-p", "hdfs://b/moved"]) == 0


# --- pools, each for itself ---


def has_block(cluster: MiniCluster, datanode: str, pool: str, top: str, content: bytes) -> bool:
    """Whether a block file below `top` of the pool's directory has this content."""
    for path in found_below(cluster.data_dirs(datanode)[0], f"current/{pool}/{top}/**/blk_*"):
        with contextlib.suppress(FileNotFoundError):  # It moves, or is deleted.
            if path.read_bytes() == content:
                return True
    return False


@pytest.mark.req("FS-204")
def test_a_rolling_upgrade_of_one_namespace_keeps_what_is_deleted_in_its_pool_alone(
    cluster: MiniCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    def admin(*words: str) -> None:
        command = ["dfsadmin", "-conf", str(cluster.conf_dir / "hdfs-site.xml")]
        assert main([*command, "-fs", "hdfs://a", *words]) == 0, capsys.readouterr()

    def has(name: str, top: str) -> bool:
        pool, content = pools_of[name], f"doomed in {name}".encode()
        return has_block(cluster, "datanode1", pool, top, content)

    pools_of = {name: pool_of(cluster, f"namenode{number}") for number, name in enumerate("ab")}
    for name in "ab":
        write(cluster, name, "/doomed", f"doomed in {name}".encode())
        wait_until(functools.partial(has, name, "current"), 60, "it has its second replica")
    admin("-safemode", "enter")
    admin("-rollingUpgrade", "prepare")
    for name in "ab":
        with cluster.connect(nameservice=name) as fs:
            fs.delete("/doomed")
    wait_until(lambda: has("a", "trash"), 60, "what a has deleted is in its trash")
    wait_until(lambda: not has("b", "current"), 60, "what b has deleted is gone")
    assert not (cluster.data_dirs("datanode1")[0] / "current" / pools_of["b"] / "trash").exists()
    admin("-rollingUpgrade", "finalize")
    wait_until(lambda: not has("a", "trash"), 60, "the trash of a is gone")


def test_a_volume_that_is_added_while_a_namenode_is_down_has_its_blocks(
    cluster: MiniCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As at a start, replicas are found before their namenode is."""

    def reconfigure(*volumes: Path) -> None:
        set_volumes(cluster, "datanode0", ",".join(map(str, volumes)))
        place = ipc_of(cluster, "datanode0")
        words = ["dfsadmin", "-conf", str(cluster.conf_dir / "core-site.xml"), "-reconfig"]
        assert main([*words, "datanode", place, "start"]) == 0
        status: list[str] = []

        def is_over() -> bool:
            capsys.readouterr()
            assert main([*words, "datanode", place, "status"]) == 0
            status[:] = [capsys.readouterr().out]
            return " and finished at " in status[0]

        wait_until(is_over, 60)
        assert "FAILED" not in status[0], status[0]

    first = cluster.data_dirs("datanode0")[0]
    second = tmp_path / "second"
    reconfigure(second)
    host = cluster.process("datanode0").addresses["data"]
    with cluster.connect(nameservice="b") as fs:
        with fs.create("/second", replication=1, favored_nodes=[host]) as out:
            out.write(b"on the second volume")
    reconfigure(first)
    cluster.kill("namenode1")
    cluster.restart("datanode0")
    reconfigure(first, second)
    cluster.restart("namenode1")
    assert read(cluster, "b", "/second") == b"on the second volume"
    reconfigure(first)


@pytest.mark.req("FS-053")
def test_each_of_several_nameservices_may_be_highly_available() -> None:
    with MiniCluster(datanodes=1, namenodes=2, nameservices=["a", "b"]) as cluster:
        assert cluster.namenodes_of("b") == ["namenode2", "namenode3"]
        for name in "ab":
            write(cluster, name, "/before", name.encode())
        other = cluster.active(nameservice="a")
        old = cluster.active(nameservice="b")
        cluster.kill(old)
        write(cluster, "b", "/after", b"b")
        assert cluster.active(nameservice="b", but=old) in {"namenode2", "namenode3"} - {old}
        assert cluster.active(nameservice="a") == other
        assert [read(cluster, name, "/before") for name in "ab"] == [b"a", b"b"]
        with pytest.raises(InvalidConfiguration, match="of several nameservices"):
            cluster.active()
