"""Which peers and disks are much slower than the rest."""

from __future__ import annotations

import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.config import Configuration
from howdah.datanode.channel.shared_counters import SPARE, VOLUME_FIGURES, Gauges
from howdah.datanode.control import reports
from howdah.datanode.latency.monitor import (
    DiskMeter,
    DiskOp,
    LatencySettings,
    OutlierReports,
    PeerMeter,
    slow_disks,
)
from howdah.datanode.process.hot_swap import measure
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.latency.outliers import SCALE, outliers
from howdah.datanode.state.latency.volume_metrics import WORDS, attributes
from howdah.datanode.state.latency.window import RollingMeans
from howdah.datanode.state.messages import OutliersFound, SlowDisk, SlowPeer
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.runtime.metrics.histogram import Rates

Lab = Any
DATA = bytes(range(256)) * 40

# What stands out.


def test_who_takes_much_longer_than_the_rest_is_slow() -> None:
    means = {f"n{i}": 1.0 + i / 10 for i in range(9)} | {"slow": 50.0}
    found = outliers(means, least=10, floor_ms=5)
    assert list(found) == ["slow"]
    assert found["slow"].mean_ms == 50
    assert found["slow"].median_ms == pytest.approx(1.45)
    assert found["slow"].limit_ms == 5


@pytest.mark.parametrize(
    ("means", "slow"),
    [
        ([1, 1, 1, 1, 4.9], []),  # not above the floor
        ([1, 1, 1, 1, 5.1], [4]),
        ([10, 10, 10, 10, 29], []),  # not above three medians
        ([10, 10, 10, 10, 31], [4]),
        ([10, 20, 30, 40, 95], [4]),  # 30 + 3 * 1.4826 * 10 is 74, three medians are 90
        ([0, 20, 40, 80, 150], []),  # 40 + 3 * 1.4826 * 40 is 218
        ([9, 9, 9], []),  # of too few none is slow
        ([1, 1, 1, 40], []),
    ],
)
def test_slow_is_who_is_above_floor_median_and_deviation(
    means: list[float], slow: list[int]
) -> None:
    found = outliers({str(i): mean for i, mean in enumerate(means)}, least=5, floor_ms=5)
    assert list(found) == [str(i) for i in slow]


@given(
    st.dictionaries(
        st.text(max_size=3), st.floats(0, 1e6, allow_nan=False), min_size=1, max_size=30
    ),
    st.integers(0, 10),
)
def test_less_than_half_are_ever_slow_and_each_is_above_its_limit(
    means: dict[str, float], least: int
) -> None:
    found = outliers(means, least=least, floor_ms=5)
    assert len(found) * 2 <= len(means)
    middle = statistics.median(means.values())
    spread = statistics.median(abs(mean - middle) for mean in means.values())
    for name, each in found.items():
        assert each.mean_ms == means[name] > each.limit_ms >= max(5, 3 * middle)
        assert each.limit_ms >= middle + 3 * each.deviation_ms
        assert each.deviation_ms == pytest.approx(SCALE * spread)


# Means of the last hours.


def test_a_mean_is_of_the_last_windows() -> None:
    means = RollingMeans(window_s=10, windows=3)
    means.add("a", 100, 1, 5)
    means.add("a", 2, 2, 15)
    means.add("a", 4, 2, 25)
    assert means.means(1, 29) == {"a": pytest.approx(106 / 5)}
    assert means.means(1, 35) == {"a": pytest.approx(6 / 4)}
    means.add("a", 10, 1, 41)
    assert means.means(1, 41) == {"a": pytest.approx(14 / 3)}
    assert means.means(1, 100) == {}


def test_who_has_too_few_samples_is_left_out() -> None:
    means = RollingMeans()
    means.add("a", 10, 9, 0)
    means.add("b", 10, 10, 0)
    assert set(means.means(10, 0)) == {"b"}


def test_names_do_not_fill_the_memory() -> None:
    means = RollingMeans(max_names=2)
    for name in "abac":
        means.add(name, 1, 1, 0)
    assert set(means.means(1, 0)) == {"a", "c"}, "the one heard of longest ago goes"


# Disks.

SETTINGS = LatencySettings(least_disks=3, disk_floor_ms=20, sampled_percent=100)


def test_a_disk_is_compared_with_those_of_its_type_by_what_it_does() -> None:
    disks = {
        ("DISK", "/d0"): {DiskOp.READ: 100.0, DiskOp.WRITE: 5.0},
        ("DISK", "/d1"): {DiskOp.READ: 4.0, DiskOp.WRITE: 5.0},
        ("DISK", "/d2"): {DiskOp.READ: 5.0, DiskOp.WRITE: 5.0, DiskOp.METADATA: 30.0},
        ("SSD", "/s0"): {DiskOp.READ: 1000.0},
    }
    assert set(slow_disks(disks, SETTINGS)) == {
        SlowDisk("/d2", 30.0, None, None),
        SlowDisk("/d0", None, 100.0, None),
    }


def test_a_meter_gives_means_since_it_was_asked_last() -> None:
    meter = DiskMeter(100)
    assert meter.is_sampled()
    meter.add(DiskOp.WRITE, 0.010)
    meter.add(DiskOp.WRITE, 0.030)
    assert meter.take_means() == {DiskOp.WRITE: pytest.approx(20)}
    assert meter.take_means() == {}
    assert not DiskMeter(0).is_sampled()


def test_names_reads_and_writes_of_a_volume_are_measured(lab: Lab) -> None:
    node = lab.node()
    meter = DiskMeter(100)
    node.volumes.all[0].measure(meter)
    lab.write_block(node, lab.block(), DATA)
    lab.read_block(node, lab.read_request(lab.block(), 0, len(DATA)))
    assert meter.take_means().keys() == set(DiskOp)
    node.store.invalidate(lab.block())
    assert meter.take_means().keys() == {DiskOp.METADATA}


