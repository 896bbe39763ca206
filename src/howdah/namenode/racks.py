"""Racks from the configuration: a table file or a script (shell; FS-112).

`net.topology.table.file.name` wins over `net.topology.script.file.name`; with
neither, every node is on the default rack (FS-113).
"""

from __future__ import annotations

import logging
import subprocess
from pathlib import Path

from howdah import keys
from howdah.config import Configuration
from howdah.errors import InvalidConfiguration
from howdah.namenode.topology import DEFAULT_RACK, RackMap, normalise, parse_table

log = logging.getLogger(__name__)

SCRIPT_TIMEOUT_S = 10.0


class ScriptRacks(RackMap):
    """Asks an executable, which prints the location of the address that it is given."""

    def __init__(self, script: Path) -> None:
        super().__init__()
        self._script = script
        self._known: dict[str, str] = {}

    def location(self, ip: str, hostname: str = "") -> str:
        found = self._known.get(ip)
        if found is None:
            found = self._known[ip] = self._ask(ip)
        return found

    def _ask(self, ip: str) -> str:
        try:
            done = subprocess.run(
                [str(self._script), ip],
                capture_output=True,
                text=True,
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
    table = conf.get(keys.NET_TOPOLOGY_TABLE_FILE_NAME)
    if table:
        try:
            text = Path(table).read_text()
        except OSError as error:
            raise InvalidConfiguration(
                f"{keys.NET_TOPOLOGY_TABLE_FILE_NAME.name} = {table}: {error.strerror}"
            ) from error
        return RackMap(parse_table(text, table))
    script = conf.get(keys.NET_TOPOLOGY_SCRIPT_FILE_NAME)
    return ScriptRacks(Path(script)) if script else RackMap()
