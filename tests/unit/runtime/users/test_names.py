"""Names of users, and of those who are acted for."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from howdah import errors
from howdah.runtime.users.names import (
    MOST_CHARACTERS,
    ProxyUser,
    check_name,
    display_name,
    real_user_of,
)


def test_a_user_who_is_acted_for_is_his_name_wherever_it_goes() -> None:
    user = ProxyUser("joe", "hive")
    assert user == "joe"
    by_name: dict[str, int] = {user: 1}
    assert by_name["joe"] == 1
    assert json.dumps([user]) == '["joe"]'
    for other in (user, pickle.loads(pickle.dumps(user)), copy.deepcopy(user)):
        assert (other, real_user_of(other)) == ("joe", "hive")
    assert real_user_of("joe") is None
    assert real_user_of(str(user)) is None


@pytest.mark.parametrize(("user", "real_user"), [("", "hive"), ("joe", ""), ("joe", "a\nb")])
def test_nobody_acts_for_what_is_no_name(user: str, real_user: str) -> None:
    with pytest.raises(errors.IllegalArgument):
        ProxyUser(user, real_user)


@pytest.mark.parametrize(
    "name", ["", "a\nb", "a\x00", "\x1b[1m", "a\u2028b", "\u202eevil", "\udc80", "u" * 1025]
)
def test_what_nobody_can_be_called_is_refused(name: str) -> None:
    with pytest.raises(errors.IllegalArgument):
        check_name(name)


@pytest.mark.parametrize("name", ["joe", "joe@REALM", "a b", "jürgen", "u" * MOST_CHARACTERS])
def test_names_of_users(name: str) -> None:
    check_name(name)


def test_users_are_shown_as_hadoop_shows_them() -> None:
    assert display_name("joe") == "joe (auth:SIMPLE)"
    assert display_name("joe", "hive") == "joe (auth:PROXY) via hive (auth:SIMPLE)"
