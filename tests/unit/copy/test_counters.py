"""Counters, as Hadoop's users see them."""

from __future__ import annotations

from howdah.copy.counters import Counters


def test_counters_add_up_and_print_as_hadoops() -> None:
    total = Counters(files_copied=2, bytes_copied=10) + Counters(files_copied=1)
    assert list(total.lines()) == [
        "\tDistCp Counters",
        "\t\tBytes Copied=10",
        "\t\tFiles Copied=3",
    ]


def test_sum_over_no_task_is_zero() -> None:
    assert Counters.of({"files_copied": None}) == Counters()
