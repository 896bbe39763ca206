"""The users of names that clients give without a proof."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.security import user_names as module
from howdah.security.user_names import user_names

RULES = {"hadoop.security.auth_to_local": "RULE:[2:$1@$0](nn@R)s/.*/hdfs/ DEFAULT"}


@pytest.fixture(autouse=True)
def realm(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Whenever the default realm is asked for."""
    asked: list[str] = []

    def default_realm() -> str:
        asked.append("R")
        return "R"

    monkeypatch.setattr(module, "_default_realm", default_realm)
    return asked


def test_a_name_is_itself_and_no_file_is_read_for_it(realm: list[str]) -> None:
    assert user_names(Configuration({}))("alice") == "alice"
    with pytest.raises(errors.AuthenticationFailed):
        user_names(Configuration({}))("bob/x")
    assert realm == []


def test_a_principal_is_its_user() -> None:
    names = user_names(Configuration(RULES))
    assert [names(each) for each in ("alice@R", "nn/host@R", "dn/host@R")] == [
        "alice",
        "hdfs",
        "dn",
    ]


@pytest.mark.parametrize("name", ["bob/x", "hdfs/x", "a/b/c", "alice@ELSEWHERE", "@R", "alice@"])
def test_what_no_rule_is_about_is_nobody(name: str) -> None:
    with pytest.raises(errors.AuthenticationFailed):
        user_names(Configuration(RULES))(name)


def test_rules_that_are_none_are_found_at_the_start() -> None:
    with pytest.raises(errors.InvalidConfiguration, match="auth_to_local"):
        user_names(Configuration({"hadoop.security.auth_to_local": "RULE"}))
