"""The text of fsck: what it says of files, blocks and replicas, and its last line."""

from __future__ import annotations

import re
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.namenode.service.calls.administration import Administration
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.service.fsck.corrupt_files import some_corrupt
from howdah.namenode.service.fsck.options import Options, parse_options, user_of
from howdah.namenode.service.fsck.report import Fsck
from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.namenode.state.blocks.host_lists import HostEntry, HostOrder, Hosts
from howdah.namenode.state.blocks.policies import Policy
from howdah.namenode.state.inodes.inodes import Block, File
from howdah.proto import client_namenode_pb2 as pb
from howdah.runtime.users.names import real_user_of
from howdah.security.user_names import user_names
from howdah.testing.in_memory import POOL_ID, InMemoryDatanode, InMemoryNamenode


def figure(text: str, label: str) -> str:
    """The number behind a label."""
    found = re.search(rf"^ +{re.escape(label)}: ?\t+(\S+)", text, re.MULTILINE)
    assert found, f"{label} is in {text}"
    return found[1]


def last_line(text: str) -> str:
    return text.splitlines()[-1]


def only_block(namenode: InMemoryNamenode, path: str) -> Block:
    file = namenode.namesystem.namespace.find(path)
    assert isinstance(file, File)
    (block,) = file.blocks
    return block


def lose(nodes: list[InMemoryDatanode], block_id: int, count: int | None = None) -> None:
    """So many datanodes, or all, lose their replica."""
    holders = [n for n in nodes if any(block_id in found for found in n.replicas.values())]
    for node in holders[:count]:
        node.drop(block_id)


def spoil(client: Any, path: str) -> None:
    """Readers find every replica of the file's block corrupt."""
    (located,) = client.locations(path).blocks
    client.call("reportBadBlocks", pb.ReportBadBlocksRequestProto(blocks=[located]))


@pytest.mark.req("FS-020", "FS-078")
def test_files_and_their_blocks_are_listed_in_order(
    fsck: Any, client: Any, nodes: list[InMemoryDatanode]
) -> None:
    client.write("/b/f", 1024, 10, replication=2)
    client.write("/a", 5, replication=1)
    client.mkdirs("/c")
    said = fsck("/", "files", "blocks")
    tree = said.partition("\n\n")[2].partition("\n\nStatus")[0]
    block = f"{POOL_ID}:blk_"
    assert tree.splitlines() == [
        "/ <dir>",
        "/a 5 bytes, replicated: replication=1, 1 block(s):  OK",
        f"0. {block}1073741827_1003 len=5 Live_repl=1",
        "",
        "/b <dir>",
        "/b/f 1034 bytes, replicated: replication=2, 2 block(s):  OK",
        f"0. {block}1073741825_1001 len=1024 Live_repl=2",
        f"1. {block}1073741826_1002 len=10 Live_repl=2",
        "",
        "/c <dir>",
    ]
    assert figure(said, "Total dirs") == "3"
    assert figure(said, "Total files") == "2"
    assert figure(said, "Total size") == "1039"
    assert figure(said, "Average block replication") == "1.6666666"
    assert last_line(said) == "The filesystem under path '/' is HEALTHY"


def test_an_empty_tree_is_healthy(fsck: Any) -> None:
    said = fsck("/")
    assert "Minimally replicated blocks:\t0\n" in said
    assert "Missing replicas:\t\t0\n" in said
    assert last_line(said) == "The filesystem under path '/' is HEALTHY"


def test_a_block_with_too_few_replicas_is_named(
    fsck: Any, client: Any, nodes: list[InMemoryDatanode], namenode: InMemoryNamenode
) -> None:
    client.write("/f", 10, replication=3)
    block = only_block(namenode, "/f")
    lose(nodes, block.block_id, 2)
    said = fsck("/")
    assert (
        f"\n/f:  Under replicated {POOL_ID}:{block.name}. Target Replicas is 3 but found 1 live "
        "replica(s), 0 decommissioned replica(s), 0 decommissioning replica(s).\n"
    ) in said
    assert figure(said, "Under-replicated blocks") == "1"
    assert "Missing replicas:\t\t2 (66.666664 %)" in said
    assert last_line(said).endswith("is HEALTHY")


