"""fsck and Hadoop's: the same text for the same state, and either client at either namenode.

One script makes the state, with datanodes that exist in name alone: at Hadoop's namenode over
the wire, and at ours in memory. So blocks and replicas have the same names at both.
"""

from __future__ import annotations

import getpass
import json
import re
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from howdah.cli.main import main
from howdah.namenode.service.calls.administration import Administration
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.service.fsck.options import parse_options, user_of
from howdah.namenode.service.fsck.report import Fsck
from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.namenode.state.blocks.host_lists import HostEntry, HostOrder, Hosts
from howdah.namenode.state.blocks.topology import RackMap
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.proto import types_pb2
from howdah.rpc.client import RpcClient
from howdah.testing import MiniCluster
from howdah.testing.in_memory import SUPERUSER, InMemoryDatanode, InMemoryNamenode
from howdah.testing.waiting import wait_until

WRITER = "DFSClient_fsck"
BLOCK_BYTES = 1024
NODES = 3
HOME = "/fsck-of-hadoop"
CLIENTS = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
DATANODES = "org.apache.hadoop.hdfs.server.protocol.DatanodeProtocol"

QUERIES = (
    "path=/",
    "path=/&files=1",
    "path=/&files=1&blocks=1",
    "path=/&files=1&blocks=1&locations=1",
    "path=/&files=1&blocks=1&racks=1",
    "path=/&files=1&blocks=1&replicadetails=1",
    "path=/&files=1&blocks=1&upgradedomains=1&replicadetails=1",
    "path=/&files=1&blocks=1&racks=1&openforwrite=1",
    "path=/&openforwrite=1&maintenance=1&showprogress=1",
    "path=/&files=1&blocks=1&includeSnapshots=1",
    "path=/&storagepolicies=1",
    "path=/empty",
    "path=/healthy&files=1",
    "path=/healthy/deep/g&files=1&blocks=1",
    "path=/few",
    "path=/gone&files=1&blocks=1",
    "path=/bad&blocks=1",
    "path=/snap/.snapshot/s1&files=1",
    "path=/nowhere",
    "path=/&listcorruptfileblocks=1&includeSnapshots=1",
    "path=/healthy&listcorruptfileblocks=1",
    "path=/nowhere&listcorruptfileblocks=1",
    "path=/&listcorruptfileblocks=1&startblockafter=100",
    "path=/&blockId=blk_1073741825 other blk_1 blk_1073741825_1001.meta blk_1073741825_1001 ",
    "path=/&blockId=GONE BAD FEW &maintenance=1",
    "path=/&blockId=EXTRA ",
    "path=/&ugi=bob",
    "path=/healthy&ugi=bob,staff",
    "path=/secret&files=1&ugi=bob",
    "path=/&blockId=blk_1&ugi=bob",
    "path=/&listcorruptfileblocks=1&ugi=bob",
)


class Remote:
    """Hadoop's namenode, called as ours in memory is."""

    def __init__(self, address: tuple[str, int], user: str) -> None:
        self._clients = RpcClient(address, CLIENTS, user=user)
        self._nodes = RpcClient(address, DATANODES, user=user)
        told = self._nodes.call("versionRequest", dn.VersionRequestProto(), dn.VersionResponseProto)
        self.storage_info = told.info.storageInfo

    def call(self, method: str, request: Message, **ignored: Any) -> Any:
        clients = pb.DESCRIPTOR.services_by_name["ClientNamenodeProtocol"].methods_by_name
        nodes = dn.DESCRIPTOR.services_by_name["DatanodeProtocolService"].methods_by_name
        found = clients.get(method)
        rpc, described = (self._nodes, nodes[method]) if found is None else (self._clients, found)
        return rpc.call(method, request, GetMessageClass(described.output_type))

    def close(self) -> None:
        self._clients.close()
        self._nodes.close()


