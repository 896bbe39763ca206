"""Which block tokens a datanode believes, and for what."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.datanode.state.block_tokens import KnownKeys, Mode, Need, need_of
from howdah.formats.tokens.block_keys import BlockKey, ExportedKeys
from howdah.formats.tokens.identifiers import BlockTokenIdentifier
from howdah.namenode.service.block_tokens import BlockTokens, KeyTimes
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.blocks import (
    BlockToken,
    DatanodeAddress,
    ExtendedBlock,
    StorageType,
)
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType
from howdah.protocol.data_transfer.op_requests import (
    BlockChecksum,
    BlockGroupChecksum,
    CopyBlock,
    Op,
    OtherRequest,
    ReadBlock,
    ReplaceBlock,
    Request,
    Stage,
    TransferBlock,
    WriteBlock,
)
from howdah.protocol.data_transfer.short_circuit import RequestDescriptors
from howdah.protocol.striping.policies import SYSTEM_POLICIES

POOL = "BP-1"
BLOCK = ExtendedBlock(POOL, 1073741825, 1001, 10)
NOW_MS = 1_800_000_000_000
TIMES = KeyTimes(interval_ms=600_000, life_ms=300_000)
DISK, SSD = StorageType.DISK, StorageType.SSD


def namenode(seed: int = 1, pool: str = POOL, *, protobuf: bool = False) -> BlockTokens:
    times = replace(TIMES, protobuf=protobuf)
    return BlockTokens(pool, times, lambda: NOW_MS, random.Random(seed).randbytes)


def exported(tokens: BlockTokens) -> ExportedKeys:
    keys = ExportedKeys.from_proto(tokens.exported())
    assert keys is not None
    return keys


def datanode(*namenodes: BlockTokens) -> KnownKeys:
    keys = KnownKeys()
    for each in namenodes:
        keys.update_keys(POOL, exported(each), NOW_MS)
    return keys


def signed(tokens: BlockTokens, mode: Mode = Mode.READ, *storages: tuple[str, int]) -> BlockToken:
    located = types_pb2.LocatedBlockProto()
    located.b.blockId = BLOCK.block_id
    for storage_id, kind in storages:
        located.storageIDs.append(storage_id)
        located.storageTypes.append(kind)  # type: ignore[arg-type]  # a number, as on the wire
    tokens.sign(located, "alice", mode.value)
    return BlockToken.from_proto(located.blockToken)


@pytest.mark.parametrize("protobuf", [False, True])
@pytest.mark.parametrize("mode", Mode)
def test_a_token_is_good_for_what_it_says_and_for_nothing_else(mode: Mode, protobuf: bool) -> None:
    tokens = namenode(protobuf=protobuf)
    keys = datanode(tokens)
    token = signed(tokens, mode)
    assert keys.check(Need(BLOCK, token, mode), NOW_MS).user == "alice"
    for other in set(Mode) - {mode}:
        with pytest.raises(errors.InvalidToken, match=f"doesn't have {other.value} permission"):
            keys.check(Need(BLOCK, token, other), NOW_MS)
    for block in (replace(BLOCK, block_id=1), replace(BLOCK, pool_id="BP-2")):
        with pytest.raises(errors.InvalidToken, match="doesn't apply to block"):
            keys.check(Need(block, token, mode), NOW_MS)
    assert keys.check(Need(replace(BLOCK, generation_stamp=7), token, mode), NOW_MS)


def test_a_token_that_was_proven_is_good_for_its_block_alone() -> None:
    tokens = namenode()
    keys, token = datanode(tokens), signed(tokens)
    keys.check_proven(token.identifier, BLOCK, Mode.READ, NOW_MS)
    for block, mode, now_ms in (
        (replace(BLOCK, block_id=1), Mode.READ, NOW_MS),
        (BLOCK, Mode.WRITE, NOW_MS),
        (BLOCK, Mode.READ, NOW_MS + TIMES.life_ms + 1),
    ):
        with pytest.raises(errors.InvalidToken):
            keys.check_proven(token.identifier, block, mode, now_ms)


def test_a_token_is_over_and_so_is_its_key() -> None:
    tokens = namenode()
    keys, token = datanode(tokens), signed(tokens)
    last_ms = NOW_MS + TIMES.life_ms
    assert keys.check(Need(BLOCK, token, Mode.READ), last_ms)
    with pytest.raises(errors.InvalidToken, match="is expired"):
        keys.check(Need(BLOCK, token, Mode.READ), last_ms + 1)
    forged_expiry = replace(
        BlockTokenIdentifier.decode(token.identifier), expiry_date_ms=NOW_MS * 2
    ).encode()
    forged = replace(token, identifier=forged_expiry)
    with pytest.raises(errors.InvalidToken, match="correct token password"):
        keys.check(Need(BLOCK, forged, Mode.READ), NOW_MS)
    late_ms = NOW_MS + 10 * TIMES.interval_ms
    with pytest.raises(errors.InvalidToken, match="required block key"):
        keys.check(Need(BLOCK, forged, Mode.READ), late_ms)


def test_keys_of_another_pool_make_no_token_good() -> None:
    foreign = namenode(2, "BP-2")
    keys = datanode(namenode())
    keys.update_keys("BP-2", exported(foreign), NOW_MS)
    located = types_pb2.LocatedBlockProto()
    located.b.blockId = BLOCK.block_id
    foreign.sign(located, "alice", "READ")
    theirs = BlockToken.from_proto(located.blockToken)
    assert keys.check(Need(replace(BLOCK, pool_id="BP-2"), theirs, Mode.READ), NOW_MS)
    lying = replace(BlockTokenIdentifier.decode(theirs.identifier), block_pool_id=POOL).encode()
    key = exported(foreign).current
    forged = BlockToken(lying, key.password_of(lying), theirs.kind)
    with pytest.raises(errors.InvalidToken, match="required block key"):
        keys.check(Need(BLOCK, forged, Mode.READ), NOW_MS)
    keys.forget_pool("BP-2")
    with pytest.raises(errors.InvalidToken):
        keys.password_of(theirs.identifier, NOW_MS)


def test_keys_of_both_namenodes_of_a_pair_count_and_former_ones_until_they_are_over() -> None:
    first, second = namenode(1), namenode(2)
    keys = datanode(first, second)
    before = signed(first)
    for tokens in (first, second):
        assert keys.check(Need(BLOCK, signed(tokens), Mode.READ), NOW_MS)
    restarted = namenode(3)
    keys.update_keys(POOL, exported(restarted), NOW_MS)
    assert keys.check(Need(BLOCK, before, Mode.READ), NOW_MS)
    assert keys.check(Need(BLOCK, signed(restarted), Mode.READ), NOW_MS)


@pytest.mark.parametrize(
    ("types", "ids", "allowed"),
    [
        ((DISK, SSD), ("DS-1", "DS-2"), True),
        ((SSD,), ("DS-2",), True),
        ((DISK,), (), True),
        ((DISK, DISK), (), False),
        ((StorageType.ARCHIVE,), (), False),
        ((DISK,), ("DS-3",), False),
        ((DISK,), ("DS-1", "DS-1"), False),
    ],
)
def test_a_token_is_good_for_the_storages_that_it_names(
    types: tuple[StorageType, ...], ids: tuple[str, ...], allowed: bool
) -> None:
    tokens = namenode()
    token = signed(tokens, Mode.WRITE, ("DS-1", 1), ("DS-2", 2))
    need = Need(BLOCK, token, Mode.WRITE, types, ids)
    if allowed:
        datanode(tokens).check(need, NOW_MS)
        return
    with pytest.raises(errors.InvalidToken, match="not valid for access with Storage"):
        datanode(tokens).check(need, NOW_MS)


def test_one_that_names_no_storages_is_good_for_any() -> None:
    tokens = namenode()
    need = Need(BLOCK, signed(tokens, Mode.WRITE), Mode.WRITE, (SSD, SSD), ("DS-9",))
    assert datanode(tokens).check(need, NOW_MS)


def test_datanodes_make_tokens_that_others_believe() -> None:
    tokens = namenode()
    token = datanode(tokens).make("dn", BLOCK, Mode.WRITE, [DISK], ["DS-1"], NOW_MS)
    need = Need(BLOCK, token, Mode.WRITE, (DISK,), ("DS-1",))
    assert datanode(tokens).check(need, NOW_MS).user == "dn"
    with pytest.raises(errors.InvalidToken, match="no keys are known"):
        KnownKeys().make("dn", BLOCK, Mode.WRITE, [], [], NOW_MS)


@given(st.binary(max_size=120), st.binary(max_size=20))
def test_any_bytes_are_no_token(identifier: bytes, password: bytes) -> None:
    keys = datanode(namenode())
    with pytest.raises(errors.InvalidToken):
        keys.password_of(identifier, NOW_MS)
    with pytest.raises(errors.InvalidToken):
        keys.check(Need(BLOCK, BlockToken(identifier, password), Mode.READ), NOW_MS)


@given(st.data())
def test_a_token_that_was_changed_is_no_token(data: st.DataObject) -> None:
    tokens = namenode()
    token = signed(tokens)
    at = data.draw(st.integers(0, len(token.identifier) - 1))
    bit = 1 << data.draw(st.integers(0, 7))
    changed = bytearray(token.identifier)
    changed[at] ^= bit
    with pytest.raises(errors.InvalidToken):
        datanode(tokens).check(
            Need(BLOCK, replace(token, identifier=bytes(changed)), Mode.READ), NOW_MS
        )


def test_no_secret_is_shown() -> None:
    tokens = namenode()
    token = signed(tokens)
    shown = repr(exported(tokens)) + repr(Need(BLOCK, token, Mode.READ))
    with pytest.raises(errors.InvalidToken) as caught:
        datanode(tokens).check(Need(BLOCK, token, Mode.WRITE), NOW_MS)
    key = exported(tokens).current.key
    for secret in (key, token.password):
        assert repr(secret) not in shown + repr(caught.value)


def test_keys_cross_the_wire() -> None:
    keys = ExportedKeys(
        BlockKey(-5, 2, b"a"), (BlockKey(-5, 2, b"a"), BlockKey(6, 3, b"b")), 600_000, 300_000
    )
    assert ExportedKeys.from_proto(keys.to_proto()) == keys
    off = keys.to_proto()
    off.isBlockTokenEnabled = False
    assert ExportedKeys.from_proto(off) is None


# -- what operations ask for -------------------------------------------------------

TOKEN = BlockToken(b"identifier", b"password", "HDFS_BLOCK_TOKEN")
NODE = DatanodeAddress("127.0.0.1", "localhost", "uuid", 9866)
SPEC = ChecksumSpec(ChecksumType.CRC32C, 512)
REQUESTS: list[tuple[Request, Need | None]] = [
    (ReadBlock(BLOCK, "c", 0, 1, token=TOKEN), Need(BLOCK, TOKEN, Mode.READ)),
    (
        WriteBlock(BLOCK, "c", Stage.PIPELINE_SETUP_CREATE, SPEC, storage_type=SSD, token=TOKEN),
        Need(BLOCK, TOKEN, Mode.WRITE, (SSD,)),
    ),
    (
        WriteBlock(
            BLOCK,
            "c",
            Stage.PIPELINE_SETUP_CREATE,
            SPEC,
            targets=(NODE,),
            storage_id="DS-1",
            target_storage_types=(SSD,),
            target_storage_ids=("DS-2",),
            token=TOKEN,
        ),
        Need(BLOCK, TOKEN, Mode.WRITE, (DISK, SSD), ("DS-1", "DS-2")),
    ),
    (
        TransferBlock(BLOCK, "c", (NODE,), (DISK,), ("DS-1",), token=TOKEN),
        Need(BLOCK, TOKEN, Mode.COPY, (DISK,), ("DS-1",)),
    ),
    (BlockChecksum(BLOCK, token=TOKEN), Need(BLOCK, TOKEN, Mode.READ)),
    (
        BlockGroupChecksum(BLOCK, (NODE,), (0,), SYSTEM_POLICIES[1], 1, token=TOKEN),
        Need(BLOCK, TOKEN, Mode.READ),
    ),
    (CopyBlock(BLOCK, token=TOKEN), Need(BLOCK, TOKEN, Mode.COPY)),
    (
        ReplaceBlock(BLOCK, "uuid", NODE, SSD, "DS-1", token=TOKEN),
        Need(BLOCK, TOKEN, Mode.REPLACE, (SSD,), ("DS-1",)),
    ),
    (
        # One that is limited to some storages is not good for whichever the datanode chooses.
        ReplaceBlock(BLOCK, "uuid", NODE, SSD, token=TOKEN),
        Need(BLOCK, TOKEN, Mode.REPLACE, (SSD,), ("",)),
    ),
    (RequestDescriptors(BLOCK, token=TOKEN), Need(BLOCK, TOKEN, Mode.READ)),
    (OtherRequest(Op.READ_METADATA, b""), None),
]


@pytest.mark.parametrize(("request_", "need"), REQUESTS)
def test_operations_ask_for_what_hadoops_do(request_: Request, need: Need | None) -> None:
    assert need_of(request_) == need


def test_every_operation_that_names_a_block_asks_for_a_token() -> None:
    asking = {type(request) for request, need in REQUESTS if need is not None}
    naming = {kind for kind in get_args(Request) if "block" in kind.__dataclass_fields__}
    assert naming == asking
