"""Block tokens at a datanode: which it believes, what operations ask for, and its own (pure).

A datanode has the keys that its namenodes make tokens by, so it asks nobody (the rules of keys are
in `howdah.namenode.service.block_tokens`). Of several nameservices each has keys of its own: what
is told of one pool makes no token good for another.

1. A token is good whose password is the HMAC of its identifier by a key that is known and not over,
   and which is not over itself.
2. It is good for one block of one pool, for what its modes say, and for storages that it names, if
   it names some: for each at most once, since each datanode of a pipeline has one of them.
3. Where data is encrypted, the keys for that are made of the same keys.
4. A refusal shows what the identifier says that was sent, and never what its password is to be.

BlockTokenSecretManager and BlockPoolTokenSecretManager in Hadoop.
"""

from __future__ import annotations

import enum
import hmac
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from howdah import errors
from howdah.formats.malformed import MalformedRecord
from howdah.formats.tokens.block_keys import BLOCK_TOKEN, BlockKey, ExportedKeys
from howdah.formats.tokens.encryption_keys import DataEncryptionKey, NamedKey
from howdah.formats.tokens.identifiers import BlockTokenIdentifier
from howdah.protocol.data_transfer.blocks import BlockToken, ExtendedBlock, StorageType
from howdah.protocol.data_transfer.handshake import UnknownEncryptionKey
from howdah.protocol.data_transfer.op_requests import (
    BlockChecksum,
    BlockGroupChecksum,
    CopyBlock,
    ReadBlock,
    ReplaceBlock,
    Request,
    TransferBlock,
    WriteBlock,
)
from howdah.protocol.data_transfer.short_circuit import RequestDescriptors


class Mode(enum.Enum):
    """What a token may allow, by Hadoop's names."""

    READ = "READ"
    WRITE = "WRITE"
    COPY = "COPY"
    REPLACE = "REPLACE"


@dataclass(frozen=True, slots=True)
class Need:
    """What an operation asks for. Without storages any will do."""

    block: ExtendedBlock
    token: BlockToken = field(repr=False)
    mode: Mode
    storage_types: tuple[StorageType, ...] = ()
    storage_ids: tuple[str, ...] = ()


def need_of(request: Request) -> Need | None:
    """None for what is about no block: it is answered for nobody, or about memory that the other
    side has already."""
    match request:
        case ReadBlock() | BlockChecksum() | BlockGroupChecksum() | RequestDescriptors():
            return Need(request.block, request.token, Mode.READ)
        case WriteBlock():
            ids: tuple[str, ...] = ()
            if request.target_storage_ids:
                ids = (request.storage_id or "", *request.target_storage_ids)
            types = (request.storage_type, *request.target_storage_types)
            return Need(request.block, request.token, Mode.WRITE, types, ids)
        case TransferBlock():
            return Need(
                request.block,
                request.token,
                Mode.COPY,
                request.target_storage_types,
                request.target_storage_ids,
            )
        case CopyBlock():
            return Need(request.block, request.token, Mode.COPY)
        case ReplaceBlock():
            return Need(
                request.block,
                request.token,
                Mode.REPLACE,
                (request.storage_type,),
                (request.storage_id or "",),
            )
        case _:
            return None


