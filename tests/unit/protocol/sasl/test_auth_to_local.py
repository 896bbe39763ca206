"""The rules of hadoop.security.auth_to_local, with what Hadoop's HadoopKerberosName says."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.protocol.sasl.auth_to_local import parse_rules, short_name

REALM = "EXAMPLE.COM"
SERVICES = (
    "RULE:[2:$1@$0](nn@EXAMPLE.COM)s/.*/hdfs/ RULE:[2:$1@$0](dn@EXAMPLE.COM)s/.*/hdfs/\n DEFAULT"
)


def name(rules: str, principal: str, mechanism: str = "hadoop") -> str:
    return short_name(principal, parse_rules(rules), REALM, mechanism)


@pytest.mark.parametrize(
    ("mechanism", "rules", "principal", "user"),
    [
        ("hadoop", "DEFAULT", "alice@EXAMPLE.COM", "alice"),
        ("hadoop", "DEFAULT", "nn/host@EXAMPLE.COM", "nn"),
        ("hadoop", "DEFAULT", "alice", "alice"),
        ("mit", "DEFAULT", "alice@EXAMPLE.COM", "alice"),
        ("mit", "DEFAULT", "alice@OTHER.COM", "alice@OTHER.COM"),
        ("mit", "DEFAULT", "nn/host@EXAMPLE.COM", "nn"),
        ("hadoop", "RULE:[1:$1@$0](.*@OTHER.COM)s/@.*// DEFAULT", "alice@OTHER.COM", "alice"),
        (
            "mit",
            "RULE:[1:$1@$0](.*@OTHER.COM)s/a/b/g/L DEFAULT",
            "Alaca@OTHER.COM",
            "albcb@other.com",
        ),
        ("hadoop", "RULE:[2:$1-$2] DEFAULT", "nn/host@EXAMPLE.COM", "nn-host"),
        ("hadoop", SERVICES, "dn/h@EXAMPLE.COM", "hdfs"),
        ("hadoop", SERVICES, "alice@EXAMPLE.COM", "alice"),
        ("hadoop", r"RULE:[1:$1](u.x)s/u(.)x/$1$1/", "uyx@ANY", "yy"),
        ("hadoop", "RULE:[1:$1]/L", "Bob@ANY", "bob"),
    ],
)
def test_a_principal_is_its_user(mechanism: str, rules: str, principal: str, user: str) -> None:
    assert name(rules, principal, mechanism) == user


@pytest.mark.parametrize(
    ("rules", "principal", "said"),
    [
        ("DEFAULT", "alice@OTHER.COM", "No rules applied to alice@OTHER.COM"),
        ("DEFAULT", "nn/host", "No rules applied to nn/host"),
        ("DEFAULT", "a/b/c", "No rules applied to a/b/c"),
        ("RULE:[1:root] DEFAULT", "a@", "Malformed Kerberos name: a@"),
        ("RULE:[1:root] DEFAULT", "@EXAMPLE.COM", "Malformed Kerberos name: @EXAMPLE.COM"),
        ("RULE:[2:root] DEFAULT", "/host", "Malformed Kerberos name: /host"),
        ("RULE:[1:$1@$0]", "a@B", "Non-simple name a@B after auth_to_local rule a@B"),
        # Hadoop's pattern of a principal has one @; a rule that cuts at the first would make hdfs
        # of the name of somebody else.
        ("RULE:[1:$1@$0](.*@B)s/@.*//", "hdfs@evil@B", "Malformed Kerberos name: hdfs@evil@B"),
        ("RULE:[2:$1@$0](.*@B)s/@.*//", "hdfs@x/h@B", "Malformed Kerberos name: hdfs@x/h@B"),
        (r"RULE:[1:$1@$0](.*@B)s/@.*//", r"hdfs@EVIL\@B", r"Malformed Kerberos name: hdfs@EVIL"),
    ],
)
def test_what_no_rule_makes_a_simple_name_is_refused(rules: str, principal: str, said: str) -> None:
    with pytest.raises(errors.AuthenticationFailed, match=said):
        name(rules, principal)


def test_a_name_with_two_at_signs_is_nobodys_by_mits_rules_either() -> None:
    with pytest.raises(errors.AuthenticationFailed, match="Malformed Kerberos name"):
        name("DEFAULT", "hdfs@evil@EXAMPLE.COM", "mit")


@pytest.mark.parametrize("rules", ["RULE", "RULE:[x:$1]", "RULE:[1:$1]((^nn)s/a/b/", "NONE"])
def test_what_is_no_rule_is_refused(rules: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_rules(rules)
