"""Who may be a datanode here: registrations, and whether one that calls has one (pure)."""

from __future__ import annotations

import logging
from typing import Final

from howdah import errors
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols.cluster_identity import ClusterIdentity
from howdah.namenode.service.writing.block_recovery import BlockRecovery
from howdah.namenode.state.blocks.datanodes import Datanode, DatanodeIdentity
from howdah.namenode.state.blocks.slow_nodes import Claim, Rivals, address_of, check_sound
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Deferred
from howdah.runtime.log_throttle import LogThrottleBySubject

log = logging.getLogger(__name__)

_SAID_AGAIN_MS: Final = 60_000


class Registrations:
    """Takes datanodes in, and knows those that are."""

    def __init__(
        self, namesystem: Namesystem, cluster: ClusterIdentity, recovery: BlockRecovery
    ) -> None:
        self._namesystem = namesystem
        self._manager = namesystem.datanode_manager
        self._datanodes = namesystem.datanode_manager.datanodes
        self._clock = namesystem.clock
        self._cluster = cluster
        self._recovery = recovery
        self._rivals = Rivals(lambda: namesystem.settings.datanode_moves_ms)
        self._two_of_a_kind = LogThrottleBySubject(_SAID_AGAIN_MS)

    def register(
        self, request: pb.RegisterDatanodeRequestProto, caller: Caller
    ) -> pb.RegisterDatanodeResponseProto | Deferred:
        """Answered at once, or when somebody has told where in the network the node is."""
        registration = request.registration
        told = registration.datanodeID
        ip = address_of(caller.address, told.ipAddr)
        check_sound(told, ip)
        self._check_cluster(registration, f"{ip}:{told.xferPort}")
        identity = DatanodeIdentity(
            uuid=told.datanodeUuid,
            ip=ip,
            hostname=told.hostName or ip,
            transfer_port=told.xferPort,
            info_port=told.infoPort,
            ipc_port=told.ipcPort,
            info_secure_port=told.infoSecurePort,
            software_version=registration.shownVersion or registration.softwareVersion,
            keeps_committed=registration.HasField("shownVersion"),
        )
        self.check_allowed(identity)
        self._check_rival(identity)
        location = self._manager.racks.known_location(ip, identity.hostname)
        if location is not None:
            return self._register(identity, location, registration)

        def locate(found: str) -> pb.RegisterDatanodeResponseProto:
            # The lists of hosts may be others by now, and so may whoever has this uuid.
            self.check_allowed(identity)
            self._check_rival(identity)
            return self._register(identity, found, registration)

        answer = Deferred()
        self._manager.racks.look_up(ip, answer.fed_by("registerDatanode", locate))
        return answer

    def _register(
        self,
        identity: DatanodeIdentity,
        location: str,
        registration: pb.DatanodeRegistrationProto,
    ) -> pb.RegisterDatanodeResponseProto:
        node = self._manager.register(identity, location)
        self._recovery.registered(node)
        answer = pb.RegisterDatanodeResponseProto(registration=registration)
        # All that Hadoop's namenode sends back, whatever the datanode left out.
        answer.registration.datanodeID.ipAddr = identity.ip
        answer.registration.datanodeID.infoSecurePort = identity.info_secure_port
        answer.registration.keys.currentKey.keyBytes = registration.keys.currentKey.keyBytes
        tokens = self._namesystem.block_tokens
        if tokens is not None:
            node.told_keys = tokens.generation
            answer.registration.keys.CopyFrom(tokens.exported())
        return answer

    def check_allowed(self, identity: DatanodeIdentity) -> None:
        if not self._manager.hosts.allows(identity):
            raise errors.DisallowedDatanode(
                f"Datanode denied communication with namenode because the host is not in the "
                f"include-list: {identity.transfer_address} ({identity.uuid})"
            )

    def _check_rival(self, identity: DatanodeIdentity) -> None:
        """Raises DisallowedDatanode if there are two datanodes of this uuid, and RetriableError
        while that is not known."""
        known = self._datanodes.get(identity.uuid)
        address = identity.transfer_address
        if known is None or known.name == address:
            return
        now_ms = self._clock.monotonic_ms()
        silent_s = (now_ms - known.last_heartbeat_ms) / 1000
        match self._rivals.judge(known, address, now_ms):
            case Claim.IT_HAS_MOVED:
                log.warning(
                    "datanode %s has moved from %s, where it was last heard %.0f s ago, to %s",
                    identity.uuid,
                    known.name,
                    silent_s,
                    address,
                )
            case Claim.TOO_EARLY:
                raise errors.RetriableError(
                    f"datanode {identity.uuid} was at {known.name} {silent_s:.1f} s ago, and one "
                    f"at {address} says that it is the same: it is registered when nothing more is "
                    f"heard of {known.name}"
                )
            case Claim.ANOTHER_LIVES:
                said = (
                    f"two datanodes have the uuid {identity.uuid}: {known.name}, which is alive "
                    f"and keeps it, and {address}, which is refused. One was started on a copy of "
                    "the other's data directories"
                )
                kept_back = self._two_of_a_kind.suppressed_count(identity.uuid, now_ms)
                if kept_back is not None:
                    log.error("%s (said %d times since this line was last logged)", said, kept_back)
                raise errors.DisallowedDatanode(
                    f"{said}. Stop one of them. If it is to be a datanode of its own, delete "
                    "its data directories"
                )

    def _check_cluster(self, registration: pb.DatanodeRegistrationProto, address: str) -> None:
        info = registration.storageInfo
        cluster = self._cluster
        if (info.namespceID, info.clusterID) != (cluster.namespace_id, cluster.cluster_id):
            raise errors.UnregisteredNode(
                f"datanode {address} ({registration.datanodeID.datanodeUuid}) belongs to cluster "
                f"{info.clusterID}, namespace {info.namespceID}; this is cluster "
                f"{cluster.cluster_id}, namespace {cluster.namespace_id}"
            )

    def known(self, registration: pb.DatanodeRegistrationProto, caller: Caller) -> Datanode:
        """The live datanode that calls. Raises UnregisteredNode: it must register (again)."""
        told = registration.datanodeID
        node = self._datanodes.get(told.datanodeUuid)
        if node is None or not node.alive:
            raise errors.UnregisteredNode(
                f"Data node {told.ipAddr}:{told.xferPort} ({told.datanodeUuid}) is not registered "
                "or was declared dead"
            )
        if told.xferPort != node.identity.transfer_port:
            raise errors.UnregisteredNode(
                f"Data node {told.ipAddr}:{told.xferPort} is attempting to report storage ID "
                f"{told.datanodeUuid}. Node {node.name} is expected to serve this storage."
            )
        here = node.identity.ip
        if caller.address != here and address_of(caller.address, here) != here:
            raise errors.UnregisteredNode(
                f"Data node {told.datanodeUuid} is at {node.name}, and this call comes from "
                f"{caller.address}: a datanode that has moved registers first"
            )
        return node
