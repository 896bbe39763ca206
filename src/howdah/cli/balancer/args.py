"""The words behind `howdah balancer` (pure, but for the files with lists of hosts).

Balancer.Cli.parse in Hadoop: names of options in any case, and the same complaints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from howdah.balancer.state.nodes import NodeLists
from howdah.balancer.state.termination import DEFAULT_MAX_IDLE
from howdah.balancer.state.utilization import Policy
from howdah.config.value_types import parse_decimal, parse_real

LOWEST_THRESHOLD: Final = 1.0
HIGHEST_THRESHOLD: Final = 100.0

USAGE: Final = """\
Usage: howdah balancer
\t[-policy <policy>]\tdatanode: even out how full datanodes are; blockpool: how much of each the \
block pool takes
\t[-threshold <threshold>]\tby how much of its capacity a datanode may differ from the mean, in \
percent (10)
\t[-exclude [-f <hosts-file> | <comma-separated list of hosts>]]\tleave out these datanodes
\t[-include [-f <hosts-file> | <comma-separated list of hosts>]]\tleave out all others
\t[-source [-f <hosts-file> | <comma-separated list of hosts>]]\tonly these give replicas away
\t[-excludeSource [-f <hosts-file> | <comma-separated list of hosts>]]\tthese give none away
\t[-target [-f <hosts-file> | <comma-separated list of hosts>]]\tonly these get replicas
\t[-excludeTarget [-f <hosts-file> | <comma-separated list of hosts>]]\tthese get none
\t[-blockpools <comma-separated list of blockpool ids>]\tonly these block pools
\t[-idleiterations <idleiterations>]\tend after so many iterations that move nothing (5); -1: never
\t[-runDuringUpgrade]\trun also while an upgrade is not finalized, when nothing is deleted
\t[-asService]\trun for ever, with a pause of dfs.balancer.service.interval
\t[-sortTopNodes]\tthe fullest datanodes first
\t[-limitOverUtilizedNum <number>]\tonly so many of the datanodes that are too full, the fullest
\t[-hotBlockTimeInterval <milliseconds>]\tmove blocks of files that were read in that time last
\t[--json]\tprint a JSON object for each iteration, and one for the end

Exit codes: 0 balanced, 254 no block can be moved, 253 nothing was moved, 252 failed, 251 wrong \
words, 249 an upgrade is not finalized."""


class WrongWords(Exception):
    """What is wrong with the words."""


@dataclass(slots=True)
class Wanted:
    """What is asked for."""

    policy: Policy = Policy.DATANODE
    threshold: float = 10.0
    hosts: dict[str, frozenset[str]] = field(default_factory=dict)
    block_pools: frozenset[str] = frozenset()
    max_idle: int = DEFAULT_MAX_IDLE
    runs_during_upgrade: bool = False
    is_service: bool = False
    fullest_first: bool = False
    most_over_utilized: int | None = None
    hot_interval_ms: int | None = None
    json: bool = False

    @property
    def lists(self) -> NodeLists:
        return NodeLists(
            *(
                self.hosts.get(name, frozenset())
                for name in (
                    "include",
                    "exclude",
                    "source",
                    "exclude source",
                    "target",
                    "exclude target",
                )
            )
        )


_HOSTS: Final = {
    "-exclude": "exclude",
    "-include": "include",
    "-source": "source",
    "-excludesource": "exclude source",
    "-target": "target",
    "-excludetarget": "exclude target",
}
_FLAGS: Final = {
    "-runduringupgrade": "runs_during_upgrade",
    "-asservice": "is_service",
    "-sorttopnodes": "fullest_first",
    "--json": "json",
}


def _threshold(text: str) -> float:
    try:
        value = parse_real(text)
    except ValueError:
        value = 0.0
    if not LOWEST_THRESHOLD <= value <= HIGHEST_THRESHOLD:
        raise WrongWords(
            f"Expecting a number in the range of [{LOWEST_THRESHOLD}, {HIGHEST_THRESHOLD}]: {text}"
        )
    return value


def _policy(text: str) -> Policy:
    try:
        return Policy(text.lower())
    except ValueError:
        raise WrongWords(f"Illegal policy name: {text}") from None


def _number(text: str) -> int:
    try:
        return parse_decimal(text)
    except ValueError:
        raise WrongWords(f'For input string: "{text}"') from None


def _not_negative(text: str) -> int:
    value = _number(text)
    if value < 0:
        raise WrongWords("limitOverUtilizedNum must be non-negative")
    return value


_VALUES: Final[dict[str, tuple[str, str, Callable[[str], object]]]] = {
    "-threshold": ("threshold", "Threshold", _threshold),
    "-policy": ("policy", "Policy", _policy),
    "-blockpools": ("block_pools", "blockpools", lambda text: frozenset(_hosts_in(text))),
    "-idleiterations": ("max_idle", "idleiterations", _number),
    "-limitoverutilizednum": ("most_over_utilized", "limitOverUtilizedNum", _not_negative),
    "-hotblocktimeinterval": ("hot_interval_ms", "hotBlockTimeInterval", _number),
}


def parse_words(argv: list[str]) -> Wanted:
    """Raises `WrongWords`."""
    wanted = Wanted()
    words = iter(argv)
    for word in words:
        option = word.lower()
        if option in _FLAGS:
            setattr(wanted, _FLAGS[option], True)
        elif option in _VALUES:
            name, shown, convert = _VALUES[option]
            value = next(words, None)
            if value is None:
                raise WrongWords(f"{shown} value is missing: args = {argv}")
            setattr(wanted, name, convert(value))
        elif option in _HOSTS:
            name = _HOSTS[option]
            value = next(words, None)
            if value is None:
                raise WrongWords(f"List of {name} nodes | -f <filename> is missing: args={argv}")
            if value == "-f":
                path = next(words, None)
                if path is None:
                    raise WrongWords(f"File containing {name} nodes is not specified: args={argv}")
                wanted.hosts[name] = _read_hosts(name, path)
            else:
                wanted.hosts[name] = frozenset(_hosts_in(value))
        else:
            raise WrongWords(f"args = {argv}")
    for one, other, shown in (
        ("exclude", "include", "-exclude and -include"),
        ("exclude source", "source", "-excludeSource and -source"),
        ("exclude target", "target", "-excludeTarget and -target"),
    ):
        if wanted.hosts.get(one) and wanted.hosts.get(other):
            raise WrongWords(f"{shown} options cannot be specified together.")
    return wanted


def _hosts_in(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _read_hosts(name: str, path: str) -> frozenset[str]:
    """Names of hosts, apart by white space; `#` begins a comment."""
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise WrongWords(f"Failed to read {name} node list from file: {path}: {error}") from error
    return frozenset(host for line in lines for host in line.split("#", 1)[0].split())
