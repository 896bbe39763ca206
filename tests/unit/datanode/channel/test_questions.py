"""What a keeper hears of its data process when it asks how that is."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from howdah.datanode.channel import questions
from howdah.datanode.channel.link import Link
from howdah.datanode.channel.messages import What
from howdah.datanode.channel.questions import Questions


@pytest.fixture
def pair() -> Iterator[tuple[Questions, Link]]:
    left, right = Link.pair()
    asking = Questions(left)
    yield asking, right
    asking.close()
    right.close()


def test_each_question_has_its_answer_however_many_ask(pair: tuple[Questions, Link]) -> None:
    asking, link = pair
    long = "x" * 300_000
    questions.answer(link, lambda what: long if what is What.STACKS else "a line\n")
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda what=what: found.append(asking.ask(what)))
        for what in (*What, *What, *What)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(found) == ["a line\n"] * 3 + [long] * 3


def test_an_answer_that_comes_too_late_is_not_taken_for_the_next(
    pair: tuple[Questions, Link], monkeypatch: pytest.MonkeyPatch
) -> None:
    asking, link = pair
    monkeypatch.setattr(questions, "TIMEOUT_S", 0.01)
    assert "it has not answered for 0 s" in asking.ask(What.STACKS)
    monkeypatch.setattr(questions, "TIMEOUT_S", 60.0)
    questions.answer(link, lambda what: what.value)
    assert asking.ask(What.LOG) == What.LOG.value


def test_who_asks_hears_that_the_process_is_gone(pair: tuple[Questions, Link]) -> None:
    asking, link = pair
    link.close()
    assert "the other process of this datanode is gone" in asking.ask(What.STACKS)