@dataclass(slots=True)
class NamedNode(InMemoryDatanode):
    """A datanode of this machine; its rack is in its name."""

    number: int = 0
    storage_info: dn.StorageInfoProto | None = None

    def registration(self) -> dn.DatanodeRegistrationProto:
        made = InMemoryDatanode.registration(self)
        made.datanodeID.hostName = f"dn{self.number}.r{self.number % 2}"
        made.datanodeID.xferPort = 40_000 + self.number
        made.datanodeID.ipcPort = 50_000 + self.number
        if self.storage_info is not None:
            made.storageInfo.CopyFrom(self.storage_info)
        return made


@dataclass(slots=True)
class Scene:
    """The state, made at one of the two."""

    namenode: Any
    nodes: list[NamedNode] = field(default_factory=list)
    blocks: dict[str, list[types_pb2.ExtendedBlockProto]] = field(default_factory=dict)

    def play(self, storage_info: dn.StorageInfoProto | None) -> None:
        for number in range(NODES):
            uuid = f"00000000-0000-0000-0000-00000000000{number}"
            node = NamedNode(
                self.namenode,
                uuid,
                "127.0.0.1",
                {f"DS-{uuid}": {}},
                used_bytes=number << 30,  # So the last one has to give up an extra replica.
                number=number,
                storage_info=storage_info,
            )
            self.nodes.append(node)
            node.register()
            node.heartbeat()
            node.report()
        self._files()
        self._snapshots()
        self._harm()
        for node in self.nodes:
            node.heartbeat()
            node.report()  # It is answered when all reports before it were processed.

    def _call(self, method: str, request: Message) -> Any:
        return self.namenode.call(method, request)

    def _files(self) -> None:
        self._mkdirs("/empty")
        self._mkdirs("/secret", 0o700)
        self._write("/healthy/f", BLOCK_BYTES, 10)
        self._write("/healthy/deep/g", 5)
        self._write("/healthy/nothing")
        for name in ("few", "lonely", "gone", "bad", "snap", "cold", "extra"):
            self._write(f"/{name}/f", 100)
        self._call("setReplication", pb.SetReplicationRequestProto(src="/extra/f", replication=2))
        self._write("/half/f", BLOCK_BYTES, 20)
        self._write("/one/f", 30)
        self._call(
            "setStoragePolicy", pb.SetStoragePolicyRequestProto(src="/cold", policyName="COLD")
        )
        self._create("/open/f")
        first = self._store(self._add("/open/f", None), BLOCK_BYTES)
        second = self._add("/open/f", first)
        for node in self.nodes:
            node.store(second.blockId, second.generationStamp, 0, finalized=False)
        self._call("fsync", pb.FsyncRequestProto(src="/open/f", client=WRITER, lastBlockLength=7))

    def _snapshots(self) -> None:
        self._write("/snap/both", 11)
        self._write("/snap/sub/lost", 12)
        self._call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/snap"))
        self._call(
            "createSnapshot",
            pb.CreateSnapshotRequestProto(snapshotRoot="/snap", snapshotName="s1"),
        )
        for path in ("/snap/f", "/snap/sub/lost"):
            self._call("delete", pb.DeleteRequestProto(src=path, recursive=True))

    def _harm(self) -> None:
        for path, numbers in (
            ("/few/f", (0, 1)),
            ("/lonely/f", (1,)),
            ("/gone/f", (0, 1, 2)),
            ("/half/f", (0, 1, 2)),
            ("/snap/sub/lost", (0, 1, 2)),
        ):
            for number in numbers:
                self.nodes[number].drop(self.blocks[path][-1].blockId)
        for path, numbers in (("/bad/f", (0, 1, 2)), ("/one/f", (1,))):
            located = self._call(
                "getBlockLocations",
                pb.GetBlockLocationsRequestProto(src=path, offset=0, length=1 << 40),
            ).locations.blocks[0]
            for number in numbers:
                bad = types_pb2.LocatedBlockProto()
                bad.CopyFrom(located)
                uuid = self.nodes[number].uuid
                for place in reversed(range(len(located.locs))):
                    if located.locs[place].id.datanodeUuid != uuid:
                        del bad.locs[place], bad.storageIDs[place], bad.storageTypes[place]
                        del bad.isCached[place]
                self._call("reportBadBlocks", pb.ReportBadBlocksRequestProto(blocks=[bad]))

    def _mkdirs(self, path: str, mode: int = 0o755) -> None:
        masked = types_pb2.FsPermissionProto(perm=mode)
        self._call("mkdirs", pb.MkdirsRequestProto(src=path, masked=masked, createParent=True))

    def _create(self, path: str) -> None:
        self._call(
            "create",
            pb.CreateRequestProto(
                src=path,
                masked=types_pb2.FsPermissionProto(perm=0o644),
                clientName=WRITER,
                createFlag=1,
                createParent=True,
                replication=NODES,
                blockSize=BLOCK_BYTES,
            ),
        )

    def _add(
        self, path: str, previous: types_pb2.ExtendedBlockProto | None
    ) -> types_pb2.ExtendedBlockProto:
        request = pb.AddBlockRequestProto(src=path, clientName=WRITER, previous=previous)
        located = self._call("addBlock", request).block
        assert len(located.locs) == NODES
        added: types_pb2.ExtendedBlockProto = located.b
        return added

    def _store(
        self, block: types_pb2.ExtendedBlockProto, length_bytes: int
    ) -> types_pb2.ExtendedBlockProto:
        for node in self.nodes:
            node.store(block.blockId, block.generationStamp, length_bytes)
        block.numBytes = length_bytes
        return block

    def _write(self, path: str, *lengths: int) -> None:
        self._create(path)
        last = None
        for length_bytes in lengths:
            last = self._store(self._add(path, last), length_bytes)
            self.blocks.setdefault(path, []).append(last)
        request = pb.CompleteRequestProto(src=path, clientName=WRITER, last=last)
        wait_until(lambda: self._call("complete", request).result, 30, f"{path} is complete")

    def query(self, text: str) -> dict[str, str]:
        """The parameters, with the ids of blocks that go by the names of their files."""
        for name in ("gone", "bad", "few", "extra"):
            block_id = self.blocks[f"/{name}/f"][0].blockId
            text = text.replace(name.upper(), f"blk_{block_id}")
        return dict(part.split("=", 1) for part in text.split("&"))


