"""Which state store the configuration asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.value_types import parse_dir
from howdah.protocol.zookeeper import Ensemble, ProvenBy, parse_acls, parse_auths
from howdah.router.store.files import FileRecords
from howdah.router.store.state_store import StateStore
from howdah.router.store.zookeeper import ZooKeeperPlace, ZooKeeperRecords
from howdah.runtime.secret_files import warn_of_named
from howdah.security.server_login import log_in_router

FILES: Final = "StateStoreFileImpl"
ZOOKEEPER: Final = "StateStoreZooKeeperImpl"
_ZOOKEEPER_TRIES: Final = 3

Place = Path | ZooKeeperPlace


def store_place(conf: Configuration) -> Place:
    """Raises InvalidConfiguration for a store that there is none of here."""
    driver_key = keys.DFS_FEDERATION_ROUTER_STORE_DRIVER_CLASS
    driver = conf.get(driver_key)
    match driver.rpartition(".")[2]:
        case "StateStoreFileImpl":
            return _directory(conf)
        case "StateStoreZooKeeperImpl":
            return _znode(conf)
    raise errors.InvalidConfiguration(
        f"{driver_key.name} = {driver} is not supported: a router keeps its mount table in a "
        f"directory of files ({FILES}), or in ZooKeeper ({ZOOKEEPER})"
    )


def store_at(place: Place) -> StateStore:
    """Not looked at yet."""
    records = FileRecords(place) if isinstance(place, Path) else ZooKeeperRecords(place)
    return StateStore(records)


def _directory(conf: Configuration) -> Path:
    key = keys.DFS_FEDERATION_ROUTER_STORE_DRIVER_FILE_DIRECTORY
    directory = conf.get(key)
    if not directory:
        raise errors.InvalidConfiguration(
            f"{key.name} is not set: a router needs a directory for its mount table"
        )
    try:
        return parse_dir(directory)
    except ValueError as error:
        raise errors.InvalidConfiguration(f"{key.name} = {directory!r}: {error}") from error


def _znode(conf: Configuration) -> ZooKeeperPlace:
    key = keys.HADOOP_ZK_ADDRESS
    servers = conf.get(key)
    if not servers:
        raise errors.InvalidConfiguration(
            f"{key.name} is not set: a router needs it for its mount table in ZooKeeper"
        )
    parent_key = keys.DFS_FEDERATION_ROUTER_STORE_DRIVER_ZK_PARENT_PATH
    parent = conf.get(parent_key).rstrip("/")
    if not parent.startswith("/"):
        raise errors.InvalidConfiguration(
            f"{parent_key.name} = {parent} does not begin with /, or is the root"
        )
    acl, auth = keys.HADOOP_ZK_ACL, keys.HADOOP_ZK_AUTH
    warn_of_named(conf.get(auth), "the file of passwords for ZooKeeper", "log in by them")
    timeout_s = conf.get(keys.HADOOP_ZK_TIMEOUT_MS)
    acls = parse_acls(conf.get(acl), acl.name)
    mechanism: ProvenBy | None = None
    if conf.get(keys.HADOOP_ZK_SERVER_PRINCIPAL):
        # Loads the library of Kerberos.
        from howdah.security.zookeeper import zookeeper_login

        mechanism = zookeeper_login(
            conf, keys.HADOOP_ZK_SERVER_PRINCIPAL, acls, acl, timeout_s, log_in_router
        )
    ensemble = Ensemble(
        key.name,
        servers,
        timeout_s,
        acls,
        parse_auths(conf.get(auth), auth.name),
        _ZOOKEEPER_TRIES,
        mechanism,
    )
    return ZooKeeperPlace(ensemble, parent)
