"""Racks from the configuration: a table file or a script (shell; FS-112).

`net.topology.node.switch.mapping.impl` says which; where it is not set,
`net.topology.table.file.name` wins over `net.topology.script.file.name`. Without a
file every node is on the default rack (FS-113).
"""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from howdah import errors
from howdah.config import Configuration, keys
from howdah.errors import InvalidConfiguration
from howdah.namenode.state.blocks.topology import DEFAULT_RACK, RackMap, normalise, parse_table
from howdah.runtime.users.async_groups import Lookups, Loop

log = logging.getLogger(__name__)

SCRIPT_TIMEOUT_S = 10.0
TABLE_MAPPING = "org.apache.hadoop.net.TableMapping"
SCRIPT_MAPPING = "org.apache.hadoop.net.ScriptBasedMapping"

FRESH_S = 300.0
"""A location is asked for again after so long."""
PATIENCE_S = 50.0
"""Within the minute that a datanode waits for an answer."""


class ScriptRacks(RackMap):
    """Asks an executable, beside the loop: for up to `at_once` addresses, of which it
    prints the locations.

    A datanode that registers is answered when its location is known, and nobody waits
    with it. A client counts as being on the default rack until then.
    """

    def __init__(self, script: Path, loop: Loop, at_once: int = 1) -> None:
        super().__init__()
        self._script = script
        self._lookups = Lookups(
            "the racks",
            self._run_script,
            loop,
            fresh_s=FRESH_S,
            batch=at_once,
            timeout_s=PATIENCE_S,
        )

    def location(self, ip: str, hostname: str = "") -> str:
        return self._lookups.get(ip) or DEFAULT_RACK

    def known_location(self, ip: str, hostname: str = "") -> str | None:
        return self._lookups.get(ip)

    def look_up(self, ip: str, done: Callable[[str | errors.HowdahError], None]) -> None:
        self._lookups.look_up(ip, done)

    def client_location(self, ip: str) -> str:
        location = self._lookups.get(ip)
        if location is None:
            self._lookups.look_up(ip)
        return location or DEFAULT_RACK

    def _run_script(self, addresses: Sequence[str]) -> list[str]:
        """Run the script, on a thread. Addresses without an answer are on the default rack, till
        asked again."""
        try:
            done = subprocess.run(
                [str(self._script), *addresses],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SCRIPT_TIMEOUT_S,
                check=True,
            )
            words = done.stdout.split()
            if len(words) != len(addresses) > 1:
                # It may be one that looks at its first argument only.
                return [rack for address in addresses for rack in self._run_script([address])]
            if len(words) != len(addresses):
                raise InvalidConfiguration(f"it printed {len(words)} words")
            return [normalise(word) for word in words]
        except (OSError, subprocess.SubprocessError, InvalidConfiguration) as error:
            log.error(
                "topology script %s has no location for %s (%s): %s",
                self._script,
                ", ".join(addresses),
                error,
                f"on {DEFAULT_RACK} until it is asked again, in {FRESH_S:g} s",
            )
            return [DEFAULT_RACK] * len(addresses)


def rack_map(conf: Configuration, loop: Loop) -> RackMap:
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
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidConfiguration(
                f"{keys.NET_TOPOLOGY_TABLE_FILE_NAME.name} = {table}: "
                f"{getattr(error, 'strerror', None) or error}"
            ) from error
        return RackMap(parse_table(text, table))
    script = conf.get(keys.NET_TOPOLOGY_SCRIPT_FILE_NAME)
    if not script or named != SCRIPT_MAPPING:
        log.warning(
            "neither %s nor %s is set: all datanodes count as being on one rack, and blocks can "
            "be lost with it",
            keys.NET_TOPOLOGY_TABLE_FILE_NAME.name,
            keys.NET_TOPOLOGY_SCRIPT_FILE_NAME.name,
        )
        return RackMap()
    return ScriptRacks(Path(script), loop, conf.get(keys.NET_TOPOLOGY_SCRIPT_NUMBER_ARGS))
