"""Keys of block tokens, and what is signed by them for whom."""

from __future__ import annotations

import hashlib
import hmac
import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from howdah import errors
from howdah.formats.tokens.block_keys import BlockKeys
from howdah.formats.tokens.identifiers import BlockTokenIdentifier
from howdah.namenode.service.block_tokens import BlockTokens, KeyTimes
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2, rpc_pb2, types_pb2
from howdah.protocol.data_transfer.blocks import ExtendedBlock, signed64
from howdah.testing.in_memory import POOL_ID, InMemoryDatanode, InMemoryNamenode

MINUTE_MS = 60_000
TIMES = KeyTimes(interval_ms=10 * MINUTE_MS, life_ms=7 * MINUTE_MS)


class Keys:
    """What a datanode keeps of the keys that it was told: those that are not over."""

    def __init__(self) -> None:
        self._keys: dict[int, datanode_namenode_pb2.BlockKeyProto] = {}

    def told(self, keys: datanode_namenode_pb2.ExportedBlockKeysProto) -> None:
        self._keys |= {key.keyId: key for key in keys.allKeys}

    def check(self, token: rpc_pb2.TokenProto, now_ms: int) -> BlockTokenIdentifier:
        """What a token allows. Raises InvalidToken."""
        self._keys = {n: key for n, key in self._keys.items() if key.expiryDate >= now_ms}
        identifier = BlockTokenIdentifier.decode(token.identifier)
        key = self._keys.get(identifier.key_id)
        if key is None or identifier.expiry_date_ms < now_ms:
            raise errors.InvalidToken(f"key {identifier.key_id} is not known, or it is over")
        wanted = hmac.new(key.keyBytes, token.identifier, hashlib.sha1).digest()
        if wanted != token.password:
            raise errors.InvalidToken("the password is another")
        return identifier


class Clock:
    now_ms = 1_800_000_000_000

    def __call__(self) -> int:
        return self.now_ms


def made(clock: Clock, seed: int = 1, **where: int) -> BlockTokens:
    return BlockTokens(POOL_ID, TIMES, clock, random.Random(seed).randbytes, **where)


