"""Which files are copied, and why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.copy.compare import Action, Checksums, Decision, FileVersion, Reason, decide
from howdah.copy.options import Options, attributes

UPDATE = Options(update=True)
FACTS = st.builds(FileVersion, st.integers(0, 3), st.integers(0, 3), st.integers(1, 2))


def says(answer: bool | None) -> Checksums:
    return lambda _: answer


def forbidden(_: int | None) -> bool | None:
    raise AssertionError("nobody should ask for checksums here")


def facts(length: int = 10, mtime: int = 5, block: int = 64) -> FileVersion:
    return FileVersion(length, mtime, block)


def test_absent_target_is_copied() -> None:
    assert decide(facts(), None, UPDATE, forbidden).reason is Reason.ABSENT


def test_without_update_what_exists_is_left_alone() -> None:
    decision = decide(facts(10), facts(3), Options(), forbidden)
    assert decision == Decision(Action.SKIP, Reason.EXISTS)


@pytest.mark.req("FS-163")
def test_overwrite_asks_for_no_reason() -> None:
    decision = decide(facts(), facts(), Options(overwrite=True), forbidden)
    assert decision.action is Action.COPY


@pytest.mark.req("FS-164")
@pytest.mark.parametrize(
    ("equal", "expected"),
    [
        (True, Decision(Action.SKIP, Reason.CHECKSUM_EQUAL)),
        (False, Decision(Action.COPY, Reason.CHECKSUM_DIFFERS)),
    ],
)
def test_checksums_decide_where_there_are_some(equal: bool, expected: Decision) -> None:
    # The times would say the contrary.
    source, target = (facts(mtime=9), facts(mtime=1)) if equal else (facts(mtime=1), facts(mtime=9))
    assert decide(source, target, UPDATE, says(equal)) == expected


@pytest.mark.parametrize("options", [UPDATE, Options(update=True, skip_crc=True)])
def test_without_checksums_the_later_change_decides(options: Options) -> None:
    assert decide(facts(mtime=6), facts(mtime=5), options, says(None)).reason is Reason.NEWER
    assert decide(facts(mtime=5), facts(mtime=5), options, says(None)).reason is Reason.NOT_NEWER


def test_checksums_are_not_asked_for_when_they_are_to_be_skipped() -> None:
    decide(facts(), facts(), Options(update=True, skip_crc=True), forbidden)


def test_other_block_size_is_a_difference_where_it_is_preserved() -> None:
    options = Options(update=True, preserve=attributes("b"))
    assert decide(facts(block=1), facts(block=2), options, forbidden).reason is Reason.BLOCK_SIZE
    assert decide(facts(block=1), facts(block=2), UPDATE, says(True)).action is Action.SKIP


def test_append_goes_on_where_the_target_is_a_beginning() -> None:
    options = Options(update=True, append=True)
    asked: list[int | None] = []

    def checksums(length: int | None) -> bool:
        asked.append(length)
        return True

    assert decide(facts(10), facts(4), options, checksums).action is Action.APPEND
    assert asked == [4]
    assert decide(facts(10), facts(4), options, says(False)).action is Action.COPY
    assert decide(facts(10), facts(14), options, forbidden).action is Action.COPY


@given(FACTS, FACTS, st.sampled_from([True, False, None]), st.booleans(), st.booleans())
def test_nothing_that_could_have_changed_is_skipped(
    source: FileVersion, target: FileVersion, equal: bool | None, skip_crc: bool, append: bool
) -> None:
    options = Options(update=True, skip_crc=skip_crc, append=append and not skip_crc)
    decision = decide(source, target, options, says(equal))
    if decision.action is Action.SKIP:
        assert source.length == target.length
        known_equal = equal is True and not skip_crc
        not_newer = source.modification_time_ms <= target.modification_time_ms
        assert known_equal or source.length == 0 or (not_newer and (equal is None or skip_crc))
