"""The rule by which a server offers protections, as its configuration names it (shell: files of
addresses, the clock).

Hadoop loads any class by its name. Here the three classes are known that Hadoop brings along, and
any other name stops the start. WhitelistBasedResolver decides about calls and data connections,
IngressPortBasedResolver about calls alone, as in Hadoop.

A list has one IP address or range (10.0.0.0/8) a line; a single * is every address. Hadoop looks up
names of hosts, too, for each connection. Here they are refused.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.value_types import Key, listing
from howdah.protocol.sasl.offered_protections import (
    ByAddress,
    ByPort,
    OfferedProtections,
    Protections,
    SameForAll,
)
from howdah.protocol.sasl.protection import Protection
from howdah.runtime.users.proxy_users import Machines
from howdah.security.settings import parsed_protections

log = logging.getLogger(__name__)

PACKAGE: Final = "org.apache.hadoop.security."
SAME_FOR_ALL: Final = f"{PACKAGE}SaslPropertiesResolver"
BY_PORT: Final = f"{PACKAGE}IngressPortBasedResolver"
BY_ADDRESS: Final = f"{PACKAGE}WhitelistBasedResolver"
_KNOWN: Final = (SAME_FOR_ALL, BY_PORT, BY_ADDRESS)
_THIS_MACHINE: Final = "127.0.0.1"
_MOST_BYTES: Final = 1 << 20
"""Of a list: it is read on the thread that accepts connections."""


def offered_for_calls(conf: Configuration) -> OfferedProtections:
    """Return the rule for RPC. Raises InvalidConfiguration."""
    default = parsed_protections(conf, keys.HADOOP_RPC_PROTECTION)
    kind = _class_of(conf, keys.HADOOP_SECURITY_SASLPROPERTIES_RESOLVER_CLASS) or SAME_FOR_ALL
    return _rule(conf, kind, default)


def offered_for_data(conf: Configuration) -> OfferedProtections | None:
    """Return the rule for data connections; None where these are not protected. Raises
    InvalidConfiguration."""
    default = parsed_protections(conf, keys.DFS_DATA_TRANSFER_PROTECTION)
    for_calls = _class_of(conf, keys.HADOOP_SECURITY_SASLPROPERTIES_RESOLVER_CLASS)
    own = _class_of(conf, keys.DFS_DATA_TRANSFER_SASLPROPERTIES_RESOLVER_CLASS)
    if not default:
        return None
    kind = own or for_calls or SAME_FOR_ALL
    return _rule(conf, SAME_FOR_ALL if kind == BY_PORT else kind, default)


def check_resolvers(conf: Configuration) -> None:
    """Raises InvalidConfiguration for a class that is not one of Hadoop's three."""
    for key in (
        keys.HADOOP_SECURITY_SASLPROPERTIES_RESOLVER_CLASS,
        keys.DFS_DATA_TRANSFER_SASLPROPERTIES_RESOLVER_CLASS,
    ):
        _class_of(conf, key)


def _class_of(conf: Configuration, key: Key[str | None]) -> str | None:
    name = (conf.get(key) or "").strip()
    if name and name not in _KNOWN:
        raise errors.InvalidConfiguration(
            f"{key.name} = {name} (from {conf.source(key.name)}) is not supported: it is one of "
            f"{', '.join(_KNOWN)}"
        )
    return name or None


def _rule(conf: Configuration, kind: str, default: Protections) -> OfferedProtections:
    if kind == BY_PORT:
        ports = conf.get(keys.INGRESS_PORT_SASL_CONFIGURED_PORTS)
        return ByPort(default, {port: _of_port(conf, port) for port in ports})
    if kind == BY_ADDRESS:
        others = parsed_protections(conf, keys.HADOOP_RPC_PROTECTION_NON_WHITELIST)
        return ByAddress(default, others, TrustedAddresses(conf).include)
    return SameForAll(default)


def _of_port(conf: Configuration, port: int) -> Protections:
    key = listing(f"ingress.port.sasl.prop.{port}", "", "What one port offers; else privacy.")
    is_set = (conf.raw(key.name) or "").strip()
    return parsed_protections(conf, key) if is_set else (Protection.PRIVACY,)


class TrustedAddresses:
    """This machine, the list that is read once, and the list that is read again:
    CombinedIPWhiteList in Hadoop."""

    def __init__(self, conf: Configuration, now_s: Callable[[], float] = monotonic) -> None:
        """Raises InvalidConfiguration for a list with an entry that is no address."""
        self._fixed: Final = _list_of(conf, keys.HADOOP_SECURITY_SASL_FIXEDWHITELIST_FILE)
        self._variable: _VariableList | None = None
        if conf.get(keys.HADOOP_SECURITY_SASL_VARIABLEWHITELIST_ENABLE):
            self._variable = _VariableList(conf, now_s)

    def include(self, address: str) -> bool:
        """Return whether an IP address is on a list."""
        if address == _THIS_MACHINE or self._fixed.include(address):
            return True
        return self._variable is not None and self._variable.current().include(address)


class _VariableList:
    """Is read again when its time is over. A list that cannot be understood leaves the former one
    in place; one that is gone is empty."""

    def __init__(self, conf: Configuration, now_s: Callable[[], float]) -> None:
        self._conf: Final = conf
        self._now_s: Final = now_s
        self._keep_s: Final = conf.get(keys.HADOOP_SECURITY_SASL_VARIABLEWHITELIST_CACHE_SECS)
        self._lock: Final = threading.Lock()
        self._list = _list_of(conf, keys.HADOOP_SECURITY_SASL_VARIABLEWHITELIST_FILE)
        self._read_at_s = now_s()

    def current(self) -> Machines:
        if self._keep_s < 0:
            return self._list  # As Hadoop, it is read once.
        with self._lock:
            if self._now_s() - self._read_at_s > self._keep_s:
                self._read_at_s = self._now_s()
                try:
                    self._list = _list_of(
                        self._conf, keys.HADOOP_SECURITY_SASL_VARIABLEWHITELIST_FILE
                    )
                except errors.InvalidConfiguration as error:
                    log.error("%s. The list as it was before stays in use", error)
            return self._list


def _list_of(conf: Configuration, key: Key[str]) -> Machines:
    """Read a list. One that is not there is empty. Raises InvalidConfiguration."""
    path = Path(conf.get(key))
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES + 1).decode()
    except FileNotFoundError:
        if conf.is_set(key):
            log.warning("%s = %s: there is no such file, so no address is on it", key.name, path)
        return Machines()
    except (OSError, UnicodeDecodeError) as error:
        raise errors.InvalidConfiguration(f"{key.name} = {path}: {error}") from error
    if len(text) > _MOST_BYTES:
        raise errors.InvalidConfiguration(
            f"{key.name} = {path}: it has more than {_MOST_BYTES} bytes"
        )
    try:
        machines = Machines.parse(text.replace("\n", ","))
    except ValueError as error:
        raise errors.InvalidConfiguration(f"{key.name} = {path}: {error}") from error
    if machines.names:
        raise errors.InvalidConfiguration(
            f"{key.name} = {path}: {machines.names[0][:100]!r} is neither an IP address nor a "
            "range of them; names of hosts are not looked up"
        )
    return machines
