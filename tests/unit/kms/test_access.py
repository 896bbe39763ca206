"""Who may do what with keys, as `kms-acls.xml` says it."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.kms.state.access import KeyAccess, Operation, Use, list_name_of


def access(**lists: str) -> KeyAccess:
    settings = [(name.replace("__", "."), text) for name, text in lists.items()]
    return KeyAccess(settings, lambda user: ["clerks"] if user == "carol" else [])


def test_calls_are_everybodys_unless_it_is_said() -> None:
    rules = access(
        hadoop__kms__acl__CREATE="anna clerks", hadoop__kms__blacklist__GET="hdfs", 
        hadoop__kms__acl__DELETE=" ",
    )  # fmt: skip
    assert rules.allows_call("bob", Operation.ROLLOVER)
    assert [u for u in ("anna", "bob", "carol") if rules.allows_call(u, Operation.CREATE)] == [
        "anna",
        "carol",
    ]
    assert not rules.allows_call("anna", Operation.DELETE)
    assert not rules.allows_call("hdfs", Operation.GET)
    assert rules.allows_call("anna", Operation.GET)


def test_without_lists_nobody_uses_a_key() -> None:
    assert not any(access().allows_use("anna", "payroll", use) for use in Use)


def test_a_keys_own_lists_take_the_place_of_the_defaults() -> None:
    rules = access(
        default__key__acl__READ="*", default__key__acl__DECRYPT_EEK="*",
        key__acl__payroll__DECRYPT_EEK="anna", whitelist__key__acl__DECRYPT_EEK="auditor",
    )  # fmt: skip
    assert rules.allows_use("bob", "other", Use.DECRYPT_EEK)
    assert rules.allows_use("anna", "payroll", Use.DECRYPT_EEK)
    assert rules.allows_use("auditor", "payroll", Use.DECRYPT_EEK)
    assert not rules.allows_use("bob", "payroll", Use.DECRYPT_EEK)
    assert not rules.allows_use("anna", "payroll", Use.READ)


def test_all_is_every_use() -> None:
    rules = access(key__acl__a__ALL="anna")
    assert all(rules.allows_use("anna", "a", use) for use in Use)
    assert not rules.allows_use("bob", "a", Use.READ)


def test_a_key_with_dots_in_its_name_has_its_lists() -> None:
    rules = access(**{"key.acl.pay.roll.READ": "anna"})
    assert rules.allows_use("anna", "pay.roll", Use.READ)


def test_the_list_of_a_key_may_have_another_name() -> None:
    assert list_name_of("payroll", {"key.acl.name": "finance"}) == "finance"
    assert list_name_of("payroll", {}) == "payroll"


@pytest.mark.parametrize(
    "name",
    ["hadoop.kms.acl.READ", "hadoop.kms.blacklist.X", "key.acl.a.WRITE", "default.key.acl.",
     "whitelist.key.acl.CREATE", "default.key.acl.ALL", "whitelist.key.acl.ALL"],
)  # fmt: skip
def test_lists_of_nothing_are_refused(name: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match="is no list"):
        access(**{name: "*"})