def test_a_file_whose_block_nobody_has_makes_the_tree_corrupt(
    fsck: Any, client: Any, nodes: list[InMemoryDatanode], namenode: InMemoryNamenode
) -> None:
    client.write("/f", 10, replication=2)
    client.write("/g", 10, replication=1)
    lose(nodes, only_block(namenode, "/f").block_id)
    said = fsck("/")
    assert "\n/f: MISSING 1 blocks of total size 10 B." in said
    assert (
        "  ********************************\n"
        "  UNDER MIN REPL'D BLOCKS:\t1 (50.0 %)\n"
        "  MINIMAL BLOCK REPLICATION:\t1\n"
        "  CORRUPT FILES:\t1\n"
        "  MISSING BLOCKS:\t1\n"
        "  MISSING SIZE:\t\t10 B\n"
        "  ********************************\n"
    ) in said
    assert last_line(said) == "The filesystem under path '/' is CORRUPT"
    assert " MISSING 1 blocks of total size 10 B\n" in fsck("/", "files")
    assert " MISSING!\n" in fsck("/f", "files", "blocks")
    assert last_line(fsck("/g")) == "The filesystem under path '/g' is HEALTHY"


@pytest.mark.req("FS-100")
def test_a_block_whose_replicas_are_all_corrupt_is_told_from_a_missing_one(
    fsck: Any, client: Any, nodes: list[InMemoryDatanode], namenode: InMemoryNamenode
) -> None:
    client.write("/f", 10, replication=3)
    block = only_block(namenode, "/f")
    spoil(client, "/f")
    said = fsck("/")
    assert f"\n/f: CORRUPT blockpool {POOL_ID} block blk_{block.block_id}\n" in said
    assert "\n/f: CORRUPT 1 blocks of total size 10 B." in said
    assert "  CORRUPT BLOCKS: \t1\n  CORRUPT SIZE:\t\t10 B\n" in said
    assert figure(said, "Missing blocks") == "0"
    assert last_line(said) == "The filesystem under path '/' is CORRUPT"
    assert said.count("(CORRUPT)") == 0
    assert fsck("/", "files", "blocks", "replicadetails").count("(CORRUPT)") == 3


def test_replicas_are_shown_by_node_rack_and_state(
    fsck: Any, client: Any, nodes: list[InMemoryDatanode], namenode: InMemoryNamenode
) -> None:
    client.write("/f", 10, replication=1)
    (storage,) = only_block(namenode, "/f").replicas
    node = storage.node
    whole = f"DatanodeInfoWithStorage[{node.name},{storage.storage_id},DISK]"
    shown = {
        ("locations",): f"  [{whole}]",
        ("racks",): f"  [{node.location}/{node.name}]",
        ("replicadetails",): f"  [{whole}(LIVE)]",
        ("upgradedomains",): f"  [{whole}(ud=undefined)]",
        ("racks", "replicadetails"): f"  [{node.location}/{node.name}(LIVE)]",
    }
    for flags, where in shown.items():
        assert f" Live_repl=1{where}\n" in fsck("/", "files", "blocks", *flags)
    namenode.clock.advance(namenode.settings.stale_datanode_ms + 1)
    assert "(STALE_NODE)" in fsck("/", "files", "blocks", "replicadetails")


def test_a_block_on_too_few_racks_is_named(
    fsck: Any, client: Any, nodes: list[InMemoryDatanode], namenode: InMemoryNamenode
) -> None:
    client.write("/f", 10, replication=3)
    block = only_block(namenode, "/f")
    lonely = next(s.node for s in block.replicas if s.node.location == "/r1")
    next(n for n in nodes if n.uuid == lonely.identity.uuid).drop(block.block_id)
    said = fsck("/")
    assert (
        f"/f:  Replica placement policy is violated for {POOL_ID}:{block.name}. Block should be "
        "additionally replicated on 1 more rack(s). Total number of racks in the cluster: 2\n"
    ) in said
    assert figure(said, "Mis-replicated blocks") == "1"
    assert figure(said, "Blocks queued for replication") == "0"
    assert figure(fsck("/", "replicate"), "Blocks queued for replication") == "1"


