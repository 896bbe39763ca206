"""Who writes what, and until when."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.namenode.state.tree.leases import (
    SOFT_LIMIT_MS,
    LeaseRegistry,
    check_client_name,
    is_namenode_holder,
    namenode_holder,
)

HARD_MS = 10 * SOFT_LIMIT_MS


@pytest.fixture
def leases() -> LeaseRegistry:
    return LeaseRegistry(HARD_MS)


def test_file_has_one_holder(leases: LeaseRegistry) -> None:
    leases.grant("a", 1)
    assert leases.holder_of(1) == "a"
    with pytest.raises(AssertionError):
        leases.grant("b", 1)


def test_holder_has_one_lease_for_all_its_files(leases: LeaseRegistry) -> None:
    for inode_id in (1, 2, 3):
        leases.grant("a", inode_id)
    assert (len(leases), leases.open_files) == (1, 3)


def test_lease_ends_with_its_last_file(leases: LeaseRegistry) -> None:
    leases.grant("a", 1)
    leases.grant("a", 2)
    leases.release(1)
    assert len(leases) == 1
    leases.release(2)
    assert (len(leases), leases.open_files, leases.holder_of(2)) == (0, 0, None)


def test_releasing_what_nobody_holds_is_no_error(leases: LeaseRegistry) -> None:
    leases.release(7)
    assert len(leases) == 0


def test_lease_counts_from_when_it_was_granted(leases: LeaseRegistry) -> None:
    leases.advance(5000)
    leases.grant("a", 1)
    assert not leases.soft_expired("a", 5000 + SOFT_LIMIT_MS)
    assert leases.soft_expired("a", 5001 + SOFT_LIMIT_MS)


def test_renewal_holds_for_all_files_of_the_holder(leases: LeaseRegistry) -> None:
    leases.grant("a", 1)
    leases.grant("a", 2)
    leases.renew("a", HARD_MS)
    assert leases.hard_expired(2 * HARD_MS) == []
    (expired,) = leases.hard_expired(2 * HARD_MS + 1)
    assert (expired.holder, expired.inode_ids) == ("a", {1, 2})


def test_renewal_by_somebody_unknown_does_nothing(leases: LeaseRegistry) -> None:
    leases.renew("nobody", 1)
    assert len(leases) == 0


def test_only_the_silent_holder_expires(leases: LeaseRegistry) -> None:
    leases.grant("a", 1)
    leases.grant("b", 2)
    leases.renew("b", HARD_MS)
    assert [lease.holder for lease in leases.hard_expired(HARD_MS + 1)] == ["a"]


def test_after_a_start_everybody_counts_from_the_start(leases: LeaseRegistry) -> None:
    leases.grant("a", 1)
    leases.renew_all(1_000_000)
    assert not leases.soft_expired("a", 1_000_000 + SOFT_LIMIT_MS)


def test_time_never_goes_back(leases: LeaseRegistry) -> None:
    leases.advance(9000)
    leases.advance(1000)
    leases.grant("a", 1)
    assert not leases.soft_expired("a", 9000 + SOFT_LIMIT_MS)


@pytest.mark.req("AP-046")
def test_limits_are_hadoops_unless_they_are_set() -> None:
    leases = LeaseRegistry()
    assert (leases.soft_limit_ms, leases.hard_limit_ms) == (60_000, 1_200_000)
    leases.soft_limit_ms = 10
    leases.grant("a", 1)
    assert leases.soft_expired("a", 11)


def test_the_namenodes_own_name_is_of_hadoops_form() -> None:
    assert namenode_holder(1_700_000_000_123) == "HDFS_NameNode-2023-11-14 22:13:20,123+0000"
    assert is_namenode_holder("HDFS_NameNode-2016-08-01 09:14:33,877-0700")
    assert not is_namenode_holder("DFSClient_NONMAPREDUCE_1")


def test_no_client_goes_by_a_namenodes_name() -> None:
    with pytest.raises(errors.IllegalArgument):
        check_client_name(namenode_holder(0))
    check_client_name("DFSClient_1")


def test_leases_of_earlier_starts_are_the_namenodes_too(leases: LeaseRegistry) -> None:
    for holder, inode_id in ((namenode_holder(0), 1), (namenode_holder(1000), 2), ("a", 3)):
        leases.grant(holder, inode_id)
    assert {i for lease in leases.of_namenodes() for i in lease.inode_ids} == {1, 2}
    assert leases.held() == [1, 2, 3]
