"""Makes lost internal blocks of block groups anew, when the namenode says so (shell).

ErasureCodingWorker and StripedBlockReconstructor in Hadoop. Rules (`state.reconstruction`):

1. As many internal blocks as the policy has data units are read, side by side, a piece of each at
   a time; the lost ones are decoded from the pieces and go on to their targets at once, so a
   reconstruction takes little memory however long the blocks are.
2. A source that fails, or is silent for `stripedread.timeout`, is given up for one that was not
   read yet, from the same place on. One whose chunks do not fit their checksums is told to the
   namenode.
3. A target that fails is left out; the others go on.
4. With `validation` what was made is held against what it was made from before it is sent: a
   unit that was read is decoded from the others and the new ones.

A target tells its namenode when it has the whole block: that is the only proof that counts.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from howdah import errors
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.block_tokens import Mode
from howdah.datanode.state.messages import CorruptFound, Reconstruct
from howdah.datanode.state.reconstruction import Plan, plan
from howdah.datanode.transfer.decoding import Sources, decoded, internal_block
from howdah.datanode.transfer.peers import connect_to, own_token
from howdah.protocol.data_transfer.blocks import BlockToken, ExtendedBlock, StorageType
from howdah.protocol.data_transfer.checksum import ChecksumSpec, checksum_chunks
from howdah.protocol.data_transfer.op_requests import Stage, WriteBlock, encode_request
from howdah.protocol.data_transfer.packets import PacketHeader, encode_packet, encode_prelude
from howdah.runtime.byte_rate import Throttle
from howdah.runtime.sockets import Connection

log = logging.getLogger(__name__)


class Reconstructions:
    """Those that this datanode carries out."""

    def __init__(
        self,
        settings: DataSettings,
        tell: Callable[[CorruptFound], None],
        count: Callable[[int], None],
    ) -> None:
        """`tell` passes on what is corrupt; `count` hears how many copies begin, or end."""
        self._settings = settings
        self._own = own = settings.reconstruction
        self._tell = tell
        self._count = count
        self._pool = ThreadPoolExecutor(own.threads, "reconstruction")
        self._reading = _Pace(own.read_bytes_per_s)
        self._writing = _Pace(own.write_bytes_per_s)

    def start(self, order: Reconstruct) -> Future[None]:
        """Carry an order out in the background."""
        weight = max(1, int(max(len(order.sources), len(order.targets)) * self._own.weight))
        self._count(weight)
        try:
            return self._pool.submit(self._run, order, weight)
        except BaseException:
            self._count(-weight)
            raise

    def close(self) -> None:
        """Wait for those that are under way; no others begin."""
        self._pool.shutdown(cancel_futures=True)

    def _run(self, order: Reconstruct, weight: int) -> None:
        names = ", ".join(target.transfer_address for target in order.targets)
        try:
            made = self._reconstruct(order)
            log.info("made internal blocks %s of %s anew at %s", made, order.group, names)
        except (errors.HowdahError, OSError) as error:
            log.warning("cannot make lost blocks of %s anew at %s: %s", order.group, names, error)
        except Exception:
            log.exception(
                "making lost blocks of %s anew at %s failed on a defect", order.group, names
            )
        finally:
            self._count(-weight)

    def _reconstruct(self, order: Reconstruct) -> list[int]:
        """Return the indices that were made."""
        work = plan(order)
        sources = Sources(order, work, self._settings, self._tell)
        targets: dict[int, _Target] = {}
        try:
            spec = sources.open()
            for number, index in enumerate(work.lost):
                self._add_target(targets, order, work, number, index, spec)
            chunk = spec.bytes_per_checksum
            step = max(self._own.piece_bytes - self._own.piece_bytes % chunk, chunk)
            for start in range(0, work.length_bytes, step):
                if not targets:
                    raise errors.RemoteError(f"no target of {order.group} takes what is made")
                end = min(start + step, work.length_bytes)
                units = sources.read(start, end)
                self._reading.wait(sum(map(len, units.values())))
                made = decoded(order, work, units, end - start, validates=self._own.validates)
                self._write(targets, work, start, end, made)
            for index, target in list(targets.items()):
                self._try(targets, index, target.finish)
            sources.finish()
            if not targets:
                raise errors.RemoteError(f"no target of {order.group} took what was made")
            return sorted(targets)
        finally:
            sources.close()
            for target in targets.values():
                target.close()

    def _add_target(
        self,
        targets: dict[int, _Target],
        order: Reconstruct,
        work: Plan,
        number: int,
        index: int,
        spec: ChecksumSpec,
    ) -> None:
        def add() -> None:
            block = internal_block(order.group, index, work.layout.block_length(index))
            node = order.targets[number]
            kind, storage_id = order.storage_types[number], order.storage_ids[number]
            token = own_token(self._settings, block, Mode.WRITE, (kind,), (storage_id,))
            silence_s, pool_id = self._settings.socket_timeout_s, block.pool_id
            connection = connect_to(node, self._settings, silence_s, pool_id, token)
            targets[index] = _Target(connection, block, kind, storage_id, spec, token)

        self._try(targets, index, add)

    def _write(
        self,
        targets: dict[int, _Target],
        work: Plan,
        start: int,
        end: int,
        made: dict[int, memoryview],
    ) -> None:
        for index, target in list(targets.items()):
            data = made[index][: work.piece(index, start, end)]
            if data:
                self._writing.wait(len(data))
                self._try(targets, index, partial(target.send, data))

    @staticmethod
    def _try(targets: dict[int, _Target], index: int, act: Callable[[], None]) -> None:
        """Leave a target out that fails."""
        try:
            act()
        except (errors.HowdahError, OSError) as error:
            log.warning("a target of internal block %d is left out: %s", index, error)
            target = targets.pop(index, None)
            if target is not None:
                target.close()


class _Target:
    """Writes one internal block to its new datanode."""

    def __init__(
        self,
        connection: Connection,
        block: ExtendedBlock,
        storage_type: StorageType,
        storage_id: str,
        spec: ChecksumSpec,
        token: BlockToken,
    ) -> None:
        self._connection = connection
        self._spec = spec
        self._offset = 0
        self._seqno = 0
        request = WriteBlock(
            block,
            "",
            Stage.PIPELINE_SETUP_CREATE,
            spec,
            pipeline_size=0,
            storage_type=storage_type,
            storage_id=storage_id,
            token=token,
        )
        try:
            connection.send_all(encode_request(request))
        except BaseException:
            connection.close()
            raise

    def send(self, data: memoryview) -> None:
        sums = bytearray(self._spec.sums_length(len(data)))
        checksum_chunks(self._spec, data, sums)
        header = PacketHeader(self._offset, self._seqno, False, len(data))
        self._connection.send_buffers((encode_prelude(header, len(sums)), sums, data))
        self._offset += len(data)
        self._seqno += 1

    def finish(self) -> None:
        """Nothing follows: the block is whole."""
        self._connection.send_all(encode_packet(PacketHeader(self._offset, self._seqno, True, 0)))

    def close(self) -> None:
        self._connection.close()


class _Pace:
    """Keeps all reconstructions together to a number of bytes a second. Thread-safe."""

    def __init__(self, bytes_per_s: int) -> None:
        self._throttle = Throttle(bytes_per_s)
        self._lock = threading.Lock()

    def wait(self, moved_bytes: int) -> None:
        with self._lock:
            delay_s = self._throttle.delay_s(moved_bytes, time.monotonic())
        if delay_s:
            time.sleep(delay_s)
