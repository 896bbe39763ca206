"""docs/who-may.md: the table of everything that can be asked, by everyone who may ask (pure)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.support.security.who_may.addresses import (
    OK,
    OPERATION_ROWS,
    WEB_ROWS,
    expected_of_operation,
    expected_status,
)
from tests.support.security.who_may.askers import Asker
from tests.support.security.who_may.calls import ANSWERED, ROWS, Rule, expected
from tests.support.security.who_may.data_operations import (
    ANSWERED as DATA_ANSWERED,
)
from tests.support.security.who_may.data_operations import (
    CALLERS,
    DATA_ROWS,
    TOKEN_ROWS,
    Shown,
    expected_by_token,
    expected_of_data,
)

_HEAD: Final = """\
# Who may ask for what

Everything that the servers of a [secured cluster](security.md) can be asked, and who is answered.
Each cell is asked in a test (`tests/compat/test_who_may.py`), of a cluster of real processes with a
KDC; another asks Hadoop's the same. Calls, operations and addresses are those that the code
registers: one without a verdict fails a test. This page is written by `./dev reference`.

Whoever is refused hears it by the exception in the cell: `Access` is AccessControlException,
`Authorization` AuthorizationException, `Token` SecretManager.InvalidToken, `SASL` SaslException,
`Standby` StandbyException, `Unsupported` UnsupportedOperationException, `IO` another IOException.
A dash is an answer, or an error that has nothing to do with who asks.

Where this is stricter than Hadoop 3.5.0:

- Datanodes' and journal nodes' principals make the calls of their kind alone. Hadoop takes them for
  the user that `auth_to_local` makes of them, which is the superuser in most clusters.
- `getServiceStatus` of HAServiceProtocol is for the superuser: it names a process.
- `getBlockLocations` of a file that is not there says no more than of one that is, to those who may
  not look there.
- `getReplicaVisibleLength` takes a token of the block, and no ticket.
- Administrators' calls of a datanode take no block token. Hadoop's datanode answers one that names
  its own user, as tokens of files that the superuser reads do.
- `createSymlink` checks permissions before it says whether there are symbolic links.
"""
_PORTS: Final = {
    "namenode": "Namenode",
    "lifeline": "Namenode, port of lifelines",
    "datanode": "Datanode",
    "journalnode": "Journal node",
    "controller": "Failover controller",
    "router": "Router, port of clients",
    "router-admin": "Router, port of administrators",
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
    return "\n".join([_HEAD, *_calls(), *_data(), *_addresses(), *_operations()])


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


def _data() -> Iterator[str]:
    yield "## Operations of data ports\n"
    yield (
        "A data port asks for no caller, but for the token of a block ([security.md](security.md"
        "#tokens)). Whoever begins a connection shows one that is good for something, and each "
        "operation shows that of its own block. `ERROR_ACCESS_TOKEN` is the status of the answer; "
        "`closed` is the end of the connection without one. Who has a token may use it, whomever "
        "it names. Where all data is encrypted, a connection begins by a key from the namenode in "
        "place of a token.\n"
    )
    yield "| operation | needs |" + "".join(f" {shown.value} |" for shown in Shown)
    yield "|---" * (2 + len(Shown)) + "|"
    for row in DATA_ROWS:
        name = " ".join(filter(None, ("" if row.op is None else row.op.name, row.what)))
        needs = ", ".join(row.rights) or ("a token that is not over" if row.op is None else "-")
        cells = [expected_of_data(row, shown) for shown in Shown]
        shown_cells = ("-" if cell == DATA_ANSWERED else cell for cell in cells)
        yield f"| {name} | {needs} | {' | '.join(shown_cells)} |"
    yield ""
    yield "## Calls of a datanode by block tokens\n"
    yield (
        "The RPC port of a datanode takes block tokens in place of tickets, for what is said of "
        "a block. Without a token these calls are those of the table above.\n"
    )
    yield "| protocol | calls |" + "".join(f" {shown.value} |" for shown in CALLERS)
    yield "|---" * (2 + len(CALLERS)) + "|"
    lines: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for call in TOKEN_ROWS:
        answers = tuple(_cell(expected_by_token(call, shown)) for shown in CALLERS)
        lines.setdefault((call.protocol.rpartition(".")[2], answers), []).append(call.method)
    for (protocol, answers), calls in lines.items():
        yield f"| {protocol} | {', '.join(calls)} | {' | '.join(answers)} |"
    yield ""


def _addresses() -> Iterator[str]:
    yield "## Addresses of web ports\n"
    yield (
        "The rule of an address is that of its server's table; what has none is answered by 404. "
        "`/static/`, `/logs/` and `/webhdfs/v1` stand for all below. 401 asks for a ticket.\n"
    )
    yield "| server | addresses | are for |" + "".join(f" {who.value} |" for who in Asker)
    yield "|---" * (3 + len(Asker)) + "|"
    lines: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for row in WEB_ROWS:
        cells = tuple(_status(expected_status(row, who)) for who in Asker)
        lines.setdefault((row.port, row.rule.value, cells), []).append(f"`{row.path}`")
    for (port, rule, cells), paths in lines.items():
        yield f"| {port} | {', '.join(paths)} | {rule} | {' | '.join(cells)} |"
    yield ""


def _operations() -> Iterator[str]:
    yield "## Operations of WebHDFS at a namenode\n"
    yield (
        "CREATE only leads to a datanode, which asks the namenode as the user who came. A datanode "
        "takes delegation tokens alone.\n"
    )
    yield "| operations | are for |" + "".join(f" {who.value} |" for who in Asker)
    yield "|---" * (2 + len(Asker)) + "|"
    lines: dict[tuple[Rule, tuple[str, ...]], list[str]] = {}
    for row in OPERATION_ROWS:
        cells = tuple(_status(expected_of_operation(row, who)) for who in Asker)
        lines.setdefault((row.rule, cells), []).append(row.operation)
    for (rule, cells), names in lines.items():
        yield f"| {', '.join(names)} | {rule.value} | {' | '.join(cells)} |"
    yield ""


def _status(status: int) -> str:
    return "-" if status == OK else str(status)


def _cell(answer: str) -> str:
    if answer == ANSWERED:
        return "-"
    return _SHORT[answer.rpartition(".")[2]]
