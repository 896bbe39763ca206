"""Figures as Prometheus gets them."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from howdah.runtime.metrics.rpc import RpcMetrics
from howdah.web.monitoring import prometheus
from howdah.web.monitoring.families import (
    Family,
    of_beans,
    of_calls,
    of_defects,
    prometheus_name,
)


@pytest.mark.req("FS-261")
@pytest.mark.parametrize(
    ("record", "attribute", "name"),
    [
        # What Hadoop's own test of its sink expects.
        ("RpcTime", "SomeMetrics", "rpc_time_some_metrics"),
        ("OMRpcTime", "OMInfoKeys", "om_rpc_time_om_info_keys"),
        ("RpcTime", "small", "rpc_time_small"),
        ("rpc", "RpcQueueTimeNumOps", "rpc_rpc_queue_time_num_ops"),
        ("FSNamesystem", "MissingReplOneBlocks", "fs_namesystem_missing_repl_one_blocks"),
        ("JvmMetrics", "GcTimeMillisG1 Young Generation", None),
    ],
)
def test_names_are_those_of_hadoops_sink(record: str, attribute: str, name: str | None) -> None:
    expected = name or "jvm_metrics_gc_time_millis_g1_young_generation"
    assert prometheus_name(record, attribute) == expected


def samples(*families: Family, accept: str = "") -> dict[tuple[str, frozenset[object]], float]:
    body = prometheus.respond(families, accept).body.decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(body)
        for sample in family.samples
    }


@pytest.mark.req("FS-261")
def test_numbers_of_beans_are_there_and_nothing_else_of_them() -> None:
    beans = [
        {
            "name": "Hadoop:service=NameNode,name=FSNamesystem",
            "tag.HAState": "active",
            "CapacityTotal": 7,
            "Words": "x",
            "Flag": True,
        },
        {"name": "Hadoop:service=NameNode,name=NameNodeInfo", "Total": 7},
        {"name": "Hadoop:service=JournalNode,name=Journal-ns", "LastWrittenTxId": 5},
    ]
    found = samples(*of_beans(beans))
    assert found["fs_namesystem_capacity_total", frozenset({("hastate", "active")})] == 7
    assert found["journal_node_last_written_tx_id", frozenset({("journal", "ns")})] == 5
    assert not [name for name, _ in found if "words" in name or "flag" in name or "info_t" in name]


@pytest.mark.req("FS-261")
def test_calls_are_histograms_by_method() -> None:
    figures = RpcMetrics({"create"})
    figures.answered("create", "ann", 3_000_000)
    figures.answered("create", "ann", 1_000)
    figures.failed("java.io.FileNotFoundException", 5)
    found = samples(*of_calls({8020: figures}))
    labels = {("port", "8020"), ("method", "create")}
    name = "howdah_rpc_processing_seconds"
    assert found[f"{name}_count", frozenset(labels)] == 2
    assert found[f"{name}_sum", frozenset(labels)] == pytest.approx(0.003001)
    assert found[f"{name}_bucket", frozenset(labels | {("le", "1.024e-06")})] == 1
    assert found[f"{name}_bucket", frozenset(labels | {("le", "+Inf")})] == 2
    error = {("port", "8020"), ("error", "FileNotFoundException")}
    assert found["howdah_rpc_failures_total", frozenset(error)] == 1


@pytest.mark.req("FS-261")
def test_the_process_is_told_and_openmetrics_where_it_is_asked_for() -> None:
    found = samples(of_defects({}))
    assert found["process_resident_memory_bytes", frozenset()] > 0
    assert found["howdah_defects_total", frozenset({("place", "none")})] == 0
    answer = prometheus.respond([], "application/openmetrics-text; version=1.0.0")
    assert answer.body.endswith(b"# EOF\n")
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
