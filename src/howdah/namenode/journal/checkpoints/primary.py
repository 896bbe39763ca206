"""The namenode as its secondary sees it: a few calls, and files over HTTP (shell).

Mirrors what Hadoop's secondary asks of Hadoop's namenode, so either may be Hadoop's.
"""

from __future__ import annotations

import contextlib
import http.client
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.formats.image.sections import Sink
from howdah.formats.version import NamenodeVersion
from howdah.namenode.service.protocols.namenode import FirstAndLast, NamenodeProtocol
from howdah.proto import datanode_namenode_pb2 as server_pb
from howdah.proto import namenode_pb2 as pb
from howdah.rpc.client import DEFAULT_CALL_TIMEOUT_S, RpcClient
from howdah.runtime.byte_rate import Throttle
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.tls.http_policy import Place
from howdah.security.page_proofs import PageProofs, headers_of, with_parameters
from howdah.web.image_transfer import (
    MD5_HEADER,
    EditsWanted,
    ImageOffered,
    ImageWanted,
    storage_info,
)

log = logging.getLogger(__name__)

_CONFLICT: Final = 409
_EXPECTATION_FAILED: Final = 417
_MAX_REASON_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class Signature:
    """Where a namenode stands when it has begun a segment."""

    version: NamenodeVersion
    image_txid: int
    segment_txid: int

    @property
    def end_txid(self) -> int:
        """The last transaction that is in a finished segment."""
        return self.segment_txid - 1


