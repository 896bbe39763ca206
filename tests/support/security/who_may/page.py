"""docs/who-may.md: the table of everything that can be asked, by everyone who may ask (pure)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.support.security.who_may.askers import Asker
from tests.support.security.who_may.calls import ANSWERED, ROWS, Rule, expected

_HEAD: Final = """\
# Who may ask for what

Everything that the servers of a [secured cluster](security.md) can be asked, and who is answered.
Each cell is asked in a test (`tests/compat/test_who_may.py`), of a cluster of real processes with a
KDC. Calls, operations and addresses are those that the code registers: one without a verdict fails
a test. This page is written by `./dev reference`.

Whoever is refused hears it by the exception in the cell: `Access` is AccessControlException,
`Authorization` AuthorizationException, `Token` SecretManager.InvalidToken, `SASL` SaslException,
`Standby` StandbyException, `Unsupported` UnsupportedOperationException, `IO` another IOException.
A dash is an answer, or an error that has nothing to do with who asks.
"""
_PORTS: Final = {
    "namenode": "Namenode",
    "lifeline": "Namenode, port of lifelines",
    "datanode": "Datanode",
    "journalnode": "Journal node",
    "controller": "Failover controller",
}
_SHORT: Final = {
    "AccessControlException": "Access",
    "AuthorizationException": "Authorization",
    "SecretManager$InvalidToken": "Token",
    "SaslException": "SASL",
    "UnsupportedOperationException": "Unsupported",
    "StandbyException": "Standby",
    "IOException": "IO",
}


def page() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *_calls()])


def _calls() -> Iterator[str]:
    yield "## Calls"
    for port, title in _PORTS.items():
        lines: dict[tuple[str, Rule, tuple[str, ...]], list[str]] = {}
        for row in ROWS:
            if row.port == port:
                cells = tuple(_cell(expected(row, who)) for who in Asker)
                name = row.protocol.rpartition(".")[2]
                lines.setdefault((name, row.rule, cells), []).append(row.method)
        yield f"\n### {title}\n"
        yield "| protocol | calls | are for |" + "".join(f" {who.value} |" for who in Asker)
        yield "|---" * (3 + len(Asker)) + "|"
        for (name, rule, cells), calls in lines.items():
            yield f"| {name} | {', '.join(calls)} | {rule.value} | {' | '.join(cells)} |"
    yield ""


def _cell(answer: str) -> str:
    if answer == ANSWERED:
        return "-"
    return _SHORT[answer.rpartition(".")[2]]
