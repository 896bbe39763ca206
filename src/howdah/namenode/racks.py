"""Racks from the configuration: a table file or a script (shell; FS-112).

`net.topology.node.switch.mapping.impl` says which; where it is not set,
`net.topology.table.file.name` wins over `net.topology.script.file.name`. Without a
file every node is on the default rack (FS-113).
"""

from __future__ import annotations

import logging
import queue
import subprocess
import threading
from pathlib import Path

from howdah import keys
from howdah.config import Configuration
from howdah.errors import InvalidConfiguration
from howdah.namenode.topology import DEFAULT_RACK, RackMap, normalise, parse_table

log = logging.getLogger(__name__)

SCRIPT_TIMEOUT_S = 10.0
TABLE_MAPPING = "org.apache.hadoop.net.TableMapping"
SCRIPT_MAPPING = "org.apache.hadoop.net.ScriptBasedMapping"

MAX_KNOWN_CLIENTS = 100_000


class ScriptRacks(RackMap):
    """Asks an executable, which prints the location of the address that it is given.

    A datanode that registers waits for the answer, and everybody with it; there are
    not many of those. A client counts as being on the default rack until a thread
    has asked for it.
    """

    def __init__(self, script: Path) -> None:
        super().__init__()
        self._script = script
        self._known: dict[str, str] = {}
        self._asked: set[str] = set()
        self._to_ask: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def location(self, ip: str, hostname: str = "") -> str:
        found = self._known.get(ip)
        if found is None:
            found = self._known[ip] = self._ask(ip)
        return found

    def client_location(self, ip: str) -> str:
        found = self._known.get(ip)
        if found is not None:
            return found
        if ip not in self._asked and len(self._asked) < MAX_KNOWN_CLIENTS:
            self._asked.add(ip)
            self._to_ask.put(ip)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._ask_for_clients, name="racks", daemon=True
                )
                self._thread.start()
        return DEFAULT_RACK

    def _ask_for_clients(self) -> None:
        while True:
            ip = self._to_ask.get()
            self._known.setdefault(ip, self._ask(ip))

    def _ask(self, ip: str) -> str:
        try:
            done = subprocess.run(
                [str(self._script), ip],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SCRIPT_TIMEOUT_S,
                check=True,
            )
            return normalise(done.stdout)
        except (OSError, subprocess.SubprocessError, InvalidConfiguration) as error:
            log.error(
                "topology script %s has no location for %s (%s): it goes to %s",
                self._script,
                ip,
                error,
                DEFAULT_RACK,
            )
            return DEFAULT_RACK


def rack_map(conf: Configuration) -> RackMap:
    """Raises InvalidConfiguration for a table that cannot be read."""
    named = conf.get(keys.NET_TOPOLOGY_NODE_SWITCH_MAPPING_IMPL)
    if named not in (TABLE_MAPPING, SCRIPT_MAPPING):
        raise InvalidConfiguration(
            f"{keys.NET_TOPOLOGY_NODE_SWITCH_MAPPING_IMPL.name} = {named}: "
            f"there are {TABLE_MAPPING} and {SCRIPT_MAPPING}"
        )
    table = conf.get(keys.NET_TOPOLOGY_TABLE_FILE_NAME)
    if table and (
        named == TABLE_MAPPING or not conf.is_set(keys.NET_TOPOLOGY_NODE_SWITCH_MAPPING_IMPL)
    ):
        try:
            text = Path(table).read_text()
        except OSError as error:
            raise InvalidConfiguration(
                f"{keys.NET_TOPOLOGY_TABLE_FILE_NAME.name} = {table}: {error.strerror}"
            ) from error
        return RackMap(parse_table(text, table))
    script = conf.get(keys.NET_TOPOLOGY_SCRIPT_FILE_NAME)
    return ScriptRacks(Path(script)) if script and named == SCRIPT_MAPPING else RackMap()
