"""ClientProtocol's calls about encryption zones, typed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeVar

from google.protobuf.message import Message

from howdah.proto import client_namenode_pb2 as pb
from howdah.rpc.client import AnswerType

M = TypeVar("M")


class EncryptionMethods(ABC):
    """The part of `NamenodeProxy` that is about encryption zones."""

    @abstractmethod
    def call(self, method: str, request: Message, response_type: AnswerType[M]) -> M:
        """Any method of the protocol."""

    def create_encryption_zone(self, path: str, key_name: str) -> None:
        request = pb.CreateEncryptionZoneRequestProto(src=path, keyName=key_name)
        self.call("createEncryptionZone", request, pb.CreateEncryptionZoneResponseProto)

    def reencrypt_encryption_zone(self, path: str, *, cancel: bool) -> None:
        action = pb.CANCEL_REENCRYPT if cancel else pb.START_REENCRYPT
        request = pb.ReencryptEncryptionZoneRequestProto(action=action, zone=path)
        self.call("reencryptEncryptionZone", request, pb.ReencryptEncryptionZoneResponseProto)

    def list_reencryption_status(
        self, behind_id: int
    ) -> tuple[list[pb.ZoneReencryptionStatusProto], bool]:
        """Of zones behind an id, in their order, and whether there are more."""
        request = pb.ListReencryptionStatusRequestProto(id=behind_id)
        answer = self.call(
            "listReencryptionStatus", request, pb.ListReencryptionStatusResponseProto
        )
        return list(answer.statuses), answer.hasMore

    def get_encryption_zone(self, path: str) -> pb.EncryptionZoneProto | None:
        request = pb.GetEZForPathRequestProto(src=path)
        answer = self.call("getEZForPath", request, pb.GetEZForPathResponseProto)
        return answer.zone if answer.HasField("zone") else None

    def list_encryption_zones(self, behind_id: int) -> tuple[list[pb.EncryptionZoneProto], bool]:
        """Those behind an id, in their order, and whether there are more."""
        request = pb.ListEncryptionZonesRequestProto(id=behind_id)
        answer = self.call("listEncryptionZones", request, pb.ListEncryptionZonesResponseProto)
        return list(answer.zones), answer.hasMore
