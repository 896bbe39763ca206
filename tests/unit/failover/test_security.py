"""What keeps a failover controller from starting on a secured cluster."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.failover.security import check_controller_protection

SECURED = {
    "hadoop.security.authentication": "kerberos",
    "hadoop.rpc.protection": "privacy",
    "dfs.data.transfer.protection": "privacy",
}


def test_what_asks_for_no_more_than_kerberos_is_there() -> None:
    check_controller_protection(Configuration(SECURED))


@pytest.mark.parametrize(
    ("conf", "words"),
    [
        (
            {**SECURED, "hadoop.security.saslproperties.resolver.class": "com.example.Resolver"},
            "resolver.class = com.example.Resolver .*is not supported",
        ),
        ({"hadoop.rpc.protection": "privacy"}, r"hadoop\.rpc\.protection = privacy"),
        ({"hadoop.security.authentication": "token"}, "only 'simple' is supported"),
    ],
)
def test_what_would_leave_a_door_open_stops_the_start(conf: dict[str, str], words: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=words):
        check_controller_protection(Configuration(conf))
