"""Attributes of copies below `/.reserved/raw`."""

from __future__ import annotations

from typing import Any

from howdah.copy.listing.entries import Entry, Kind
from howdah.copy.options import Attribute
from howdah.copy.preserving import preserve
from howdah.fs.status import FileStatus
from howdah.proto import types_pb2
from howdah.protocol.raw_paths import ZONE_ATTRIBUTE

PATH = "/.reserved/raw/z"


class OneZone:
    """A filesystem with one directory, which has attributes."""

    def __init__(self, version: str = "") -> None:
        info = types_pb2.ZoneEncryptionInfoProto(
            suite=types_pb2.AES_CTR_NOPADDING,
            cryptoProtocolVersion=types_pb2.ENCRYPTION_ZONES,
            keyName="payroll",
        )
        if version:
            said = info.reencryptionProto
            said.ezKeyVersionName, said.submissionTime, said.canceled = version, 1, False
            said.numReencrypted = said.numFailures = 0
        self.attributes = {ZONE_ATTRIBUTE: info.SerializeToString()}

    def get_file_status(self, path: str) -> FileStatus:
        return FileStatus(path, 0, True, 0, 0, 0, 0, 0o755, "hdfs", "hdfs")

    def get_xattrs(self, path: str) -> dict[str, bytes]:
        return dict(self.attributes)

    def set_xattr(self, path: str, name: str, value: bytes) -> None:
        self.attributes[name] = value


def test_a_zone_that_is_copied_again_keeps_what_it_says_of_its_files() -> None:
    source: Any = OneZone("payroll@2")
    target: Any = OneZone("payroll@1")
    before = target.get_xattrs(PATH)
    entry = Entry.of(Kind.DIRECTORY, 0, source.get_file_status(PATH), b"", None)
    preserve(source, entry, target, PATH, {Attribute.RAW})
    assert target.attributes == before
    target.attributes = {}
    preserve(source, entry, target, PATH, {Attribute.RAW})
    assert target.attributes == OneZone().attributes