class KnownKeys:
    """The keys of all pools. What is told takes the place of what was known at once, so that
    several threads may ask."""

    def __init__(self) -> None:
        self._pools: Mapping[str, _Pool] = {}

    def update_keys(self, pool_id: str, keys: ExportedKeys, now_ms: int) -> None:
        """Take the keys that a namenode tells of its pool. Those of the other namenodes stay."""
        known = self._pools.get(pool_id)
        before = {} if known is None else known.by_id
        merged = {**before, **{key.key_id: key for key in keys.all}}
        good = {number: key for number, key in merged.items() if key.expiry_ms >= now_ms}
        self._pools = {**self._pools, pool_id: _Pool(good, keys.current, keys.token_life_ms)}

    def forget_pool(self, pool_id: str) -> None:
        """The pool is served no more."""
        self._pools = {name: pool for name, pool in self._pools.items() if name != pool_id}

    def has_pool(self, pool_id: str) -> bool:
        """Whether a namenode of a pool has told its keys."""
        return pool_id in self._pools

    def password_of(self, identifier: bytes, now_ms: int) -> bytes:
        """Return the password of a token that is good for something.

        Raises InvalidToken.
        """
        return self._read(identifier, now_ms)[1]

    def check(self, need: Need, now_ms: int) -> BlockTokenIdentifier:
        """Return what a token says that allows what an operation asks for.

        Raises InvalidToken.
        """
        shown = need.token
        token, password = self._read(shown.identifier, now_ms)
        if not hmac.compare_digest(password, shown.password):
            raise errors.InvalidToken(
                f"Block token with {_describe(token)} doesn't have the correct token password"
            )
        _check_right(token, need.block, need.mode)
        _check_storages("StorageTypes", token.storage_types, [t.name for t in need.storage_types])
        _check_storages("StorageIDs", token.storage_ids, need.storage_ids)
        return token

    def check_proven(
        self, identifier: bytes, block: ExtendedBlock, mode: Mode, now_ms: int
    ) -> None:
        """As `check`, of a token whose password was proven before.

        Raises InvalidToken.
        """
        _check_right(self._read(identifier, now_ms)[0], block, mode)

    def make(
        self,
        user: str,
        block: ExtendedBlock,
        mode: Mode,
        storage_types: Iterable[StorageType],
        storage_ids: Iterable[str],
        now_ms: int,
    ) -> BlockToken:
        """Return a token by which this datanode asks another one.

        Raises InvalidToken where no namenode of the pool has told its keys.
        """
        pool = self._pools.get(block.pool_id)
        if pool is None:
            raise errors.InvalidToken(f"no keys are known of {block.pool_id}, for a token of its")
        identifier = BlockTokenIdentifier(
            now_ms + pool.token_life_ms,
            pool.current.key_id,
            user,
            block.pool_id,
            block.block_id,
            (mode.value,),
            tuple(kind.name for kind in storage_types),
            tuple(storage_ids),
        ).encode()
        return BlockToken(identifier, pool.current.password_of(identifier), BLOCK_TOKEN)

    def encryption_key(self, named: NamedKey, now_ms: int) -> DataEncryptionKey:
        """Return the key by which a connection is to be encrypted, made again.

        Raises UnknownEncryptionKey where its block key is not known, or is over.
        """
        pool = self._pools.get(named.pool_id)
        key = None if pool is None else pool.by_id.get(named.key_id)
        if key is None or key.expiry_ms < now_ms:
            current = "" if pool is None else f" Current key: {pool.current.key_id}"
            raise UnknownEncryptionKey(
                "Can't re-compute encryption key for nonce, since the required block key "
                f"(keyID={named.key_id}) doesn't exist.{current}"
            )
        return DataEncryptionKey.made_by(key, named.pool_id, named.nonce, key.expiry_ms)

    def make_encryption_key(self, pool_id: str, nonce: bytes, now_ms: int) -> DataEncryptionKey:
        """Return a key by which this datanode has a connection to another one encrypted.

        Raises UnknownEncryptionKey where no namenode of the pool has told its keys.
        """
        pool = self._pools.get(pool_id)
        if pool is None:
            raise UnknownEncryptionKey(f"no keys are known of {pool_id}, to encrypt by one of its")
        life_ms = pool.token_life_ms
        return DataEncryptionKey.made_by(pool.current, pool_id, nonce, now_ms + life_ms)

    def _read(self, identifier: bytes, now_ms: int) -> tuple[BlockTokenIdentifier, bytes]:
        try:
            token = BlockTokenIdentifier.decode(identifier)
        except (MalformedRecord, ValueError) as error:
            raise errors.InvalidToken(f"that is no identifier of a block token: {error}") from error
        pool = self._pools.get(token.block_pool_id)
        key = None if pool is None else pool.by_id.get(token.key_id)
        if key is None or key.expiry_ms < now_ms:
            raise errors.InvalidToken(
                f"Can't re-compute password for {_describe(token)}, since the required block key "
                f"(keyID={token.key_id}) doesn't exist."
            )
        if token.expiry_date_ms < now_ms:
            raise errors.InvalidToken(f"Block token with {_describe(token)} is expired.")
        return token, key.password_of(identifier)


@dataclass(frozen=True, slots=True)
class _Pool:
    by_id: Mapping[int, BlockKey]
    current: BlockKey
    token_life_ms: int


_MOST_SHOWN: Final = 100


def _describe(token: BlockTokenIdentifier) -> str:
    """What may be said of a token."""
    return (
        f"block_token_identifier (expiryDate={token.expiry_date_ms}, keyId={token.key_id}, "
        f"userId={token.user[:_MOST_SHOWN]}, blockPoolId={token.block_pool_id[:_MOST_SHOWN]}, "
        f"blockId={token.block_id}, access modes={list(token.modes)})"
    )


def _check_right(token: BlockTokenIdentifier, block: ExtendedBlock, mode: Mode) -> None:
    """Raises InvalidToken."""
    if (token.block_pool_id, token.block_id) != (block.pool_id, block.block_id):
        raise errors.InvalidToken(
            f"Block token with {_describe(token)} doesn't apply to block {block}"
        )
    if mode.value not in token.modes:
        raise errors.InvalidToken(
            f"Block token with {_describe(token)} doesn't have {mode.value} permission"
        )


def _check_storages(what: str, allowed: Sequence[str], wanted: Sequence[str]) -> None:
    """Raises InvalidToken."""
    if not allowed:
        return
    if Counter(wanted) - Counter(allowed):
        raise errors.InvalidToken(
            f"Block token with {what} {list(allowed)} not valid for access with {what} "
            f"{list(wanted)}"
        )
