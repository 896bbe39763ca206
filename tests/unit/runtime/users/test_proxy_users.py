"""Who may act for whom. Each verdict is Hadoop's (`tests/compat/test_proxy_users_java.py`)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from howdah import errors
from howdah.runtime.users.proxy_users import Machines, ProxyUsers

PREFIX = "hadoop.proxyuser."
GROUPS = {"joe": ("staff", "x"), "sue": ("admins",)}


def rules(values: Mapping[str, str]) -> ProxyUsers:
    return ProxyUsers.parse([(PREFIX + key, value) for key, value in values.items()], PREFIX)


def verdict(
    found: ProxyUsers,
    real_user: str,
    user: str,
    address: str = "1.2.3.4",
    machines: Mapping[str, tuple[str, ...]] | None = None,
) -> str:
    """What the caller is told; `ok` if he may."""
    try:
        if found.needs_groups(real_user, user):
            found.check_groups(real_user, user, GROUPS.get(user, ()))
        names = found.names_to_look_up(real_user, address)
        if names:
            known = [each for name in names for each in (machines or {}).get(name, ())]
            found.check_looked_up(real_user, address, known)
    except errors.AuthorizationFailed as error:
        return error.message
    return "ok"


def test_a_real_user_acts_for_members_of_his_groups() -> None:
    found = rules({"hive.groups": " staff , other", "hive.hosts": "*"})
    assert verdict(found, "hive", "joe") == "ok"
    assert verdict(found, "hive", "sue") == "User: hive is not allowed to impersonate sue"
    assert verdict(found, "hive", "stranger") == "User: hive is not allowed to impersonate stranger"


def test_a_real_user_acts_for_users_of_his_list() -> None:
    found = rules({"hive.users": "ann,bob", "hive.groups": "staff", "hive.hosts": "*"})
    assert [verdict(found, "hive", name) for name in ("ann", "bob", "joe")] == ["ok"] * 3
    assert verdict(found, "hive", "sue") == "User: hive is not allowed to impersonate sue"


@pytest.mark.parametrize("kind", ["users", "groups"])
def test_a_star_alone_is_everybody(kind: str) -> None:
    found = rules({f"hive.{kind}": " * ", "hive.hosts": "*"})
    assert verdict(found, "hive", "stranger") == "ok"
    assert not found.needs_groups("hive", "stranger")


def test_a_star_among_others_is_a_name() -> None:
    found = rules({"hive.users": "a,*", "hive.hosts": "*"})
    assert verdict(found, "hive", "x") == "User: hive is not allowed to impersonate x"
    assert verdict(found, "hive", "*") == "ok"


def test_nobody_acts_for_others_without_rules_not_even_for_himself() -> None:
    assert verdict(ProxyUsers(), "ann", "ann") == "User: ann is not allowed to impersonate ann"
    found = rules({"hive.users": "ann", "hive.hosts": "*"})
    assert verdict(found, "hive", "hive") == "User: hive is not allowed to impersonate hive"
    assert verdict(found, "ann", "hive") == "User: ann is not allowed to impersonate hive"


def test_strangers_are_refused_before_groups_are_asked_for() -> None:
    found = rules({"hive.groups": "staff", "hive.hosts": "*", "odd.hosts": "*"})
    for real_user in ("stranger", "odd"):
        with pytest.raises(errors.AuthorizationFailed):
            found.needs_groups(real_user, "joe")


@pytest.mark.parametrize("hosts", [None, "", "127.0.0.1", "no/host"[:2]])
def test_a_connection_from_elsewhere_is_refused(hosts: str | None) -> None:
    found = rules({"hive.users": "*", **({} if hosts is None else {"hive.hosts": hosts})})
    said = "Unauthorized connection for super-user: hive from IP /1.2.3.4"
    assert verdict(found, "hive", "joe") == said


@pytest.mark.parametrize(
    ("hosts", "allowed", "refused"),
    [
        ("127.0.0.1, 10.0.0.0/8", ["127.0.0.1", "10.255.0.1"], ["127.0.0.2", "11.0.0.0"]),
        ("10.1.2.3/16", ["10.1.0.0", "10.1.255.255"], ["10.2.0.0"]),
        ("::1,fe80::1", ["::1", "0:0:0:0:0:0:0:1", "fe80:0:0:0:0:0:0:1%eth0"], ["::2", "1.2.3.4"]),
        ("2001:db8::/32", ["2001:db8:1::5"], ["2001:db9::1", "10.0.0.1"]),
        ("10.0.0.1", ["::ffff:10.0.0.1"], ["::ffff:10.0.0.2"]),
        ("*,", ["9.9.9.9", "anything"], []),
        ("1.2.3.4,*", ["1.2.3.4"], ["1.2.3.5"]),
        ("10.0.0.1", ["10.0.0.1"], ["?", "", "10.0.0.1 "]),
    ],
)
def test_addresses_and_ranges(hosts: str, allowed: list[str], refused: list[str]) -> None:
    machines = Machines.parse(hosts)
    assert [each for each in allowed + refused if machines.include(each)] == allowed


def test_names_of_machines_are_looked_up_only_where_that_can_help() -> None:
    found = rules({"hive.users": "*", "hive.hosts": "10.0.0.0/8,node1,node2,node1"})
    assert found.names_to_look_up("hive", "10.1.1.1") == ()
    assert found.names_to_look_up("hive", "1.2.3.4") == ("node1", "node2")
    known = {"node1": ("1.2.3.3",), "node2": ("::1", "1.2.3.4")}
    assert verdict(found, "hive", "joe", machines=known) == "ok"
    said = "Unauthorized connection for super-user: hive from IP /1.2.3.4"
    assert verdict(found, "hive", "joe", machines={"node1": ("1.2.3.3",)}) == said


@pytest.mark.parametrize("hosts", ["10.0.0.0/33", "10.0.0/8", "10.0.0.0/x", "node/8", "/"])
def test_what_is_no_range_is_named_with_its_key(hosts: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=r"hadoop\.proxyuser\.hive\.hosts = "):
        rules({"hive.users": "*", "hive.hosts": hosts})


def test_names_may_have_dots_and_other_keys_do_not_count(
    caplog: pytest.LogCaptureFixture,
) -> None:
    found = ProxyUsers.parse(
        [
            ("hadoop.proxyuser.a.b.users", "*"),
            ("hadoop.proxyuser.a.b.hosts", "*"),
            ("hadoop.proxyuser.c.machines", "*"),
            ("hadoop.proxyuser.users", "*"),
            ("httpfs.proxyuser.d.users", "*"),
        ],
        PREFIX,
    )
    assert list(found.rules) == ["a.b"]
    assert "hadoop.proxyuser.c.machines has no effect" in caplog.text
    assert "httpfs" not in caplog.text
    assert verdict(found, "a.b", "joe") == "ok"
