"""ClientProtocol: the families of its calls, composed to one service (pure).

Mirrors Hadoop's ClientNamenodeProtocolServerSideTranslatorPB before NameNodeRpcServer. Each
family is a small class in a `client_*` module: protobuf in, operations on the namesystem, protobuf
out. Its methods are named after the protocol's in snake_case. `howdah.protocol.rpc.service` finds
them by name, and fails at construction where a method is missing or there twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from howdah import errors
from howdah.namenode.service.calls.administration import Administration, AdministrationFiles
from howdah.namenode.service.calls.reencryption import Reencryptor
from howdah.namenode.service.calls.storage import Images, NameStorage
from howdah.namenode.service.calls.tokens import TokenCalls
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols.client_acls import AclMethods
from howdah.namenode.service.protocols.client_administration import NamenodeMethods
from howdah.namenode.service.protocols.client_attributes import AttributeMethods
from howdah.namenode.service.protocols.client_blocks import BlockMethods
from howdah.namenode.service.protocols.client_caching import CacheMethods
from howdah.namenode.service.protocols.client_coding import CodingMethods
from howdah.namenode.service.protocols.client_datanodes import DatanodeMethods
from howdah.namenode.service.protocols.client_encryption import EncryptionMethods
from howdah.namenode.service.protocols.client_files import FileMethods
from howdah.namenode.service.protocols.client_queries import QueryMethods
from howdah.namenode.service.protocols.client_snapshots import SnapshotMethods
from howdah.namenode.service.protocols.client_tokens import TokenMethods
from howdah.namenode.service.protocols.client_tree import TreeMethods
from howdah.namenode.service.protocols.client_usage import UsageMethods
from howdah.namenode.service.protocols.client_xattrs import XAttrMethods
from howdah.namenode.service.protocols.fast_path import requests
from howdah.namenode.service.protocols.fast_path.reads import FastReads
from howdah.namenode.service.writing.allocation import Writing
from howdah.namenode.service.writing.block_recovery import BlockRecovery
from howdah.namenode.service.writing.lease_recovery import LeaseRecovery
from howdah.proto import client_namenode_pb2
from howdah.protocol.rpc.service import Service

PROTOCOL: Final = "org.apache.hadoop.hdfs.protocol.ClientProtocol"


class ClientProtocol:
    """The namenode as its clients see it."""

    PROTOCOL = PROTOCOL

    def __init__(
        self,
        namesystem: Namesystem,
        leases: LeaseRecovery,
        recovery: BlockRecovery,
        *,
        storage: NameStorage | None = None,
        images: Images | None = None,
        files: AdministrationFiles | None = None,
        ha_state: Callable[[], str] = lambda: "ACTIVE",
        tokens: TokenCalls | None = None,
    ) -> None:
        """`storage`, `images` and `files` are None where there are no files, as in a test
        of the namesystem. `ha_state` is a name of HAServiceStateProto. `tokens` is None where
        delegation tokens are not issued."""
        self._namespace = namesystem.namespace
        self.administration = Administration(namesystem, files)
        writing = Writing(namesystem)
        self.reencryptor = Reencryptor(namesystem)
        self._files = FileMethods(namesystem, leases, recovery, writing)
        self._quick = FastReads(namesystem)
        self._queries = QueryMethods(namesystem, self._quick)
        self.families: Final = (
            self._queries,
            UsageMethods(namesystem),
            TreeMethods(namesystem),
            self._files,
            BlockMethods(namesystem, writing),
            AttributeMethods(namesystem),
            AclMethods(namesystem),
            XAttrMethods(namesystem),
            SnapshotMethods(namesystem),
            CodingMethods(namesystem),
            CacheMethods(namesystem),
            DatanodeMethods(namesystem, self.administration),
            NamenodeMethods(namesystem, self.administration, storage, images, ha_state),
            TokenMethods(tokens),
            EncryptionMethods(namesystem, self.reencryptor),
        )

    def service(self) -> Service:
        return Service(
            PROTOCOL,
            1,
            client_namenode_pb2.DESCRIPTOR.services_by_name["ClientNamenodeProtocol"],
            *self.families,
            quick=self._quick.methods,
            readers=requests.readers(lambda: bool(self._namespace.zones)),
        )

    @property
    def entries_listed(self) -> int:
        """In answers of listings, since the start."""
        return self._queries.entries_listed

    def look_at_waiting(self, inode_ids: list[int] | None = None) -> None:
        """Datanodes reported, or time passed: answer what can be of `complete` and `append`."""
        self._files.closes.recheck(inode_ids)
        self._files.appends.recheck(inode_ids)
        self._files.awaiting_keys.recheck()

    def refuse_waiting(self, error: errors.HowdahError) -> None:
        """Answer all that wait with an error: what they wait for will not happen here."""
        self._files.closes.refuse_all(error)
        self._files.appends.refuse_all(error)
        self._files.awaiting_keys.refuse_all(error)
