"""What a datanode claims about itself, and which claims the namenode accepts (pure).

Datanodes are not authenticated. So a datanode is where it calls from, and what could not
be true of any is refused.
"""

from __future__ import annotations

import ipaddress
from typing import Final

from howdah import errors
from howdah.proto import types_pb2

MAX_UUID_CHARACTERS: Final = 256
MAX_HOSTNAME_CHARACTERS: Final = 255
MAX_PORT: Final = 65535


def address_of(peer: str, claimed: str) -> str:
    """Where a datanode is that says so: at the address that it calls from, as for Hadoop's
    namenode. What it claims is believed on one machine alone, among loopback addresses,
    any of which any process there may have; several datanodes have one each."""
    try:
        from_where = ipaddress.ip_address(peer)
    except ValueError:
        raise errors.DisallowedDatanode(f"a datanode calls from {peer!r}, no address") from None
    mapped = getattr(from_where, "ipv4_mapped", None)
    if mapped is not None:
        from_where = mapped
    if from_where.is_loopback:
        try:
            own = ipaddress.ip_address(claimed)
        except ValueError:
            own = from_where
        if own.is_loopback and own.version == from_where.version:
            return str(own)
    return str(from_where)


def check_sound(claimed: types_pb2.DatanodeIDProto, ip: str) -> None:
    """Raises DisallowedDatanode for what no datanode says of itself."""
    if not 0 < len(claimed.datanodeUuid) <= MAX_UUID_CHARACTERS:
        raise errors.DisallowedDatanode(
            f"a datanode at {ip} has a uuid of {len(claimed.datanodeUuid)} characters: 1 to "
            f"{MAX_UUID_CHARACTERS} are allowed"
        )
    if len(claimed.hostName) > MAX_HOSTNAME_CHARACTERS:
        raise errors.DisallowedDatanode(
            f"the datanode {claimed.datanodeUuid} at {ip} has a host name of "
            f"{len(claimed.hostName)} characters: at most {MAX_HOSTNAME_CHARACTERS} are allowed"
        )
    ports = (claimed.xferPort, claimed.infoPort, claimed.ipcPort, claimed.infoSecurePort)
    if not 0 < claimed.xferPort <= MAX_PORT or max(ports) > MAX_PORT:
        raise errors.DisallowedDatanode(
            f"the datanode {claimed.datanodeUuid} at {ip} says that it listens at the ports {ports}"
        )
