"""What is there only once: journal, name directory, rack; and too few nodes and racks for erasure
coding (pure)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from howdah.config import keys
from howdah.config.journal_uri import is_journal_uri
from howdah.doctor.findings import Finding, error, warning
from howdah.doctor.inputs import NAMENODE, Facts

_FEW_RACKS: Final = 3
"""From so many datanodes on racks are worth the while."""
_UNITS: Final = re.compile(r"-(?P<data>\d+)-(?P<parity>\d+)-\d+k$")
"""Of the name of an erasure coding policy."""


def check(facts: Facts) -> Iterator[Finding]:
    yield from _journals(facts)
    yield from _name_directories(facts)
    yield from _racks(facts)
    yield from _coding(facts)


def _journals(facts: Facts) -> Iterator[Finding]:
    for name, count in facts.journal_nodes.items():
        if count == 1:
            yield warning(
                "one journal",
                f"the log of nameservice {name} is on one journal node",
                "have three: without it no namenode writes, and with its disk the last edits go",
            )
        elif count % 2 == 0:
            yield warning(
                "even journals",
                f"the log of nameservice {name} is on {count} journal nodes, which bears the loss "
                f"of no more than {count - 1} would",
                "have an odd number of them",
            )
    for name, uris in facts.shared_edits.items():
        if uris and not any(map(is_journal_uri, uris)):
            yield warning(
                "one journal",
                f"the log of nameservice {name} is in a shared directory ({', '.join(uris)})",
                "have three journal nodes: whoever has that directory is a single point of failure",
            )


def _name_directories(facts: Facts) -> Iterator[Finding]:
    if NAMENODE not in facts.roles or any(facts.journal_nodes.values()):
        return
    key = keys.DFS_NAMENODE_NAME_DIR
    here = [directory for directory in facts.directories if directory.key == key.name]
    if (len(here) or len(facts.conf.get(key))) == 1:
        yield warning(
            "one name directory",
            f"{key.name} is a single directory, and its loss is the loss of all files",
            "name a second one on another disk, separated by a comma",
        )
    elif (
        len(here) > 1 and len({directory.device for directory in here if not directory.error}) == 1
    ):
        yield warning(
            "one name directory",
            f"all directories of {key.name} are on one device",
            "put one on another disk",
        )


def _racks(facts: Facts) -> Iterator[Finding]:
    conf = facts.conf
    is_mapped = bool(
        conf.get(keys.NET_TOPOLOGY_SCRIPT_FILE_NAME) or conf.get(keys.NET_TOPOLOGY_TABLE_FILE_NAME)
    )
    advice = (
        f"set {keys.NET_TOPOLOGY_SCRIPT_FILE_NAME.name} to a program that knows the racks; if "
        "there is only one, let the program say so"
    )
    if facts.racks is not None and len(facts.racks) >= _FEW_RACKS:
        if len(set(facts.racks)) == 1 and not is_mapped:
            yield warning(
                "one rack",
                f"all {len(facts.racks)} datanodes are in {facts.racks[0]}, as nothing says in "
                "which rack they are",
                advice,
            )
    elif facts.racks is None and not is_mapped:
        others = sum(not host.is_here for host in facts.hosts)
        if others >= _FEW_RACKS - 1:
            yield warning(
                "one rack", "nothing says in which rack a machine is, so all are in one", advice
            )


def _coding(facts: Facts) -> Iterator[Finding]:
    """Of the policy that is enabled by default only where there are erasure coded files, and no
    other policy is enabled that may be theirs."""
    if facts.coding is None or not facts.racks:
        return
    by_default = facts.conf.get(keys.DFS_NAMENODE_EC_SYSTEM_DEFAULT_POLICY)
    is_chosen = facts.coding.block_groups > 0 and set(facts.coding.enabled) == {by_default}
    nodes, racks = len(facts.racks), len(set(facts.racks))
    for name in facts.coding.enabled:
        units = _UNITS.search(name)
        if units is None or (name == by_default and not is_chosen):
            continue
        data, parity = int(units["data"]), int(units["parity"])
        disable = f"disable it: howdah ec -disablePolicy -policy {name}"
        if nodes < data:
            yield error(
                "erasure coding",
                f"{name} is enabled and needs {data} datanodes to write a file at all, of which "
                f"{nodes} are live",
                f"start more datanodes, or {disable}",
            )
        elif nodes < data + parity:
            yield warning(
                "erasure coding",
                f"{name} is enabled and needs {data + parity} datanodes, of which {nodes} are live",
                f"start more datanodes, or {disable}; its files lack internal blocks, and bear "
                "the loss of fewer datanodes",
            )
        elif racks < (needed := -(-(data + parity) // parity)) and racks > 1:
            yield warning(
                "erasure coding",
                f"{name} is enabled and needs {needed} racks, of which there are {racks}",
                f"add racks, or {disable}; its files may not bear the loss of a rack",
            )
