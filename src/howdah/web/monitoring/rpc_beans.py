"""Beans of the calls of a port: RpcActivityForPort and RpcDetailedActivityForPort (pure).

Times are in milliseconds; a mean is of the last ten seconds in which something came
(`figures.times.Rate`), as Hadoop's is.
"""

from __future__ import annotations

from collections.abc import Iterator

from howdah.runtime.metrics.histogram import Rates, Times
from howdah.runtime.metrics.rpc import RpcMetrics

Bean = dict[str, object]


class RpcBeans:
    """Makes the beans of one server's calls; it remembers what it told last, for the means."""

    def __init__(self, service: str) -> None:
        """`service` is Hadoop's name of the server, such as `NameNode`."""
        self._service = service
        self._rates = Rates()

    def beans(
        self, port: int, figures: RpcMetrics, connections: int, waiting: int, now_ns: int
    ) -> Iterator[Bean]:
        """Yield two beans of a port. `connections` are open, and `waiting` calls are to be
        served."""
        done = Times()
        methods = list(figures.methods.items())
        failures = list(figures.failures.items())
        for times in (*(method.times for _, method in methods), *(times for _, times in failures)):
            done.count += times.count
            done.total_ns += times.total_ns
        head = {
            "tag.port": str(port),
            "tag.Context": "rpc",
            "tag.NumOpenConnectionsPerUser": "{}",
        }
        yield {
            "name": f"Hadoop:service={self._service},name=RpcActivityForPort{port}",
            "modelerType": f"RpcActivityForPort{port}",
            **head,
            "ReceivedBytes": figures.received_bytes,
            "SentBytes": figures.sent_bytes,
            **self._rate(port, "RpcQueueTime", figures.queued, now_ns),
            **self._rate(port, "RpcProcessingTime", done, now_ns),
            "RpcCallSuccesses": figures.successes,
            "TotalRequests": done.count,
            "NumOpenConnections": connections,
            "NumDroppedConnections": figures.refused_connections,
            "CallQueueLength": waiting,
            "RpcAuthorizationFailures": _count(figures, "AuthorizationException"),
        }
        yield {
            "name": f"Hadoop:service={self._service},name=RpcDetailedActivityForPort{port}",
            "modelerType": f"RpcDetailedActivityForPort{port}",
            "tag.port": str(port),
            "tag.Context": "rpcdetailed",
            **{
                key: value
                for name, times in (
                    *((name, method.times) for name, method in methods),
                    *failures,
                )
                for key, value in self._rate(
                    port, name[:1].upper() + name[1:], times, now_ns
                ).items()
            },
        }

    def _rate(self, port: int, name: str, times: Times, now_ns: int) -> Bean:
        mean_ns = self._rates.mean_ns(f"{port} {name}", times.count, times.total_ns, now_ns)
        return {f"{name}NumOps": times.count, f"{name}AvgTime": mean_ns / 1e6}


def _count(figures: RpcMetrics, failure: str) -> int:
    times = figures.failures.get(failure)
    return 0 if times is None else times.count
