"""Which way to call a namespace its configuration asks for.

The key `dfs.client.failover.proxy.provider.NS` names a Java class; the last part of its name
counts. Without the key the namenodes are asked one after the other.
"""

from __future__ import annotations

from typing import Final

from howdah import errors
from howdah.client.namenodes.calls import NamenodeCalls, SingleNamenode
from howdah.client.namenodes.connections import Connections
from howdah.client.namenodes.failover import ConfiguredFailover
from howdah.client.namenodes.hedging import HedgingFailover
from howdah.client.namenodes.msync import MsyncTracker
from howdah.client.namenodes.observers import ObserverReads
from howdah.client.namenodes.router_reads import RouterReads
from howdah.client.namenodes.target import Target
from howdah.client.settings.settings import ClientSettings
from howdah.config import Configuration, keys
from howdah.config.nameservices import value_of
from howdah.protocol.rpc.failover import FailoverPolicy
from howdah.protocol.rpc.retry import RetryPolicy
from howdah.rpc.identity import SeenState
from howdah.security.identity import user_of


class _Kind:
    """The names of Hadoop's classes."""

    CONFIGURED: Final = "ConfiguredFailoverProxyProvider"
    HEDGING: Final = "RequestHedgingProxyProvider"
    OBSERVERS: Final = "ObserverReadProxyProvider"
    ROUTERS: Final = "RouterObserverReadProxyProvider"
    CONFIGURED_ROUTERS: Final = "RouterObserverReadConfiguredFailoverProxyProvider"
    OF_ROUTERS: Final = frozenset((ROUTERS, CONFIGURED_ROUTERS))


def namenode_calls(
    target: Target, conf: Configuration, settings: ClientSettings, user: str | None = None
) -> NamenodeCalls:
    """The way to call a namespace, as whoever the configuration says if no `user` is given; nothing
    is sent yet.

    Raises UnsupportedOperation for a provider that is not known here, and for namenodes that
    only a name server lists.
    """
    user = user_of(conf, user)
    key = keys.DFS_CLIENT_FAILOVER_PROXY_PROVIDER
    # As Hadoop's: what is no nameservice may have a provider under the name of its host.
    (host, _), *_ = target.namenodes.values()
    name = target.nameservice or host
    provider = value_of(conf, key, name) or _Kind.CONFIGURED
    kind = provider.rpartition(".")[2]
    # Routers are told what the client has seen; to others it says nothing.
    says = conf.get(keys.DFS_CLIENT_RBF_OBSERVER_READ_ENABLE) or kind in _Kind.OF_ROUTERS
    if target.nameservice is None or len(target.namenodes) == 1:
        (namenode,) = target.namenodes
        seen = SeenState() if says else None
        rpc = Connections(target, settings, user, seen=seen).rpc[namenode]
        policy = RetryPolicy(
            settings.connect_retries,
            settings.connect_retry_delay_s,
            settings.retriable_retries,
        )
        one = SingleNamenode(rpc, policy)
        if kind in _Kind.OF_ROUTERS:
            return RouterReads(one, MsyncTracker(one, _auto_msync_s(conf, name)))
        return one
    nameservice = target.nameservice
    resolved = keys.DFS_CLIENT_FAILOVER_RESOLVE_NEEDED
    if value_of(conf, resolved, nameservice):
        raise errors.UnsupportedOperation(
            f"{resolved.name}.{nameservice} is not supported: list the namenodes in "
            f"{keys.DFS_HA_NAMENODES.name}.{nameservice}, each with its address"
        )
    match kind:
        case _Kind.CONFIGURED:
            seen = SeenState() if says else None
            return _configured(Connections(target, settings, user, seen=seen), conf)
        case _Kind.HEDGING:
            return HedgingFailover(
                Connections(target, settings, user),
                failover_policy(conf),
                probe_interval_s=conf.get(keys.HOWDAH_CLIENT_FAILOVER_PROBE_INTERVAL_MS),
            )
        case _Kind.OBSERVERS:
            connections = Connections(target, settings, user, seen=SeenState())
            return _observers(connections, conf)
        case _Kind.ROUTERS | _Kind.CONFIGURED_ROUTERS:
            routers = _configured(Connections(target, settings, user, seen=SeenState()), conf)
            return RouterReads(routers, MsyncTracker(routers, _auto_msync_s(conf, nameservice)))
    raise errors.UnsupportedOperation(
        f"{key.name}.{nameservice} = {provider}: known are "
        + ", ".join((_Kind.CONFIGURED, _Kind.HEDGING, _Kind.OBSERVERS, _Kind.ROUTERS))
    )


def _configured(connections: Connections, conf: Configuration) -> ConfiguredFailover:
    key = keys.DFS_CLIENT_FAILOVER_RANDOM_ORDER
    own = value_of(conf, key, connections.target.nameservice)
    return ConfiguredFailover(
        connections,
        failover_policy(conf),
        random_order=conf.get(key) if own is None else own,
        probe_interval_s=conf.get(keys.HOWDAH_CLIENT_FAILOVER_PROBE_INTERVAL_MS),
    )


def _observers(connections: Connections, conf: Configuration) -> ObserverReads:
    return ObserverReads(
        connections,
        _configured(connections, conf),
        auto_msync_s=_auto_msync_s(conf, connections.target.nameservice),
        probe_again_s=conf.get(keys.DFS_CLIENT_FAILOVER_OBSERVER_PROBE_RETRY_PERIOD),
        probe_timeout_s=conf.get(keys.DFS_CLIENT_FAILOVER_NAMENODE_HA_STATE_PROBE_TIMEOUT),
    )


def _auto_msync_s(conf: Configuration, nameservice: str | None) -> float:
    key = keys.DFS_CLIENT_FAILOVER_OBSERVER_AUTO_MSYNC_PERIOD
    own = value_of(conf, key, nameservice)
    return conf.get(key) if own is None else own


def each_namenode(
    target: Target, conf: Configuration, settings: ClientSettings, user: str | None = None
) -> dict[str, SingleNamenode]:
    """The namenodes of a nameservice one by one, by their names, for what each has to be asked.

    One that does not answer is not waited for, as there are others.
    """
    policy = RetryPolicy(
        conf.get(keys.DFS_CLIENT_FAILOVER_CONNECTION_RETRIES),
        settings.connect_retry_delay_s,
        settings.retriable_retries,
    )
    connections = Connections(target, settings, user_of(conf, user))
    return {name: SingleNamenode(rpc, policy) for name, rpc in connections.rpc.items()}


def failover_policy(conf: Configuration) -> FailoverPolicy:
    """Hadoop's keys."""
    return FailoverPolicy(
        max_failovers=conf.get(keys.DFS_CLIENT_FAILOVER_MAX_ATTEMPTS),
        max_retries=conf.get(keys.DFS_CLIENT_RETRY_MAX_ATTEMPTS),
        sleep_base_s=conf.get(keys.DFS_CLIENT_FAILOVER_SLEEP_BASE_MILLIS),
        sleep_max_s=conf.get(keys.DFS_CLIENT_FAILOVER_SLEEP_MAX_MILLIS),
        connection_retries=conf.get(keys.DFS_CLIENT_FAILOVER_CONNECTION_RETRIES),
        connection_retries_on_timeouts=conf.get(
            keys.DFS_CLIENT_FAILOVER_CONNECTION_RETRIES_ON_TIMEOUTS
        ),
        connect_delay_s=conf.get(keys.IPC_CLIENT_CONNECT_RETRY_INTERVAL),
    )