@pytest.mark.parametrize(
    "settings", [Settings("", min_block_size_bytes=512, block_size_bytes=1024)]
)
def test_files_that_are_being_written_are_counted_apart_or_shown(
    fsck: Any, client: Any, nodes: list[InMemoryDatanode]
) -> None:
    client.create("/f", replication=2)
    first = client.store(client.add_block("/f"), 1024)
    client.add_block("/f", first)
    said = fsck("/")
    assert " (Files currently being written: 1)\n" in said
    assert " (Total open files size: 1024 B)\n" in said
    assert " (Total open file blocks (not validated): 1)\n" in said
    assert figure(said, "Total files") == "0"
    said = fsck("/", "files", "blocks", "openforwrite")
    assert "/f 1024 bytes, replicated: replication=2, 1 block(s), OPENFORWRITE:  OK\n" in said
    assert "\nUnder Construction Block:\n1. " in said
    assert "Expected_repl=2\n" in said
    assert figure(said, "Total files") == "1"


def test_snapshots_come_before_their_directory(
    fsck: Any, client: Any, nodes: list[InMemoryDatanode], namenode: InMemoryNamenode
) -> None:
    client.write("/d/f", 10)
    client.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/d"))
    client.call(
        "createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/d", snapshotName="s1")
    )
    client.delete("/d/f")
    said = fsck("/", "files", "includeSnapshots")
    assert re.findall(r"^(/\S*) ", said, re.MULTILINE) == [
        "/",
        "/d/.snapshot",
        "/d/.snapshot/s1",
        "/d/.snapshot/s1/f",
        "/d",
    ]
    assert figure(said, "Total files") == "1"
    assert figure(fsck("/"), "Total files") == "0"
    assert last_line(fsck("/d/.snapshot/s1", "files")).endswith("is HEALTHY")
    lose(nodes, 1073741825)
    assert last_line(fsck("/", "includeSnapshots")).endswith("is CORRUPT")
    listed = fsck("/", "listcorruptfileblocks", "includeSnapshots")
    assert "\nblk_1073741825\t/d/.snapshot/s1/f\n" in listed


def test_storage_types_are_summed_up_by_policy(
    fsck: Any, client: Any, nodes: list[InMemoryDatanode]
) -> None:
    client.write("/f", 10, replication=3)
    client.write("/g", 10, replication=3)
    said = fsck("/", "storagepolicies")
    assert (
        "Storage Policy                  # of blocks       % of blocks\n"
        "DISK:3(HOT)                        2             100.0000%\n"
        "\nAll blocks satisfy specified storage policy.\n"
    ) in said
    client.call("setStoragePolicy", pb.SetStoragePolicyRequestProto(src="/g", policyName="COLD"))
    assert (
        "\nBlocks NOT satisfying the specified storage policy:\n"
        "Storage Policy                  Specified Storage Policy      # of blocks       "
        "% of blocks\n"
        "DISK:3(HOT)                         COLD                          1"
        "              50.0000%\n"
    ) in fsck("/", "storagepolicies")


def test_what_is_not_there_is_said_to_be_so(fsck: Any) -> None:
    said = fsck("/nowhere")
    assert said.startswith("FSCK started by root (auth:SIMPLE) from /10.9.9.9 for path /nowhere at")
    assert said.endswith("\n\n\nPath '/nowhere' does not exist")


# Single blocks, and the list of lost ones.


