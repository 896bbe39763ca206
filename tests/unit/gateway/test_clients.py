"""Clients of a gateway: one for each user, kept while it is used."""

from __future__ import annotations

from typing import Any

import pytest

from howdah import errors
from howdah.fs.status import FsStatistics
from howdah.gateway import clients
from howdah.gateway.clients import Clients


class Made:
    def __init__(self, user: str) -> None:
        self.user = user
        self.is_closed = False

    def statistics(self) -> FsStatistics:
        return FsStatistics(bytes_read=10, bytes_written=1)

    def close(self) -> None:
        self.is_closed = True


def test_a_client_serves_all_requests_of_its_user_and_goes_when_none_come() -> None:
    now = [0.0]
    made: list[Any] = []

    def make(user: str) -> Any:
        made.append(Made(user))
        return made[-1]

    kept = Clients(make, 60.0, lambda: now[0])
    with kept.of("a") as first:
        now[0] = 100.0
        with kept.of("b"):
            pass
        assert not made[0].is_closed, "it is in use"
    with kept.of("a") as again:
        assert again is first
    now[0] = 161.0
    with kept.of("b"):
        assert [each.is_closed for each in made] == [True, False]
    assert kept.moved_bytes() == (20, 2), "of both"
    kept.close()
    assert made[1].is_closed


def test_there_are_no_more_than_may_be(monkeypatch: Any) -> None:
    monkeypatch.setattr(clients, "MOST", 2)
    made: dict[str, Any] = {}

    def make(user: str) -> Any:
        made[user] = Made(user)
        return made[user]

    now = [0.0]
    kept = Clients(make, 60.0, lambda: now[0])
    for user in ("a", "b", "c"):
        now[0] += 1
        with kept.of(user):
            pass
    assert [each.is_closed for each in made.values()] == [True, False, False]


@pytest.mark.parametrize("error", [errors.RemoteError("lease lost"), OSError(5, "EIO"), KeyError()])
def test_a_client_that_cannot_be_closed_fails_nobody_else(error: Exception) -> None:
    class Stuck(Made):
        def close(self) -> None:
            super().close()
            raise error

    now = [0.0]
    made: dict[str, Any] = {}

    def make(user: str) -> Any:
        made[user] = Stuck(user) if user == "a" else Made(user)
        return made[user]

    kept = Clients(make, 60.0, lambda: now[0])
    for user in ("a", "b"):
        with kept.of(user):
            pass
    now[0] = 100.0
    with kept.of("c"):
        assert made["a"].is_closed
        assert made["b"].is_closed
    now[0] = 200.0
    with kept.of("d"):
        assert made["c"].is_closed, "nobody uses it"
    kept.close()
    assert made["d"].is_closed
