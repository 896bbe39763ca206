"""Copies at the store's side: what of them is there when an answer is lost, or they fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from howdah import errors
from howdah.client.thread_pool import Workers
from howdah.config import Configuration
from howdah.fs.objects.copying import BY_CRC, BY_ETAG, BY_LENGTH, Copying
from howdah.fs.objects.filesystem import ObjectFileSystem
from howdah.fs.objects.settings import settings_of
from howdah.fs.objects.store import ObjectInfo, ObjectStore, Part, UploadLost
from howdah.fs.objects.tuning import Tuning
from howdah.options import CopyCheck
from tests.support.objects.in_memory import InMemoryStore

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


# --- copies that are to be verified -----------------------------------------------------------


class Plain(InMemoryStore):
    """A store of ETags that are made of bytes, and of no checksums."""

    sums_copies = False
    keeps_etags = True


@pytest.fixture
def plain() -> Plain:
    made = Plain()
    made.put("old", DATA, exclusive=False, writer="w")
    made.requests.clear()
    return made


def verified(copies: Copying, source: ObjectInfo, check: CopyCheck = CopyCheck.CHECKSUM) -> str:
    return copies.verified(source, "new", check)


@pytest.mark.req("FS-190", "FS-194")
@pytest.mark.parametrize("threshold", [PART, 100])
def test_a_copy_has_its_name_when_its_etag_was_compared(plain: Plain, threshold: int) -> None:
    """In one part, however large it is: parts have ETags of their own."""
    assert verified(copying(plain, threshold), source(plain)) == BY_ETAG
    assert plain.requests == ["begin new", "copy of a part new", "complete new"]
    assert plain.data("new") == DATA


@pytest.mark.req("FS-190", "FS-194")
def test_a_copy_in_one_part_is_copied_on_with_the_same_certainty(plain: Plain) -> None:
    copies = copying(plain)
    verified(copies, source(plain))
    again = plain.objects["new"][0]
    assert again.etag.endswith("-1")
    assert copies.verified(again, "third", CopyCheck.CHECKSUM) == BY_ETAG
    assert plain.data("third") == DATA


@pytest.mark.req("FS-190", "FS-194", "FS-188")
def test_a_copy_with_another_etag_never_has_its_name(plain: Plain) -> None:
    """Who is killed at any request of it leaves nothing that a later run would take for a copy."""
    seen: list[str] = []

    def look(what: str, key: str) -> None:
        seen.append(what)
        assert plain.data("new") is None

    plain.before = plain.behind = look
    copies = copying(plain)
    with pytest.MonkeyPatch.context() as patched:
        copy_part = plain.copy_part

        def with_another_etag(*args: object) -> Part:
            return replace(copy_part(*args), etag="own")  # type: ignore[arg-type]

        patched.setattr(plain, "copy_part", with_another_etag)
        with pytest.raises(errors.NotCopiedByServer, match="/old an ETag of its own"):
            verified(copies, source(plain))
    assert seen[-1] == "abort"
    assert plain.open == {}
    # It is known now: nothing is copied for nothing.
    plain.requests.clear()
    with pytest.raises(errors.NotCopiedByServer, match="no sum of /old"):
        verified(copies, source(plain))
    assert plain.requests == []


@pytest.mark.req("FS-190", "FS-194")
def test_what_could_not_be_compared_is_not_copied(plain: Plain) -> None:
    """As where the source has a checksum, and copies get none."""
    info, data = plain.objects["old"]
    summed = replace(info, crc32c=1, etag=f"{info.etag}-2")
    plain.objects["old"] = summed, data
    with pytest.raises(errors.NotCopiedByServer, match="no sum of /old"):
        verified(copying(plain), summed)
    assert plain.requests == []
    assert verified(copying(plain), summed, CopyCheck.LENGTH) == BY_LENGTH


@pytest.mark.req("FS-190", "FS-194")
def test_an_empty_object_has_no_part_to_copy(plain: Plain) -> None:
    plain.put("old", b"", exclusive=False, writer="w")
    assert verified(copying(plain), source(plain)) == BY_ETAG
    assert plain.data("new") == b""


@pytest.mark.req("FS-190", "FS-194")
def test_where_there_are_checksums_they_are_compared(store: InMemoryStore) -> None:
    assert verified(copying(store, 100), source(store)) == BY_CRC
    assert store.requests[-2:] == ["copy new", "head new"]


class Bucket(ObjectFileSystem):
    """Files of a store in memory, of which some are copied in parts."""

    scheme = "bucket"

    def _opened(self, authority: str, conf: Configuration) -> tuple[ObjectStore, Tuning]:
        self.store = InMemoryStore()
        tuning = replace(settings_of(conf, "b"), copy_part_bytes=PART, copy_threshold_bytes=PART)
        return self.store, tuning


@pytest.mark.parametrize("what", ["d/small", "d/large"])
def test_what_is_replaced_while_its_directory_is_renamed_stays(what: str) -> None:
    with Bucket("b", Configuration()) as fs:
        fs.write_bytes("/d/large", DATA)
        fs.write_bytes("/d/small", b"1")

        def behind(asked: str, key: str) -> None:
            if asked in ("copy", "complete") and key == f"e/{what[2:]}":
                fs.store.put(what, b"newer", exclusive=False, writer=None)

        fs.store.behind = behind
        with pytest.raises(errors.FileChanged, match=f"the first is /{what}: these stay"):
            fs.rename("/d", "/e")
        assert fs.ls("/d") == [f"/{what}"]
        assert fs.read_bytes(f"/{what}") == b"newer"
        assert fs.read_bytes("/e/large") == DATA
        fs.store.behind = lambda asked, key: None
        fs.rename("/e", "/f")
        assert not fs.exists("/e")
        assert fs.read_bytes("/f/large") == DATA


def test_a_large_object_that_is_replaced_while_it_is_renamed_stays() -> None:
    with Bucket("b", Configuration()) as fs:
        fs.write_bytes("/large", DATA)

        def behind(asked: str, key: str) -> None:
            if asked == "complete" and key == "new":
                fs.store.put("large", b"newer", exclusive=False, writer=None)

        fs.store.behind = behind
        with pytest.raises(errors.FileChanged, match="replaced meanwhile: it stays"):
            fs.rename("/large", "/new")
        assert (fs.read_bytes("/large"), fs.read_bytes("/new")) == (b"newer", DATA)
