"""How a gateway is secured by its configuration, and where it looks for a token."""

from __future__ import annotations

import pytest

from howdah.config import Configuration, keys
from howdah.errors import InvalidConfiguration
from howdah.gateway.security import (
    ZOOKEEPER_KEYS,
    asks_for_proof,
    check_gateway_protection,
    security_of,
    with_plain_keys,
    with_token_in_query,
)
from howdah.security.zookeeper_tokens import token_place
from howdah.web.http import Request, request_of

SECURED = {
    "hadoop.security.authentication": "kerberos",
    "httpfs.hadoop.authentication.kerberos.principal": "httpfs/_HOST@R",
    "httpfs.hadoop.authentication.kerberos.keytab": "/keytab",
}


def plain(values: dict[str, str]) -> Configuration:
    return with_plain_keys(Configuration(values))


def test_what_is_said_for_a_gateway_goes_before_what_is_said_for_all() -> None:
    conf = plain(
        {
            "httpfs.hadoop.authentication.type": "kerberos",
            "hadoop.security.authentication": "simple",
            "httpfs.authentication.kerberos.principal": "HTTP/a@R",
            "hadoop.http.authentication.kerberos.principal": "HTTP/b@R",
            "dfs.web.authentication.kerberos.principal": "HTTP/c@R",
            "hadoop.http.authentication.kerberos.keytab": "/b",
            "httpfs.authentication.token.validity": "7",
            "httpfs.http.administrators": "root",
            "dfs.cluster.administrators": "hdfs",
        }
    )
    assert conf.get(keys.HADOOP_SECURITY_AUTHENTICATION) == "kerberos"
    assert conf.get(keys.DFS_WEB_AUTHENTICATION_KERBEROS_PRINCIPAL) == "HTTP/a@R"
    assert conf.get(keys.DFS_WEB_AUTHENTICATION_KERBEROS_KEYTAB) == "/b"
    assert conf.get(keys.HADOOP_HTTP_AUTHENTICATION_TOKEN_VALIDITY) == 7
    assert conf.get(keys.DFS_CLUSTER_ADMINISTRATORS) == "root"


@pytest.mark.parametrize(
    ("values", "asks"),
    [
        ({}, False),
        ({"httpfs.authentication.type": "simple"}, False),
        ({"httpfs.authentication.type": "kerberos"}, True),
        ({"hadoop.http.authentication.type": "kerberos"}, True),
        (SECURED, True),
        ({**SECURED, "hadoop.http.authentication.type": "simple"}, True),
    ],
)
def test_users_prove_themselves_where_either_side_is_secured(
    values: dict[str, str], asks: bool
) -> None:
    conf = plain(values)
    check_gateway_protection(conf)
    assert asks_for_proof(conf) is asks
    if not asks:
        assert security_of(conf) is None


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"hadoop.security.authentication": "kerberos"}, "kerberos.principal is not set"),
        ({**SECURED, "httpfs.authentication.type": "simple"}, "would be anybody there"),
        ({**SECURED, "httpfs.authentication.type": "ldap"}, "ldap .* is not supported"),
        ({"httpfs.authentication.type": "org.example.Filter"}, "Filter .* is not supported"),
        ({**SECURED, "hadoop.http.filter.initializers": "a.b.Own"}, "a.b.Own .* not supported"),
    ],
)
def test_what_would_leave_a_door_open_is_refused(values: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidConfiguration, match=words):
        check_gateway_protection(plain(values))


def test_a_gateway_reads_encrypted_data_as_clients_do() -> None:
    asked = {"dfs.encrypt.data.transfer": "true", "dfs.block.access.token.enable": "true"}
    check_gateway_protection(plain(asked))
    check_gateway_protection(plain({**SECURED, **asked}))


def request(target: str, token: str | None = None) -> Request:
    headers = [] if token is None else [(b"x-hadoop-delegation-token", token.encode())]
    made = request_of(b"GET", target.encode(), headers)
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("target", "header", "found"),
    [
        ("/webhdfs/v1/a?op=OPEN", None, "/webhdfs/v1/a?op=OPEN"),
        ("/webhdfs/v1/a?op=OPEN&delegation=Q", None, "/webhdfs/v1/a?op=OPEN&delegation=Q"),
        ("/webhdfs/v1/a?op=OPEN", "H&x", "/webhdfs/v1/a?op=OPEN&delegation=H%26x"),
        # As at Hadoop's, the header counts.
        ("/webhdfs/v1/a?Delegation=Q&op=OPEN", "H", "/webhdfs/v1/a?op=OPEN&delegation=H"),
        ("/jmx", "H", "/jmx"),
        ("/webhdfs/v1/?op=GETDELEGATIONTOKEN", "H", "/webhdfs/v1/?op=GETDELEGATIONTOKEN"),
        (
            "/webhdfs/v1/?OP=renewDelegationToken&token=T&%64elegation=Q",
            None,
            "/webhdfs/v1/?OP=renewDelegationToken&token=T",
        ),
        # The operation is the one that is done: the first that is given.
        (
            "/webhdfs/v1/?op=GETDELEGATIONTOKEN&OP=OPEN&delegation=Q",
            None,
            "/webhdfs/v1/?op=GETDELEGATIONTOKEN&OP=OPEN",
        ),
        (
            "/webhdfs/v1/?OP=OPEN&op=GETDELEGATIONTOKEN",
            "H",
            "/webhdfs/v1/?OP=OPEN&op=GETDELEGATIONTOKEN&delegation=H",
        ),
        # Refused as it is.
        ("/webhdfs/v1/?op=OPEN&a=%FF", "H", "/webhdfs/v1/?op=OPEN&a=%FF"),
    ],
)
def test_the_token_that_counts_is_in_the_query(target: str, header: str | None, found: str) -> None:
    seen = with_token_in_query(request(target, header))
    assert seen.target == found
    shown = request(found)
    assert dict(seen.query) == dict(shown.query)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, "zkConnectionString is not set"),
        ({"zkConnectionString": "zk:2181"}, "zkAuthType =  is not supported"),
        ({"zkConnectionString": "zk:2181", "zkAuthType": "none"}, "zkAuthType = none"),
        ({"zkConnectionString": "zk:2181", "zkAuthType": "sasl"}, r"kerberos\.principal"),
    ],
)
def test_tokens_are_kept_in_no_zookeeper_that_does_not_know_who_asks(
    given: dict[str, str], named: str
) -> None:
    prefix = "httpfs.authentication.zk-dt-secret-manager"
    conf = Configuration({f"{prefix}.{name}": value for name, value in given.items()})
    assert token_place(conf, ZOOKEEPER_KEYS, "localhost") is None
    conf = conf.with_values({f"{prefix}.enable": "true"})
    with pytest.raises(InvalidConfiguration, match=named):
        token_place(conf, ZOOKEEPER_KEYS, "localhost")
