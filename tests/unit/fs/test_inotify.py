"""The stream of events, with a namenode that answers as it is told to."""

from __future__ import annotations

from typing import Any, cast

import pytest

from howdah.client.namenode import NamenodeProxy
from howdah.fs.inotify import InotifyStream, MissingEvents, UnlinkEvent
from howdah.proto import client_namenode_pb2 as pb


class Namenode:
    """`log` are the paths that were deleted, one a transaction; None is another edit."""

    def __init__(self, log: list[str | None], first_txid: int = 1, page: int = 2) -> None:
        self.log = log
        self.first_txid = first_txid
        self.page = page

    def call(self, method: str, request: Any, response_type: Any) -> Any:
        if method == "getCurrentEditLogTxid":
            return response_type(txid=len(self.log))
        events = pb.EventsListProto(firstTxid=-1, lastTxid=-1, syncTxid=len(self.log))
        first = max(request.txid, self.first_txid)
        for txid in range(first, min(first + self.page, len(self.log) + 1)):
            if events.firstTxid < 0:
                events.firstTxid = txid
            events.lastTxid = txid
            path = self.log[txid - 1]
            if path is not None:
                gone = pb.UnlinkEventProto(path=path, timestamp=txid)
                event = pb.EventProto(type=pb.EVENT_UNLINK, contents=gone.SerializeToString())
                events.batch.add(txid=txid, events=[event])
        return response_type(eventsList=events)


def stream(namenode: Namenode, last_txid: int | None = 0, **how: Any) -> InotifyStream:
    return InotifyStream(cast(NamenodeProxy, namenode), last_txid, **how)


def paths(watched: InotifyStream) -> list[str]:
    found = []
    while (batch := watched.poll()) is not None:
        found += [event.path for event in batch.events if isinstance(event, UnlinkEvent)]
    return found


def test_batches_come_in_order_over_several_answers() -> None:
    assert paths(stream(Namenode(["/1", None, "/3", "/4", "/5"]))) == ["/1", "/3", "/4", "/5"]


def test_answers_without_events_are_no_end() -> None:
    assert paths(stream(Namenode([None] * 9 + ["/10"]))) == ["/10"]


def test_by_default_it_begins_now() -> None:
    namenode = Namenode(["/1"])
    watched = stream(namenode, None)
    assert watched.poll() is None
    namenode.log.append("/2")
    assert paths(watched) == ["/2"]


def test_it_goes_on_behind_a_transaction() -> None:
    watched = stream(Namenode(["/1", "/2"]), 1)
    batch = watched.poll()
    assert batch is not None
    assert (batch.txid, batch.events) == (2, (UnlinkEvent("/2", 2),))


def test_missing_edits_are_an_error_and_the_rest_comes_after_it() -> None:
    watched = stream(Namenode(["/1", "/2", "/3", "/4"], first_txid=3))
    with pytest.raises(MissingEvents) as caught:
        watched.poll()
    assert (caught.value.expected_txid, caught.value.first_txid) == (1, 3)
    assert paths(watched) == ["/3", "/4"]


def test_how_far_it_is_behind_is_known_once_it_has_asked() -> None:
    watched = stream(Namenode(["/1", "/2", "/3", "/4", "/5"]))
    assert watched.transactions_behind == -1
    watched.poll()
    assert watched.transactions_behind == 3


def test_waiting_ends_when_the_time_is_over() -> None:
    clock = [0.0]

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    watched = stream(Namenode([]), sleep=sleep, now_s=lambda: clock[0])
    assert watched.take(5.0) is None
    assert clock[0] == pytest.approx(5.0)


def test_waiting_ends_when_something_happens() -> None:
    namenode = Namenode([])

    def sleep(seconds: float) -> None:
        namenode.log.append("/later")

    batch = next(iter(stream(namenode, sleep=sleep)))
    assert batch.events == (UnlinkEvent("/later", 1),)