@dataclass(frozen=True, slots=True)
class Hadoop:
    """Its namenode, in the state."""

    scene: Scene
    uri: str
    http: str
    user: str
    hosts: Path

    def ask(self, query: dict[str, str]) -> str:
        shown = "&".join(f"{name}={quote(value)}" for name, value in query.items())
        with urllib.request.urlopen(f"http://{self.http}/fsck?{shown}") as answer:
            text: str = answer.read().decode()
            return text


@pytest.fixture(scope="module")
def hadoop(hadoop_tools: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hadoop]:
    directory = tmp_path_factory.mktemp("namenode")
    hadoop_tools("name", directory)
    user = getpass.getuser()
    try:
        rpc, http = (directory / "ports").read_text().split()
        remote = Remote(("127.0.0.1", int(rpc)), user)
        scene = Scene(remote)
        scene.play(remote.storage_info)
        yield Hadoop(
            scene, f"hdfs://127.0.0.1:{rpc}", f"127.0.0.1:{http}", user, directory / "hosts.json"
        )
        remote.close()
    finally:
        hadoop_tools("stop")


@pytest.fixture(scope="module")
def ours() -> Scene:
    settings = Settings("", min_block_size_bytes=512, block_size_bytes=BLOCK_BYTES)
    namenode = InMemoryNamenode(settings)
    namenode.namesystem.datanode_manager.racks = RackMap(
        {f"dn{n}.r{n % 2}": f"/r{n % 2}" for n in range(NODES)}
    )
    scene = Scene(namenode)
    scene.play(None)
    namenode.tick()
    return scene


@pytest.mark.req("FS-020", "FS-078")
@pytest.mark.parametrize("text", QUERIES)
def test_the_text_is_that_of_hadoop(hadoop: Hadoop, ours: Scene, text: str) -> None:
    check_same(hadoop, ours, text)


