"""Rows of a listed tree."""

from __future__ import annotations

from typing import Any

import pytest

from howdah import errors
from howdah.fs.status import FileStatus
from howdah.spark.listing.tree import SCHEMA, row_of, signed

COLUMNS = [column.split()[0] for column in SCHEMA.split(",")]
MIB = 1 << 20


def row(*, length: int, replication: int = 1, **others: Any) -> dict[str, Any]:
    kind = others.pop("is_directory", False)
    status = FileStatus(
        "/a", length, kind, replication, MIB, 0, 0, 0o644, "anna", "staff", **others
    )
    return dict(zip(COLUMNS, row_of(status), strict=True))


def test_times_before_1970_are_listed_with_their_sign() -> None:
    assert [signed(each) for each in (0, 5, (1 << 64) - 5)] == [0, 5, -5]


def test_a_replicated_file_takes_all_its_replicas() -> None:
    found = row(length=MIB + 1, replication=3)
    assert (found["space"], found["blocks"]) == (3 * MIB + 3, 2)
    assert found["erasure_coding_policy"] is None


def test_a_coded_file_takes_its_parity() -> None:
    found = row(length=10, erasure_coding_policy="RS-6-3-1024k")
    assert (found["space"], found["blocks"]) == (40, 1)
    assert found["erasure_coding_policy"] == "RS-6-3-1024k"
    # The first group has six blocks of data.
    assert row(length=6 * MIB + 1, erasure_coding_policy="RS-6-3-1024k")["blocks"] == 2


@pytest.mark.parametrize("policy", ["RS-6-3-1024k", "replication"])
def test_the_policy_of_a_directory_is_not_that_of_a_file(policy: str) -> None:
    found = row(length=0, is_directory=True, erasure_coding_policy=policy)
    assert (found["erasure_coding_policy"], found["space"]) == (None, 0)


def test_a_policy_whose_name_says_nothing_is_refused() -> None:
    with pytest.raises(errors.UnsupportedOperation, match="'GOLD' does not say"):
        row(length=10, erasure_coding_policy="GOLD")
