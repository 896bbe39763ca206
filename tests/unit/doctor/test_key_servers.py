"""What key servers answer to a doctor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.doctor import key_servers
from howdah.doctor.inputs import AskedKeyServer, EncryptedZone


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (errors.RemoteError("the file of keys is gone"), "the file of keys is gone"),
        (errors.Unreachable("nobody is there"), "nobody is there"),
        (errors.AccessDenied("not for you"), ""),
    ],
)
def test_a_server_that_refuses_a_user_is_well_and_one_that_fails_is_not(
    monkeypatch: pytest.MonkeyPatch, error: errors.HowdahError, problem: str
) -> None:
    class Servers:
        def __init__(self, *_: object) -> None:
            pass

        def metadata_of(self, names: Sequence[str]) -> list[Mapping[str, Any]]:
            raise error

        def close(self) -> None:
            pass

    monkeypatch.setattr(key_servers, "KeyServers", Servers)
    found = key_servers.look(
        Configuration({}), "anna", "kms://http@a/kms", [EncryptedZone("/z", "payroll")], asks=True
    )
    assert found is not None
    assert found.servers == (AskedKeyServer("a:9600", problem),)
