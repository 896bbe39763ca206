"""`howdah dfsadmin` and a running cluster."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from howdah.cli.main import main
from howdah.errors import SafeMode
from howdah.formats.version import NamenodeVersion
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.storage.layout import StorageDirectory
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MiniCluster]:
    """Two datanodes, both in the include list."""
    hosts = tmp_path_factory.mktemp("hosts") / "hosts"
    hosts.write_text("")
    conf = {
        "dfs.hosts": str(hosts),
        "dfs.hosts.exclude": str(hosts.with_name("exclude")),
        "fs.trash.interval": "1s",
    }
    hosts.with_name("exclude").write_text("")
    with MiniCluster(datanodes=2, racks=["/a", "/b"], conf=conf) as cluster:
        yield cluster


@pytest.fixture
def run(cluster: MiniCluster, capsys: pytest.CaptureFixture[str]) -> Run:
    """One command: exit code, output, complaints."""

    def command(*words: str) -> tuple[int, str, str]:
        code = main(["-fs", cluster.uri, "dfsadmin", *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return command


@pytest.fixture
def fs(cluster: MiniCluster) -> Iterator[HdfsFileSystem]:
    with cluster.connect() as connected:
        assert isinstance(connected, HdfsFileSystem)
        yield connected


def test_a_pattern_sets_quotas_and_one_that_matches_nothing_is_an_error(
    run: Run, fs: HdfsFileSystem
) -> None:
    for name in ("quota-a", "quota-b"):
        fs.mkdirs(f"/{name}")
    assert run("-setQuota", "7", "/quota-*")[0] == 0
    assert [fs.content_summary(f"/quota-{name}").quota for name in "ab"] == [7, 7]
    assert run("-setQuota", "7", "/nothing-*") == (
        255,
        "",
        "setQuota: `/nothing-*': No such file or directory\n",
    )


def test_topology_is_printed_by_racks(run: Run, cluster: MiniCluster) -> None:
    _, out, _ = run("-printTopology")
    first, second = (cluster.process(f"datanode{n}").addresses["data"] for n in (0, 1))
    blocks = [block.splitlines() for block in out.split("\n\n") if block]
    assert [(rack, node.split()[0]) for rack, node in blocks] == [
        ("Rack: /a", first),
        ("Rack: /b", second),
    ]


@pytest.mark.req("FS-050")
def test_waiting_for_the_end_of_safe_mode_ends_with_it(run: Run, fs: HdfsFileSystem) -> None:
    assert run("-safemode", "enter") == (0, "Safe mode is ON\n", "")
    with pytest.raises(SafeMode, match="turned on manually"):
        fs.mkdirs("/refused")
    timer = threading.Timer(0.2, fs.set_safe_mode, ["leave"])
    timer.start()
    assert run("-safemode", "wait") == (0, "Safe mode is OFF\n", "")
    timer.join()
    assert fs.mkdirs("/allowed")


def test_open_files_are_listed_with_their_clients(run: Run, fs: HdfsFileSystem) -> None:
    with fs.create("/listed/open"):
        _, out, _ = run("-listOpenFiles", "-path", "/listed")
        [entry] = fs.list_open_files("/listed")
    heading, line = out.splitlines()
    assert heading.split("\t")[2] == "Open File Path"
    assert line.split("\t")[1].strip() == entry.client_name
    assert entry.path == "/listed/open"


def test_the_newest_image_is_fetched(run: Run, cluster: MiniCluster, tmp_path: Path) -> None:
    http = cluster.http.removeprefix("http://")
    words = ("-D", f"dfs.namenode.http-address={http}", "-fetchImage", str(tmp_path))
    assert run(*words) == (0, "", "")
    [image] = tmp_path.glob("fsimage_" + "[0-9]" * 19)
    original = cluster.data_dirs("namenode")[0] / "current"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["VERSION", "seen_txid", image.name, f"{image.name}.md5"]
    )
    for name in (image.name, f"{image.name}.md5"):
        assert (tmp_path / name).read_bytes() == (original / name).read_bytes()
    restored = NamenodeVersion.parse((tmp_path / "VERSION").read_text("latin-1"), "fetched")
    assert restored == StorageDirectory(original.parent).read_version(NamenodeVersion)
    assert int((tmp_path / "seen_txid").read_text()) == int(image.name.removeprefix("fsimage_"))


def test_images_of_another_filesystem_are_not_mixed(
    run: Run, cluster: MiniCluster, tmp_path: Path
) -> None:
    http = cluster.http.removeprefix("http://")
    words = ("-D", f"dfs.namenode.http-address={http}", "-fetchImage", str(tmp_path))
    other = NamenodeVersion(1, "CID-other", "BP-other", 0)
    (tmp_path / "VERSION").write_text(other.format(0))
    code, _, complained = run(*words)
    assert (code, "another filesystem (CID-other, BP-other)" in complained) == (255, True)
    assert [path.name for path in tmp_path.iterdir()] == ["VERSION"]


def test_an_image_may_be_given_a_name(run: Run, cluster: MiniCluster, tmp_path: Path) -> None:
    http = cluster.http.removeprefix("http://")
    words = ("-D", f"dfs.namenode.http-address={http}", "-fetchImage", str(tmp_path / "named"))
    assert run(*words) == (0, "", "")
    [image] = tmp_path.iterdir()
    assert image.name == "named"
    assert image.read_bytes()


def test_an_image_wants_a_directory(run: Run, tmp_path: Path) -> None:
    code, _, complained = run("-fetchImage", str(tmp_path / "nowhere" / "image"))
    assert (code, complained.startswith("fetchImage: ")) == (255, True)


def test_a_dump_is_written_to_the_log_directory(run: Run, cluster: MiniCluster) -> None:
    assert run("-metasave", "dump.txt")[0] == 0
    [dump] = cluster.dir.rglob("dump.txt")
    assert "Live Datanodes: 2\n" in dump.read_text()


def test_a_bandwidth_arrives_at_the_datanodes(run: Run, cluster: MiniCluster) -> None:
    assert run("-setBalancerBandwidth", "7m")[1] == f"Balancer bandwidth is set to {7 << 20}\n"

    def has_arrived(address: str) -> bool:
        return str(7 << 20) in run("-getBalancerBandwidth", address)[1]

    for name in ("datanode0", "datanode1"):
        wait_until(partial(has_arrived, cluster.process(name).addresses["ipc"]))


def test_a_datanode_that_is_not_there_is_named(run: Run) -> None:
    code, _, complained = run("-getDatanodeInfo", "127.0.0.1:1")
    assert code == 255
    assert complained.startswith("getDatanodeInfo: Datanode unreachable. ")
    assert "127.0.0.1:1" in complained


def test_the_namenode_empties_trash_by_itself(fs: HdfsFileSystem) -> None:
    fs.mkdirs("/user/zoe/.Trash/Current/deleted")
    wait_until(lambda: fs.list_status("/user/zoe/.Trash") == [])


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("-nothing",),
        ("-safemode",),
        ("-safemode", "maybe"),
        ("-rollEdits", "now"),
        ("-saveNamespace", "-later"),
        ("-listOpenFiles", "-path"),
        ("-setBalancerBandwidth", "much"),
        ("-getDatanodeInfo", "nowhere"),
        ("-triggerBlockReport", "-incremental"),
        ("-shutdownDatanode", "127.0.0.1:1", "soon"),
        ("-deleteBlockPool", "127.0.0.1:1", "BP", "please"),
        ("-reconfig", "router", "127.0.0.1:1", "start"),
        ("-reconfig", "namenode", "livenodes", "start"),
    ],
)
def test_what_makes_no_sense_shows_the_usage(run: Run, words: tuple[str, ...]) -> None:
    code, out, complained = run(*words)
    assert (code, out) == (255, "")
    assert "Usage: howdah dfsadmin" in complained


def test_help_explains_a_command(run: Run) -> None:
    code, out, _ = run("-help", "rollEdits")
    assert code == 0
    assert out.startswith("-rollEdits:\n\t")
    assert len(run("-help")[1].splitlines()) > 50


def test_who_is_taken_off_the_list_is_turned_away_and_may_come_back(
    run: Run, cluster: MiniCluster, fs: HdfsFileSystem
) -> None:
    hosts = Path(str(cluster.conf.raw("dfs.hosts")))
    stays, goes = (cluster.process(f"datanode{n}").addresses["data"] for n in (0, 1))
    hosts.write_text(f"{stays.split(':')[0]}\n")
    assert run("-refreshNodes") == (0, "Refresh nodes successful\n", "")
    assert [node.ip for node in fs.datanode_report("live")] == [stays.split(":")[0]]
    wait_until(lambda: "include-list" in cluster.log("datanode1"))
    hosts.write_text(f"{stays.split(':')[0]} {goes.split(':')[0]}\n")
    assert run("-refreshNodes")[0] == 0
    cluster.restart("datanode1")
    wait_until(lambda: len(fs.datanode_report("live")) == 2)


def test_who_is_excluded_leaves_and_comes_back(run: Run, cluster: MiniCluster) -> None:
    hosts = Path(str(cluster.conf.raw("dfs.hosts.exclude")))
    address = cluster.process("datanode0").addresses["data"]
    hosts.write_text(address.split(":")[0])
    assert run("-refreshNodes") == (0, "Refresh nodes successful\n", "")
    code, out, _ = run("-report", "-live")
    assert (code, out.count("Live datanodes (2):")) == (0, 1)
    of_node = out[out.index(f"Name: {address} (") :].split("\n\n", maxsplit=1)[0]
    assert "Decommission Status : Decommission" in of_node
    assert any(
        address in line and line.split(")")[1].startswith(" Decommission")
        for line in run("-printTopology")[1].splitlines()
    )
    hosts.write_text("")
    assert run("-refreshNodes")[0] == 0
    assert "Decommissioning datanodes (0):" in run("-report", "-decommissioning")[1]


@pytest.mark.parametrize(
    "words",
    [
        ("-refresh", "127.0.0.1:1", "anything"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(run: Run, words: tuple[str, ...]) -> None:
    code, _, complained = run(*words)
    assert code == 255
    assert complained.startswith(f"{words[0][1:]}: ")


def test_a_datanode_is_shut_down(run: Run, cluster: MiniCluster) -> None:
    address = cluster.process("datanode1").addresses["ipc"]
    assert run("-shutdownDatanode", address)[0] == 0
    wait_until(lambda: run("-getDatanodeInfo", address)[0] == 255)
