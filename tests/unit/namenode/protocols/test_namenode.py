"""What a secondary namenode asks: who may, and what it is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from google.protobuf.message import Message

from howdah import errors
from howdah.namenode.protocols.namenode import FirstAndLast, NamenodeProtocol
from howdah.proto import datanode_namenode_pb2 as server_pb
from howdah.proto import namenode_pb2 as pb
from howdah.rpc.service import Caller
from howdah.testing.in_memory import CLUSTER, outcome


class Source:
    """A log of two finished segments, and an image before them."""

    rolls = 0
    finalized = True
    failure: errors.HowdahError | None = None

    def roll_edits(self) -> int:
        self.rolls += 1
        return 31

    def image_txid(self) -> int:
        return 10

    def is_upgrade_finalized(self) -> bool:
        return self.finalized

    def list_finished(
        self,
        since_txid: int,
        told: Callable[[Sequence[FirstAndLast] | errors.HowdahError], None],
    ) -> None:
        if self.failure is not None:
            told(self.failure)
            return
        told([each for each in ((11, 20), (21, 30)) if each[1] >= since_txid])


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def protocol(client: Any, source: Source) -> NamenodeProtocol:
    return NamenodeProtocol(client.namenode.core, CLUSTER, source)


def caller(user: str = "root") -> Caller:
    return Caller(user, "10.9.9.9", b"", -1, 0)


def registration() -> server_pb.NamenodeRegistrationProto:
    return server_pb.NamenodeRegistrationProto(
        rpcAddress="a:1", httpAddress="a:2", storageInfo=CLUSTER.storage_info()
    )


def test_roll_says_where_the_log_and_the_newest_image_are(protocol: NamenodeProtocol) -> None:
    told = protocol.roll_edit_log(pb.RollEditLogRequestProto(), caller()).signature
    assert (told.mostRecentCheckpointTxId, told.curSegmentTxId) == (10, 31)
    assert told.storageInfo.clusterID == CLUSTER.cluster_id


def test_roll_is_refused_in_safe_mode(
    client: Any, protocol: NamenodeProtocol, source: Source
) -> None:
    client.namenode.core.safe_mode.enter()
    with pytest.raises(errors.SafeMode, match="Log not rolled"):
        protocol.roll_edit_log(pb.RollEditLogRequestProto(), caller())
    assert not source.rolls


def test_finished_segments_are_listed(protocol: NamenodeProtocol) -> None:
    request = pb.GetEditLogManifestRequestProto(sinceTxId=21)
    answer = outcome(protocol.get_edit_log_manifest(request, caller()))
    assert isinstance(answer, pb.GetEditLogManifestResponseProto)
    assert [(log.startTxId, log.endTxId) for log in answer.manifest.logs] == [(21, 30)]


def test_a_log_that_cannot_be_listed_is_said(protocol: NamenodeProtocol, source: Source) -> None:
    source.failure = errors.RemoteError("no disk")
    request = pb.GetEditLogManifestRequestProto(sinceTxId=21)
    answer = protocol.get_edit_log_manifest(request, caller())
    assert answer._outcome is source.failure


@pytest.mark.parametrize("finalized", [True, False])
def test_upgrade_that_waits_is_told(
    protocol: NamenodeProtocol, source: Source, finalized: bool
) -> None:
    source.finalized = finalized
    request = pb.IsUpgradeFinalizedRequestProto()
    assert protocol.is_upgrade_finalized(request, caller()).isUpgradeFinalized is finalized


ASKED: list[tuple[str, Message]] = [
    ("get_transaction_id", pb.GetTransactionIdRequestProto()),
    ("get_most_recent_checkpoint_tx_id", pb.GetMostRecentCheckpointTxIdRequestProto()),
    ("roll_edit_log", pb.RollEditLogRequestProto()),
    ("get_edit_log_manifest", pb.GetEditLogManifestRequestProto(sinceTxId=1)),
    ("get_block_keys", pb.GetBlockKeysRequestProto()),
    ("is_upgrade_finalized", pb.IsUpgradeFinalizedRequestProto()),
    ("is_rolling_upgrade", pb.IsRollingUpgradeRequestProto()),
    (
        "error_report",
        pb.ErrorReportRequestProto(registration=registration(), errorCode=1, msg="disk"),
    ),
]


@pytest.mark.parametrize(("method", "request_"), ASKED, ids=[method for method, _ in ASKED])
def test_only_the_superuser_may_ask(
    protocol: NamenodeProtocol, method: str, request_: Message
) -> None:
    assert getattr(protocol, method)(request_, caller()) is not None
    with pytest.raises(errors.AccessDenied):
        getattr(protocol, method)(request_, caller("mallory"))


def test_anybody_may_ask_for_the_version(protocol: NamenodeProtocol) -> None:
    """Hadoop's balancer and benchmarks of other users do."""
    answer = protocol.version_request(server_pb.VersionRequestProto(), caller("mallory"))
    assert answer.info.blockPoolID


def test_backup_nodes_are_refused_by_name(protocol: NamenodeProtocol) -> None:
    with pytest.raises(errors.UnsupportedOperation, match="backup and checkpoint nodes"):
        protocol.start_checkpoint(
            pb.StartCheckpointRequestProto(registration=registration()), caller()
        )
