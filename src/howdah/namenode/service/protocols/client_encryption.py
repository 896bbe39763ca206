"""Encryption zones: the calls of administrators and clients (pure).

The part of ClientProtocol that Hadoop's FSDirEncryptionZoneOp serves. What changes the keys of
files that are there is refused by name.
"""

from __future__ import annotations

from typing import Final

from howdah import errors
from howdah.namenode.service.calls.at_most_once import AtMostOnce
from howdah.namenode.service.calls.encryption_zones import ZoneCalls
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.tree.encryption_zones import Zone
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.encryption_zones.messages import AES_CTR, ENCRYPTION_ZONES
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Deferred

REFUSED: Final = frozenset({"reencryptEncryptionZone", "listReencryptionStatus"})
"""Calls that are refused by name."""


class EncryptionMethods:
    """Calls about encryption zones."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._once = AtMostOnce(namesystem)
        self._zones = ZoneCalls(namesystem)

    def create_encryption_zone(
        self, request: pb.CreateEncryptionZoneRequestProto, caller: Caller
    ) -> Deferred:
        """Answered when a key server has said that there is such a key."""
        keys = self._zones.check_may_create(caller, request.src, request.keyName)
        answer = Deferred()

        def run() -> pb.CreateEncryptionZoneResponseProto:
            self._zones.create(caller, request.src, request.keyName)
            return pb.CreateEncryptionZoneResponseProto()

        def make(checked: None) -> pb.CreateEncryptionZoneResponseProto:
            return self._once(caller, run, pb.CreateEncryptionZoneResponseProto)

        feed = answer.fed_by("createEncryptionZone", make)

        def checked(error: errors.HowdahError | None) -> None:
            if not answer.withdrawn:
                feed(error)

        keys.check(request.keyName, checked)
        return answer

    def list_encryption_zones(
        self, request: pb.ListEncryptionZonesRequestProto, caller: Caller
    ) -> pb.ListEncryptionZonesResponseProto:
        zones, has_more = self._zones.list(caller, request.id)
        answer = pb.ListEncryptionZonesResponseProto(hasMore=has_more)
        for zone in zones:
            _show(zone, answer.zones.add())
        return answer

    def get_ezfor_path(
        self, request: pb.GetEZForPathRequestProto, caller: Caller
    ) -> pb.GetEZForPathResponseProto:
        answer = pb.GetEZForPathResponseProto()
        zone = self._zones.of(caller, request.src)
        if zone is not None:
            _show(zone, answer.zone)
        return answer


def _show(zone: Zone, shown: pb.EncryptionZoneProto) -> None:
    shown.id = zone.directory.inode_id
    shown.path = zone.directory.path
    shown.suite = AES_CTR
    shown.cryptoProtocolVersion = ENCRYPTION_ZONES
    shown.keyName = zone.key_name