class Rolling(RuleBasedStateMachine):
    """Two namenodes, whose keys a datanode hears of within an interval."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.namenodes = [made(self.clock, 3 + n, index=n, namenodes=2) for n in range(2)]
        self.datanode = Keys()
        self.heard_ms = self.clock.now_ms
        self.good: list[rpc_pb2.TokenProto] = []
        self.hear()

    @rule()
    def hear(self) -> None:
        for namenode in self.namenodes:
            self.datanode.told(namenode.exported())
        self.heard = self.namenodes[0].exported()
        self.heard_ms = self.clock.now_ms

    @rule(minutes=st.integers(1, 9))
    def wait(self, minutes: int) -> None:
        until_ms = self.clock.now_ms + minutes * MINUTE_MS
        if until_ms > self.heard_ms + TIMES.interval_ms:
            self.hear()
        self.clock.now_ms = until_ms
        for namenode in self.namenodes:
            namenode.turn()

    @rule(which=st.integers(0, 1), block_id=st.integers(1, 1 << 40))
    def sign(self, which: int, block_id: int) -> None:
        located = types_pb2.LocatedBlockProto()
        located.b.blockId = block_id
        self.namenodes[which].sign(located, "alice", "READ")
        self.good.append(located.blockToken)

    @rule(block_id=st.integers(1, 1 << 40))
    def a_datanode_makes_one(self, block_id: int) -> None:
        """By what it was told last, which may be rolled since."""
        keys = BlockKeys.from_proto(self.heard)
        assert keys is not None
        block = ExtendedBlock(POOL_ID, block_id, 1, 0)
        token = keys.token("dn", block, ("COPY",), (), self.clock.now_ms)
        self.good.append(token.to_proto())

    @invariant()
    def tokens_are_good_for_as_long_as_they_say(self) -> None:
        now_ms = self.clock.now_ms
        kept = []
        for token in self.good:
            if BlockTokenIdentifier.decode(token.identifier).expiry_date_ms >= now_ms:
                self.datanode.check(token, now_ms)
                kept.append(token)
            else:
                with pytest.raises(errors.InvalidToken):
                    self.datanode.check(token, now_ms)
        self.good = kept

    @invariant()
    def ids_tell_the_namenodes_apart(self) -> None:
        ids = [{key.keyId for key in namenode.exported().allKeys} for namenode in self.namenodes]
        assert not ids[0] & ids[1]
        assert max(ids[0]) < (1 << 31) // 2 <= min(ids[1]) + 1

    @invariant()
    def few_keys_are_kept(self) -> None:
        for namenode in self.namenodes:
            assert len(namenode.exported().allKeys) <= 4


TestRolling = Rolling.TestCase
TestRolling.settings = settings(max_examples=30, stateful_step_count=40)


def test_no_key_is_shown() -> None:
    tokens = made(Clock())
    key = tokens.exported().currentKey.keyBytes
    assert len(key) == 20
    assert repr(key) not in repr(vars(tokens))


# -- what a namenode signs ----------------------------------------------------------


class Scene:
    """A namenode whose datanodes ask for tokens, and what they know."""

    def __init__(self, *, protobuf: bool = False) -> None:
        self.namenode = InMemoryNamenode()
        clock = self.namenode.clock
        times = KeyTimes(TIMES.interval_ms, TIMES.life_ms, protobuf)
        self.tokens = BlockTokens(POOL_ID, times, clock.wall_ms, random.Random(1).randbytes)
        self.namenode.namesystem.block_tokens = self.tokens
        self.node: InMemoryDatanode = self.namenode.join("dn")
        self.keys = Keys()
        self.keys.told(self.tokens.exported())

    def allowed(self, token: rpc_pb2.TokenProto) -> tuple[str, int, tuple[str, ...]]:
        found = self.keys.check(token, self.namenode.clock.wall_ms())
        assert found.block_pool_id == POOL_ID
        return found.user, found.block_id, found.modes

    def write(self) -> pb.AddBlockResponseProto:
        """An open file with a block."""
        masked = types_pb2.FsPermissionProto(perm=0o600)
        created = self.namenode.call(
            "create",
            pb.CreateRequestProto(
                src="/f",
                masked=masked,
                clientName="writer",
                createFlag=1,
                createParent=True,
                replication=1,
                blockSize=1 << 20,
            ),
        )
        assert isinstance(created, pb.CreateResponseProto)
        added = self.namenode.call(
            "addBlock",
            pb.AddBlockRequestProto(src="/f", clientName="writer", fileId=created.fs.fileId),
        )
        assert isinstance(added, pb.AddBlockResponseProto)
        return added


@pytest.fixture(params=[False, True])
def scene(request: pytest.FixtureRequest) -> Scene:
    """With both ways to write tokens."""
    return Scene(protobuf=request.param)


def test_who_writes_may_write_what_he_was_given(scene: Scene) -> None:
    added = scene.write().block
    block_id = added.b.blockId
    assert scene.allowed(added.blockToken) == ("root", block_id, ("WRITE",))
    found = BlockTokenIdentifier.decode(added.blockToken.identifier)
    assert (found.storage_types, found.storage_ids) == (("DISK",), (scene.node.first_storage,))
    renewed = scene.namenode.call(
        "updateBlockForPipeline",
        pb.UpdateBlockForPipelineRequestProto(block=added.b, clientName="writer"),
    )
    assert isinstance(renewed, pb.UpdateBlockForPipelineResponseProto)
    assert scene.allowed(renewed.block.blockToken) == ("root", block_id, ("WRITE",))


def test_a_datanode_in_place_of_a_failed_one_gets_a_copy(scene: Scene) -> None:
    """The client asks a datanode of the pipeline for that, by the right to copy."""
    added = scene.write().block
    scene.namenode.join("other")
    answer = scene.namenode.call(
        "getAdditionalDatanode",
        pb.GetAdditionalDatanodeRequestProto(
            src="/f",
            blk=added.b,
            existings=added.locs,
            existingStorageUuids=added.storageIDs,
            numAdditionalNodes=1,
            clientName="writer",
        ),
    )
    assert isinstance(answer, pb.GetAdditionalDatanodeResponseProto)
    token = answer.block.blockToken
    assert scene.allowed(token) == ("root", added.b.blockId, ("COPY",))


def test_each_block_of_a_group_has_a_token_of_its_own(scene: Scene) -> None:
    group_id = -(1 << 40)
    located = types_pb2.LocatedBlockProto(blockIndices=bytes([0, 2, 4]))
    located.b.blockId = group_id & ((1 << 64) - 1)
    scene.tokens.sign(located, "alice", "WRITE")
    assert scene.allowed(located.blockToken) == ("alice", group_id, ("WRITE",))
    assert [scene.allowed(token) for token in located.blockTokens] == [
        ("alice", group_id + index, ("WRITE",)) for index in (0, 2, 4)
    ]


def test_who_may_read_gets_tokens_with_the_places_and_who_only_lists_gets_none(
    scene: Scene,
) -> None:
    added = scene.write().block
    scene.node.store(added.b.blockId, added.b.generationStamp, 10)
    located = scene.namenode.call(
        "getBlockLocations", pb.GetBlockLocationsRequestProto(src="/f", offset=0, length=100)
    )
    assert isinstance(located, pb.GetBlockLocationsResponseProto)
    shown = [*located.locations.blocks, located.locations.lastBlock]
    assert {scene.allowed(block.blockToken) for block in shown} == {
        ("root", signed64(added.b.blockId), ("READ",))
    }
    listed = scene.namenode.call(
        "getListing", pb.GetListingRequestProto(src="/", startAfter=b"", needLocation=True)
    )
    assert isinstance(listed, pb.GetListingResponseProto)
    (entry,) = listed.dirList.partialListing
    assert entry.locations.lastBlock.b.blockId == added.b.blockId
    assert entry.locations.lastBlock.blockToken.identifier == b""


@pytest.mark.parametrize("wanted", [False, True])
def test_a_status_has_tokens_for_who_may_read_and_wants_them(wanted: bool) -> None:
    scene = Scene()
    scene.write()
    request = pb.GetLocatedFileInfoRequestProto(src="/f", needBlockToken=wanted)
    answer = scene.namenode.call("getLocatedFileInfo", request)
    assert isinstance(answer, pb.GetLocatedFileInfoResponseProto)
    last = answer.fs.locations.lastBlock
    assert bool(last.blockToken.identifier) is wanted
    if wanted:
        with pytest.raises(errors.AccessDenied):
            scene.namenode.call("getLocatedFileInfo", request, user="mallory")
    else:
        scene.namenode.call("getLocatedFileInfo", request, user="mallory")


def test_superuser_gets_no_tokens_for_a_file_that_is_kept_from_him() -> None:
    scene = Scene()
    scene.write()
    mark = types_pb2.XAttrProto(
        namespace=types_pb2.XAttrProto.SECURITY, name="hdfs.unreadable.by.superuser"
    )
    scene.namenode.call("setXAttr", types_pb2.SetXAttrRequestProto(src="/f", xAttr=mark, flag=1))
    request = pb.GetLocatedFileInfoRequestProto(src="/f", needBlockToken=True)
    with pytest.raises(errors.AccessDenied, match="superuser is not allowed"):
        scene.namenode.call("getLocatedFileInfo", request)


def test_a_datanode_is_told_the_keys_when_it_registers_and_when_they_are_rolled() -> None:
    scene = Scene()

    def told() -> list[datanode_namenode_pb2.ExportedBlockKeysProto]:
        orders = scene.node.heartbeat()
        return [order.keyUpdateCmd.keys for order in orders if order.HasField("keyUpdateCmd")]

    assert told() == []
    scene.tokens.roll()
    assert told() == [scene.tokens.exported()]
    assert told() == []
    scene.namenode.clock.advance(TIMES.interval_ms)
    scene.namenode.namesystem.become_standby()
    scene.namenode.namesystem.tick()
    assert told() == [scene.tokens.exported()], "by a standby, too"


def test_answers_by_bytes_are_not_given_where_tokens_are() -> None:
    scene = Scene()
    scene.write()
    request = pb.GetBlockLocationsRequestProto(src="/f", offset=0, length=1)
    quick = scene.namenode.client.service().quick["getBlockLocations"]
    assert quick(request.SerializeToString(), "root", "10.0.0.1") is None
