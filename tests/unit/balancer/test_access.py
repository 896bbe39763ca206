"""The tokens of moves, by the keys that a namenode gives to balancers."""

from __future__ import annotations

import hashlib
import hmac
import socket

import pytest

from howdah import errors
from howdah.balancer.access import OPEN, MoveAccess
from howdah.cli.balancer.login import as_balancer, as_mover
from howdah.client.data_transfer_security import connect_plain
from howdah.config import Configuration
from howdah.formats.tokens.block_keys import BlockKeys
from howdah.formats.tokens.identifiers import BlockTokenIdentifier
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.protocol.data_transfer.blocks import NO_TOKEN, ExtendedBlock, StorageType

BLOCK = ExtendedBlock("BP-1", 7, 1001, 10)
KEYS = pb.ExportedBlockKeysProto(
    isBlockTokenEnabled=True,
    keyUpdateInterval=36_000_000,
    tokenLifeTime=60_000,
    currentKey=pb.BlockKeyProto(keyId=0xFFFFFFFE, expiryDate=1, keyBytes=b"a key of 8"),
)


def test_a_token_is_signed_by_the_current_key() -> None:
    keys = BlockKeys.from_proto(KEYS)
    assert keys is not None
    assert "a key" not in repr(keys)
    token = keys.token("hdfs", BLOCK, ("COPY", "REPLACE"), (StorageType.ARCHIVE,), 1_000_000)
    assert BlockTokenIdentifier.decode(token.identifier) == BlockTokenIdentifier(
        1_060_000, -2, "hdfs", "BP-1", 7, ("COPY", "REPLACE"), ("ARCHIVE",)
    )
    assert token.password == hmac.digest(b"a key of 8", token.identifier, hashlib.sha1)
    assert token.kind == "HDFS_BLOCK_TOKEN"


def test_keys_are_asked_for_once_in_a_while() -> None:
    asked: list[int] = []

    def keys() -> BlockKeys | None:
        asked.append(1)
        return BlockKeys.from_proto(KEYS)

    access = MoveAccess(keys, "hdfs", connect_plain)
    assert access.token(BLOCK, StorageType.DISK).password
    assert access.token(BLOCK, StorageType.DISK).password
    assert len(asked) == 1


def test_without_tokens_none_is_made() -> None:
    off = pb.ExportedBlockKeysProto()
    off.CopyFrom(KEYS)
    off.isBlockTokenEnabled = False
    assert BlockKeys.from_proto(off) is None
    assert OPEN.token(BLOCK, StorageType.DISK) == NO_TOKEN


def test_a_balancer_and_a_mover_may_have_logins_of_their_own() -> None:
    values = {"hadoop.security.authentication": "kerberos", "dfs.balancer.keytab.enabled": "true"}
    with pytest.raises(
        errors.InvalidConfiguration, match=r"dfs\.balancer\.keytab\.file is not set"
    ):
        as_balancer(Configuration(values))
    values["dfs.balancer.keytab.file"] = "/b.keytab"
    values["dfs.balancer.kerberos.principal"] = "nn/_HOST@R"
    own = as_balancer(Configuration(values))
    assert own.raw("howdah.client.keytab.file") == "/b.keytab"
    assert own.raw("howdah.client.kerberos.principal") == f"nn/{socket.getfqdn().lower()}@R"
    conf = Configuration(values)
    assert as_mover(conf) is conf
    simple = Configuration({**values, "hadoop.security.authentication": "simple"})
    assert as_balancer(simple) is simple
