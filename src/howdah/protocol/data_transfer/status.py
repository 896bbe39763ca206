"""Status codes of DataTransferProtocol (`Status` of datatransfer.proto), and their meaning.

Rule: a status travels alone in acks and read receipts, and with a message in
an operation's response. Nothing here knows sockets or protobuf.
"""

from __future__ import annotations

import enum


class Status(enum.IntEnum):
    SUCCESS = 0
    ERROR = 1
    ERROR_CHECKSUM = 2
    ERROR_INVALID = 3
    ERROR_EXISTS = 4
    ERROR_ACCESS_TOKEN = 5
    CHECKSUM_OK = 6
    ERROR_UNSUPPORTED = 7
    OOB_RESTART = 8
    OOB_RESERVED1 = 9
    OOB_RESERVED2 = 10
    OOB_RESERVED3 = 11
    IN_PROGRESS = 12
    ERROR_BLOCK_PINNED = 13

    @property
    def is_out_of_band(self) -> bool:
        """True for what a datanode says between acks, such as that it restarts."""
        return Status.OOB_RESTART <= self <= Status.OOB_RESERVED3
