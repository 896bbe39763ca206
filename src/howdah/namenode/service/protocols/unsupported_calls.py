"""Features that this namenode does not have: encryption zones (pure).

Clients ask about some of them in the course of ordinary calls, and get the answer of a
Hadoop namenode on which the feature is not in use. `REFUSED` are the calls that would use
one: they are refused by name as not supported.
"""

from __future__ import annotations

from typing import Final

from google.protobuf.message import Message

from howdah.namenode.service.calls.permissions import Access
from howdah.namenode.service.namesystem import Namesystem
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc.call import Caller

REFUSED: Final = frozenset(
    {
        "createEncryptionZone",
        "listEncryptionZones",
        "reencryptEncryptionZone",
        "listReencryptionStatus",
    }
)


class AbsentFeatureMethods:
    """Questions whose answer is that there is none."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem

    def get_ezfor_path(self, request: pb.GetEZForPathRequestProto, caller: Caller) -> Message:
        who, found = self._namesystem.resolver.resolve_checked(caller, request.src)
        if found.inode is not None:
            self._namesystem.permissions.check(who, found.inode, Access.READ)
        return pb.GetEZForPathResponseProto()