def test_a_block_says_whose_it_is_and_how_its_replicas_are(
    fsck: Any, client: Any, nodes: list[InMemoryDatanode]
) -> None:
    client.write("/f", 10, replication=2)
    said = fsck(blockId="blk_1073741825 other blk_1 ")
    assert "\nBlock Id: blk_1073741825\nBlock belongs to: /f\nNo. of Expected Replica: 2\n" in said
    assert "No. of live Replica: 2\nNo. of excess Replica: 0\n" in said
    assert "maintenance" not in said
    assert said.count(" is HEALTHY\n") == 2
    assert said.endswith("Incorrect blockId format: other\n\nBlock blk_1 does not exist\n")
    assert "No. of in maintenance Replica: 0\n" in fsck(
        "/", "maintenance", blockId="blk_1073741825"
    )


def test_an_excess_replica_is_one_until_it_is_deleted(
    fsck: Any, client: Any, nodes: list[InMemoryDatanode], namenode: InMemoryNamenode
) -> None:
    client.write("/f", 10, replication=3)
    client.set_replication("/f", 2)
    namenode.tick()
    said = fsck(blockId="blk_1073741825")
    assert "No. of live Replica: 2\nNo. of excess Replica: 1\n" in said
    assert said.count(" is EXCESS\n") == 1
    assert fsck("/", "files", "blocks", "replicadetails").count("(EXCESS)") == 1


