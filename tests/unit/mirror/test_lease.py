"""A lease keeps two mirrors of a target without locks apart."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from howdah.config import Configuration
from howdah.copy.locks.files import TreeLocked
from howdah.fs.memory.filesystem import MemoryFileSystem, forget
from howdah.mirror import lease
from howdah.mirror.lease import LeaseLost, held_by, leased, read_lease

PATH = "/.howdah.mirror.dst.lease"


@pytest.fixture
def fs() -> Iterator[MemoryFileSystem]:
    yield MemoryFileSystem("leases", Configuration())
    forget("leases")


def test_a_second_mirror_is_refused_while_the_first_one_works(fs: MemoryFileSystem) -> None:
    with leased(fs, PATH, settles_s=0) as held:
        held.check()
        with pytest.raises(TreeLocked, match="is held by process"), leased(fs, PATH, settles_s=0):
            pass
        held.check()
    assert held_by(fs, PATH) == ""
    assert not fs.exists(PATH)
    with leased(fs, PATH, settles_s=0):
        assert held_by(fs, PATH)


def test_a_lease_of_a_mirror_that_died_is_taken_over_when_it_is_old(
    fs: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("howdah.mirror.lease.time.sleep", lambda _: None)
    old = {"token": "x", "host": "elsewhere", "pid": 1, "until_ms": 1}
    odd = json.dumps(old | {"until_ms": "soon"}).encode()
    for left in (json.dumps(old).encode(), b"", b"[1]", b'{"token": 1}', odd):
        fs.write_bytes(PATH, left)
        with leased(fs, PATH, settles_s=0) as held:
            held.check()


def test_a_mirror_whose_lease_another_one_has_ends_and_leaves_it(fs: MemoryFileSystem) -> None:
    with leased(fs, PATH, settles_s=0) as held:
        theirs = {"token": "x", "host": "elsewhere", "pid": 1, "until_ms": 1 << 60}
        fs.write_bytes(PATH, json.dumps(theirs).encode())
        with pytest.raises(LeaseLost, match="another mirror has it"):
            held.check()
    found = read_lease(fs, PATH)
    assert found is not None
    assert found.token == "x"


def test_of_two_that_began_at_once_the_one_that_wrote_last_goes_on(
    fs: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = lease.HeldLease(fs, PATH)
    second = lease.HeldLease(fs, PATH)
    began: list[lease.HeldLease] = []

    def meanwhile(_: float) -> None:
        if not began:
            began.append(second)
            second._write()

    monkeypatch.setattr("howdah.mirror.lease.time.sleep", meanwhile)
    with pytest.raises(LeaseLost):
        first.acquire(1)
    second.check()


def test_a_lease_is_not_taken_from_a_mirror_whose_clock_is_behind(
    fs: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = {"token": "x", "host": "elsewhere", "pid": 1, "until_ms": 1_000}
    fs.write_bytes(PATH, json.dumps(theirs).encode())
    slept: list[float] = []

    def meanwhile(seconds: float) -> None:
        slept.append(seconds)
        fs.write_bytes(PATH, json.dumps(theirs | {"until_ms": 16_000}).encode())

    monkeypatch.setattr("howdah.mirror.lease.time.sleep", meanwhile)
    with pytest.raises(TreeLocked, match="elsewhere, whose clock differs"):
        lease.HeldLease(fs, PATH).acquire(1)
    assert slept == [lease.RENEWED_S + 1]
    found = read_lease(fs, PATH)
    assert found is not None
    assert found.token == "x"


def test_a_lease_that_cannot_be_renewed_is_lost_when_it_no_longer_counts(
    fs: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has it, and anybody may take it."""
    with leased(fs, PATH, settles_s=0) as held:
        held.watch()
        monkeypatch.setattr(lease, "LASTS_S", -1.0)
        with pytest.raises(LeaseLost, match="could not be renewed"):
            held.watch()


def test_a_lease_is_renewed(fs: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "RENEWED_S", 0.01)
    with leased(fs, PATH, settles_s=0):
        first = read_lease(fs, PATH)
        assert first is not None
        while (now := read_lease(fs, PATH)) is None or now.until_ms == first.until_ms:
            pass
