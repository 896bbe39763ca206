"""What a router takes from its configuration (shell)."""

from __future__ import annotations

from dataclasses import dataclass

from howdah import errors
from howdah.config import Configuration, keys, nameservices
from howdah.config.settings import read, setting
from howdah.config.value_types import Address
from howdah.router.store.factory import Place, store_place


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All of it, checked. Times are in seconds."""

    rpc: Address
    rpc_bind: str
    admin: Address | None
    admin_bind: str
    has_http: bool = setting(keys.DFS_FEDERATION_ROUTER_HTTP_ENABLE)
    namenodes: dict[str, dict[str, Address]]
    """By nameservice, and by the namenode's name."""
    default_nameservice: str
    store: Place
    store_ttl_s: float
    safe_mode_after_s: float | None
    heartbeat_interval_s: float
    heartbeat_timeout_s: float = setting(keys.DFS_FEDERATION_ROUTER_HEALTH_MONITOR_TIMEOUT)
    locality_interval_s: float
    connect_timeout_s: float = setting(keys.DFS_FEDERATION_ROUTER_CONNECT_TIMEOUT)
    idle_limit_s: float = setting(keys.DFS_FEDERATION_ROUTER_CONNECTION_POOL_CLEAN_MS)
    partial_listing: bool = setting(keys.DFS_FEDERATION_ROUTER_CLIENT_ALLOW_PARTIAL_LISTING)
    mount_status_timeout_s: float = setting(keys.DFS_FEDERATION_ROUTER_CLIENT_MOUNT_STATUS_TIME_OUT)
    quotas: bool = setting(keys.DFS_FEDERATION_ROUTER_QUOTA_ENABLE)
    quota_interval_s: float
    observer_reads: bool = setting(keys.DFS_FEDERATION_ROUTER_OBSERVER_READ_DEFAULT)
    observer_overrides: frozenset[str]
    """Nameservices in which that is the other way round."""
    observer_states_sent: int = setting(
        keys.DFS_FEDERATION_ROUTER_OBSERVER_FEDERATED_STATE_PROPAGATION_MAXSIZE
    )
    observer_refresh_s: float = setting(keys.DFS_FEDERATION_ROUTER_OBSERVER_STATE_ID_REFRESH_PERIOD)
    tells_where_clients_are: bool
    max_frame_bytes: int = setting(keys.IPC_MAXIMUM_DATA_LENGTH)
    backlog: int = setting(keys.IPC_SERVER_LISTEN_QUEUE_SIZE)
    supergroup: str = setting(keys.DFS_PERMISSIONS_SUPERUSERGROUP)
    permissions: bool = setting(keys.DFS_PERMISSIONS_ENABLED)

    @classmethod
    def of(cls, conf: Configuration) -> Settings:
        """Raises InvalidConfiguration."""
        rpc = conf.get(keys.DFS_FEDERATION_ROUTER_RPC_ADDRESS)
        admin = conf.get(keys.DFS_FEDERATION_ROUTER_ADMIN_ADDRESS)
        has_admin = conf.get(keys.DFS_FEDERATION_ROUTER_ADMIN_ENABLE)
        refuses = conf.get(keys.DFS_FEDERATION_ROUTER_SAFEMODE_ENABLE)
        namenodes = served(conf)
        _check_renames(conf)
        overrides = conf.get(keys.DFS_FEDERATION_ROUTER_OBSERVER_READ_OVERRIDES)
        return read(
            cls,
            conf,
            rpc=rpc,
            rpc_bind=conf.get(keys.DFS_FEDERATION_ROUTER_RPC_BIND_HOST) or rpc[0],
            admin=admin if has_admin else None,
            admin_bind=conf.get(keys.DFS_FEDERATION_ROUTER_ADMIN_BIND_HOST) or admin[0],
            namenodes=namenodes,
            default_nameservice=default_nameservice(conf, namenodes),
            store=store_place(conf),
            store_ttl_s=max(conf.get(keys.DFS_FEDERATION_ROUTER_CACHE_TTL), 0.05),
            safe_mode_after_s=conf.get(keys.DFS_FEDERATION_ROUTER_SAFEMODE_EXPIRATION)
            if refuses
            else None,
            heartbeat_interval_s=max(conf.get(keys.DFS_FEDERATION_ROUTER_HEARTBEAT_INTERVAL), 0.05),
            locality_interval_s=max(
                conf.get(keys.DFS_FEDERATION_ROUTER_ROUTER_RESOLVER_UPDATE_PERIOD), 0.05
            ),
            quota_interval_s=max(
                conf.get(keys.DFS_FEDERATION_ROUTER_QUOTA_CACHE_UPDATE_INTERVAL), 0.05
            ),
            observer_overrides=frozenset(overrides),
            tells_where_clients_are=bool(conf.get(keys.DFS_NAMENODE_IP_PROXY_USERS)),
        )


def _check_renames(conf: Configuration) -> None:
    key = keys.DFS_FEDERATION_ROUTER_FEDERATION_RENAME_OPTION
    option = conf.get(key).strip().upper()
    if option != "NONE":
        raise errors.InvalidConfiguration(
            f"{key.name} = {option} is not supported: a router of howdah refuses a rename between "
            "nameservices (NONE); `howdah distcp` copies between them"
        )


def served(conf: Configuration) -> dict[str, dict[str, Address]]:
    """Return the namenodes that a router knows, by nameservice. Raises InvalidConfiguration."""
    names = list(nameservices.nameservices(conf))
    listed = conf.get(keys.DFS_FEDERATION_ROUTER_MONITOR_NAMENODE)
    wanted = list(dict.fromkeys(entry.partition(".")[0] for entry in listed)) or names
    unknown = [nameservice for nameservice in wanted if nameservice not in names]
    if unknown:
        raise errors.InvalidConfiguration(
            f"{keys.DFS_FEDERATION_ROUTER_MONITOR_NAMENODE.name} names {', '.join(unknown)}, which "
            f"is not in {keys.DFS_NAMESERVICES.name} ({', '.join(names) or 'empty'})"
        )
    if not wanted:
        raise errors.InvalidConfiguration(
            f"a router needs nameservices: set {keys.DFS_NAMESERVICES.name}, and for each one "
            f"{keys.DFS_NAMENODE_RPC_ADDRESS.name}.NAMESERVICE"
        )
    return {name: nameservices.rpc_addresses(conf, name) for name in wanted}


def default_nameservice(conf: Configuration, known: dict[str, dict[str, Address]]) -> str:
    """ "" for none. Raises InvalidConfiguration."""
    if not conf.get(keys.DFS_FEDERATION_ROUTER_DEFAULT_NAMESERVICE_ENABLE):
        return ""
    key = keys.DFS_FEDERATION_ROUTER_DEFAULT_NAMESERVICEID
    name = conf.get(key) or conf.get(keys.DFS_NAMESERVICE_ID) or ""
    if not name and len(known) == 1:
        return next(iter(known))
    if name and name not in known:
        raise errors.InvalidConfiguration(
            f"{key.name} = {name} is not a nameservice of this router ({', '.join(known)})"
        )
    return name
