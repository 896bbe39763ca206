"""Block tokens and the keys that they are made by, at a namenode (pure).

A block token says what its user may do with one block, and until when. Datanodes believe it: they
have the keys by which it was made. Nobody asks the namenode whether a token is good, and none is
taken back, so they are short-lived, and so are keys.

1. There are two keys at least: the current one, and the next. The next one is known to datanodes an
   interval before it is used.
2. When keys are rolled, the next one becomes the current one. The former one stays for as long as
   a token may be good that was made by it: by the namenode until now, or by a datanode that hears
   of the change an interval later.
3. Of several namenodes of a nameservice each has keys of its own, with ids in a range of its own. A
   datanode keeps the keys of all. What is rolled at one is not told to the others, and a standby
   gives keys to datanodes as the active does.
4. Keys are kept in memory alone: a namenode that starts begins with others, and its datanodes keep
   those of before until these are over.

5. Where data is encrypted (`dfs.encrypt.data.transfer`), clients get keys for that, which are made
   of the current key, too. They say nothing of what may be done.

Who may read gets a token of READ with the places of blocks, who writes one of WRITE, and who needs
another datanode in a pipeline one of COPY, for those that have the block. Hadoop:
BlockTokenSecretManager.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from howdah.config import keys
from howdah.config.settings import setting
from howdah.formats.tokens.block_keys import BLOCK_TOKEN, BlockKey, ExportedKeys
from howdah.formats.tokens.encryption_keys import NONCE_BYTES, DataEncryptionKey
from howdah.formats.tokens.identifiers import BlockTokenIdentifier
from howdah.proto import datanode_namenode_pb2, rpc_pb2, types_pb2
from howdah.protocol.data_transfer.blocks import signed64
from howdah.protocol.striping.layout import is_striped

READ: Final = "READ"
WRITE: Final = "WRITE"
COPY: Final = "COPY"
_MOST_IDS: Final = (1 << 31) - 1
_MINUTE_MS: Final = 60_000


def _minutes(count: int) -> int:
    return count * _MINUTE_MS


@dataclass(frozen=True, slots=True)
class KeyTimes:
    """When keys are rolled, how long tokens are good, and how they are written."""

    interval_ms: int = setting(keys.DFS_BLOCK_ACCESS_KEY_UPDATE_INTERVAL, _minutes)
    life_ms: int = setting(keys.DFS_BLOCK_ACCESS_TOKEN_LIFETIME, _minutes)
    protobuf: bool = setting(keys.DFS_BLOCK_ACCESS_TOKEN_PROTOBUF_ENABLE)


class BlockTokens:
    """Of one namenode."""

    def __init__(
        self,
        pool_id: str,
        times: KeyTimes,
        wall_ms: Callable[[], int],
        random_bytes: Callable[[int], bytes],
        *,
        index: int = 0,
        namenodes: int = 1,
        key_bytes: int = 20,
    ) -> None:
        """`random_bytes` is asked for keys. This namenode is the one at `index` of so many."""
        self._pool_id = pool_id
        self._times = times
        self._wall_ms = wall_ms
        self._random_bytes = random_bytes
        self._key_bytes = key_bytes
        self._range = _MOST_IDS // namenodes
        self._first_id = self._range * index
        self._serial = int.from_bytes(random_bytes(4), "big") % self._range
        self.generation = 1
        """How often keys were made: who was told of less is told of them again."""
        now_ms = wall_ms()
        ahead_ms = times.life_ms + 2 * times.interval_ms
        self._current = self._make(now_ms + ahead_ms)
        self._next = self._make(now_ms + ahead_ms + times.interval_ms)
        self._all = {key.key_id: key for key in (self._current, self._next)}
        self._rolled_ms = now_ms

    def _make(self, expiry_ms: int) -> BlockKey:
        self._serial = (self._serial + 1) % self._range
        key_id = self._first_id + self._serial
        return BlockKey(key_id, expiry_ms, self._random_bytes(self._key_bytes))

    # -- keys --------------------------------------------------------------------------

    def turn(self) -> None:
        """Roll the keys if that is due."""
        if self._wall_ms() >= self._rolled_ms + self._times.interval_ms:
            self.roll()

    def roll(self) -> None:
        """The next key is the current one from now on."""
        now_ms, times = self._wall_ms(), self._times
        former, new = self._current, self._next
        kept = [key for key in self._all.values() if key.expiry_ms >= now_ms]
        until_ms = now_ms + times.interval_ms + times.life_ms
        former = BlockKey(former.key_id, until_ms, former.key)
        self._current = BlockKey(new.key_id, until_ms + times.interval_ms, new.key)
        self._next = self._make(until_ms + 2 * times.interval_ms)
        self._all = {key.key_id: key for key in (*kept, former, self._current, self._next)}
        self._rolled_ms = now_ms
        self.generation += 1

    def exported(self) -> datanode_namenode_pb2.ExportedBlockKeysProto:
        """All keys, for who may make tokens by them."""
        times = self._times
        keys = ExportedKeys(
            self._current, tuple(self._all.values()), times.interval_ms, times.life_ms
        )
        return keys.to_proto()

    def encryption_key(self, algorithm: str) -> DataEncryptionKey:
        """Another one, for data connections of a client, which are to use that algorithm."""
        return DataEncryptionKey.made_by(
            self._current,
            self._pool_id,
            self._random_bytes(NONCE_BYTES),
            self._wall_ms() + self._times.life_ms,
            algorithm,
        )

    # -- tokens ------------------------------------------------------------------------

    def sign(self, located: types_pb2.LocatedBlockProto, user: str, mode: str) -> None:
        """Put a token for `user` to a block with its places, or to each internal block of a
        group."""
        block_id = signed64(located.b.blockId)
        kinds = tuple(types_pb2.StorageTypeProto.Name(kind) for kind in located.storageTypes)
        ids = tuple(located.storageIDs)
        self._fill(located.blockToken, block_id, user, mode, kinds, ids)
        if is_striped(block_id):
            del located.blockTokens[:]
            for index in located.blockIndices:
                part = located.blockTokens.add()
                self._fill(part, block_id + index, user, mode, kinds, ids)

    def sign_all(self, located: types_pb2.LocatedBlocksProto, user: str, mode: str) -> None:
        """The same for the blocks of a file."""
        for block in located.blocks:
            self.sign(block, user, mode)
        if located.HasField("lastBlock"):
            self.sign(located.lastBlock, user, mode)

    def _fill(
        self,
        token: rpc_pb2.TokenProto,
        block_id: int,
        user: str,
        mode: str,
        kinds: tuple[str, ...],
        ids: tuple[str, ...],
    ) -> None:
        key = self._current
        identifier = BlockTokenIdentifier(
            self._wall_ms() + self._times.life_ms,
            key.key_id,
            user,
            self._pool_id,
            block_id,
            (mode,),
            kinds,
            ids,
        ).encode(protobuf=self._times.protobuf)
        token.identifier = identifier
        token.password = key.password_of(identifier)
        token.kind = BLOCK_TOKEN
        token.service = ""
