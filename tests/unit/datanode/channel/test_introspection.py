"""What a control process hears of its data process when it asks how that is."""

from __future__ import annotations

import fcntl
import resource
import socket
import threading
from collections.abc import Iterator

import pytest

from howdah.datanode.channel import introspection
from howdah.datanode.channel.frames import Link
from howdah.datanode.channel.introspection import IntrospectionClient
from howdah.datanode.state.messages import Subject

MOST_OF_SELECT = 1024


@pytest.fixture(params=["low", "high"])
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[IntrospectionClient, Link]]:
    """The control process's end with a low descriptor, and as one that has a thousand others
    open."""
    left, right = Link.pair()
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if request.param == "high":
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], 2048), before[1]))
        high = fcntl.fcntl(left.fileno(), fcntl.F_DUPFD_CLOEXEC, MOST_OF_SELECT)
        left.close()
        left = Link(socket.socket(fileno=high))
    asking = IntrospectionClient(left)
    yield asking, right
    asking.close()
    right.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_each_question_has_its_answer_however_many_ask(
    pair: tuple[IntrospectionClient, Link],
) -> None:
    asking, link = pair
    long = "x" * 300_000
    introspection.serve(link, lambda subject: long if subject is Subject.STACKS else "a line\n")
    answers: list[str] = []
    threads = [
        threading.Thread(target=lambda subject=subject: answers.append(asking.request(subject)))
        for subject in (*Subject, *Subject, *Subject)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(answers) == ["a line\n"] * 3 + [long] * 3


def test_an_answer_that_comes_too_late_is_not_taken_for_the_next(
    pair: tuple[IntrospectionClient, Link], monkeypatch: pytest.MonkeyPatch
) -> None:
    asking, link = pair
    monkeypatch.setattr(introspection, "TIMEOUT_S", 0.01)
    assert "it has not answered for 0 s" in asking.request(Subject.STACKS)
    monkeypatch.setattr(introspection, "TIMEOUT_S", 60.0)
    introspection.serve(link, lambda subject: subject.value)
    assert asking.request(Subject.LOG) == Subject.LOG.value


def test_who_asks_hears_that_the_process_is_gone(pair: tuple[IntrospectionClient, Link]) -> None:
    asking, link = pair
    link.close()
    assert "the other process of this datanode is gone" in asking.request(Subject.STACKS)


def test_a_question_that_meets_a_defect_leaves_the_next_one_its_answer(
    pair: tuple[IntrospectionClient, Link],
) -> None:
    asking, link = pair

    def report(subject: Subject) -> str:
        if subject is Subject.STACKS:
            raise RuntimeError("a defect of this test")
        return "a line\n"

    introspection.serve(link, report)
    assert "a defect of this test" in asking.request(Subject.STACKS)
    assert asking.request(Subject.LOG) == "a line\n"
