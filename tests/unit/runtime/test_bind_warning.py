"""What an operator is told of a server that strangers can reach."""

from __future__ import annotations

import pytest

from howdah.runtime.bind_warning import warning


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.11", "::1"])
def test_loopback_is_no_matter(host: str) -> None:
    assert warning("namenode", [(host, 8020)]) == ""


def test_every_other_address_is_named() -> None:
    told = warning("namenode", [("0.0.0.0", 8020), ("127.0.0.1", 9870), ("fe80::1%eth0", 8021)])
    assert told.startswith("the namenode listens at 0.0.0.0:8020, [fe80::1%eth0]:8021 with SIMPLE")
    assert "9870" not in told