class Primary:
    """Calls one namenode. Calls raise HowdahError, transfers CheckpointFailed."""

    def __init__(
        self,
        rpc_address: tuple[str, int],
        web: Place,
        *,
        tls: ClientTls,
        bytes_per_s: int,
        timeout_s: float,
        go_on: Callable[[], None],
        call_timeout_s: float = DEFAULT_CALL_TIMEOUT_S,
        user: str | None = None,
    ) -> None:
        """`go_on` is called now and then during transfers, and may raise to give up. Calls are
        made as `user`, by default as the process."""
        self._rpc = RpcClient(
            rpc_address, NamenodeProtocol.PROTOCOL, user=user, call_timeout_s=call_timeout_s
        )
        self._web = web
        self._tls = tls
        self._bytes_per_s = bytes_per_s
        self._timeout_s = timeout_s
        self._go_on = go_on
        self._proofs = PageProofs(user, keeps_cookies=False)

    def close(self) -> None:
        self._rpc.close()

    # Calls.

    def last_txid(self) -> int:
        request = pb.GetTransactionIdRequestProto()
        answer = self._rpc.call("getTransactionId", request, pb.GetTransactionIdResponseProto)
        return answer.txId

    def version(self) -> NamenodeVersion:
        """Of which filesystem it is."""
        answer = self._rpc.call(
            "versionRequest", server_pb.VersionRequestProto(), server_pb.VersionResponseProto
        )
        return _version(answer.info.storageInfo, answer.info.blockPoolID)

    def is_upgrade_finalized(self) -> bool:
        answer = self._rpc.call(
            "isUpgradeFinalized",
            pb.IsUpgradeFinalizedRequestProto(),
            pb.IsUpgradeFinalizedResponseProto,
        )
        return answer.isUpgradeFinalized

    def image_txid(self) -> int:
        """The transaction of its newest image."""
        answer = self._rpc.call(
            "getMostRecentCheckpointTxId",
            pb.GetMostRecentCheckpointTxIdRequestProto(),
            pb.GetMostRecentCheckpointTxIdResponseProto,
        )
        return answer.txId

    def rollback_image_txid(self) -> int | None:
        """The transaction of the image that a rolling upgrade may go back to; None if none is
        under way, or it is not there yet."""
        upgrading = self._rpc.call(
            "isRollingUpgrade", pb.IsRollingUpgradeRequestProto(), pb.IsRollingUpgradeResponseProto
        )
        if not upgrading.isRollingUpgrade:
            return None
        answer = self._rpc.call(
            "getMostRecentNameNodeFileTxId",
            pb.GetMostRecentNameNodeFileTxIdRequestProto(nameNodeFile="IMAGE_ROLLBACK"),
            pb.GetMostRecentNameNodeFileTxIdResponseProto,
        )
        return None if answer.txId >> 63 else answer.txId

    def roll(self) -> Signature:
        """Have the namenode begin a new segment."""
        request = pb.RollEditLogRequestProto()
        answer = self._rpc.call("rollEditLog", request, pb.RollEditLogResponseProto)
        signature = answer.signature
        return Signature(
            _version(signature.storageInfo, signature.blockPoolId),
            signature.mostRecentCheckpointTxId,
            signature.curSegmentTxId,
        )

    def finished_segments(self, since_txid: int) -> list[FirstAndLast]:
        request = pb.GetEditLogManifestRequestProto(sinceTxId=since_txid)
        answer = self._rpc.call("getEditLogManifest", request, pb.GetEditLogManifestResponseProto)
        return [
            (segment.startTxId, segment.endTxId)
            for segment in answer.manifest.logs
            if not segment.isInProgress
        ]

    # Transfers.

    def fetch_image(
        self, version: NamenodeVersion, txid: int, sink: Sink, *, to_new_standby: bool = False
    ) -> str | None:
        """Write an image to `sink`; its sum, if the namenode says it."""
        return self._fetch(ImageWanted(txid, _info(version), to_new_standby).target(), sink)

    def image_sum(self, version: NamenodeVersion, txid: int) -> str | None:
        """The sum of an image, which is not fetched."""
        with self._request(ImageWanted(txid, _info(version)).target()) as answer:
            return answer.getheader(MD5_HEADER)

    def fetch_edits(self, version: NamenodeVersion, segment: FirstAndLast, sink: Sink) -> None:
        """Write a finished segment to `sink`."""
        self._fetch(EditsWanted(*segment, _info(version)).target(), sink)

    def send_image(
        self, version: NamenodeVersion, txid: int, path: Path, md5: str, *, rollback: bool = False
    ) -> bool:
        """Give it an image, one to go back to from a rolling upgrade if `rollback`. False if it
        has no need of it."""
        with open(path, "rb", buffering=0) as file:
            size_bytes = file.seek(0, 2)
            offered = ImageOffered(txid, size_bytes, _info(version), md5, rollback)
            connection = self._connected()
            try:
                target = offered.target()
                # A stranger gets no image: the other side has proven itself before it is sent.
                self._proofs.meet(self._web, connection, target)
                proof = self._proofs.proof(self._web)
                connection.putrequest("PUT", with_parameters(target, proof))
                for name, value in headers_of(proof).items():
                    connection.putheader(name, value)
                connection.putheader("Content-Type", "application/octet-stream")
                connection.putheader("Content-Length", str(size_bytes))
                connection.putheader(MD5_HEADER, md5)
                connection.endheaders()
                throttle = Throttle(self._bytes_per_s)
                file.seek(0)
                # It may have answered, and closed, before it has seen all.
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    while data := file.read(throttle.piece_bytes):
                        self._go_on()
                        connection.send(data)
                        time.sleep(throttle.delay_s(len(data), time.monotonic()))
                answer = connection.getresponse()
                self._proofs.check(self._web, proof, answer.status, dict(answer.getheaders()))
                reason = _reason(answer)
            except (OSError, http.client.HTTPException) as error:
                raise self._failed(
                    f"the image of transaction {txid} was not sent", error
                ) from error
            finally:
                connection.close()
        if answer.status in (_CONFLICT, _EXPECTATION_FAILED):
            log.info("the namenode does not need the image of transaction %d: %s", txid, reason)
            return False
        if answer.status != 200:
            raise errors.CheckpointFailed(
                f"the namenode refused the image of transaction {txid}: {answer.status} {reason}"
            )
        return True

    def _fetch(self, target: str, sink: Sink) -> str | None:
        with self._request(target) as answer:
            left_bytes = int(answer.getheader("Content-Length", "-1"))
            if left_bytes < 0:
                raise errors.CheckpointFailed(f"{target}: the answer has no length")
            throttle = Throttle(self._bytes_per_s)
            while left_bytes:
                self._go_on()
                data = answer.read(min(left_bytes, throttle.piece_bytes))
                if not data:
                    raise errors.CheckpointFailed(f"{target}: {left_bytes} bytes were missing")
                left_bytes -= len(data)
                sink.write(data)
                time.sleep(throttle.delay_s(len(data), time.monotonic()))
            return answer.getheader(MD5_HEADER)

    @contextlib.contextmanager
    def _request(self, target: str) -> Iterator[http.client.HTTPResponse]:
        with contextlib.ExitStack() as stack:
            try:
                answer = stack.enter_context(
                    self._proofs.asked(self._web, self._connected, "GET", target)
                )
                reason = "" if answer.status == 200 else _reason(answer)
            except (OSError, http.client.HTTPException) as error:
                raise self._failed(target, error) from error
            if answer.status != 200:
                raise errors.CheckpointFailed(
                    f"the namenode refused {target}: {answer.status} {reason}"
                )
            try:
                yield answer
            except (TimeoutError, ConnectionError, http.client.HTTPException) as error:
                raise self._failed(target, error) from error

    def _connected(self) -> http.client.HTTPConnection:
        return self._tls.http(self._web, self._timeout_s or None)

    def _failed(self, action: str, error: Exception) -> errors.CheckpointFailed:
        return errors.CheckpointFailed(f"{self._web}: {action}: {error or repr(error)}")


def _version(info: server_pb.StorageInfoProto, block_pool_id: str) -> NamenodeVersion:
    layout_version = info.layoutVersion
    return NamenodeVersion(
        namespace_id=info.namespceID,
        cluster_id=info.clusterID,
        block_pool_id=block_pool_id,
        ctime_ms=info.cTime,
        layout_version=layout_version - (1 << 32 if layout_version >> 31 else 0),
    )


def _info(version: NamenodeVersion) -> str:
    return storage_info(
        version.layout_version, version.namespace_id, version.ctime_ms, version.cluster_id
    )


def _reason(answer: http.client.HTTPResponse) -> str:
    """What the other side says: its page is short if it is ours."""
    text = answer.read(_MAX_REASON_BYTES).decode("utf-8", "replace")
    return text.strip() if text and not text.lstrip().startswith("<") else answer.reason
