"""Who a filesystem is, as its namenode says it to datanodes and helpers (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from howdah.formats.version import NamenodeVersion
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.web import image_transfer

SOFTWARE_VERSION: Final = "3.5.0"
"""The version of the protocols: datanodes of Hadoop compare it with their own."""

REPORTS_IN_BUFFERS: Final = 1


@dataclass(frozen=True, slots=True)
class ClusterIdentity:
    """What a namenode and its datanodes must agree on, from `VERSION`."""

    namespace_id: int
    cluster_id: str
    block_pool_id: str
    ctime_ms: int
    layout_version: int

    @classmethod
    def of(cls, version: NamenodeVersion) -> ClusterIdentity:
        return cls(
            version.namespace_id,
            version.cluster_id,
            version.block_pool_id,
            version.ctime_ms,
            version.layout_version,
        )

    def storage_info(self) -> pb.StorageInfoProto:
        return pb.StorageInfoProto(
            layoutVersion=self.layout_version & 0xFFFFFFFF,
            namespceID=self.namespace_id,
            clusterID=self.cluster_id,
            cTime=self.ctime_ms,
        )

    def storage_text(self) -> str:
        """The same in one word, for transfers of images."""
        return image_transfer.storage_info(
            self.layout_version, self.namespace_id, self.ctime_ms, self.cluster_id
        )

    def namespace_info(self) -> pb.NamespaceInfoProto:
        return pb.NamespaceInfoProto(
            buildVersion=SOFTWARE_VERSION,
            unused=0,
            blockPoolID=self.block_pool_id,
            storageInfo=self.storage_info(),
            softwareVersion=SOFTWARE_VERSION,
            capabilities=REPORTS_IN_BUFFERS,
            state=pb.NNHAStatusHeartbeatProto.ACTIVE,
        )
