"""What a copy of a zone says of its files' keys."""

from __future__ import annotations

from howdah.proto import types_pb2
from howdah.protocol.encryption_zones.messages import (
    AES_CTR,
    ENCRYPTION_ZONES,
    zone_attribute_of_copy,
)


def zone(key_name: str = "payroll", version: str = "", last_file: str = "") -> bytes:
    info = types_pb2.ZoneEncryptionInfoProto(
        suite=AES_CTR, cryptoProtocolVersion=ENCRYPTION_ZONES, keyName=key_name
    )
    if version:
        said = info.reencryptionProto
        said.ezKeyVersionName, said.submissionTime, said.canceled = version, 1, False
        said.numReencrypted = said.numFailures = 0
        if last_file:
            said.lastFile = last_file
    return info.SerializeToString()


def test_how_far_a_zone_is_re_encrypted_is_not_copied() -> None:
    source = zone(version="payroll@2", last_file="/payroll/m")
    assert zone_attribute_of_copy(source, None) == zone()
    assert zone_attribute_of_copy(source, zone()) == zone()
    for own in (zone(version="payroll@1"), zone(version="payroll@3", last_file="/payroll/a")):
        assert zone_attribute_of_copy(source, own) == own
        assert zone_attribute_of_copy(zone(), own) == own
    # What is said of another key is not said of this one.
    assert zone_attribute_of_copy(source, zone("audit", version="audit@7")) == zone()


def test_a_damaged_attribute_is_copied_as_it_is() -> None:
    assert zone_attribute_of_copy(b"\xff", zone()) == b"\xff"
    assert zone_attribute_of_copy(zone(version="payroll@1"), b"\xff") == zone()
