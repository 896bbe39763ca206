"""rollEdits and restoreFailedStorage: who may, and what reaches the directories."""

from __future__ import annotations

from typing import Any, cast

import pytest

from howdah import errors
from howdah.namenode.service.calls.storage import NameStorage, StorageCalls
from howdah.protocol.rpc.call import Caller


class Directories:
    """Takes down what it was told to do."""

    def __init__(self) -> None:
        self.rolls = 0
        self.restores = False

    def roll_edits(self) -> int:
        self.rolls += 1
        return 17

    def restore_failed_storage(self, restores: bool | None) -> bool:
        if restores is not None:
            self.restores = restores
        return self.restores


@pytest.fixture
def directories() -> Directories:
    return Directories()


@pytest.fixture
def calls(client: Any, directories: Directories) -> StorageCalls:
    return StorageCalls(client.namenode.namesystem, cast(NameStorage, directories))


def caller(user: str = "root") -> Caller:
    return Caller(user, b"", -1, 0, "10.9.9.9")


def test_roll_answers_with_the_first_transaction_of_the_new_segment(
    calls: StorageCalls, directories: Directories
) -> None:
    assert calls.roll_edits(caller()) == 17
    assert directories.rolls == 1


def test_roll_is_refused_in_safe_mode(
    client: Any, calls: StorageCalls, directories: Directories
) -> None:
    client.namenode.namesystem.safe_mode.enter()
    with pytest.raises(errors.SafeMode, match="Log not rolled"):
        calls.roll_edits(caller())
    assert directories.rolls == 0


@pytest.mark.req("FS-030")
def test_restoring_is_switched_on_off_and_asked_for(calls: StorageCalls) -> None:
    asked = ("check", "true", "check", "false")
    assert [calls.restore_failed(caller(), word) for word in asked] == [False, True, True, False]


def test_other_words_are_refused(calls: StorageCalls) -> None:
    with pytest.raises(errors.IllegalArgument, match="'yes'"):
        calls.restore_failed(caller(), "yes")


def test_only_the_superuser_may(calls: StorageCalls, directories: Directories) -> None:
    with pytest.raises(errors.AccessDenied):
        calls.roll_edits(caller("mallory"))
    with pytest.raises(errors.AccessDenied):
        calls.restore_failed(caller("mallory"), "true")
    assert not directories.rolls
    assert not directories.restores
