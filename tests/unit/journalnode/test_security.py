"""What a journal node wants to know before it is secured, and what keeps it from starting."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.journalnode.security import check_journalnode_protection, security_of

SECURED = {
    "hadoop.security.authentication": "kerberos",
    "dfs.journalnode.kerberos.principal": "jn/_HOST@EXAMPLE.COM",
    "dfs.journalnode.keytab.file": "/nowhere/jn.keytab",
    "dfs.namenode.kerberos.principal": "nn/_HOST@EXAMPLE.COM",
    "dfs.journalnode.kerberos.internal.spnego.principal": "HTTP/_HOST@EXAMPLE.COM",
}


def test_all_that_a_secured_journal_node_needs_is_enough() -> None:
    """It has no blocks: whether datanodes ask for tokens is nothing to it."""
    check_journalnode_protection(Configuration(SECURED))
    protected = {**SECURED, "hadoop.rpc.protection": "privacy"}
    check_journalnode_protection(Configuration(protected))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dfs.journalnode.kerberos.principal": ""}, "journalnode.kerberos.principal is not set"),
        ({"dfs.journalnode.keytab.file": ""}, "dfs.journalnode.keytab.file is not set"),
        ({"dfs.namenode.kerberos.principal": ""}, "dfs.namenode.kerberos.principal is not set"),
        (
            {"dfs.journalnode.kerberos.internal.spnego.principal": ""},
            "dfs.web.authentication.kerberos.principal is not set, nor is "
            "dfs.journalnode.kerberos.internal.spnego.principal: .* could read its segments",
        ),
        ({"hadoop.security.authentication": "token"}, "only 'simple' is supported"),
        (
            {"hadoop.security.saslproperties.resolver.class": "com.example.Resolver"},
            "resolver.class = com.example.Resolver .*is not supported",
        ),
    ],
)
def test_what_would_leave_a_door_open_stops_the_start(changes: dict[str, str], words: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=words):
        check_journalnode_protection(Configuration({**SECURED, **changes}))


def test_without_kerberos_everybody_is_believed_and_protection_is_refused() -> None:
    assert security_of(Configuration()) is None
    with pytest.raises(errors.InvalidConfiguration, match=r"hadoop\.rpc\.protection = privacy"):
        check_journalnode_protection(Configuration({"hadoop.rpc.protection": "privacy"}))


def test_a_keytab_that_is_not_there_stops_the_start() -> None:
    with pytest.raises(errors.LoginFailed, match=r"/nowhere/jn\.keytab cannot be read"):
        security_of(Configuration(SECURED))
