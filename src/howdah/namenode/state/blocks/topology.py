"""The network as a tree, and distances in it (pure; FS-103 to FS-113).

Hadoop's `NetworkTopology` and `TableMapping`. The location of a datanode is a path of any
depth: `/rack`, `/data-centre/rack`. The distance between two datanodes is the number of
steps from each up to their closest common ancestor, added up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from howdah import errors

DEFAULT_RACK: Final = "/default-rack"


def normalise(location: str) -> str:
    """Raises InvalidConfiguration for what is no absolute path of at least one level."""
    cleaned = "/" + location.strip().strip("/")
    if cleaned == "/" or not location.strip().startswith("/"):
        raise errors.InvalidConfiguration(
            f"network location {location!r} is not of the form /rack or /data-centre/rack"
        )
    return cleaned


def distance(location_a: str, node_a: str, location_b: str, node_b: str) -> int:
    """Steps between two nodes, each given by its location and its name there.

    Example: `distance("/d1/r1", "n1", "/d1/r2", "n3") == 4`.
    """
    if location_a == location_b:  # As wherever there is one rack, and half the time with two.
        return 0 if node_a == node_b else 2
    a = [*location_a.strip("/").split("/"), node_a]
    b = [*location_b.strip("/").split("/"), node_b]
    shared = 0
    for left, right in zip(a, b, strict=False):
        if left != right:
            break
        shared += 1
    return len(a) + len(b) - 2 * shared


class RackMap:
    """Gives locations by address, then by host name, as a topology table has them."""

    def __init__(self, table: dict[str, str] | None = None) -> None:
        self._has_table = table is not None
        self._table = {name: normalise(rack) for name, rack in (table or {}).items()}

    def location(self, ip: str, hostname: str = "") -> str:
        location = self._table.get(ip) or self._table.get(hostname)
        return location if location is not None else DEFAULT_RACK

    def lacks(self, ip: str, hostname: str = "") -> bool:
        """Whether there is a table, and this datanode is not in it."""
        return self._has_table and ip not in self._table and hostname not in self._table

    def known_location(self, ip: str, hostname: str = "") -> str | None:
        """None if it has to be looked up first."""
        return self.location(ip, hostname)

    def look_up(self, ip: str, done: Callable[[str | errors.HowdahError], None]) -> None:
        """For what is not known: ask, and call back on the loop."""
        done(self.location(ip))

    def client_location(self, ip: str) -> str:
        """Of a client that is no datanode; asked with every read, so it never waits."""
        return self.location(ip)


def parse_table(text: str, source: str) -> dict[str, str]:
    """`net.topology.table.file.name`: two columns, host and location; `#` starts a comment.

    Raises InvalidConfiguration naming the file and line.
    """
    table: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split("#", 1)[0].split()
        if not fields:
            continue
        if len(fields) != 2:
            raise errors.InvalidConfiguration(
                f"{source}, line {number}: expected a host and a location, found {line!r}"
            )
        table[fields[0]] = normalise(fields[1])
    return table
