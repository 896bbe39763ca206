"""Which protections a connection is offered."""

from __future__ import annotations

from howdah.protocol.sasl.offered_protections import ByAddress, ByPort, SameForAll
from howdah.protocol.sasl.protection import Protection

ALL = tuple(Protection)
PRIVACY = (Protection.PRIVACY,)
AUTHENTICATION = (Protection.AUTHENTICATION,)


def test_the_same_rule_holds_for_all() -> None:
    rule = SameForAll(ALL)
    assert rule.offered("10.0.0.1", 8020) == rule.offered("127.0.0.1", 1) == ALL


def test_each_port_has_its_own_and_others_have_the_default() -> None:
    rule = ByPort(AUTHENTICATION, {8020: PRIVACY, 8022: ALL})
    assert rule.offered("10.0.0.1", 8020) == PRIVACY
    assert rule.offered("10.0.0.1", 8022) == ALL
    assert rule.offered("10.0.0.1", 8023) == AUTHENTICATION


def test_an_address_is_trusted_or_not() -> None:
    rule = ByAddress(ALL, PRIVACY, {"10.0.0.1"}.__contains__)
    assert rule.offered("10.0.0.1", 8020) == ALL
    assert rule.offered("10.0.0.2", 8020) == PRIVACY
    assert rule.offered("", 8020) == PRIVACY
