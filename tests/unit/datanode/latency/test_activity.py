"""What a datanode has done, in memory that both of its processes see."""

from __future__ import annotations

import time

import pytest

from howdah.datanode.channel.gauges import FIGURES, Gauges
from howdah.datanode.keeper.pages import activity, families
from howdah.datanode.latency.activity import (
    FIRST,
    WORDS,
    Activity,
    Count,
    Tally,
    Work,
    read_count,
    read_work,
)
from howdah.datanode.memory.figures import Figure
from howdah.figures.times import Rates
from howdah.web.monitoring.families import Total


def test_every_figure_has_words_of_its_own() -> None:
    assert len(Figure) <= FIRST
    assert WORDS <= FIGURES


@pytest.mark.req("FS-264")
def test_work_and_counts_are_shown() -> None:
    gauges = Gauges(1)
    done = Activity(gauges.add_to_figure)
    done.took(Work.ReadBlockOp, 3_000_000)
    done.took(Work.ReadBlockOp, 1_000_000)
    done.took(Work.Fsync, 500)
    done.count(Count.BytesRead, 4096)
    assert read_work(gauges.figure, Work.ReadBlockOp) == (2, 4_000_000)
    assert read_count(gauges.figure, Count.BytesRead) == 4096
    shown = activity(gauges.figure, Rates(), 0)
    assert (shown["ReadBlockOpNumOps"], shown["ReadBlockOpAvgTime"]) == (2, 2.0)
    assert (shown["FsyncCount"], shown["FsyncNanosAvgTime"]) == (1, 500.0)
    assert shown["WriteBlockOpNumOps"] == shown["BytesWritten"] == 0
    told = {family.name: family for family in families(gauges)}
    work = {labels["work"]: value for labels, value in told["howdah_datanode_work_seconds"].samples}
    assert work["ReadBlockOp"] == Total(2, 0.004)
    assert told["howdah_datanode_bytes_read"].samples == (({}, 4096),)


@pytest.mark.req("FS-264")
def test_what_is_done_often_is_passed_on_together_and_never_lost() -> None:
    gauges = Gauges(1)
    tally = Tally(Activity(gauges.add_to_figure), Work.DiskWrite, Count.BytesWritten)
    for _ in range(5):
        tally.add(time.perf_counter_ns(), 100)
    tally.pass_on()
    tally.pass_on()
    assert read_work(gauges.figure, Work.DiskWrite)[0] == 5
    assert read_count(gauges.figure, Count.BytesWritten) == 500
