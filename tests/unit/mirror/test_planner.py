"""What a mirror does next, by what it knows of both sides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from howdah.mirror.state import planner
from howdah.mirror.state.names import (
    REVERTED,
    UNCHECKED,
    key_of,
    name_at,
    next_name,
    own,
    time_ms_of,
)
from howdah.mirror.state.planner import (
    Action,
    At,
    Known,
    Side,
    Wanted,
    after,
    compared,
    decide,
    looked,
    modified,
)
from howdah.mirror.state.record import InvalidRecord, Record, Role

A, B = "hdfs://a/data", "hdfs://b/data"
KEY = key_of(A, B)
S1, S2, S3 = (name_at(KEY, number * 1000) for number in (1, 2, 3))


def known(
    source: tuple[str, ...] = (), target: tuple[str, ...] = (), **target_side: object
) -> Known:
    values = {"is_empty": not target, **target_side}
    there = Side(B, snapshots=target, **values)  # type: ignore[arg-type]
    return looked(KEY, Side(A, snapshots=source), there, 10_000)


def played(state: Known, wanted: Wanted | None = None) -> list[Action]:
    """The actions until the end; whatever is compared differs."""
    done: list[Action] = []
    while True:
        action = decide(state, wanted or Wanted())
        done.append(action)
        if isinstance(action, planner.ENDS):
            return done
        if isinstance(action, planner.CompareSource):
            state = compared(state, differs=True)
        else:
            state = after(state, action)


def record(**values: object) -> Record:
    return replace(Record(KEY, A, B), **values)  # type: ignore[arg-type]


def test_a_first_round_copies_the_whole_snapshot() -> None:
    new = name_at(KEY, 10_000)
    actions = played(known(exists=False, is_snapshottable=False))
    assert [type(action).__name__ for action in actions] == [
        *("MakeTarget", "AllowSnapshots", "CreateSnapshot", "WriteRecord", "CopyAll"),
        *("CreateSnapshot", "CheckSnapshot", "RenameSnapshot", "WriteRecord", "Finish"),
    ]
    assert actions[2] == planner.CreateSnapshot(At.SOURCE, new)
    assert actions[4:8] == [
        planner.CopyAll(new),
        planner.CreateSnapshot(At.TARGET, new + UNCHECKED),
        planner.CheckSnapshot(None, new),
        planner.RenameSnapshot(new + UNCHECKED, new),
    ]
    assert actions[-1] == planner.Finish(new)


def test_a_round_copies_changes_and_compares_them_before_it_publishes() -> None:
    new = name_at(KEY, 10_000)
    actions = played(known((S1,), (S1,), record=record(complete=S1)))
    assert actions[:2] == [planner.CompareSource(S1), planner.CreateSnapshot(At.SOURCE, new)]
    assert actions[2:8] == [
        planner.CompareTarget(S1),
        actions[3],
        planner.CopyChanges(S1, new),
        planner.CreateSnapshot(At.TARGET, new + UNCHECKED),
        planner.CheckSnapshot(S1, new),
        planner.RenameSnapshot(new + UNCHECKED, new),
    ]


def test_a_source_that_has_not_changed_gets_no_snapshot() -> None:
    state = compared(known((S1,), (S1,), record=record(complete=S1)), differs=False)
    # Somebody may have changed the target all the same.
    assert played(state) == [planner.CompareTarget(S1), planner.Finish(S1)]
    assert isinstance(decide(modified(state), Wanted()), planner.Refuse)


def test_a_round_that_was_begun_is_finished_before_another_one() -> None:
    begun = record(goal=S2, base=S1, complete=S1)
    actions = played(known((S1, S2), (S1,), record=begun))
    assert actions[0] == planner.CopyChanges(S1, S2, resumes=True)
    assert planner.RenameSnapshot(S2 + UNCHECKED, S2) in actions
    assert planner.CompareSource(S2) in actions


def test_the_goal_is_written_down_before_the_target_is_changed() -> None:
    actions = played(known((S1, S2), (S1,)))
    # And before that the target is compared: it is not changed yet.
    assert actions[0] == planner.CompareTarget(S1)
    assert isinstance(actions[1], planner.WriteRecord)
    assert (actions[1].record.goal, actions[1].record.base) == (S2, S1)
    # What was not written down is not taken for the mirror's own.
    assert actions[2] == planner.CopyChanges(S1, S2, resumes=False)


def test_a_revert_begins_when_the_goal_is_no_longer_written_down() -> None:
    """Otherwise one that is killed would be taken for a part of the round."""
    begun = known((S1, S2), (S1,), record=record(goal=S2, base=S1, complete=S1))
    actions = played(modified(begun), Wanted(reverts=True))
    assert isinstance(actions[0], planner.WriteRecord)
    assert actions[0].record.goal is None
    assert actions[1] == planner.Revert(S1)


def test_an_unchecked_snapshot_of_an_earlier_run_is_not_published() -> None:
    begun = record(goal=S2, base=S1)
    actions = played(known((S1, S2), (S1,), record=begun, unchecked=(S2,)))
    assert actions[0] == planner.DeleteSnapshot(At.TARGET, S2 + UNCHECKED)
    assert actions[1] == planner.CopyChanges(S1, S2, resumes=True)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_reverted_snapshot_takes_its_place_wherever_the_mirror_was_killed(is_there: bool) -> None:
    target = (S1,) if is_there else ()
    state = known((S1, S2), target, is_empty=False, reverted=(S1,))
    assert state.common == S1
    actions = played(state)
    replaced = [planner.RenameSnapshot(S1 + REVERTED, S1)]
    if is_there:
        replaced = [planner.DeleteSnapshot(At.TARGET, S1), *replaced]  # type: ignore[list-item]
    assert actions[: len(replaced)] == replaced
    assert decide(after_all(state, replaced), Wanted()) == actions[len(replaced)]


def after_all(state: Known, actions: list[planner.RenameSnapshot]) -> Known:
    for action in actions:
        state = after(state, action)
    return state


def test_old_snapshots_are_deleted_but_the_common_one_never() -> None:
    state = compared(known((S1,), (S1,), record=record(complete=S1)), differs=False)
    state = replace(state, target=replace(state.target, snapshots=(S1, S2, S3)))
    deleted = [
        one for one in played(state, Wanted(keep=1)) if isinstance(one, planner.DeleteSnapshot)
    ]
    assert deleted == [planner.DeleteSnapshot(At.TARGET, S2)]


def test_old_snapshots_go_before_a_new_one_is_made() -> None:
    """A directory may have so many snapshots only: fewer are kept, and the round goes on."""
    both = (S1, S2, S3)
    actions = played(known(both, both, record=record(complete=S3)), Wanted(keep=1))
    made = actions.index(planner.CreateSnapshot(At.SOURCE, name_at(KEY, 10_000)))
    assert actions[1:made] == [planner.DeleteSnapshot(at, name) for at in At for name in (S1, S2)]


def test_a_changed_target_is_refused_or_reverted_once() -> None:
    state = modified(known((S1, S2), (S1,), record=record(complete=S1)))
    refused = decide(state, Wanted())
    assert isinstance(refused, planner.Refuse)
    assert "With --revert that is undone" in refused.reason
    assert decide(state, Wanted(reverts=True)) == planner.Revert(S1)
    actions = played(state, Wanted(reverts=True))
    assert actions[:3] == [
        planner.Revert(S1),
        planner.DeleteSnapshot(At.TARGET, S1),
        planner.RenameSnapshot(S1 + REVERTED, S1),
    ]
    assert planner.CopyChanges(S1, S2, resumes=False) in actions


@pytest.mark.parametrize(
    ("ours", "theirs", "adopts", "says"),
    [
        (None, record(role=Role.SOURCE, epoch=1), False, "was promoted"),
        (record(role=Role.SOURCE, epoch=1), record(role=Role.SOURCE, epoch=1), False, "promoted"),
        (record(role=Role.SOURCE, epoch=2), record(role=Role.SOURCE, epoch=1), False, ""),
        (None, record(source="hdfs://c/data"), False, "is the target of a mirror of hdfs://c"),
        (None, record(source="hdfs://c/data"), True, ""),
        (record(source=B, target=A), None, False, "promote it first"),
        (record(source="hdfs://c/data", target=A), None, False, ""),
    ],
)
def test_directions(ours: Record | None, theirs: Record | None, adopts: bool, says: str) -> None:
    state = known((S1,), (S1,), record=theirs)
    state = replace(state, source=replace(state.source, record=ours))
    action = decide(state, Wanted(adopts=adopts))
    if says:
        assert isinstance(action, planner.Refuse)
        assert says in action.reason
    else:
        assert not isinstance(action, planner.Refuse)


def test_a_new_direction_is_written_down_with_the_epoch_of_its_source() -> None:
    state = known((S1, S2), (S1,), record=record(role=Role.SOURCE, epoch=1, source=B, target=A))
    state = replace(state, source=replace(state.source, record=record(role=Role.SOURCE, epoch=2)))
    _, action, *_ = played(state)
    assert isinstance(action, planner.WriteRecord)
    assert (action.record.role, action.record.epoch) == (Role.TARGET, 2)


def test_a_target_without_snapshots_is_what_its_state_file_says() -> None:
    state = known((S1, S2), record=record(complete=S1), has_snapshots=False, is_empty=False)
    actions = played(state)
    assert [type(action).__name__ for action in actions[:3]] == [
        *("WriteRecord", "CopyTouched", "WriteRecord"),
    ]
    last = actions[2]
    assert isinstance(last, planner.WriteRecord)
    assert (last.record.complete, last.record.goal) == (S2, None)


def test_a_target_without_snapshots_is_copied_anew_if_its_goal_is_gone() -> None:
    """What was copied of that snapshot no report names."""
    begun = record(complete=S1, goal=S2, base=S1)
    state = known((S1,), record=begun, has_snapshots=False, is_empty=False)
    assert state.common is None
    actions = played(state)
    assert planner.CopyAll(S1) in actions
    first = actions[0]
    assert isinstance(first, planner.WriteRecord)
    assert (first.record.complete, first.record.goal) == (None, S1)


def test_a_target_is_marked_as_one_before_there_is_anything_to_copy() -> None:
    """Otherwise it could not be promoted, nor refused as a source."""
    ours = record(role=Role.SOURCE, epoch=1)
    state = replace(known((S1,), (S1,)), source=Side(A, snapshots=(S1,), record=ours))
    action = decide(state, Wanted())
    assert action == planner.WriteRecord(record(complete=S1, complete_ms=10_000, epoch=1))


def test_names_sort_by_time_whatever_the_clock_says() -> None:
    assert next_name(KEY, 5_000, [S1, S3]) == name_at(KEY, 5_000)
    assert next_name(KEY, 2_500, [S1, S3]) == name_at(KEY, 3_001)
    assert time_ms_of(S3) == 3000
    assert key_of(A, B) == key_of(B, A)
    assert own([S1, S2 + UNCHECKED, S3 + REVERTED, "s1", name_at("0" * 8, 1)], KEY) == (S1,)


def test_a_state_file_survives_and_a_damaged_one_is_named() -> None:
    written = record(complete=S1, goal=S2, base=S1, epoch=3, role=Role.SOURCE)
    assert Record.of_json(written.to_json(), "there") == written
    for damaged in (b"", b"[]", b'{"version": 2}', written.to_json()[:-9]):
        with pytest.raises(InvalidRecord, match="there is"):
            Record.of_json(damaged, "there")
