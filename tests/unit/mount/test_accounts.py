"""Names of users, and their numbers here."""

from __future__ import annotations

import grp
import pwd

import pytest

from howdah.mount.accounts import KNOWN_FOR_S, NOBODY, Accounts


def test_names_have_the_numbers_of_the_accounts_here() -> None:
    accounts = Accounts()
    entry, group = pwd.getpwuid(0), grp.getgrgid(0)
    assert (accounts.uid(entry.pw_name), accounts.user(0)) == (0, entry.pw_name)
    assert (accounts.gid(group.gr_name), accounts.group(0)) == (0, group.gr_name)


def test_names_without_an_account_are_nobody() -> None:
    accounts = Accounts()
    assert accounts.uid("no-such-user") == accounts.gid("no-such-group") == NOBODY
    assert accounts.uid("with\0zero") == NOBODY
    assert accounts.user(3_999_999_999) is None
    assert accounts.group(3_999_999_999) is None


def test_the_user_who_mounts_is_the_one_whom_the_cluster_knows() -> None:
    accounts = Accounts(("hdfs", 4711))
    assert accounts.uid("hdfs") == 4711
    assert accounts.user(4711) == "hdfs"


def test_answers_count_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    now_s = 0.0

    def ask(name: str) -> object:
        asked.append(name)
        raise KeyError(name)

    monkeypatch.setattr(pwd, "getpwnam", ask)
    accounts = Accounts(clock=lambda: now_s)
    accounts.uid("ann")
    accounts.uid("ann")
    assert asked == ["ann"]
    now_s = KNOWN_FOR_S + 1
    accounts.uid("ann")
    assert asked == ["ann", "ann"]
    for number in range(10_000):
        accounts.uid(str(number))
    assert len(accounts._uids._answers) <= 4096
