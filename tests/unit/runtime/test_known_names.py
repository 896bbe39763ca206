"""What name servers have said is kept, and that they said nothing is not."""

from __future__ import annotations

import socket
from collections.abc import Sequence

import pytest

from howdah.runtime.known_names import KnownNames


class NameServer:
    """Answers by hand; None: it is away."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.asked = 0
        self.answer: Sequence[str] | None = ("10.0.0.1",)
        self.known = KnownNames[Sequence[str]](
            self._ask, lambda name, addresses: bool(addresses), lambda: self.now_s
        )

    def _ask(self, name: str) -> Sequence[str]:
        self.asked += 1
        if self.answer is None:
            raise socket.gaierror(socket.EAI_AGAIN, "away")
        return self.answer


@pytest.fixture
def names() -> NameServer:
    return NameServer()


def test_what_was_found_is_kept_for_minutes(names: NameServer) -> None:
    for names.now_s in (0.0, 299.0):
        assert names.known("nn1") == ("10.0.0.1",)
    assert names.asked == 1
    names.answer = ("10.0.0.2",)
    names.now_s = 300.0
    assert names.known("nn1") == ("10.0.0.2",)
    assert names.known.known("nn1", ()) == ("10.0.0.2",)
    assert names.known.known("nn2", ()) == ()


def test_that_nothing_was_found_is_kept_for_seconds(names: NameServer) -> None:
    names.answer = ()
    for names.now_s in (0.0, 4.0):
        assert names.known("nn1") == ()
    assert names.asked == 1
    names.answer = ("10.0.0.1",)
    names.now_s = 5.0
    assert names.known("nn1") == ("10.0.0.1",)


@pytest.mark.parametrize("answer", [(), None])
def test_what_was_found_counts_while_it_cannot_be_found_again(
    names: NameServer, answer: Sequence[str] | None
) -> None:
    names.known("nn1")
    names.answer = answer
    for names.now_s in (300.0, 304.0, 305.0, 599.0):
        assert names.known("nn1") == ("10.0.0.1",)
    assert names.asked == 4, "it is asked for every few seconds"
    names.now_s = 605.0
    if answer is None:
        with pytest.raises(socket.gaierror):
            names.known("nn1")
    else:
        assert names.known("nn1") == ()


def test_that_nobody_answers_is_not_kept(names: NameServer) -> None:
    names.answer = None
    with pytest.raises(socket.gaierror):
        names.known("nn1")
    names.answer = ("10.0.0.1",)
    assert names.known("nn1") == ("10.0.0.1",)
    names.known.forget()
    names.answer = ()
    assert names.known("nn1") == ()