def test_lost_blocks_that_only_a_snapshot_shows_are_listed_too(hadoop: Hadoop, ours: Scene) -> None:
    """Hadoop lists them only when it is asked for snapshots, so that nobody else tells of them."""

    def of_files(answer: list[str]) -> list[str]:
        return [line for line in answer if "CORRUPT files" not in line]

    theirs, said = answers(hadoop, ours, "path=/&listcorruptfileblocks=1")
    more = [line for line in said if "/.snapshot/" in line]
    assert more
    assert sorted(of_files(said)) == sorted([*of_files(theirs), *more])


def check_same(hadoop: Hadoop, ours: Scene, text: str) -> None:
    theirs, said = answers(hadoop, ours, text)
    assert said == theirs


def answers(hadoop: Hadoop, ours: Scene, text: str) -> tuple[list[str], list[str]]:
    """What Hadoop says, and what ours does, made comparable."""
    for node in (*hadoop.scene.nodes, *ours.nodes):
        node.heartbeat()
    query = ours.query(text)
    theirs = hadoop.ask({"ugi": hadoop.user, **hadoop.scene.query(text)})
    user = user_of({"ugi": SUPERUSER, **query})
    said = "".join(Fsck(ours.namenode.namesystem).run(user, "127.0.0.1", parse_options(query)))
    return comparable(theirs.replace(hadoop.user, SUPERUSER)), comparable(said)


AT_HADOOPS = (
    ("/",),
    ("/healthy", "-files", "-blocks", "-locations"),
    ("/bad", "-files"),
    ("/nowhere",),
    ("/healthy", "-blockId", "blk_1073741825"),
    ("/", "-list-corruptfileblocks"),
    ("/healthy", "-list-corruptfileblocks"),
)
AT_OURS = (
    (HOME,),
    (HOME, "-files", "-blocks", "-racks"),
    (f"{HOME}/good", "-files", "-blocks", "-replicaDetails"),
    (f"{HOME}/nowhere",),
    (HOME, "-storagepolicies", "-openforwrite", "-includeSnapshots"),
    (HOME, "-blockId", "blk_1", "nonsense"),
    (HOME, "-list-corruptfileblocks"),
    (f"{HOME}/good", "-list-corruptfileblocks"),
)


