"""Copies at the store's side: what of them is there when an answer is lost, or they fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from howdah import errors
from howdah.client.workers import Workers
from howdah.config import Configuration
from howdah.fs.objects.copying import Copying
from howdah.fs.objects.settings import settings_of
from howdah.fs.objects.store import ObjectInfo, UploadLost
from howdah.testing.internal.objects.in_memory import InMemoryStore

DATA = b"0123456789"
PART = 4
PARTS = 3


@pytest.fixture
def store() -> InMemoryStore:
    made = InMemoryStore()
    made.put("old", DATA, exclusive=False, writer="w")
    return made


def copying(store: InMemoryStore, threshold: int = PART) -> Copying:
    settings = replace(
        settings_of(Configuration(), "b"), copy_part_bytes=PART, copy_threshold_bytes=threshold
    )
    return Copying(store, settings, Workers(2, "test"))


def source(store: InMemoryStore) -> ObjectInfo:
    return store.objects["old"][0]


def failing(error: BaseException, what: str, number: int = 1) -> Callable[[str, str], None]:
    """Raises at the request of that name and number."""
    seen = [0]

    def at(asked: str, key: str) -> None:
        seen[0] += asked == what
        if asked == what and seen[0] == number:
            raise error

    return at


LOST = [
    UploadLost("NoSuchUpload: the upload may have been completed"),
    errors.Unreachable("the answer broke off"),
    errors.CallTimeout("no answer in time"),
    errors.RetriableError("InternalError"),
]


@pytest.mark.req("FS-190", "LM-056")
@pytest.mark.parametrize("error", LOST, ids=lambda error: type(error).__name__)
def test_a_copy_whose_last_answer_is_lost_is_found_there(
    store: InMemoryStore, error: Exception
) -> None:
    """A request that is made again is answered with NoSuchUpload by some stores."""
    store.behind = failing(error, "complete")
    made = copying(store).copy(source(store), "new")
    assert store.data("new") == DATA
    assert made.etag == store.objects["new"][0].etag
    assert store.open == {}


@pytest.mark.req("FS-190", "LM-056")
@pytest.mark.parametrize("error", LOST, ids=lambda error: type(error).__name__)
def test_what_was_there_before_is_not_taken_for_the_copy(
    store: InMemoryStore, error: Exception
) -> None:
    """Not even the same bytes of the same writer."""
    store.copy(source(store), "new")
    before = store.objects["new"][0]
    store.before = failing(error, "complete")
    with pytest.raises(errors.HowdahError) as told:
        copying(store).copy(source(store), "new")
    if isinstance(error, UploadLost):
        assert str(told.value) == (
            "/new: the parts of its copy were removed before it was complete, and it is not "
            "there; copy it again"
        )
    else:
        assert told.value is error
    assert store.objects["new"][0] is before
    assert store.open == {}


@pytest.mark.req("FS-190", "FS-188")
@pytest.mark.parametrize("number", range(1, PARTS + 1))
@pytest.mark.parametrize("error", [errors.Unreachable("gone"), KeyboardInterrupt()], ids=repr)
def test_a_copy_that_fails_leaves_no_parts(
    store: InMemoryStore, number: int, error: BaseException
) -> None:
    store.before = failing(error, "copy of a part", number)
    with pytest.raises(type(error)):
        copying(store).copy(source(store), "new")
    assert store.data("new") is None
    assert store.open == {}


@pytest.mark.req("FS-190")
def test_parts_that_cannot_be_removed_are_told_beside_what_failed(store: InMemoryStore) -> None:
    gone = errors.Unreachable("gone")

    def fail(what: str, key: str) -> None:
        if what in ("copy of a part", "abort"):
            raise gone

    store.before = fail
    with pytest.raises(errors.Unreachable) as told:
        copying(store).copy(source(store), "new")
    (note,) = told.value.__notes__
    assert note.startswith("parts of /new stay at the store (upload upload-")
    # Somebody else has removed them: there is nothing to tell.
    store.before = failing(UploadLost("no such upload"), "copy of a part")
    with pytest.raises(UploadLost) as lost:
        copying(store).copy(source(store), "new")
    assert not hasattr(lost.value, "__notes__")


@pytest.mark.req("FS-190")
def test_a_source_that_changes_or_goes_is_named(store: InMemoryStore) -> None:
    found = source(store)
    for threshold in (PART, 100):
        copies = copying(store, threshold)
        store.put("old", DATA[::-1], exclusive=False, writer="w")
        with pytest.raises(errors.FileChanged, match="/old was replaced while it was copied"):
            copies.copy(found, "new")
        assert store.open == {}


@pytest.mark.req("FS-190")
def test_a_copy_in_parts_is_held_against_the_checksum_of_the_whole(store: InMemoryStore) -> None:
    damaged = replace(source(store), crc32c=1)
    with pytest.raises(errors.ChecksumMismatch, match="/new: the copies of the parts of /old have"):
        copying(store).copy(damaged, "new")
    assert store.data("new") is None
    assert store.open == {}