def test_blocks_that_nobody_has_are_listed_page_by_page(
    fsck: Any,
    client: Any,
    nodes: list[InMemoryDatanode],
    namenode: InMemoryNamenode,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("howdah.namenode.service.fsck.corrupt_files.MAX_LINES", 2)
    assert fsck("/", "listcorruptfileblocks").endswith(
        "Cookie:\t0\n\n\nThe filesystem under path '/' has no CORRUPT files\n\n"
    )
    for name in "abc":
        client.write(f"/d/{name}", 10, replication=2)
        lose(nodes, only_block(namenode, f"/d/{name}").block_id)
    lines = ["blk_1073741825\t2\t/d/a", "blk_1073741826\t2\t/d/b", "blk_1073741827\t2\t/d/c"]
    namenode.tick()
    assert some_corrupt(namenode.namesystem) == lines
    monkeypatch.setattr("howdah.namenode.service.fsck.corrupt_files.MAX_SHOWN", 1)
    assert some_corrupt(namenode.namesystem) == lines[:1]
    first = fsck("/d", "listcorruptfileblocks")
    assert first.endswith(
        "Cookie:\t2\nblk_1073741825\t2\t/d/a\nblk_1073741826\t2\t/d/b\n\n\n"
        "The filesystem under path '/d' has 2 CORRUPT files\n\n"
    )
    second = fsck("/d", "listcorruptfileblocks", startblockafter="2")
    assert "Cookie:\t3\nblk_1073741827\t2\t/d/c\n" in second
    third = fsck("/d", "listcorruptfileblocks", startblockafter="3")
    assert "has no more CORRUPT files\n" in third


# Datanodes that are not in service.


def order(namenode: InMemoryNamenode, node: InMemoryDatanode, state: AdminState) -> None:
    entry = HostEntry(node.ip, frozenset({node.ip}))
    Administration(namenode.namesystem).apply_hosts(
        Hosts.ordered([HostOrder(entry, state, upgrade_domain="ud1")])
    )


def test_replicas_on_datanodes_that_leave_are_told_apart(
    fsck: Any, client: Any, nodes: list[InMemoryDatanode], namenode: InMemoryNamenode
) -> None:
    client.write("/f", 10, replication=2)
    block = only_block(namenode, "/f")
    name = f"blk_{block.block_id}"
    leaving = next(n for n in nodes if block.block_id in n.replicas[n.first_storage])
    order(namenode, leaving, AdminState.DECOMMISSIONED)
    said = fsck("/", "files", "blocks", "replicadetails", "upgradedomains")
    assert " Live_repl=1  [" in said
    assert "(ud=ud1)(DECOMMISSIONING)" in said
    assert figure(said, "DecommissioningReplicas") == "1"
    assert figure(said, "Under-replicated blocks") == "0"
    assert fsck(blockId=name).count(" is DECOMMISSIONING\n") == 1
    other = next(n for n in nodes if block.block_id not in n.replicas[n.first_storage])
    other.store(block.block_id, block.generation_stamp, 10)
    for _ in range(2):
        namenode.clock.advance(namenode.settings.leaving_interval_ms)
        for node in nodes:
            node.heartbeat()
        namenode.tick()
    said = fsck("/", "files", "blocks", "replicadetails")
    assert "(DECOMMISSIONED)" in said
    assert figure(said, "DecommissionedReplicas") == "1"
    assert fsck(blockId=name).count(" is DECOMMISSIONED\n") == 1


def test_maintenance_is_shown_on_demand(
    fsck: Any, client: Any, nodes: list[InMemoryDatanode], namenode: InMemoryNamenode
) -> None:
    client.write("/f", 10, replication=3)
    order(namenode, nodes[0], AdminState.IN_MAINTENANCE)
    shown = ("files", "blocks", "replicadetails")
    assert fsck("/", *shown).count("(LIVE)") == 3
    said = fsck("/", "maintenance", *shown)
    assert said.count("(LIVE)") == 2
    assert said.count("(ENTERING MAINTENANCE)") == 1
    assert figure(said, "EnteringMaintenanceReplicas") == "1"
    lose(nodes[2:], 1073741825)
    assert (
        "found 1 live replica(s), 0 decommissioned replica(s), 0 decommissioning replica(s)1, "
        "entering maintenance replica(s) and 0 in maintenance replica(s).\n"
    ) in fsck("/", "maintenance")
    said = fsck("/", "maintenance", blockId="blk_1073741825")
    assert "No. of entering maintenance Replica: 1\nNo. of in maintenance Replica: 0\n" in said
    assert said.count(" is ENTERING MAINTENANCE\n") == 1
    assert fsck(blockId="blk_1073741825").count(" is HEALTHY\n") == 2


# Who may see what, and what changes something.


def test_a_run_fails_at_what_its_caller_may_not_list_or_read(
    fsck: Any, client: Any, alice: Any, nodes: list[InMemoryDatanode]
) -> None:
    alice.write("/user/alice/f", 10)
    assert last_line(fsck("/", user="bob")).endswith("is HEALTHY")
    client.write("/user/alice/secret", 10, mode=0o600)
    said = fsck("/", "files", user="bob")
    assert "\n/user/alice/f 10 bytes" in said
    assert 'Permission denied: user=bob, access=READ, inode="/user/alice/secret"' in said
    assert last_line(said) == "Fsck on path '/' FAILED"
    client.delete("/user/alice/secret")
    client.chmod("/user/alice", 0o700)
    assert last_line(fsck("/", user="bob")) == "Fsck on path '/' FAILED"
    assert last_line(fsck("/user/alice", user="alice")).endswith("is HEALTHY")


@pytest.mark.parametrize("query", [{"blockId": "blk_1"}, {"listcorruptfileblocks": "1"}])
def test_only_the_superuser_asks_for_single_and_for_lost_blocks(
    fsck: Any, query: dict[str, str]
) -> None:
    said = fsck(user="bob", **query)
    assert "\nAccess denied for user bob. Superuser privilege is required for operation " in said
    assert last_line(said) == "Fsck on path '/' FAILED"
    assert "FAILED" not in fsck(**query)


def test_damaged_files_are_deleted_on_demand_by_who_may(
    fsck: Any, client: Any, alice: Any, nodes: list[InMemoryDatanode], namenode: InMemoryNamenode
) -> None:
    client.write("/f", 10)
    client.write("/good", 10)
    lose(nodes, only_block(namenode, "/f").block_id)
    said = fsck("/", "delete", user="bob")
    assert "fsck encountered internal errors!" in said
    assert last_line(said) == "Fsck on path '/' FAILED"
    assert client.exists("/f")
    assert last_line(fsck("/", "delete")) == "The filesystem under path '/' is CORRUPT"
    assert not client.exists("/f")
    assert client.exists("/good")
    assert last_line(fsck("/")).endswith("is HEALTHY")


def test_nothing_is_copied_or_deleted_with_move(
    fsck: Any, client: Any, nodes: list[InMemoryDatanode], namenode: InMemoryNamenode
) -> None:
    client.write("/f", 10)
    lose(nodes, only_block(namenode, "/f").block_id)
    said = fsck("/", "move", "delete")
    assert "no file was moved or deleted" in said
    assert last_line(said) == "Fsck on path '/' FAILED"
    assert client.exists("/f")


def test_a_standby_says_that_it_is_one(namenode: InMemoryNamenode) -> None:
    def refuse() -> None:
        raise errors.StandbyError("Operation category READ is not supported in state standby")

    said = "".join(Fsck(namenode.namesystem, refuse).run("root", "10.9.9.9", Options()))
    assert "\nOperation category READ is not supported in state standby\n" in said
    assert last_line(said) == "Fsck on path '/' FAILED"


# Slices.


def test_a_tree_that_changes_between_slices_is_walked_to_its_end(
    client: Any,
    nodes: list[InMemoryDatanode],
    namenode: InMemoryNamenode,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("howdah.namenode.service.fsck.report.SLICE_WORK", 1)
    monkeypatch.setattr("howdah.namenode.service.fsck.check.SLICE_BLOCKS", 1)
    monkeypatch.setattr("howdah.namenode.service.fsck.traversal.PAGE_NAMES", 2)
    for name in "abcdef":
        client.write(f"/d/{name}", 1024, 10)
    said = ""
    for piece in Fsck(namenode.namesystem).run("root", "10.9.9.9", Options(files=True)):
        said += piece
        if "/d/b " in piece:
            client.delete("/d/a")
            client.delete("/d/b")  # Its second block is still to come.
            client.delete("/d/d")
            client.write("/d/aa", 10)
            client.write("/d/g", 10)
        if "/d/e " in piece:
            client.rename("/d", "/moved")
    assert re.findall(r"^(/d/\w+) ", said, re.MULTILINE) == ["/d/a", "/d/b", "/d/c", "/d/e"]
    assert last_line(said).endswith("is HEALTHY")


@pytest.mark.parametrize("name", ["/d", "/d/.snapshot/s1"])
def test_a_directory_that_goes_before_it_is_listed_is_listed_no_more(
    client: Any,
    nodes: list[InMemoryDatanode],
    namenode: InMemoryNamenode,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    monkeypatch.setattr("howdah.namenode.service.fsck.report.SLICE_WORK", 1)
    client.write("/d/f", 10)
    client.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/d"))
    snapshot = {"snapshotRoot": "/d", "snapshotName": "s1"}
    client.call("createSnapshot", pb.CreateSnapshotRequestProto(**snapshot))
    options = Options(files=True, include_snapshots=name != "/d")
    said = ""
    for piece in Fsck(namenode.namesystem).run("root", "10.9.9.9", options):
        said += piece
        if f"{name} <dir>" in piece:
            client.call("deleteSnapshot", pb.DeleteSnapshotRequestProto(**snapshot))
            client.call("disallowSnapshot", pb.DisallowSnapshotRequestProto(snapshotRoot="/d"))
            client.rename("/d", "/moved")
    assert re.findall(r"^(/[d.]\S*/f) ", said, re.MULTILINE) == []
    assert last_line(said).endswith("is HEALTHY")


def test_dots_show_progress(fsck: Any, client: Any) -> None:
    client.mkdirs("/d")
    for number in range(210):
        client.create(f"/d/{number}")
        assert client.complete(f"/d/{number}") is True
    assert "\n\n..\nStatus: HEALTHY\n" in fsck("/")
    assert fsck("/", "showprogress").startswith("The fsck switch -showprogress is deprecated")


# Requests.


def test_parameters_that_are_there_count_whatever_they_say() -> None:
    assert parse_options({"files": "0", "racks": "", "unknown": "1"}) == Options(
        files=True, racks=True
    )
    assert parse_options({"blockId": "blk_1  blk_2 "}).block_ids == ("blk_1", "", "blk_2")


@pytest.mark.parametrize("number", ["-1", "x", "", "9" * 30, "²"])
def test_a_number_that_is_none_is_refused(number: str) -> None:
    with pytest.raises(errors.IllegalArgument):
        parse_options({"startblockafter": number})


def test_who_asks_is_the_first_name() -> None:
    assert user_of({"ugi": "alice,staff,web"}) == "alice"
    assert user_of({"ugi": "alice", "user.name": "bob"}) == "bob"
    assert user_of({}) == "dr.who"


def test_who_asks_and_for_whom_are_users_and_no_principals() -> None:
    names = user_names(Configuration({"hadoop.security.auth_to_local": "RULE:[2:$1]"}))
    acting = user_of({"ugi": "hive/host@R", "doas": "bob/x"}, names=names)
    assert (acting, real_user_of(acting)) == ("bob", "hive")
    assert user_of({"ugi": "hive/host@R"}, "hive", names) == "hive"
    for query in ({"ugi": "bob/x"}, {"user.name": "bob@R"}, {"ugi": "hive", "doAs": "bob/x"}):
        with pytest.raises(errors.IllegalArgument, match="Illegal principal name"):
            user_of(query)


@pytest.mark.parametrize(
    "settings",
    [Settings("", min_block_size_bytes=512, block_size_bytes=1024, placement=Policy(domains=3))],
)
def test_a_block_in_too_few_upgrade_domains_is_named(
    fsck: Any, client: Any, nodes: list[InMemoryDatanode], namenode: InMemoryNamenode
) -> None:
    client.write("/f", 10, replication=3)
    block = only_block(namenode, "/f")
    orders = [
        HostOrder(HostEntry(node.ip, frozenset((node.ip,))), upgrade_domain="u1") for node in nodes
    ]
    Administration(namenode.namesystem).apply_hosts(Hosts.ordered(orders))
    said = fsck("/")
    assert (
        f"/f:  Replica placement policy is violated for {POOL_ID}:{block.name}. The block has 3 "
        "replicas. But it only has 1 upgrade domains [u1].\n"
    ) in said
    assert figure(said, "Mis-replicated blocks") == "1"


def test_a_lost_block_of_an_open_file_is_told_of(client: Any, nodes: Any, fsck: Any) -> None:
    """Hadoop finds the filesystem healthy."""
    client.create("/a")
    first = client.store(client.add_block("/a"), 1024)
    client.add_block("/a", first)
    assert "Status: HEALTHY" in fsck()
    for node in nodes:
        node.drop(first.blockId)
    text = fsck()
    assert "\n/a: MISSING 1 blocks of total size 1024 B." in text
    assert "Status: CORRUPT" in text
    assert " (Files currently being written: 1)" in text


def test_a_block_that_is_being_written_is_not_missing(client: Any, nodes: Any, fsck: Any) -> None:
    client.mkdirs("/d")
    client.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/d"))
    client.create("/d/a")
    block = client.add_block("/d/a")
    writing = [n for n in nodes if n.uuid in {place.id.datanodeUuid for place in block.locs}]
    for node in writing:
        node.store(block.b.blockId, block.b.generationStamp, 7, finalized=False)
    client.fsync("/d/a", 7)
    client.call(
        "createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/d", snapshotName="s")
    )
    for text in (fsck(), fsck("/d/.snapshot/s")):
        assert "Status: HEALTHY" in text
        assert " Missing blocks:\t\t0" in text
    assert " Total blocks (validated):\t1" in fsck("/d/.snapshot/s")
    for node in writing:
        node.drop(block.b.blockId)
        node.known.alive = False
    assert "Status: CORRUPT" in fsck("/d/.snapshot/s")
    assert "Status: CORRUPT" in fsck()