class Programs:
    """Hadoop's program and ours, at one namenode."""

    def __init__(self, tools: Any, file: Path, uri: str, http: str) -> None:
        self._tools = tools
        self._file = file
        self._uri = uri
        self._http = http

    def theirs(self, words: tuple[str, ...]) -> tuple[int, str]:
        self._tools("fsck", self._file, self._uri, self._http, *words)
        code, _, said = self._file.read_text().partition("\n")
        return int(code), said

    def ours(self, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
        capsys.readouterr()
        options = ["-fs", self._uri, "-D", f"dfs.namenode.http-address={self._http}"]
        return main([*options, "fsck", *words]), capsys.readouterr().out

    def compare(self, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> int:
        code, said = self.ours(words, capsys)
        their_code, they_said = self.theirs(words)
        assert (words, code) == (words, their_code)
        assert comparable(said) == comparable(they_said)
        return code


def test_both_programs_say_the_same_at_hadoops_namenode(
    hadoop: Hadoop, hadoop_tools: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    programs = Programs(hadoop_tools, tmp_path / "said", hadoop.uri, hadoop.http)
    codes = [programs.compare(words, capsys) for words in AT_HADOOPS]
    assert codes == [1, 0, 1, 0, 0, 255, 0]


def test_both_programs_say_the_same_at_our_namenode(
    hadoop_tools: Any,
    howdah_cluster: MiniCluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    http = howdah_cluster.http.removeprefix("http://")
    programs = Programs(hadoop_tools, tmp_path / "said", howdah_cluster.uri, http)
    with howdah_cluster.connect() as fs:
        for name in ("good", "bad"):
            with fs.create(f"{HOME}/{name}", replication=2) as out:
                out.write(bytes(100))
        try:
            report_bad(howdah_cluster, f"{HOME}/bad")
            codes = [programs.compare(words, capsys) for words in AT_OURS]
            assert codes == [1, 1, 0, 0, 1, 0, 255, 0]
            code, said = programs.theirs((HOME, "-move", "-delete"))
            assert (code, fs.exists(f"{HOME}/bad")) == (255, True)
            assert "no file was moved or deleted" in said
            assert programs.theirs((HOME, "-delete"))[0] == 1
            assert not fs.exists(f"{HOME}/bad")
        finally:
            fs.delete(HOME, recursive=True)


def report_bad(cluster: MiniCluster, path: str) -> None:
    """Tell the namenode that every replica of the file's block is corrupt."""
    host, _, port = cluster.uri.removeprefix("hdfs://").partition(":")
    namenode = Remote((host, int(port)), getpass.getuser())
    request = pb.GetBlockLocationsRequestProto(src=path, offset=0, length=1)

    def block() -> types_pb2.LocatedBlockProto:
        answer: pb.GetBlockLocationsResponseProto = namenode.call("getBlockLocations", request)
        (located,) = answer.locations.blocks
        return located

    # The file is whole with the first of its two replicas that is reported.
    wait_until(lambda: len(block().locs) == 2)
    bad = block()
    namenode.call("reportBadBlocks", pb.ReportBadBlocksRequestProto(blocks=[bad]))
    namenode.close()


LEAVING: tuple[dict[str, Any], ...] = (
    {"port": 40_000, "adminState": "DECOMMISSIONED"},
    {"port": 40_001, "adminState": "IN_MAINTENANCE", "upgradeDomain": "ud1"},
    {"port": 40_002, "upgradeDomain": "ud2"},
)


def test_datanodes_that_leave_are_shown_as_by_hadoop(
    hadoop: Hadoop, ours: Scene, hadoop_tools: Any
) -> None:
    orders = [{"hostName": "127.0.0.1", **order} for order in LEAVING]
    hadoop.hosts.write_text(json.dumps(orders))
    hadoop_tools("refresh")
    ordered = [
        HostOrder(
            HostEntry("127.0.0.1", frozenset({"127.0.0.1"}), order["port"]),
            AdminState[order.get("adminState", "NORMAL")],
            upgrade_domain=order.get("upgradeDomain", ""),
        )
        for order in orders
    ]
    Administration(ours.namenode.namesystem).apply_hosts(Hosts.ordered(ordered))
    shown = "path=/&files=1&blocks=1&replicadetails=1"
    for text in (
        "path=/",
        shown,
        f"{shown}&maintenance=1",
        f"{shown}&upgradedomains=1",
        "path=/&maintenance=1&storagepolicies=1",
        "path=/&blockId=EXTRA FEW BAD ",
        "path=/&blockId=EXTRA FEW BAD &maintenance=1",
    ):
        check_same(hadoop, ours, text)
    said = hadoop.ask(hadoop.scene.query(f"{shown}&maintenance=1&ugi={hadoop.user}"))
    assert "(DECOMMISSIONING)" in said
    assert "(ENTERING MAINTENANCE)" in said


def comparable(text: str) -> list[str]:
    text = re.sub(r" at \w{3} \w{3} .* \d{4}", " at TIME", text)
    text = re.sub(r" in \d+ milliseconds", " in TIME", text)
    text = re.sub(r"BP-[-.\d]+", "POOL", text)
    lines = [re.sub(r"\[(.*)\]$", lambda m: sorted_list(m[1]), line) for line in text.split("\n")]
    # Replicas of one block, and lost blocks, have no order of their own.
    unordered = ("Block replica on", "blk_")
    return sorted(lines) if any(line.startswith(unordered) for line in lines) else lines


def sorted_list(text: str) -> str:
    return str(sorted(re.split(r", (?=Datanode|/)", text)))
