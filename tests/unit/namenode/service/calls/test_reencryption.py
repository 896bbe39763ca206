"""The keys of a zone's files are encrypted anew, whatever happens meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.namenode.service.calls.reencryption import Throttle
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.inodes.inodes import Directory, File
from howdah.namenode.state.tree.encryption_zones import file_key, zone_of
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.encryption_zones.messages import EncryptedKey
from tests.support.zones import SM4_ZONE, Scene

CLIENT = b"c" * 16
RETRY_MS = 60_000
AWAY = errors.Unreachable("no key server answers")


class Zones(Scene):
    """Zones whose batches have two files."""

    def __init__(self, **values: Any) -> None:
        super().__init__(
            replace(Settings(""), reencryption_batch=2, reencryption_calls=2, **values)
        )

    def files(self, *paths: str) -> None:
        for path in paths:
            self.settled_now(self.create(path))

    def settled_now(self, answer: Any) -> Any:
        """An answer that came at once, or has come by now."""
        return answer if isinstance(answer, pb.CreateResponseProto) else self.settled(answer)

    def ask(self, path: str = "/z", **how: Any) -> Any:
        request = pb.ReencryptEncryptionZoneRequestProto(action=pb.START_REENCRYPT, zone=path)
        return self.call("reencryptEncryptionZone", request, **how)

    def start(self, path: str = "/z", **how: Any) -> None:
        self.settled(self.ask(path, **how))

    def roll_and_start(self, path: str = "/z", key_name: str = "payroll") -> None:
        self.server.roll(key_name)
        self.start(path)

    def cancel(self, path: str = "/z", **how: Any) -> None:
        request = pb.ReencryptEncryptionZoneRequestProto(action=pb.CANCEL_REENCRYPT, zone=path)
        self.call("reencryptEncryptionZone", request, **how)

    def listed(self, behind_id: int = 0, **how: Any) -> pb.ListReencryptionStatusResponseProto:
        request = pb.ListReencryptionStatusRequestProto(id=behind_id)
        answer = self.call("listReencryptionStatus", request, **how)
        assert isinstance(answer, pb.ListReencryptionStatusResponseProto)
        return answer

    def status_of(self, path: str = "/z") -> pb.ZoneReencryptionStatusProto:
        [status] = [each for each in self.listed().statuses if each.path == path]
        return status

    def work(self, slices: int = 1000) -> None:
        """A turn, as far as it goes; at most so many slices."""
        for number, _ in enumerate(self.namenode.client.reencryptor.turn() or (), start=1):
            if number >= slices:
                return

    def finish(self) -> None:
        """Until nothing is left to do; key servers answer at once."""
        while self.server.reencryptions:
            self.server.answer_reencryption()
        self.server.answers_at_once = True
        for _ in range(10):
            self.work()
            self.namenode.tick(RETRY_MS)

    def keys_below(self, path: str) -> dict[str, EncryptedKey]:
        """Of the files, by their paths."""
        found: dict[str, EncryptedKey] = {}
        waiting = [self.namesystem.namespace.find(path)]
        while waiting:
            inode = waiting.pop()
            if isinstance(inode, Directory):
                waiting += inode.children.values()
            elif isinstance(inode, File):
                key = file_key(inode.xattrs, zone_of(inode))
                assert key is not None
                found[inode.path] = key
        return found

    def versions(self, path: str = "/z") -> dict[str, str]:
        return {file: key.version_name for file, key in sorted(self.keys_below(path).items())}


@pytest.fixture
def zones() -> Zones:
    zones = Zones()
    zones.mkdir("/z")
    zones.make_zone("/z")
    return zones


def test_a_file_of_a_later_version_is_no_failure(zones: Zones) -> None:
    zones.files("/z/a")
    zones.roll_and_start()
    zones.server.roll("payroll")
    names = [f"/z/later-{number}" for number in range(6)]
    zones.files(*names)
    assert zones.versions()[names[-1]] == "payroll@2"
    zones.finish()
    status = zones.status_of()
    assert (status.numReencrypted, status.numFailures) == (1, 0)
    assert zones.versions()["/z/a"] == "payroll@2"


def test_a_zone_of_another_cipher_holds_no_other_up(
    zones: Zones, caplog: pytest.LogCaptureFixture
) -> None:
    begun = types_pb2.ReencryptionInfoProto(
        ezKeyVersionName="sm4@1", submissionTime=1, canceled=False, numReencrypted=0, numFailures=0
    )
    strange = types_pb2.ZoneEncryptionInfoProto(reencryptionProto=begun)
    strange.MergeFrom(SM4_ZONE)
    zones.zone_from_elsewhere("/sm4", strange.SerializeToString())
    zones.mkdir("/behind")
    zones.make_zone("/behind")
    zones.files("/behind/a")
    zones.roll_and_start("/behind")
    with caplog.at_level(logging.ERROR):
        zones.finish()
    assert zones.versions("/behind") == {"/behind/a": "payroll@1"}
    assert [record.getMessage() for record in caplog.records] == [
        "no key is encrypted anew there: /sm4 is encrypted by SM4_CTR_NOPADDING, and only "
        "AES_CTR_NOPADDING is supported"
    ]


def test_files_get_keys_by_the_last_version_and_keep_their_own(zones: Zones) -> None:
    names = ("/z/a", "/z/d/b", "/z/d/e/c", "/z/f")
    zones.files(*names)
    before = zones.keys_below("/z")
    zones.roll_and_start()
    zones.work()
    after = zones.keys_below("/z")
    assert zones.versions() == dict.fromkeys(names, "payroll@1")
    for path in names:
        assert zones.server.plain(after[path]) == zones.server.plain(before[path])
        assert after[path].iv == before[path].iv
    status = zones.status_of()
    assert status.state == pb.COMPLETED
    assert (status.numReencrypted, status.numFailures, status.canceled) == (4, 0, False)
    assert (status.ezKeyVersionName, status.HasField("lastFile")) == ("payroll@1", False)
    assert status.completionTime >= status.submissionTime > 0


def test_the_zone_says_up_to_where_all_is_done(zones: Zones) -> None:
    zones.files("/z/a", "/z/b", "/z/c", "/z/d/a", "/z/e")
    zones.server.answers_at_once = False
    zones.server.roll("payroll")
    asked = zones.ask()
    zones.server.answer()
    zones.settled(asked)
    assert zones.status_of().state == pb.SUBMITTED
    zones.work()
    # The second batch is there first, and waits for the first one.
    zones.server.answer_reencryption(place=1)
    zones.work()
    status = zones.status_of()
    assert (status.state, status.numReencrypted) == (pb.PROCESSING, 0)
    assert set(zones.versions().values()) == {"payroll@0"}
    zones.server.answer_reencryption()
    zones.work()
    status = zones.status_of()
    assert (status.numReencrypted, status.lastFile) == (4, "/z/d/a")


def test_no_more_calls_are_under_way_than_may_be(zones: Zones) -> None:
    zones.files(*(f"/z/{number:02}" for number in range(30)))
    zones.server.answers_at_once = False
    zones.server.roll("payroll")
    zones.ask()
    zones.server.answer()
    zones.work()
    assert len(zones.server.reencryptions) == 2
    zones.server.answer_reencryption()
    zones.work()
    assert len(zones.server.reencryptions) == 2


def test_files_that_have_such_keys_are_passed_over(zones: Zones) -> None:
    zones.files("/z/a")
    zones.server.roll("payroll")
    zones.namesystem.zone_keys.forget("payroll")  # type: ignore[union-attr]
    zones.files("/z/b")
    zones.server.answers_at_once = True
    zones.start()
    zones.work()
    assert zones.status_of().numReencrypted == 1
    zones.start()
    zones.work()
    assert (zones.status_of().numReencrypted, zones.status_of().state) == (0, pb.COMPLETED)


def test_new_files_have_keys_that_were_made_after_the_submission(zones: Zones) -> None:
    zones.files("/z/a")
    zones.server.answers_at_once = False
    # These are on their way when the key is rolled.
    zones.files("/z/b", "/z/c", "/z/d")
    [(key_name, count, old_done)] = zones.server.asked
    zones.server.asked.clear()
    old = [zones.server.key(key_name) for _ in range(count)]
    zones.server.roll("payroll")
    asked = zones.ask()
    old_done(old)
    zones.server.answer()
    zones.settled(asked)
    zones.files("/z/new")
    assert zones.versions()["/z/new"] == "payroll@1"
    assert zones.status_of().ezKeyVersionName == "payroll@1"


def test_a_zone_in_a_zone_keeps_its_keys(zones: Zones) -> None:
    zones.mkdir("/z/in")
    zones.make_zone("/z/in")
    zones.files("/z/a", "/z/in/b", "/z/k")
    zones.roll_and_start()
    zones.work()
    assert zones.versions() == {
        "/z/a": "payroll@1", "/z/in/b": "payroll@0", "/z/k": "payroll@1"
    }  # fmt: skip
    zones.start("/z/in")
    zones.work()
    assert set(zones.versions().values()) == {"payroll@1"}


def test_snapshots_keep_the_keys_that_they_have(zones: Zones) -> None:
    zones.files("/z/a")
    zones.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/z"))
    zones.call("createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/z", snapshotName="s"))
    zones.roll_and_start()
    zones.work()
    assert zones.status("/z/a").fileEncryptionInfo.ezKeyVersionName == "payroll@1"
    old = zones.status("/z/.snapshot/s/a").fileEncryptionInfo
    assert old.ezKeyVersionName == "payroll@0"
    zones.restart(from_image=True)
    assert zones.status("/z/.snapshot/s/a").fileEncryptionInfo == old


def test_zones_come_one_after_the_other(zones: Zones) -> None:
    zones.mkdir("/y")
    zones.make_zone("/y", "audit")
    zones.files("/z/a", "/y/a")
    zones.server.answers_at_once = False
    for key_name, path in (("audit", "/y"), ("payroll", "/z")):
        zones.server.roll(key_name)
        asked = zones.ask(path)
        zones.server.answer()
        zones.settled(asked)
    zones.work()
    states = {status.path: status.state for status in zones.listed().statuses}
    assert states == {"/z": pb.PROCESSING, "/y": pb.SUBMITTED}
    zones.finish()
    assert {status.state for status in zones.listed().statuses} == {pb.COMPLETED}
    assert zones.versions("/y") == {"/y/a": "audit@1"}


# --- what is refused -------------------------------------------------------------------------


def test_what_is_no_zone_is_not_re_encrypted(zones: Zones) -> None:
    zones.files("/z/a")
    zones.mkdir("/z/d")
    for path in ("/plain", "/z/a", "/z/d"):
        with pytest.raises(errors.HowdahError, match=r"INode does not exist|is not the root of an"):
            zones.ask(path)
        with pytest.raises(errors.HowdahError, match=r"cannot find|is not the root of an"):
            zones.cancel(path)


def test_a_zone_is_submitted_once(zones: Zones) -> None:
    zones.files("/z/a")
    zones.roll_and_start()
    with pytest.raises(
        errors.RemoteError, match=r"Zone /z is already submitted for re-encryption\."
    ):
        zones.ask()
    zones.work()
    zones.start()


def test_two_who_submit_at_a_time_are_one(zones: Zones) -> None:
    zones.server.answers_at_once = False
    first, second = zones.ask(), zones.ask()
    zones.server.answer()  # to the first one; it counts for nothing, as the second came
    zones.server.answer()
    zones.settled(first)
    with pytest.raises(errors.RemoteError, match="already submitted"):
        zones.settled(second)


def test_a_repeated_call_has_the_first_answer(zones: Zones) -> None:
    zones.files("/z/a")
    zones.server.roll("payroll")
    zones.start(client_id=CLIENT, call_id=7)
    zones.work()
    again = zones.ask(client_id=CLIENT, call_id=7, retry_count=1)
    assert isinstance(again, pb.ReencryptEncryptionZoneResponseProto)
    zones.restart()
    again = zones.ask(client_id=CLIENT, call_id=7, retry_count=1)
    assert isinstance(again, pb.ReencryptEncryptionZoneResponseProto)


def test_superusers_alone_re_encrypt(zones: Zones) -> None:
    for call in (zones.ask, zones.cancel, lambda **how: zones.listed(**how)):
        with pytest.raises(errors.AccessDenied):
            call(user="bob")


def test_nothing_is_submitted_in_safe_mode_and_nothing_goes_on(zones: Zones) -> None:
    zones.files("/z/a")
    zones.roll_and_start()
    zones.namesystem.safe_mode.enter()
    zones.work()
    assert zones.versions() == {"/z/a": "payroll@0"}
    for call, action in ((zones.ask, "START"), (zones.cancel, "CANCEL")):
        with pytest.raises(
            errors.SafeMode, match=f"NameNode in safemode, cannot {action} re-encryption on zone /z"
        ):
            call()
    zones.namesystem.safe_mode.leave()
    zones.work()
    assert zones.versions() == {"/z/a": "payroll@1"}


def test_without_key_servers_it_is_refused(zones: Zones) -> None:
    zones.namesystem.zone_keys = None
    words = "No key provider configured, re-encryption operation is rejected"
    for call in (zones.ask, zones.cancel):
        with pytest.raises(errors.RemoteError, match=words):
            call()
    assert zones.namenode.client.reencryptor.turn() is None


def test_a_key_server_that_refuses_the_submission_is_named(zones: Zones) -> None:
    zones.server.answers_at_once = False
    asked = zones.ask()
    zones.server.answer(errors.AccessDenied("the key server refuses hdfs"))
    with pytest.raises(errors.AccessDenied, match="refuses hdfs"):
        zones.settled(asked)
    assert not zones.listed().statuses


def test_nothing_moves_within_the_zone_meanwhile(zones: Zones) -> None:
    zones.files("/z/a")
    zones.mkdir("/z/d")
    zones.roll_and_start()
    words = "/z/a can't be moved because encryption zone /z is currently under re-encryption"
    with pytest.raises(errors.RemoteError, match=words):
        zones.rename("/z/a", "/z/d/a")
    zones.work()
    zones.rename("/z/a", "/z/d/a")


def test_what_was_cancelled_stays_as_it_is(zones: Zones) -> None:
    with pytest.raises(errors.RemoteError, match="Zone /z is not under re-encryption"):
        zones.cancel()
    zones.files("/z/a", "/z/b", "/z/c")
    zones.server.answers_at_once = False
    zones.server.roll("payroll")
    zones.ask()
    zones.server.answer()
    zones.work()
    zones.server.answer_reencryption()
    zones.work()
    zones.cancel()
    status = zones.status_of()
    assert (status.state, status.canceled, status.numReencrypted) == (pb.COMPLETED, True, 2)
    assert not status.HasField("lastFile")
    zones.finish()
    assert zones.versions() == {"/z/a": "payroll@1", "/z/b": "payroll@1", "/z/c": "payroll@0"}
    with pytest.raises(errors.RemoteError, match="is not under re-encryption"):
        zones.cancel()
    zones.start()
    zones.work()
    assert zones.versions()["/z/c"] == "payroll@1"


def test_who_waits_for_a_key_is_told_that_another_namenode_is_active(zones: Zones) -> None:
    zones.mkdir("/new")
    zones.server.answers_at_once = False
    request = pb.CreateEncryptionZoneRequestProto(src="/new", keyName="payroll")
    held = [zones.ask(), zones.call("createEncryptionZone", request)]
    zones.namesystem.become_standby()
    zones.server.answer()
    zones.server.answer_checks()
    for answer in held:
        with pytest.raises(errors.StandbyError):
            zones.settled(answer)


def test_a_zone_that_is_submitted_again_begins_anew(zones: Zones) -> None:
    """In the same millisecond, too."""
    zones.files("/z/a", "/z/b", "/z/c", "/z/d", "/z/e")
    zones.server.answers_at_once = False
    zones.server.roll("payroll")
    zones.ask()
    zones.server.answer()
    zones.files("/z/new")
    zones.work()
    zones.cancel()
    zones.server.roll("payroll")
    zones.ask()
    zones.server.answer()
    zones.finish()
    assert set(zones.versions().values()) == {"payroll@2"}


# --- what goes wrong -------------------------------------------------------------------------


def test_key_servers_that_are_away_are_asked_again_and_then_it_counts(
    zones: Zones, caplog: pytest.LogCaptureFixture
) -> None:
    zones.files("/z/a", "/z/b", "/z/c")
    zones.server.answers_at_once = False
    zones.server.roll("payroll")
    zones.ask()
    zones.server.answer()
    zones.work()
    with caplog.at_level(logging.WARNING):
        for attempt in range(3):
            zones.server.answer_reencryption(AWAY)
            zones.work()
            assert zones.status_of().numFailures == (2 if attempt == 2 else 0)
            if attempt < 2:
                assert len(zones.server.reencryptions) == 1
                zones.namenode.tick(RETRY_MS)
                zones.work()
                # It has its turn behind the one that is under way.
                zones.server.reencryptions.sort(key=lambda asked: asked[0][0].iv)
    assert "2 files up to b keep their keys" in caplog.text
    zones.finish()
    assert zones.versions() == {"/z/a": "payroll@0", "/z/b": "payroll@0", "/z/c": "payroll@1"}
    assert (zones.status_of().state, zones.status_of().numReencrypted) == (pb.COMPLETED, 1)


@pytest.mark.parametrize("fault", ["fewer", "iv", "name", "refused"])
def test_an_answer_that_would_lose_files_changes_nothing(zones: Zones, fault: str) -> None:
    zones.files("/z/a", "/z/b")
    zones.server.answers_at_once = False
    zones.server.roll("payroll")
    zones.ask()
    zones.server.answer()
    zones.work()
    [(wanted, done)] = zones.server.reencryptions
    zones.server.reencryptions.clear()
    made = [zones.server.again(key) for key in wanted]
    match fault:
        case "fewer":
            made.pop()
        case "iv":
            made[0] = replace(made[0], iv=bytes(16))
        case "name":
            made[0] = replace(made[0], key_name="audit")
    done(errors.RemoteError("Key not found") if fault == "refused" else made)
    zones.finish()
    assert set(zones.versions().values()) == {"payroll@0"}
    assert (zones.status_of().state, zones.status_of().numFailures) == (pb.COMPLETED, 2)


def test_a_key_server_that_knows_no_new_version_yet_is_a_failure(
    zones: Zones, caplog: pytest.LogCaptureFixture
) -> None:
    """One of several may lag behind the one that was asked for the version."""
    zones.files("/z/a", "/z/b")
    zones.server.answers_at_once = False
    zones.server.roll("payroll")
    zones.ask()
    zones.server.answer()
    zones.work()
    [(wanted, done)] = zones.server.reencryptions
    zones.server.reencryptions.clear()
    done(list(wanted))
    zones.finish()
    assert set(zones.versions().values()) == {"payroll@0"}
    assert (zones.status_of().numReencrypted, zones.status_of().numFailures) == (0, 2)
    assert "does not know payroll@1 yet" in caplog.text


def test_files_that_were_deleted_or_written_anew_are_passed_over(zones: Zones) -> None:
    zones.files("/z/a", "/z/b", "/z/c")
    zones.server.answers_at_once = False
    zones.server.roll("payroll")
    zones.ask()
    zones.server.answer()
    zones.work()
    for path in ("/z/a", "/z/b"):
        zones.call("delete", pb.DeleteRequestProto(src=path, recursive=True))
    zones.files("/z/a")
    fresh = zones.keys_below("/z")["/z/a"]
    zones.namenode.tick(1000)
    zones.finish()
    assert zones.keys_below("/z")["/z/a"] == fresh
    assert zones.versions() == {"/z/a": "payroll@1", "/z/c": "payroll@1"}
    assert (zones.status_of().numReencrypted, zones.status_of().numFailures) == (1, 0)


def test_a_zone_that_is_deleted_is_forgotten(zones: Zones) -> None:
    zones.files("/z/a", "/z/b", "/z/c")
    zones.server.answers_at_once = False
    zones.server.roll("payroll")
    zones.ask()
    zones.server.answer()
    zones.work()
    zones.call("delete", pb.DeleteRequestProto(src="/z", recursive=True))
    zones.finish()
    assert not zones.listed().statuses
    assert zones.namenode.client.reencryptor.zone_id is None


def test_a_zone_that_is_moved_goes_on(zones: Zones) -> None:
    zones.files("/z/a", "/z/b", "/z/c")
    zones.server.answers_at_once = False
    zones.server.roll("payroll")
    zones.ask()
    zones.server.answer()
    zones.work()
    zones.server.answer_reencryption()
    zones.work()
    zones.rename("/z", "/moved")
    zones.restart()
    zones.finish()
    assert set(zones.versions("/moved").values()) == {"payroll@1"}
    assert zones.status_of("/moved").state == pb.COMPLETED


def test_what_was_answered_to_an_earlier_role_counts_for_nothing(zones: Zones) -> None:
    zones.files("/z/a")
    zones.server.answers_at_once = False
    zones.server.roll("payroll")
    zones.ask()
    zones.server.answer()
    zones.work()
    zones.namesystem.become_standby()
    zones.namesystem.become_active()
    zones.namesystem.safe_mode.leave()
    zones.server.answer_reencryption()
    assert zones.versions() == {"/z/a": "payroll@0"}
    zones.finish()
    assert zones.versions() == {"/z/a": "payroll@1"}


def test_statuses_have_pages() -> None:
    zones = Zones(reencryption_limit=2)
    for name in "abc":
        zones.mkdir(f"/{name}")
        zones.make_zone(f"/{name}")
        zones.start(f"/{name}")
    first = zones.listed()
    assert ([each.path for each in first.statuses], first.hasMore) == (["/a", "/b"], True)
    rest = zones.listed(first.statuses[-1].id)
    assert ([each.path for each in rest.statuses], rest.hasMore) == (["/c"], False)


# --- throttles -------------------------------------------------------------------------------


def test_a_throttle_keeps_to_its_share() -> None:
    throttle = Throttle(0.25, 1000)
    assert throttle.pause_ms(1000) == 0
    throttle.worked(1000, 1010)
    assert throttle.pause_ms(1039) == 1
    assert throttle.pause_ms(1040) == 0
    # Idle time is not made up for.
    throttle.worked(9000, 9010)
    assert throttle.pause_ms(9010) == 0
    throttle.worked(9010, 9020)
    assert throttle.pause_ms(9020) == 30
    assert Throttle(1.0, 0).pause_ms(0) == 0


@pytest.mark.parametrize("share", ["reencryption_walk_share", "reencryption_change_share"])
def test_work_pauses_when_its_share_is_used_up(share: str) -> None:
    zones = Zones(**{share: 0.1})
    zones.mkdir("/z")
    zones.make_zone("/z")
    zones.files(*(f"/z/{number:02}" for number in range(8)))
    clock = zones.namenode.clock

    commit, step = zones.namesystem.commit, clock.advance

    def slow_commit(edit: Any) -> None:
        step(10)
        commit(edit)

    zones.roll_and_start()
    zones.namesystem.commit = slow_commit  # type: ignore[method-assign]
    if share == "reencryption_walk_share":
        zones.namenode.client.reencryptor._walking.worked(0, 1000)
    turns = 0
    while zones.status_of().state != pb.COMPLETED:
        zones.work()
        step(30)
        turns += 1
        assert turns < 10_000
    assert turns > 5


def test_work_goes_on_as_soon_as_its_share_allows() -> None:
    zones = Zones(reencryption_change_share=0.5)
    zones.mkdir("/z")
    zones.make_zone("/z")
    zones.files(*(f"/z/{number:03}" for number in range(400)))
    clock, reencryptor = zones.namenode.clock, zones.namenode.client.reencryptor
    commit, worked_ms = zones.namesystem.commit, 0

    def slow_commit(edit: Any) -> None:
        nonlocal worked_ms
        worked_ms += 10
        clock.advance(10)
        commit(edit)

    zones.roll_and_start()
    zones.namesystem.commit = slow_commit  # type: ignore[method-assign]
    asked: list[tuple[int, Callable[[], None]]] = []
    reencryptor.later = lambda pause_ms, act: asked.append((pause_ms, act))
    due: list[None] = []
    reencryptor.when_due = lambda: due.append(None)
    began_ms = clock.monotonic_ms()
    zones.work()
    while zones.status_of().state != pb.COMPLETED:
        zones.work()  # Whoever looks meanwhile asks for no second call.
        [(pause_ms, act)] = asked
        asked.clear()
        due.clear()
        clock.advance(pause_ms)
        act()
        assert due
        zones.work()
    assert 1.5 * worked_ms < clock.monotonic_ms() - began_ms <= 2.1 * worked_ms


# --- any interleaving ------------------------------------------------------------------------

NAMES = ("a", "b", "c", "d/a", "d/b", "d/e/a", "f")
ACTS = st.one_of(
    st.tuples(st.just("create"), st.sampled_from(NAMES)),
    st.tuples(st.just("delete"), st.sampled_from((*NAMES, "d", "d/e"))),
    st.tuples(st.just("work"), st.integers(1, 4)),
    st.tuples(st.just("answer"), st.integers(0, 3)),
    st.tuples(st.just("fail"), st.integers(0, 3)),
    st.tuples(st.just("away"), st.integers(0, 3)),
    st.tuples(st.just("pass"), st.just(RETRY_MS)),
    st.tuples(st.just("crash"), st.integers(0, 3)),
    st.tuples(st.just("image"), st.just(0)),
    st.tuples(st.just("failover"), st.just(0)),
    st.tuples(st.just("move"), st.just(0)),
    st.tuples(st.just("roll"), st.just(0)),
)


@settings(max_examples=150)
@given(
    files=st.sets(st.sampled_from(NAMES)),
    acts=st.lists(ACTS, max_size=40),
)
def test_all_files_that_remain_have_new_keys_or_are_counted(
    files: set[str], acts: list[tuple[str, Any]]
) -> None:
    zones = Zones()
    zones.mkdir("/z")
    zones.make_zone("/z")
    zones.files(*(f"/z/{name}" for name in sorted(files)))
    plain = {path: zones.server.plain(key) for path, key in zones.keys_below("/z").items()}
    zones.roll_and_start()
    zones.server.answers_at_once = False
    root, moves, lost = "/z", 0, 0
    for act, about in acts:
        before = len(zones.namenode.log)
        match act:
            case "create":
                zones.server.answer()
                made = zones.create(f"{root}/{about}") if f"{root}/{about}" not in plain else None
                if made is not None:
                    zones.server.answer()
                    zones.settled_now(made)
                    plain[f"{root}/{about}"] = zones.server.plain(
                        zones.keys_below(root)[f"{root}/{about}"]
                    )
            case "delete":
                gone = f"{root}/{about}"
                zones.call("delete", pb.DeleteRequestProto(src=gone, recursive=True))
                plain = {
                    path: key
                    for path, key in plain.items()
                    if path != gone and not path.startswith(f"{gone}/")
                }
            case "work":
                zones.work(about)
                lost = len(zones.namenode.log) - before
            case "answer" | "fail" | "away" if about < len(zones.server.reencryptions):
                error = {"answer": None, "fail": errors.RemoteError("no"), "away": AWAY}[act]
                zones.server.answer_reencryption(error, about)
            case "pass":
                zones.namenode.tick(about)
            case "crash":
                zones.restart(lost=min(about, lost))
            case "image":
                zones.restart(from_image=True)
            case "failover":
                zones.namesystem.become_standby()
                zones.namesystem.become_active()
                zones.namesystem.safe_mode.leave()
            case "move":
                moves += 1
                zones.rename(root, f"/moved{moves}")
                plain = {
                    path.replace(root, f"/moved{moves}", 1): key for path, key in plain.items()
                }
                root = f"/moved{moves}"
            case "roll":
                zones.server.roll("payroll")
        if act != "work":
            lost = 0
    zones.finish()
    status = zones.status_of(root)
    assert status.state == pb.COMPLETED
    after = zones.keys_below(root)
    assert {path: zones.server.plain(key) for path, key in after.items()} == plain
    old = [path for path, key in after.items() if key.version_name == "payroll@0"]
    assert len(old) <= status.numFailures


def test_what_is_due_is_told_at_once(zones: Zones) -> None:
    zones.files("/z/a")
    told: list[int] = []
    zones.namenode.client.reencryptor.when_due = lambda: told.append(len(told))
    zones.server.answers_at_once = False
    zones.server.roll("payroll")
    zones.ask()
    zones.server.answer()
    assert len(told) == 1
    zones.work()
    zones.server.answer_reencryption()
    assert len(told) == 2
