"""Encryption zones: the calls of administrators and clients (pure).

The part of ClientProtocol that Hadoop's FSDirEncryptionZoneOp serves.
"""

from __future__ import annotations

from howdah import errors
from howdah.namenode.service.calls.at_most_once import AtMostOnce
from howdah.namenode.service.calls.encryption_zones import ZoneCalls
from howdah.namenode.service.calls.reencryption import Reencryptor
from howdah.namenode.service.calls.reencryption_calls import START, ReencryptionCalls, ZoneStatus
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.tree.encryption_zones import Zone, cipher_of
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Deferred


class EncryptionMethods:
    """Calls about encryption zones."""

    def __init__(self, namesystem: Namesystem, reencryptor: Reencryptor) -> None:
        self._once = AtMostOnce(namesystem)
        self._zones = ZoneCalls(namesystem)
        self._reencryption = ReencryptionCalls(namesystem, reencryptor)

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

    def reencrypt_encryption_zone(
        self, request: pb.ReencryptEncryptionZoneRequestProto, caller: Caller
    ) -> Deferred | pb.ReencryptEncryptionZoneResponseProto:
        """A submission is answered when a key server has said by which version of the zone's key
        new files have their keys; keys that were made ahead are used no more."""
        answered = pb.ReencryptEncryptionZoneResponseProto
        calls, path = self._reencryption, request.zone
        if request.action == pb.CANCEL_REENCRYPT:

            def cancel() -> pb.ReencryptEncryptionZoneResponseProto:
                calls.cancel(caller, path)
                return answered()

            return self._once(caller, cancel, answered)
        if self._once.is_repeated(caller):
            return self._once(caller, answered, answered)
        keys = calls.check(caller, path, START)
        key_name = calls.check_may_start(caller, path).key_name
        answer = Deferred()

        def start() -> pb.ReencryptEncryptionZoneResponseProto:
            version_name = keys.version_name(key_name)
            if version_name is None:
                raise errors.RetriableError(f"others took the keys that came by {key_name}")
            calls.start(caller, path, version_name)
            return answered()

        feed = answer.fed_by(
            "reencryptEncryptionZone", lambda _: self._once(caller, start, answered)
        )

        def came(error: errors.HowdahError | None) -> None:
            if not answer.withdrawn:
                feed(error)

        keys.forget(key_name)
        keys.when_there(key_name, came)
        return answer

    def list_reencryption_status(
        self, request: pb.ListReencryptionStatusRequestProto, caller: Caller
    ) -> pb.ListReencryptionStatusResponseProto:
        statuses, has_more = self._reencryption.page(caller, request.id)
        answer = pb.ListReencryptionStatusResponseProto(hasMore=has_more)
        for status in statuses:
            _show_status(status, answer.statuses.add())
        return answer


def _show_status(status: ZoneStatus, shown: pb.ZoneReencryptionStatusProto) -> None:
    said = status.reencryption
    shown.id = status.zone.directory.inode_id
    shown.path = status.zone.directory.path
    shown.state = pb.PROCESSING if status.is_processing else pb.SUBMITTED
    shown.ezKeyVersionName = said.version_name
    shown.submissionTime = said.submitted_ms
    shown.canceled = said.is_cancelled
    shown.numReencrypted = said.reencrypted
    shown.numFailures = said.failures
    if said.is_over:
        shown.state = pb.COMPLETED
        shown.completionTime = said.completed_ms
    if said.last_file:
        shown.lastFile = said.last_file


def _show(zone: Zone, shown: pb.EncryptionZoneProto) -> None:
    shown.id = zone.directory.inode_id
    shown.path = zone.directory.path
    # The stubs want the enums; at run time a number is one.
    shown.suite, shown.cryptoProtocolVersion = cipher_of(zone)  # type: ignore[assignment]
    shown.keyName = zone.key_name
