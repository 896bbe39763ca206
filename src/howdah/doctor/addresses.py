"""Addresses, ports, and whether namenodes and journal nodes answer (pure)."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from howdah.doctor.findings import Finding, error, warning
from howdah.doctor.inputs import Facts, Listener
from howdah.doctor.programs import roles_of

_WILDCARDS: Final = ("0.0.0.0", "::", "")
_LONGEST: Final = 100
"""Characters of a command line that are shown; all of it is judged."""


def check(facts: Facts) -> Iterator[Finding]:
    yield from _names(facts)
    yield from _loopback(facts)
    yield from _ports(facts)
    yield from _namenodes(facts)
    yield from _journals(facts)


def _names(facts: Facts) -> Iterator[Finding]:
    for host in facts.hosts:
        if not host.addresses:
            yield error(
                "host name",
                f"{host.name} cannot be looked up from here",
                "enter it into DNS or /etc/hosts of every machine, or write its address",
            )


def _loopback(facts: Facts) -> Iterator[Finding]:
    known = [host for host in facts.hosts if host.addresses]
    if all(host.is_loopback for host in known):
        return
    for host in known:
        if host.is_loopback:
            yield error(
                "loopback",
                f"{host.name} is {', '.join(host.addresses)}, which no other machine reaches, and "
                "the configuration names other machines too",
                "let the name resolve to the machine's address in the network (distributions like "
                "to put it beside 127.0.1.1 in /etc/hosts)",
            )
    if facts.spans_machines or len(known) > 1:
        for listener in facts.listeners:
            if listener.is_loopback:
                yield error(
                    "loopback",
                    f"{listener.key} is {listener.host}:{listener.port}, "
                    "which no other machine reaches",
                    f"set it to 0.0.0.0:{listener.port}, or to an address of this machine",
                )


def _ports(facts: Facts) -> Iterator[Finding]:
    fixed = sorted(
        (listener for listener in facts.listeners if listener.port),
        key=lambda listener: listener.port,
    )
    for port, group in groupby(fixed, key=lambda listener: listener.port):
        same = _clashing(list(group))
        if len(same) > 1:
            yield error(
                "same port",
                f"{' and '.join(listener.key for listener in same)} have the same port {port}",
                "give each its own",
            )
    for listener in fixed:
        if listener.holder is not None and not _may_be_itself(listener):
            who = textwrap.shorten(str(listener.holder), _LONGEST)
            yield error(
                "port taken",
                f"port {listener.port} of {listener.key} is taken by {who}",
                "stop that, or choose another port",
            )
        if listener.refused:
            yield error(
                "port",
                f"{listener.key} = {listener.host}:{listener.port} cannot be bound: "
                f"{listener.refused}",
                "set it to an address and port that this machine and user can have",
            )
        if listener.holder is None and listener.is_ephemeral:
            yield warning(
                "ephemeral port",
                f"{listener.key} has port {listener.port}, which the system may give to any "
                "outgoing connection",
                "choose another, or list it in net.ipv4.ip_local_reserved_ports",
            )


def _clashing(group: list[Listener]) -> list[Listener]:
    """Return those of listeners with one port of which another one is at the same host."""
    return [
        listener
        for listener in group
        if any(
            listener is not other
            and (listener.host == other.host or {listener.host, other.host} & set(_WILDCARDS))
            for other in group
        )
    ]


def _may_be_itself(listener: Listener) -> bool:
    """Whether the server that is meant to have the port may be the one that has it. A process
    that cannot be seen may be: servers run as a user of their own."""
    holder = listener.holder
    return holder is None or not holder.words or listener.role in roles_of(holder.words)


def _namenodes(facts: Facts) -> Iterator[Finding]:
    for namenode in facts.namenodes:
        if namenode.state is None:
            yield warning(
                "namenode",
                f"namenode {namenode.name} at {namenode.address} does not answer: {namenode.error}",
                "start it, or correct its address; behind a firewall open its port",
            )
    for name, nodes in facts.nameservices.items():
        if len(nodes) < 2:
            continue
        mine = [namenode for namenode in facts.namenodes if namenode.nameservice == name]
        answered = [namenode for namenode in mine if namenode.state is not None]
        active = [namenode.name for namenode in answered if namenode.state == "ACTIVE"]
        if answered and not active:
            advice = (
                "look at the failover controllers (howdah zkfc), or make one active: "
                "howdah haadmin -transitionToActive"
            )
            if _lacks_majority(facts, name):
                advice = "start the journal nodes: no namenode becomes active without them"
            yield error("no active namenode", f"nameservice {name} has no active namenode", advice)
        if len(active) > 1:
            yield error(
                "two active namenodes",
                f"nameservice {name} has several namenodes that say they are active: "
                f"{', '.join(active)}",
                "ask again in a minute; if it stays, stop all but one, and let them share a log "
                "on journal nodes",
            )


def _journals(facts: Facts) -> Iterator[Finding]:
    """Check the journal nodes. A majority that is silent is an error where a namenode runs;
    otherwise nothing is started yet."""
    for name in facts.journal_nodes:
        mine = [journal for journal in facts.journals if journal.nameservice == name]
        for journal in mine:
            if journal.is_formatted is None:
                yield warning(
                    "journal node",
                    f"journal node {journal.address} of nameservice {name} does not answer: "
                    f"{journal.error}",
                    "start it, or correct its address; behind a firewall open its port",
                )
            elif not journal.is_formatted and any(other.is_formatted for other in mine):
                yield warning(
                    "journal node",
                    f"journal node {journal.address} has no journal of nameservice {name}, and "
                    "others have one",
                    "let it take the place of the one that was lost: "
                    "dfs.journalnode.enable.sync.format = true",
                )
        if _lacks_majority(facts, name) and any(
            namenode.nameservice == name and namenode.state is not None
            for namenode in facts.namenodes
        ):
            silent = [journal.address for journal in mine if journal.is_formatted is None]
            yield error(
                "no majority of journal nodes",
                f"{len(silent)} of {len(mine)} journal nodes of nameservice {name} are silent "
                f"({', '.join(silent)}): nothing can be written, and an active namenode ends",
                "start them",
            )


def _lacks_majority(facts: Facts, name: str) -> bool:
    mine = [journal for journal in facts.journals if journal.nameservice == name]
    silent = sum(journal.is_formatted is None for journal in mine)
    return bool(mine) and len(mine) - silent < len(mine) // 2 + 1
