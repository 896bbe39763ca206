"""What becomes of a stream that nobody closes as they should: dropped, or copied by a fork."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from howdah import errors
from howdah.client.thread_pool import Workers
from howdah.fs.objects.multipart_cleanup import abort_uploads
from howdah.fs.objects.output import ObjectOutput, Target
from howdah.fs.streams import FSDataOutputStream
from howdah.options import AbortableResult
from tests.support.objects.in_memory import InMemoryStore

PART = 4
DATA = b"0123456789abcdefghi"
WORKERS = Workers(4, "test")


def make(store: InMemoryStore) -> FSDataOutputStream:
    target = Target("/file", "file", exclusive=False, part_bytes=PART, active_parts=9)
    return FSDataOutputStream(ObjectOutput(store, target, WORKERS, lambda _: None))


def in_a_child(what: Callable[[], object]) -> None:
    """Whether it holds in a forked child."""
    child = os.fork()
    if not child:
        code = 1
        try:
            what()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.req("FS-188")
def test_a_forked_childs_copy_of_a_stream_does_nothing_to_the_parents_file() -> None:
    """Its threads are the parent's: it would wait for ever, and remove what the parent writes."""
    store = InMemoryStore()
    out = make(store)
    out.write(DATA)

    def child() -> None:
        nonlocal out
        with pytest.raises(errors.ClosedStream, match="/file was opened for writing by process"):
            out.write(b"x")
        before = list(store.requests)
        inner = out._inner
        assert isinstance(inner, ObjectOutput)
        assert inner.abort() == AbortableResult(already_closed=False)
        out.close()
        assert out.closed
        out = make(store)  # the parent's is dropped
        gc.collect()
        assert store.requests == before

    in_a_child(child)
    out.close()
    assert store.data("file") == DATA


@pytest.mark.req("FS-188")
def test_a_stream_that_is_dropped_in_the_thread_of_its_own_part_leaves_nothing() -> None:
    """The garbage collector runs in any thread, and waits for nobody."""
    store = InMemoryStore()
    kept: dict[str, Any] = {}
    is_kept = threading.Event()

    def drop(what: str, key: str) -> None:
        if what == "part" and is_kept.wait(60):
            kept.clear()

    store.before = drop
    ended = threading.Event()
    store.behind = lambda what, key: ended.set() if what == "abort" else None
    kept["out"] = out = make(store)
    out.write(DATA[: PART + 1])
    del out
    is_kept.set()
    assert ended.wait(60)
    assert store.open == {}
    assert store.data("file") is None


@pytest.mark.req("FS-191")
def test_an_upload_of_an_age_that_the_store_does_not_say_is_not_taken_for_an_old_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = InMemoryStore()
    store.begin_upload("file", exclusive=False, writer=None)
    listed = [replace(each, started_ms=0) for each in store.uploads("")]
    monkeypatch.setattr(store, "uploads", lambda prefix: listed)
    assert abort_uploads(store, "/", 1000, 1 << 60) == []
    assert [each.path for each in abort_uploads(store, "/", 0, 1 << 60)] == ["/file"]
