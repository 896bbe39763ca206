"""Figures on their way to Prometheus (pure): families of our own, and beans under the names that
Hadoop's `/prom` gives them.

    Hadoop:service=NameNode,name=FSNamesystem  CapacityTotal  ->  fs_namesystem_capacity_total

What a bean has beside numbers is left out, but for its tags, which are labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from howdah.runtime.metrics.histogram import BOUNDS_S, Times
from howdah.runtime.metrics.rpc import RpcMetrics

Bean = Mapping[str, object]
Labels = Mapping[str, str]

_WORD: Final = re.compile(r"(?<!^)(?<![A-Z_])(?=[A-Z])|(?<!^)(?=[A-Z][a-z])")
_NO_LETTERS: Final = re.compile(r"[^a-z0-9]+")
_RECORDS: Final = (
    # The name of a bean, the record that Hadoop's metrics have under it, and the label that
    # tells beans of the same record apart.
    (re.compile(r"RpcActivityForPort(\d+)$"), "rpc", "port"),
    (re.compile(r"RpcDetailedActivityForPort(\d+)$"), "rpcdetailed", "port"),
    (re.compile(r"NameNodeActivity$"), "namenode", ""),
    (re.compile(r"DataNodeActivity-(.+)$"), "datanode", "name"),
    (re.compile(r"DataNodeVolume-(.+)$"), "DataNodeVolume", "name"),
    (re.compile(r"Journal-(.+)$"), "JournalNode", "journal"),
    (re.compile(r"(FSNamesystem|JvmMetrics|StartupProgress|FSDatasetState)$"), "", ""),
    (re.compile(r"NameserviceActivity-(.+)$"), "NameserviceActivity", "ns"),
    (re.compile(r"(Federation(?:RPC|State)|StateStoreActivity|RouterClientActivity)$"), "", ""),
    (re.compile(r"ServerActivity-HttpFSServer$"), "HttpFSServer", ""),
)


@dataclass(frozen=True, slots=True)
class Total:
    """How often something was done, and how many seconds it took together."""

    count: int
    total_s: float


Value = float | Times | Total


@dataclass(frozen=True, slots=True)
class Family:
    """One name with its samples. `kind` is gauge, counter, histogram, summary or unknown; the
    value of a histogram is a `Times`, in seconds where it is shown, that of a summary a `Total`."""

    name: str
    kind: str
    help: str
    samples: tuple[tuple[Labels, Value], ...]


def one(name: str, kind: str, help: str, value: float, **labels: str) -> Family:
    """A family with one sample."""
    return Family(name, kind, help, ((labels, value),))


def prometheus_name(record: str, attribute: str) -> str:
    """As PrometheusMetricsSink makes it.

    >>> prometheus_name("FSNamesystem", "MissingReplOneBlocks")
    'fs_namesystem_missing_repl_one_blocks'
    >>> prometheus_name("rpc", "RpcQueueTimeNumOps")
    'rpc_rpc_queue_time_num_ops'
    """
    base = record[:1].upper() + record[1:] + attribute[:1].upper() + attribute[1:]
    return _NO_LETTERS.sub("_", "_".join(_WORD.split(base)).lower())


def of_beans(beans: Iterable[Bean]) -> Iterator[Family]:
    """Yield the families of all numbers in the beans that are metrics in Hadoop."""
    by_name: dict[str, list[tuple[Labels, Value]]] = {}
    for bean in beans:
        name = str(bean["name"]).rpartition("name=")[2]
        for pattern, record, label in _RECORDS:
            matched = pattern.match(name)
            if matched is None:
                continue
            labels = {label: matched[1]} if label else {}
            if "tag.HAState" in bean:
                labels["hastate"] = str(bean["tag.HAState"])
            for attribute, value in bean.items():
                if isinstance(value, int | float) and not isinstance(value, bool):
                    shown = prometheus_name(record or matched[1], attribute)
                    by_name.setdefault(shown, []).append((labels, value))
    for shown, samples in by_name.items():
        yield Family(shown, "unknown", "An attribute of a bean of /jmx.", tuple(samples))


def of_calls(ports: Mapping[int, RpcMetrics]) -> Iterator[Family]:
    """Yield the families of what is counted of the calls at each port."""
    yield Family(
        "howdah_rpc_processing_seconds",
        "histogram",
        "From a call's turn to its answer, without the wait for the journal.",
        tuple(
            ({"port": str(port), "method": method}, counters.times)
            for port, figures in ports.items()
            for method, counters in sorted(list(figures.methods.items()))
        ),
    )
    yield Family(
        "howdah_rpc_queue_seconds",
        "histogram",
        "From the arrival of a call to its turn.",
        tuple(({"port": str(port)}, figures.queued) for port, figures in ports.items()),
    )
    yield Family(
        "howdah_rpc_failures",
        "counter",
        "Calls that ended with an error, by its class.",
        tuple(
            ({"port": str(port), "error": name}, float(times.count))
            for port, figures in ports.items()
            for name, times in sorted(list(figures.failures.items()))
        ),
    )
    for direction in ("received", "sent"):
        yield Family(
            f"howdah_rpc_{direction}_bytes",
            "counter",
            f"Bytes that were {direction} on RPC connections.",
            tuple(
                ({"port": str(port)}, float(getattr(figures, f"{direction}_bytes")))
                for port, figures in ports.items()
            ),
        )


def of_defects(defects: Mapping[str, int]) -> Family:
    """Errors that nobody foresaw."""
    return Family(
        "howdah_defects",
        "counter",
        "Errors that nobody foresaw, by what failed. Each one is a bug to report.",
        tuple(({"place": place}, float(count)) for place, count in sorted(defects.items()))
        or (({"place": "none"}, 0.0),),
    )


def buckets(times: Times) -> list[tuple[str, float]]:
    """Return cumulative counts by upper bound in seconds, as Prometheus wants them."""
    cumulative, total = [], 0
    counts = list(times.buckets)
    for bound_s, count in zip(BOUNDS_S, counts, strict=False):
        total += count
        cumulative.append((repr(bound_s), float(total)))
    cumulative.append(("+Inf", float(sum(counts))))
    return cumulative
