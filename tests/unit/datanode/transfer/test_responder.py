"""Acks of a pipeline, where the mirror is ahead of this datanode."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest

from howdah.datanode.transfer import responder
from howdah.datanode.transfer.responder import MirrorResponder
from howdah.protocol.data_transfer.packets import PacketHeader, PipelineAck, encode_ack
from howdah.protocol.data_transfer.status import Status
from howdah.testing.waiting import wait_until


class Front:
    """Whoever is in front: keeps what it is sent."""

    def __init__(self) -> None:
        self.heard = b""
        self.is_shut = False

    def send_all(self, data: bytes) -> None:
        self.heard += data

    def shutdown(self) -> None:
        self.is_shut = True


class Behind:
    """A mirror whose acks are there before anybody asks."""

    name = "behind"
    failed = False
    has_ack_waiting = False

    def __init__(self, *acks: PipelineAck) -> None:
        self.acks = list(acks)

    @property
    def has_something_to_say(self) -> bool:
        return bool(self.acks)

    def read_ack(self) -> PipelineAck:
        return self.acks.pop(0)

    def shutdown(self) -> None:
        return


class Block:
    length = 0

    def acknowledge(self, length: int) -> None:
        self.length = length


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(responder, "_LISTEN_S", 0.001)
    yield
    assert not [t for t in threading.enumerate() if t.name == "acks of a block"]


def responder_between(front: Front, behind: Behind, block: Block) -> MirrorResponder:
    made = MirrorResponder(
        cast(Any, front), cast(Any, behind), cast(Any, block), lambda: Status.SUCCESS, "a block"
    )
    made.begin(())
    return made


def packet(seqno: int, *, last: bool = False) -> PacketHeader:
    return PacketHeader(seqno * 512, seqno, last, 0 if last else 512)


def test_an_ack_that_comes_before_its_packet_is_written_here_is_kept_for_it() -> None:
    front, block = Front(), Block()
    behind = Behind(*(PipelineAck(n, (Status.SUCCESS,)) for n in (0, 1)))
    acks = responder_between(front, behind, block)
    wait_until(lambda: len(behind.acks) == 1, timeout_s=30, what="the first ack is taken")
    acks.written([packet(0), packet(1, last=True)])
    acks.finish()
    both = (Status.SUCCESS, Status.SUCCESS)
    assert front.heard == encode_ack(0, both) + encode_ack(1, both)
    assert block.length == 512


def test_what_is_said_between_two_acks_is_said_in_front_before_the_next() -> None:
    front = Front()
    word = PipelineAck(-2, (Status.OOB_RESTART,))
    behind = Behind(word, PipelineAck(0, (Status.SUCCESS,)))
    acks = responder_between(front, behind, Block())
    said = encode_ack(-2, (Status.SUCCESS, Status.OOB_RESTART))
    wait_until(lambda: front.heard == said, timeout_s=30, what="the word is passed on")
    acks.written([packet(0, last=True)])
    acks.finish()
    assert front.heard == said + encode_ack(0, (Status.SUCCESS, Status.SUCCESS))


def test_a_defect_ends_the_write_and_is_told_to_who_finishes_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(Block):
        def acknowledge(self, length: int) -> None:
            raise RuntimeError("a defect")

    front = Front()
    acks = responder_between(front, Behind(PipelineAck(0, (Status.SUCCESS,))), Broken())
    acks.written([packet(0)])
    with pytest.raises(RuntimeError, match="a defect"):
        acks.finish()
    assert front.is_shut, "or the receiving thread would wait for packets"
    assert front.heard == b""
    assert "failed on a defect" in caplog.text


class Slow(Behind):
    """A mirror that acknowledges nothing until it is shut down."""

    def __init__(self) -> None:
        super().__init__()
        self.is_over = threading.Event()

    def read_ack(self) -> PipelineAck:
        self.is_over.wait(60)
        raise ConnectionError("it is over")

    def shutdown(self) -> None:
        self.is_over.set()


def test_no_more_packets_wait_for_their_acks_than_in_the_relay() -> None:
    mirror = Slow()
    acks = responder_between(Front(), mirror, Block())
    written = []

    def receive() -> None:
        for seqno in range(responder.MOST_DUE + 10):
            acks.written([PacketHeader(0, seqno, False, 0, False)])
            written.append(seqno)

    receiving = threading.Thread(target=receive)
    receiving.start()
    wait_until(lambda: len(written) == responder.MOST_DUE)
    receiving.join(0.2)
    assert len(written) == responder.MOST_DUE, "the client has to wait"
    mirror.shutdown()
    receiving.join(60)
    assert len(written) == responder.MOST_DUE + 10
    acks.abort()
