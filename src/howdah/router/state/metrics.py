"""What a router counts of the calls that it passes on (pure). Hadoop: FederationRPCMetrics,
NameserviceRPCMetrics."""

from __future__ import annotations

from howdah import errors
from howdah.runtime.metrics.histogram import Times


class NameserviceFigures:
    """Of one nameservice. The loop adds."""

    __slots__ = ("communicate", "no_namenodes", "of_observers", "proxied", "standby")

    def __init__(self) -> None:
        self.proxied = Times()
        """Calls that a namenode answered, by an error as well, from sending to the answer."""
        self.of_observers = 0
        """Of these, those that an observer answered."""
        self.standby = 0
        """Namenodes that said that they are not the active one."""
        self.communicate = 0
        """Attempts that reached no namenode, or got no answer."""
        self.no_namenodes = 0
        """Calls that no namenode could answer."""

    def ended(self, ns: int, outcome: object, *, of_observer: bool) -> None:
        """An attempt came to its end: with an answer, or an error."""
        if isinstance(outcome, errors.StandbyError):
            self.standby += 1
        elif isinstance(outcome, errors.Unreachable | errors.CallTimeout):
            self.communicate += 1
        else:
            self.proxied.add(ns)
            self.of_observers += of_observer


class ProxyFigures:
    """Counts the calls that one router forwards."""

    def __init__(self) -> None:
        self.by_nameservice: dict[str, NameserviceFigures] = {}
        self.retries = 0
        """Rounds over the namenodes of a nameservice that came after a first one."""
        self.safe_mode = 0
        """Calls that were refused because the router is in safe mode, and because a mount point
        may only be read."""
        self.read_only = 0

    def of(self, nameservice: str) -> NameserviceFigures:
        figures = self.by_nameservice.get(nameservice)
        if figures is None:
            figures = self.by_nameservice[nameservice] = NameserviceFigures()
        return figures

    def all(self) -> NameserviceFigures:
        """Return the sum over all nameservices."""
        total = NameserviceFigures()
        for figures in list(self.by_nameservice.values()):
            total.proxied.count += figures.proxied.count
            total.proxied.total_ns += figures.proxied.total_ns
            total.of_observers += figures.of_observers
            total.standby += figures.standby
            total.communicate += figures.communicate
            total.no_namenodes += figures.no_namenodes
        return total
