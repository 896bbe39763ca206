"""Families as text for Prometheus, by `prometheus_client` (shell: it looks at the process).

Imported at the first scrape only: the library takes a tenth of a second, which a server that
starts has better uses for. The registry is our own, so that nothing of another library is in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    SummaryMetricFamily,
    UnknownMetricFamily,
)

from howdah.runtime.metrics.histogram import Times
from howdah.web.http import Response, answer
from howdah.web.monitoring.families import Family, Total, buckets

_KINDS = {
    "gauge": GaugeMetricFamily,
    "counter": CounterMetricFamily,
    "unknown": UnknownMetricFamily,
}


def respond(families: Iterable[Family], accept: str) -> Response:
    """The answer to a scrape: the text format, or OpenMetrics where `accept` asks for it."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(families))
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)
    encode, content_type = choose_encoder(accept)
    return answer(200, encode(registry), content_type)


class _Families:
    """As a registry asks for them."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._families = families

    def collect(self) -> Iterator[Any]:
        for family in self._families:
            names = list(dict.fromkeys(name for labels, _ in family.samples for name in labels))
            if family.kind == "histogram":
                yield _histogram(family, names)
                continue
            if family.kind == "summary":
                yield _summary(family, names)
                continue
            metric = _KINDS[family.kind](family.name, family.help, labels=names)
            for labels, value in family.samples:
                assert isinstance(value, int | float), f"{family.name} has numbers"
                metric.add_metric([labels.get(name, "") for name in names], value)
            yield metric


def _summary(family: Family, names: list[str]) -> SummaryMetricFamily:
    metric = SummaryMetricFamily(family.name, family.help, labels=names)
    for labels, total in family.samples:
        assert isinstance(total, Total), f"{family.name} is a summary"
        metric.add_metric([labels.get(name, "") for name in names], total.count, total.total_s)
    return metric


def _histogram(family: Family, names: list[str]) -> HistogramMetricFamily:
    metric = HistogramMetricFamily(family.name, family.help, labels=names)
    for labels, times in family.samples:
        assert isinstance(times, Times), f"{family.name} is a histogram"
        metric.add_metric(
            [labels.get(name, "") for name in names], buckets(times), times.total_ns / 1e9
        )
    return metric
