"""Settings that a running namenode takes anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.namenode.server.process.settings import settings_from
from howdah.namenode.service.protocols.refresh import RECONFIGURABLE, Reconfiguration
from howdah.namenode.state.blocks.policies import BY_DEFAULT
from howdah.proto import client_datanode_pb2 as pb
from howdah.protocol.rpc.call import Caller
from howdah.testing.in_memory import SUPERUSER, InMemoryNamenode

OTHERS = {
    "dfs.block.invalidate.limit": "77",
    "dfs.block.replicator.classname": "BlockPlacementPolicyRackFaultTolerant",
    "dfs.heartbeat.interval": "1",
    "dfs.namenode.avoid.read.slow.datanode": "true",
    "dfs.namenode.block-placement-policy.exclude-slow-nodes.enabled": "true",
    "dfs.namenode.heartbeat.recheck-interval": "20000",
    "dfs.namenode.max.slowpeer.collect.nodes": "2",
    "dfs.namenode.reconstruction.pending.timeout-sec": "30",
    "dfs.namenode.replication.max-streams": "5",
    "dfs.namenode.replication.max-streams-hard-limit": "9",
    "dfs.namenode.replication.work.multiplier.per.iteration": "6",
    "dfs.storage.policy.satisfier.mode": "external",
    "fs.protected.directories": "/kept, /kept/too/",
}
"""A value of each that is not its default."""


class Subject:
    """A namenode whose files a test changes. They are read when the test says so."""

    def __init__(self, namenode: InMemoryNamenode) -> None:
        self.namesystem = namenode.namesystem
        conf = Configuration()
        self.files: Any = {name: conf.raw(name) or "" for name in RECONFIGURABLE}
        self.reading: list[Callable[[Any], None]] = []

        def settings_with(values: Mapping[str, str]) -> Any:
            return settings_from(Configuration(dict(values)), "BP-1")

        self.task = Reconfiguration(
            self.namesystem, dict(self.files), self.reading.append, settings_with
        )

    def start(self, user: str = SUPERUSER) -> None:
        self.task.start_reconfiguration(pb.StartReconfigurationRequestProto(), self.caller(user))

    def read(self) -> None:
        self.reading.pop()(self.files)

    def status(self) -> pb.GetReconfigurationStatusResponseProto:
        return self.task.get_reconfiguration_status(
            pb.GetReconfigurationStatusRequestProto(), self.caller(SUPERUSER)
        )

    @staticmethod
    def caller(user: str) -> Caller:
        return Caller(user, b"", 0, 0, "10.9.9.9")


@pytest.fixture
def subject(namenode: InMemoryNamenode) -> Subject:
    return Subject(namenode)


def test_each_key_is_declared_and_has_another_value_here() -> None:
    conf = Configuration()
    assert OTHERS.keys() == RECONFIGURABLE.keys()
    assert list(RECONFIGURABLE) == sorted(RECONFIGURABLE)
    assert all(conf.raw(name) != value for name, value in OTHERS.items())
    assert all(conf.raw(name) is not None for name in RECONFIGURABLE)


def test_every_value_arrives_where_it_counts(subject: Subject) -> None:
    namesystem = subject.namesystem
    subject.files |= OTHERS
    version = namesystem.block_manager.placement.network.version
    subject.start()
    subject.read()
    assert [(c.name, c.newValue, c.errorMessage) for c in subject.status().changes] == [
        (name, value, "") for name, value in OTHERS.items()
    ]
    assert namesystem.settings.deletions_per_command == 77
    assert namesystem.block_manager.placement.policy != BY_DEFAULT
    assert namesystem.block_manager.placement.network.version > version, (
        "all blocks are looked at again"
    )
    assert (
        namesystem.datanode_manager.datanodes.expiry_ms
        == namesystem.settings.heartbeat_expiry_ms
        == 2 * 20_000 + 10 * 1000
    )
    assert namesystem.settings.datanode_moves_ms == 3000
    assert namesystem.settings.avoid_slow_for_reading
    assert namesystem.settings.avoid_slow_for_writing
    assert namesystem.datanode_manager.slow_peers._most == 2
    streams = namesystem.block_manager.reconstruction.streams
    assert (streams.ordinary, streams.most) == (5, 9)
    assert namesystem.block_manager.reconstruction._blocks_per_node == 6
    assert namesystem.block_manager.reconstruction._pending_timeout_ms == 30_000
    assert namesystem.settings.protected_directories.paths == ("/kept", "/kept/too")


def test_one_that_cannot_be_keeps_its_value_and_the_others_change(subject: Subject) -> None:
    subject.files |= {
        "dfs.block.invalidate.limit": "many",
        "dfs.namenode.replication.max-streams": "3",
    }
    subject.start()
    subject.read()
    first, second = subject.status().changes
    assert (first.name, "many" in first.errorMessage) == ("dfs.block.invalidate.limit", True)
    assert (second.name, second.errorMessage) == ("dfs.namenode.replication.max-streams", "")
    assert subject.namesystem.settings.deletions_per_command == 1000
    subject.files |= {"dfs.block.invalidate.limit": "50"}
    subject.start()
    subject.read()
    (change,) = subject.status().changes
    assert (change.oldValue, change.newValue, change.errorMessage) == ("1000", "50", "")


def test_one_look_is_taken_at_a_time(subject: Subject) -> None:
    assert subject.status().startTime == 0
    subject.start()
    assert not subject.status().HasField("endTime")
    with pytest.raises(errors.RemoteError, match="Another reconfiguration task is running"):
        subject.start()
    subject.read()
    assert subject.status().HasField("endTime")
    assert list(subject.status().changes) == []


def test_files_that_cannot_be_read_are_told(subject: Subject) -> None:
    subject.files = errors.InvalidConfiguration("hdfs-site.xml is no XML")
    subject.start()
    subject.read()
    (change,) = subject.status().changes
    assert change.errorMessage == "hdfs-site.xml is no XML"


def test_it_is_for_the_superuser(subject: Subject) -> None:
    with pytest.raises(errors.AccessDenied):
        subject.start("mallory")
