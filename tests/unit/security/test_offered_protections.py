"""The rule of a server by its configuration: Hadoop's three classes by name, and their lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.protocol.sasl.offered_protections import ByPort, SameForAll
from howdah.protocol.sasl.protection import Protection
from howdah.security.offered_protections import (
    BY_ADDRESS,
    BY_PORT,
    SAME_FOR_ALL,
    TrustedAddresses,
    check_resolvers,
    offered_for_calls,
    offered_for_data,
)

FOR_CALLS = "hadoop.security.saslproperties.resolver.class"
FOR_DATA = "dfs.data.transfer.saslproperties.resolver.class"
FIXED = "hadoop.security.sasl.fixedwhitelist.file"
ENABLED = "hadoop.security.sasl.variablewhitelist.enable"
VARIABLE = "hadoop.security.sasl.variablewhitelist.file"
CACHED_S = "hadoop.security.sasl.variablewhitelist.cache.secs"

ANY_PROTECTION = tuple(Protection)
PRIVACY = (Protection.PRIVACY,)
INTEGRITY = (Protection.INTEGRITY,)
AUTHENTICATION = (Protection.AUTHENTICATION,)


class Clock:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def fixed(tmp_path: Path) -> Path:
    return tmp_path / "fixed"


@pytest.fixture
def variable(tmp_path: Path) -> Path:
    return tmp_path / "variable"


@pytest.fixture
def conf(fixed: Path, variable: Path) -> dict[str, str]:
    return {
        "hadoop.rpc.protection": "authentication",
        "dfs.data.transfer.protection": "integrity",
        FIXED: str(fixed),
        VARIABLE: str(variable),
    }


@pytest.mark.parametrize("key", [FOR_CALLS, FOR_DATA])
def test_other_classes_are_refused_by_name(key: str) -> None:
    for known in (SAME_FOR_ALL, BY_PORT, BY_ADDRESS, ""):
        check_resolvers(Configuration({key: f" {known} "}))
    for other in ("com.example.Resolver", "WhitelistBasedResolver"):
        with pytest.raises(errors.InvalidConfiguration, match=f"{key} = {other} .*not supported"):
            check_resolvers(Configuration({key: other}))


def test_without_a_class_all_are_offered_the_same(conf: dict[str, str]) -> None:
    for changes in ({}, {FOR_CALLS: SAME_FOR_ALL, FOR_DATA: SAME_FOR_ALL}):
        made = Configuration({**conf, **changes})
        assert offered_for_calls(made) == SameForAll(AUTHENTICATION)
        assert offered_for_data(made) == SameForAll(INTEGRITY)


def test_data_that_is_not_protected_has_no_rule() -> None:
    assert offered_for_data(Configuration({FOR_DATA: BY_ADDRESS})) is None


def test_ports_offer_what_their_keys_say_and_privacy_without_one(conf: dict[str, str]) -> None:
    conf |= {
        FOR_CALLS: BY_PORT,
        "ingress.port.sasl.configured.ports": "8020, 8022,8023",
        "ingress.port.sasl.prop.8020": "integrity",
        "ingress.port.sasl.prop.8022": "authentication,integrity, privacy",
        "ingress.port.sasl.prop.9000": "integrity",
    }
    rule = offered_for_calls(Configuration(conf))
    assert rule == ByPort(AUTHENTICATION, {8020: INTEGRITY, 8022: ANY_PROTECTION, 8023: PRIVACY})
    assert rule.offered("10.0.0.1", 9000) == AUTHENTICATION


def test_ports_decide_about_calls_alone(conf: dict[str, str]) -> None:
    conf |= {FOR_CALLS: BY_PORT, "ingress.port.sasl.configured.ports": "9866"}
    assert offered_for_data(Configuration(conf)) == SameForAll(INTEGRITY)


@pytest.mark.parametrize(
    "changes",
    [
        {"ingress.port.sasl.configured.ports": "8020,http"},
        {"ingress.port.sasl.configured.ports": "65536"},
        {"ingress.port.sasl.configured.ports": "8020", "ingress.port.sasl.prop.8020": "secret"},
    ],
)
def test_what_is_no_port_or_no_protection_stops_the_start(changes: dict[str, str]) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=r"ingress\.port\.sasl\."):
        offered_for_calls(Configuration({FOR_CALLS: BY_PORT, **changes}))


def test_addresses_on_the_list_get_the_default_and_others_privacy(
    conf: dict[str, str], fixed: Path
) -> None:
    fixed.write_text("10.1.0.0/16\n192.168.0.7\n\n")
    rule = offered_for_calls(Configuration({**conf, FOR_CALLS: BY_ADDRESS}))
    for trusted in ("127.0.0.1", "10.1.2.3", "192.168.0.7", "::ffff:10.1.0.1"):
        assert rule.offered(trusted, 8020) == AUTHENTICATION
    for other in ("10.2.0.1", "192.168.0.8", "127.0.0.2", "::1", "", "?"):
        assert rule.offered(other, 8020) == PRIVACY


def test_the_key_says_what_others_get_for_calls_and_for_data(
    conf: dict[str, str], fixed: Path
) -> None:
    fixed.write_text("10.1.2.3")
    conf |= {
        FOR_CALLS: BY_ADDRESS,
        "hadoop.rpc.protection.non-whitelist": "privacy,integrity",
    }
    others = (Protection.PRIVACY, Protection.INTEGRITY)
    assert offered_for_calls(Configuration(conf)).offered("10.0.0.9", 1) == others
    for_data = offered_for_data(Configuration(conf))
    assert for_data is not None
    assert for_data.offered("10.0.0.9", 1) == others
    assert for_data.offered("10.1.2.3", 1) == INTEGRITY
    # Data ports may have a class of their own.
    assert offered_for_data(Configuration({**conf, FOR_DATA: SAME_FOR_ALL})) == SameForAll(
        INTEGRITY
    )


def test_without_a_file_this_machine_alone_is_trusted(conf: dict[str, str]) -> None:
    trusted = TrustedAddresses(Configuration({**conf, ENABLED: "true"}))
    assert trusted.include("127.0.0.1")
    assert not trusted.include("10.0.0.1")


def test_a_single_star_trusts_all(conf: dict[str, str], fixed: Path) -> None:
    fixed.write_text("*\n")
    assert TrustedAddresses(Configuration(conf)).include("10.0.0.1")


@pytest.mark.parametrize("text", ["client.example.com", "10.0.0.0/33", "10.0.0.1\n*", "# none"])
def test_a_list_of_what_is_no_address_stops_the_start(
    conf: dict[str, str], fixed: Path, text: str
) -> None:
    fixed.write_text(text)
    with pytest.raises(errors.InvalidConfiguration, match=f"{FIXED} = {fixed}: "):
        offered_for_calls(Configuration({**conf, FOR_CALLS: BY_ADDRESS}))


def test_a_list_that_cannot_be_read_stops_the_start(conf: dict[str, str], fixed: Path) -> None:
    fixed.mkdir()
    with pytest.raises(errors.InvalidConfiguration, match="Is a directory"):
        TrustedAddresses(Configuration(conf))
    fixed.rmdir()
    fixed.write_bytes(b"\xff\n")
    with pytest.raises(errors.InvalidConfiguration, match="decode"):
        TrustedAddresses(Configuration(conf))
    fixed.write_bytes(b"10.0.0.1\n" * 200_000)
    with pytest.raises(errors.InvalidConfiguration, match="more than"):
        TrustedAddresses(Configuration(conf))


def test_the_second_list_is_read_again_when_its_time_is_over(
    conf: dict[str, str], variable: Path, caplog: pytest.LogCaptureFixture
) -> None:
    variable.write_text("10.0.0.1")
    clock = Clock()
    trusted = TrustedAddresses(Configuration({**conf, ENABLED: "true", CACHED_S: "60"}), clock)
    assert trusted.include("10.0.0.1")
    variable.write_text("10.0.0.2")
    clock.now_s += 60
    assert trusted.include("10.0.0.1")
    clock.now_s += 1
    assert not trusted.include("10.0.0.1")
    assert trusted.include("10.0.0.2")
    # One that cannot be understood changes nothing; one that is gone is empty.
    variable.write_text("client.example.com")
    clock.now_s += 61
    assert trusted.include("10.0.0.2")
    assert "The list as it was before stays in use" in caplog.text
    variable.unlink()
    clock.now_s += 61
    assert not trusted.include("10.0.0.2")


def test_the_second_list_counts_where_it_is_enabled_and_is_read_once_below_0(
    conf: dict[str, str], variable: Path
) -> None:
    variable.write_text("10.0.0.1")
    clock = Clock()
    assert not TrustedAddresses(Configuration(conf), clock).include("10.0.0.1")
    trusted = TrustedAddresses(Configuration({**conf, ENABLED: "true", CACHED_S: "-1"}), clock)
    variable.write_text("10.0.0.2")
    clock.now_s += 1e9
    assert trusted.include("10.0.0.1")
