"""What an administrator asks about the cluster as a whole."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.message import Message

from howdah import errors
from howdah.namenode.service.calls.administration import Done, NodeFiles
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.service.protocols.refresh import Refreshing, UserMappings
from howdah.namenode.state.blocks.host_lists import Hosts
from howdah.namenode.state.blocks.topology import RackMap
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as datanode_pb
from howdah.proto import refresh_pb2
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import snake_case
from howdah.testing.in_memory import InMemoryNamenode, outcome

UNUSED: Any = None
METHODS = [
    method.name for method in pb.DESCRIPTOR.services_by_name["ClientNamenodeProtocol"].methods
]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_the_protocol_is_answered(method: str) -> None:
    families = InMemoryNamenode().client.families
    assert any(hasattr(family, snake_case(method)) for family in families)


@pytest.fixture(autouse=True)
def datanodes(nodes: Any) -> None:
    """Three of them, in every test."""


class Files:
    """Takes down what would be written, and calls back at once."""

    def __init__(self) -> None:
        self.written: dict[str, str] = {}
        self.nodes: NodeFiles | errors.HowdahError = NodeFiles(Hosts(), RackMap())

    def read_node_files(self, done: Callable[[NodeFiles | errors.HowdahError], None]) -> None:
        done(self.nodes)

    def write_log_file(self, name: str, text: str, done: Done) -> None:
        self.written[name] = text
        done(None)


@pytest.fixture
def files(client: Any) -> Files:
    files = Files()
    client.namenode.client.administration.files = files
    return files


def test_refreshing_nodes_is_answered_when_the_files_were_read(client: Any, files: Files) -> None:
    answer = client.call("refreshNodes", pb.RefreshNodesRequestProto())
    assert outcome(answer) == pb.RefreshNodesResponseProto()


def test_files_that_cannot_be_used_are_the_answer(client: Any, files: Files) -> None:
    files.nodes = errors.InvalidConfiguration("dfs.hosts: no such file")
    answer = client.call("refreshNodes", pb.RefreshNodesRequestProto())
    with pytest.raises(errors.InvalidConfiguration, match="no such file"):
        outcome(answer)


# The dump.


def dumped(client: Any, files: Files) -> list[str]:
    outcome(client.call("metaSave", pb.MetaSaveRequestProto(filename="dump")))
    return files.written["dump"].splitlines()


def test_the_dump_counts_names_blocks_and_datanodes(client: Any, files: Files) -> None:
    client.write("/f", 10)
    lines = dumped(client, files)
    assert lines[0] == "2 files and directories, 1 blocks = 3 total filesystem objects"
    assert f"Live Datanodes: {len(client.namenode.nodes)}" in lines
    assert any(line.startswith("10.0.0.1:9866 /r0 IN ") for line in lines)


def test_the_dump_names_blocks_with_too_few_replicas_and_with_none(
    client: Any, files: Files
) -> None:
    file = client.write("/f", 10)
    block = file.blocks[0]
    for node in client.namenode.nodes:
        node.drop(block.block_id)
    lines = dumped(client, files)
    place = lines.index("Metasave: Blocks currently missing: 1")
    assert lines[place + 1].startswith(f"/f: {block.name} MISSING (replicas: live: 0 ")


@pytest.mark.parametrize("name", ["", "..", "a/b", "../x", "x\0"])
def test_the_dump_stays_in_the_log_directory(client: Any, files: Files, name: str) -> None:
    with pytest.raises(errors.IllegalArgument):
        client.call("metaSave", pb.MetaSaveRequestProto(filename=name))
    assert not files.written


# Blocks that are lost.


def lost(client: Any, path: str, cookie: str = "") -> tuple[list[str], str]:
    request = pb.ListCorruptFileBlocksRequestProto(path=path, cookie=cookie or None)
    answer = client.call("listCorruptFileBlocks", request).corrupt
    return list(answer.files), answer.cookie


def test_files_that_lost_a_block_are_listed_below_a_path_until_there_are_no_more(
    client: Any,
) -> None:
    for path in ("/a/f", "/b/f", "/b/g"):
        file = client.write(path, 10)
        for node in client.namenode.nodes:
            if path != "/b/g":
                node.drop(file.blocks[0].block_id)
    files, cookie = lost(client, "/")
    assert files == ["/a/f", "/b/f"]
    assert lost(client, "/", cookie) == ([], cookie)
    assert lost(client, "/b")[0] == ["/b/f"]
    assert lost(client, "/b/f")[0] == ["/b/f"]
    for wrong in (f"{cookie[0]}_{cookie[1:]}", f" {cookie}", "\u0661", "\u00b2", "-1", "x"):
        with pytest.raises(errors.IllegalArgument, match="no cookie of this call"):
            lost(client, "/", wrong)


def test_corrupt_files_are_for_the_superuser(client: Any) -> None:
    client.user = "mallory"
    with pytest.raises(errors.AccessDenied):
        lost(client, "/")


def test_block_figures_tell_missing_from_too_few(client: Any) -> None:
    first = client.write("/one", 10)
    second = client.write("/two", 10, replication=2)
    client.namenode.nodes[0].drop(first.blocks[0].block_id)
    for node in client.namenode.nodes[:2]:
        if second.blocks[0].block_id in node.replicas[node.first_storage]:
            node.drop(second.blocks[0].block_id)
            break
    for node in client.namenode.nodes:
        node.drop(first.blocks[0].block_id)
    stats = client.call("getFsReplicatedBlockStats", pb.GetFsReplicatedBlockStatsRequestProto())
    assert (
        stats.low_redundancy,
        stats.missing_blocks,
        stats.missing_repl_one_blocks,
        stats.highest_prio_low_redundancy_blocks,
    ) == (1, 1, 1, 1)


# Datanodes.


def test_datanodes_are_told_the_bandwidth_once(client: Any) -> None:
    client.call("setBalancerBandwidth", pb.SetBalancerBandwidthRequestProto(bandwidth=1 << 20))
    node = client.namenode.nodes[0]
    [command] = node.heartbeat()
    assert command.cmdType == datanode_pb.DatanodeCommandProto.BalancerBandwidthCommand
    assert command.balancerCmd.bandwidth == 1 << 20
    assert node.heartbeat() == []


def test_a_report_says_when_a_datanode_last_reported(client: Any) -> None:
    client.namenode.clock.advance(5000)
    node = client.call("getDatanodeReport", pb.GetDatanodeReportRequestProto(type=pb.LIVE)).di[0]
    assert node.lastBlockReportTime == client.namenode.clock.wall_ms() - 5000


# Settings that are read anew.


def test_groups_are_looked_up_again_when_asked(client: Any) -> None:
    namesystem = client.namenode.namesystem
    zoe = Caller("zoe", b"", -1, 0, "10.9.9.9")
    assert namesystem.identities.of(zoe.user).groups == ()
    client.namenode.groups["zoe"] = ("staff",)
    Refreshing(namesystem, UNUSED, UNUSED).refresh_user_to_groups_mappings(
        refresh_pb2.RefreshUserToGroupsMappingsRequestProto(),
        Caller("root", b"", -1, 0, "10.9.9.9"),
    )
    assert namesystem.identities.of(zoe.user).groups == ("staff",)


def test_groups_are_looked_up_again_after_a_while() -> None:
    namenode = InMemoryNamenode(Settings("", identity_ms=1000))
    zoe = Caller("zoe", b"", -1, 0, "10.9.9.9")
    namenode.namesystem.identities.of(zoe.user)
    namenode.groups["zoe"] = ("staff",)
    namenode.clock.advance(999)
    assert namenode.namesystem.identities.of(zoe.user).groups == ()
    namenode.clock.advance(1)
    assert namenode.namesystem.identities.of(zoe.user).groups == ("staff",)


def test_anybody_may_have_groups_looked_up_again(client: Any) -> None:
    namesystem = client.namenode.namesystem
    zoe = Caller("zoe", b"", -1, 0, "10.9.9.9")
    namesystem.identities.of(zoe.user)
    client.namenode.groups["zoe"] = ("staff",)
    Refreshing(namesystem, UNUSED, UNUSED).refresh_user_to_groups_mappings(
        refresh_pb2.RefreshUserToGroupsMappingsRequestProto(), zoe
    )
    assert namesystem.identities.of(zoe.user).groups == ("staff",)


@pytest.mark.parametrize(
    ("method", "request_", "answer"),
    [
        (
            "refresh_super_user_groups_configuration",
            refresh_pb2.RefreshSuperUserGroupsConfigurationRequestProto(),
            refresh_pb2.RefreshSuperUserGroupsConfigurationResponseProto(),
        ),
        (
            "refresh_service_acl",
            refresh_pb2.RefreshServiceAclRequestProto(),
            refresh_pb2.RefreshServiceAclResponseProto(),
        ),
    ],
)
def test_rules_are_read_when_asked_and_the_answer_waits(
    client: Any, method: str, request_: Any, answer: Any
) -> None:
    looks: list[Callable[[errors.HowdahError | None], None]] = []
    others: list[Callable[[errors.HowdahError | None], None]] = []
    given = looks.append, others.append
    if method == "refresh_service_acl":
        given = others.append, looks.append
    refreshing = Refreshing(client.namenode.namesystem, *given)
    zoe = Caller("zoe", b"", -1, 0, "10.9.9.9")
    answers = [getattr(refreshing, method)(request_, zoe) for _ in range(2)]
    outcomes: list[object] = []
    for each in answers:
        each.when_settled(outcomes.append)
    assert outcomes == []
    looks[0](None)
    looks[1](errors.InvalidConfiguration("no rule"))
    assert outcomes[0] == answer
    assert isinstance(outcomes[1], errors.InvalidConfiguration)
    assert others == []


@pytest.mark.parametrize(
    ("method", "request_", "is_superusers"),
    [
        ("getDatanodeReport", pb.GetDatanodeReportRequestProto(type=pb.LIVE), True),
        ("getDatanodeStorageReport", pb.GetDatanodeStorageReportRequestProto(type=pb.LIVE), True),
        ("getSlowDatanodeReport", pb.GetSlowDatanodeReportRequestProto(), False),
        ("getFsStats", pb.GetFsStatusRequestProto(), False),
    ],
)
def test_who_may_ask_about_datanodes(
    client: Any, method: str, request_: Message, is_superusers: bool
) -> None:
    """All administrative calls are in tests/compat/hadoop_answers.json, "by a stranger"."""
    client.call(method, request_)
    refused = pytest.raises(errors.AccessDenied, match="Superuser privilege")
    with refused if is_superusers else contextlib.nullcontext():
        client.call(method, request_, user="mallory")


def groups_of(client: Any, user: str, when_known: Any) -> Any:
    mappings = UserMappings(client.namenode.namesystem, when_known)
    return mappings.get_groups_for_user(
        refresh_pb2.GetGroupsForUserRequestProto(user=user), Caller("zoe", b"", -1, 0, "10.9.9.9")
    )


def told(answer: Any) -> Any:
    outcomes: list[Any] = []
    answer.when_settled(outcomes.append)
    return outcomes[0] if outcomes else None


def test_anybody_is_told_the_groups_of_any_user(client: Any) -> None:
    client.namenode.groups["amy"] = ("staff", "ops")
    for user, groups in (("amy", ["staff", "ops"]), ("nobody-here", [])):
        answer = groups_of(client, user, lambda _, go_on: go_on(None))
        assert list(told(answer).groups) == groups


def test_groups_are_told_when_they_are_known_or_cannot_be(client: Any) -> None:
    waiting: dict[str, Any] = {}
    found, failed = (groups_of(client, user, waiting.__setitem__) for user in ("amy", "bob"))
    client.namenode.groups["amy"] = ("staff",)
    assert told(found) is None
    waiting["amy"](None)
    waiting["bob"](errors.RetriableError("no answer"))
    assert list(told(found).groups) == ["staff"]
    assert isinstance(told(failed), errors.RetriableError)


def test_groups_of_no_name_are_refused(client: Any) -> None:
    with pytest.raises(errors.IllegalArgument, match="Null user"):
        groups_of(client, "", None)


def test_what_there_is_not_is_not_refreshed(client: Any) -> None:
    refreshing = Refreshing(client.namenode.namesystem, UNUSED, UNUSED)
    root = Caller("root", b"", -1, 0, "10.9.9.9")
    with pytest.raises(errors.UnsupportedOperation, match="call queue"):
        refreshing.refresh_call_queue(refresh_pb2.RefreshCallQueueRequestProto(), root)


# Safe mode.


def safe_mode(client: Any, action: pb.SafeModeActionProto) -> bool:
    return bool(client.call("setSafeMode", pb.SetSafeModeRequestProto(action=action)).result)


def test_blocks_younger_than_the_metadata_are_not_given_up_but_by_force(client: Any) -> None:
    """Somebody starts the metadata of yesterday: today's blocks would be left over."""
    client.write("/yesterday", 10)
    old = client.namenode.restarted()
    client.write("/today", 700)
    [node, *_] = client.namenode.nodes
    ours = old.join("again", ip=node.ip)
    for found in client.namenode.nodes:
        ours.replicas[ours.first_storage] |= found.replicas[found.first_storage]
    ours.report()
    client.namenode = old
    old.tick(60_000)
    assert safe_mode(client, pb.SAFEMODE_GET)
    assert safe_mode(client, pb.SAFEMODE_LEAVE)
    stats = client.call("getFsStats", pb.GetFsStatusRequestProto())
    assert stats.blocks_in_future == 700
    assert not safe_mode(client, pb.SAFEMODE_FORCE_EXIT)


def test_only_the_superuser_changes_safe_mode(client: Any) -> None:
    client.user = "mallory"
    with pytest.raises(errors.AccessDenied):
        safe_mode(client, pb.SAFEMODE_ENTER)
    assert not safe_mode(client, pb.SAFEMODE_GET)


def test_defect_in_applying_the_files_is_the_answer(
    client: Any, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(hosts: Hosts) -> None:
        raise AssertionError("nobody foresaw this")

    monkeypatch.setattr(client.namenode.client.administration, "apply_hosts", fail)
    answer = client.call("refreshNodes", pb.RefreshNodesRequestProto())
    with pytest.raises(errors.RemoteError, match="refreshNodes failed on an internal error"):
        outcome(answer)
