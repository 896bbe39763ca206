"""The thread with which a candidate asks one journal node."""

from __future__ import annotations

import threading
from typing import Any

from howdah.failover import lease
from howdah.failover.state.candidate import Answer
from howdah.proto import election_pb2


def test_a_node_that_hangs_does_not_heap_up_what_it_is_to_be_told() -> None:
    called: list[str] = []
    has_begun, goes_on = threading.Event(), threading.Event()

    class Hanging:
        def call(self, method: str, request: Any, answer_type: Any) -> None:
            called.append(method)
            has_begun.set()
            assert goes_on.wait(30)

        def close(self) -> None:
            closed.set()

    closed = threading.Event()
    node = lease._Node(0, ("127.0.0.1", 1), 1.0)
    node._client = Hanging()  # type: ignore[assignment]
    request = election_pb2.ReleaseRequestProto(electionId="e", holder="h", term=1)
    for _ in range(1000):
        node.notify("release", request, election_pb2.ReleaseResponseProto)
    assert has_begun.wait(30)
    waiting = node._jobs.qsize()
    goes_on.set()
    node.close()
    assert closed.wait(30)
    assert waiting <= lease._MAX_WAITING
    assert called == ["release"] * (lease._MAX_WAITING + 1)


def test_a_node_is_asked_again_after_a_defect_in_a_question() -> None:
    answers: list[object] = []
    heard = threading.Event()

    def reply(number: int, answer: object) -> None:
        answers.append(answer)
        if len(answers) == 2:
            heard.set()

    def defect(client: Any) -> Any:
        raise RuntimeError("can't start new thread")

    node = lease._Node(0, ("127.0.0.1", 1), 1.0)
    answer = Answer()
    assert node.enqueue(defect, reply, may_wait=True)
    assert node.enqueue(lambda client: answer, reply, may_wait=True)
    assert heard.wait(30)
    node.close()
    assert answers == [None, answer]