@pytest.mark.req("FS-260", "FS-264")
def test_what_is_measured_of_a_volume_is_seen_by_the_control_process(lab: Lab) -> None:
    node = lab.node()
    volume, gauges = node.volumes.all[0], Gauges(1)
    measure(volume, 0, gauges)
    assert volume.meter is None
    measure(volume, 100, gauges)
    lab.write_block(node, lab.block(), DATA)
    lab.read_block(node, lab.read_request(lab.block(), 0, len(DATA)))
    assert volume.meter is not None
    volume.meter.synced(0.002)
    found = attributes(
        volume.path, 0, lambda number: gauges.volume_figure(volume.number, number), Rates(), 0
    )
    assert found["tag.VolumeName"] == volume.path
    assert found["SyncIoRateNumOps"] == 1
    assert found["SyncIoRateAvgTime"] == pytest.approx(2)
    for name in ("MetadataOperationRate", "ReadIoRate", "WriteIoRate"):
        assert isinstance(number := found[f"{name}NumOps"], int)
        assert number > 0, name
    assert found["TotalMetadataOperations"] == found["MetadataOperationRateNumOps"]
    parts = [found[f"{name}IoRateNumOps"] for name in ("Read", "Write", "Sync")]
    assert found["TotalDataFileIos"] == found["DataFileIoRateNumOps"] == sum(map(int, parts))


def test_figures_of_volumes_do_not_meet() -> None:
    gauges = Gauges(2)
    places = [(volume, number) for volume in range(2 + SPARE) for number in range(VOLUME_FIGURES)]
    for change, place in enumerate(places, 1):
        gauges.add_to_volume_figure(*place, change)
    gauges.set_promised_bytes(1 + SPARE, 7)
    assert [gauges.volume_figure(*place) for place in places] == [*range(1, len(places) + 1)]
    assert WORDS <= VOLUME_FIGURES


# Peers.


def test_the_last_datanode_of_a_pipeline_is_measured_by_the_one_before_it(lab: Lab) -> None:
    first, second, last = (lab.node() for _ in range(3))
    for node in (first, second, last):
        node.store.peers = PeerMeter()
    writer = lab.Writer(first, lab.write_request(lab.block(), second, last))
    writer.send(0, DATA)
    assert writer.ack().is_success
    writer.send(len(DATA), b"", last=True)
    assert writer.ack().is_success
    assert list(second.store.peers.means(2)) == [f"127.0.0.1:{last.port}"]
    assert second.store.peers.means(3) == {}, "two packets were passed on"
    assert (first.store.peers.means(1), last.store.peers.means(1)) == ({}, {})


# From the data process to the heartbeat.


def test_what_is_slow_is_told_and_nothing_where_nothing_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings = LatencySettings(least_samples=2, least_peers=3, peer_floor_ms=1, least_disks=3)
    peers = PeerMeter()
    told: list[OutliersFound] = []
    disks: dict[tuple[str, str], dict[DiskOp, float]] = {}
    look = OutlierReports(settings, peers, lambda: disks, told.append).refresh
    look()
    assert told == []
    for name, seconds in (("10.0.0.1:1", 0.001), ("10.0.0.2:1", 0.001), ("10.0.0.3:1", 1.0)):
        peers.add(name, seconds, 2)
    disks |= {("DISK", "/a"): {DiskOp.WRITE: 500.0}, ("DISK", "/b"): {}, ("DISK", "/c"): {}}
    look()
    (found,) = told
    assert [(peer.name, peer.mean_ms) for peer in found.peers] == [("10.0.0.3:1", 500)]
    assert found.disks == (SlowDisk("/a", None, None, 500.0),)
    assert "datanode 10.0.0.3:1 is slow" in caplog.text
    assert "the disk of /a is slower than the others of its type: write 500.0 ms" in caplog.text


def test_a_heartbeat_has_what_is_slow() -> None:
    request = pb.HeartbeatRequestProto()
    peer, disk = SlowPeer("10.0.0.3:9866", 50, 1, 2, 5), SlowDisk("/d0", None, 100.5, None)
    reports.add_outliers(request, OutliersFound((peer,), (disk,)))
    (told,) = request.slowPeers
    assert (told.dataNodeId, told.aggregateLatency) == ("10.0.0.3:9866", 50)
    assert (told.median, told.mad, told.upperLimitLatency) == (1, 2, 5)
    (slow,) = request.slowDisks
    assert (slow.basePath, slow.meanReadIoLatency) == ("/d0", 100.5)
    assert not slow.HasField("meanWriteIoLatency")


# What is measured.


def test_the_configuration_says_what_is_measured() -> None:
    assert DataSettings.of(Configuration()).latency == LatencySettings()
    conf = {
        "dfs.datanode.peer.stats.enabled": "true",
        "dfs.datanode.fileio.profiling.sampling.percentage": "250",
        "dfs.datanode.outliers.report.interval": "5s",
        "dfs.datanode.peer.metrics.min.outlier.detection.samples": "7",
        "dfs.datanode.min.outlier.detection.nodes": "3",
        "dfs.datanode.slowpeer.low.threshold.ms": "2",
        "dfs.datanode.min.outlier.detection.disks": "4",
        "dfs.datanode.slowdisk.low.threshold.ms": "30",
    }
    found = DataSettings.of(Configuration(conf)).latency
    assert found == LatencySettings(True, 100, 5.0, 7, 3, 2, 4, 30)
