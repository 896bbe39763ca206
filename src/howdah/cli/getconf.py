"""`howdah getconf`: one thing that the configuration says. Mirrors `hdfs getconf`.

Options are Hadoop's, in any case. A list of servers is a line of hosts without ports, save of
`-nnRpcAddresses`. With nameservices only what is set for them counts, as for servers: a plain
`dfs.namenode.secondary.http-address` then belongs to nobody.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from howdah.cli.arguments.usage import EXIT_USAGE
from howdah.config import current_name, keys
from howdah.config.keys.names.secret import HIDDEN, is_secret
from howdah.config.value_types import Address, Key, parse_address
from howdah.errors import IllegalArgument, InvalidConfiguration
from howdah.runtime.running_cluster import default_filesystem

if TYPE_CHECKING:
    from howdah.config import Configuration

USAGE: Final = """\
usage: howdah getconf OPTION
  -confKey KEY          the value of a key
  -namenodes            the hosts of all namenodes
  -nnRpcAddresses       the addresses of all namenodes, a line for each
  -secondaryNameNodes   the hosts of the secondary namenodes
  -backupNodes          the hosts of the backup nodes
  -journalNodes         the hosts of the journal nodes
  -includeFile          the file with the datanodes that may be in the cluster
  -excludeFile          the file with the datanodes that are to leave it"""
_BACKUP_KEY: Final = "dfs.namenode.backup.address"
_BACKUP_DEFAULT: Final = "0.0.0.0:50100"


class _Wrong(Exception):
    """What the answer is instead of a value."""


def main(argv: list[str], conf: Configuration) -> int:
    if argv in (["-h"], ["-help"], ["--help"]):
        print(USAGE)
        return 0
    answer = _ANSWERS.get(argv[0].lower()) if argv else None
    if answer is None:
        print(USAGE, file=sys.stderr)
        return EXIT_USAGE
    try:
        lines = list(answer(conf, argv[1:]))
    except (_Wrong, InvalidConfiguration, IllegalArgument) as error:
        print(error, file=sys.stderr)
        return EXIT_USAGE
    print(*lines, sep="\n")
    return 0


Answer = Callable[["Configuration", Sequence[str]], Iterator[str]]
"""The lines that are printed; raises what keeps it from being answered."""


def _conf_key(conf: Configuration, arguments: Sequence[str]) -> Iterator[str]:
    if len(arguments) != 1:
        raise _Wrong("usage: -confKey [key]")
    yield from _value(conf, arguments[0])


def _value(conf: Configuration, name: str) -> Iterator[str]:
    if current_name(name) == keys.FS_DEFAULTFS.name:
        default_filesystem(conf)  # raises where there is none: it never is the local disk
    value = conf.raw(name)
    if value is None:
        raise _Wrong(f"Configuration {name} is missing.")
    yield HIDDEN if is_secret(name) and value.strip() else value.strip()


def _of_key(key: Key[str | None]) -> Answer:
    def answer(conf: Configuration, arguments: Sequence[str]) -> Iterator[str]:
        _want_no(arguments)
        if not conf.get(key):
            raise _Wrong(f"Configuration {key.name} is missing.")
        yield from _value(conf, key.name)

    return answer


def _want_no(arguments: Sequence[str]) -> None:
    if arguments:
        raise _Wrong(f"Did not expect argument: {arguments[0]}")


def _namenodes(conf: Configuration, arguments: Sequence[str]) -> Iterator[str]:
    _want_no(arguments)
    yield " ".join(host for host, _ in _namenode_addresses(conf))


def _rpc_addresses(conf: Configuration, arguments: Sequence[str]) -> Iterator[str]:
    _want_no(arguments)
    for host, port in _namenode_addresses(conf):
        yield f"{host}:{port}"


def _namenode_addresses(conf: Configuration) -> list[Address]:
    from howdah.config.nameservices import datanode_nameservices

    return [address for some in datanode_nameservices(conf).values() for address in some]


def _helpers(role: str, name: str, default: str = "") -> Answer:
    """Return a command that prints the hosts of servers that each namenode may have one of."""

    def answer(conf: Configuration, arguments: Sequence[str]) -> Iterator[str]:
        _want_no(arguments)
        values = list(_of_namenodes(conf, name, conf.raw(name) or default))
        if not values:
            raise _Wrong(f"Incorrect configuration: {role} address {name} is not configured.")
        yield " ".join(parse_address(value, 0)[0] for value in values)

    return answer


def _of_namenodes(conf: Configuration, name: str, plain: str) -> Iterator[str]:
    """What a key says for each namenode; `plain` where there are no nameservices."""
    from howdah.config.nameservices import nameservices

    names = nameservices(conf)
    if not names:
        yield plain
    for suffix in _suffixes(conf, names):
        value = conf.raw(f"{name}.{suffix}")
        if value is not None:
            yield value


def _suffixes(conf: Configuration, names: Sequence[str]) -> Iterator[str]:
    from howdah.config.nameservices import namenode_ids

    for nameservice in names:
        namenodes = namenode_ids(conf, nameservice)
        if not namenodes:
            yield nameservice
        yield from (f"{nameservice}.{namenode}" for namenode in namenodes)


def _journal_nodes(conf: Configuration, arguments: Sequence[str]) -> Iterator[str]:
    """Of each namenode by its own key, by that of its nameservice, or by the plain one."""
    from howdah.config.journal_uri import JournalUri, is_journal_uri
    from howdah.config.nameservices import namenode_ids, nameservices, value_of

    _want_no(arguments)
    key = keys.DFS_NAMENODE_SHARED_EDITS_DIR
    hosts: dict[str, None] = {}
    for nameservice in nameservices(conf) or (None,):
        for namenode in namenode_ids(conf, nameservice) or (None,):
            shared = value_of(conf, key, nameservice, namenode) or conf.get(key)
            for uri in filter(is_journal_uri, shared):
                hosts.update(dict.fromkeys(host for host, _ in JournalUri.parse(uri).nodes))
    yield " ".join(hosts)


_ANSWERS: Final[dict[str, Answer]] = {
    "-confkey": _conf_key,
    "-namenodes": _namenodes,
    "-nnrpcaddresses": _rpc_addresses,
    "-secondarynamenodes": _helpers(
        "secondary namenode", keys.DFS_NAMENODE_SECONDARY_HTTP_ADDRESS.name
    ),
    "-backupnodes": _helpers("backup node", _BACKUP_KEY, _BACKUP_DEFAULT),
    "-journalnodes": _journal_nodes,
    "-includefile": _of_key(keys.DFS_HOSTS),
    "-excludefile": _of_key(keys.DFS_HOSTS_EXCLUDE),
}
