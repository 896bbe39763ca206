"""`howdah key`: the keys of encryption zones, at the key servers. Hadoop: KeyShell.

Commands, options and outputs are those of `hadoop key`; `copy` is howdah's own.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from howdah.cli.arguments.confirm import confirm
from howdah.cli.arguments.parser import Arguments
from howdah.cli.arguments.usage import EXIT_FAILURE, UsageError
from howdah.config import Configuration, keys
from howdah.errors import HowdahError, InvalidConfiguration

if TYPE_CHECKING:
    from howdah.security.key_servers import KeyServers

_CIPHER = "AES/CTR/NoPadding"
_LENGTH_BITS = 128


def main(argv: list[str], conf: Configuration) -> int:
    options = _parser().parse_args(argv)
    servers = _servers(options, conf)
    options.conf = conf
    try:
        code: int = options.run(options, servers)
    except HowdahError as error:
        print(
            f"{options.failure.format(name=getattr(options, 'name', ''))} {error}", file=sys.stderr
        )
        return EXIT_FAILURE
    finally:
        servers.close()
    return code


def _parser() -> Arguments:
    parser = Arguments(
        prog="howdah key",
        description="manage the keys of encryption zones at the key servers",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, about: str, run: object, failure: str) -> Arguments:
        added: Arguments = commands.add_parser(
            name, help=about, description=about, allow_abbrev=False
        )
        added.set_defaults(run=run, failure=failure)
        if name not in ("list", "copy"):
            added.add_argument("name", metavar="NAME", help="of the key")
        added.add_argument(
            "-provider",
            metavar="URI",
            help="the key servers, as kms://https@host:9600/kms; otherwise "
            f"{keys.HADOOP_SECURITY_KEY_PROVIDER_PATH.name}",
        )
        return added

    create = command("create", "make a key", _create, "{name} has not been created.")
    create.add_argument("-cipher", default="", help=f"the cipher (default: {_CIPHER})")
    create.add_argument(
        "-size", type=int, default=0, metavar="BITS", help=f"its length (default: {_LENGTH_BITS})"
    )
    create.add_argument("-description", default="", metavar="TEXT", help="what it is for")
    create.add_argument(
        "-attr", action="append", default=[], metavar="NAME=VALUE", help="an attribute of the key"
    )
    command("roll", "add a version to a key", _roll, "Cannot roll key: {name}.")
    delete = command(
        "delete",
        "take a key away: whatever it encrypts is lost",
        _delete,
        "{name} has not been deleted.",
    )
    delete.add_argument("-f", action="store_true", dest="force", help="do not ask")
    listing = command("list", "list the keys", _list, "Cannot list keys.")
    listing.add_argument("-metadata", action="store_true", help="with what is known of them")
    copying = command(
        "copy",
        "take over keys from other key servers, with all their versions",
        _copy,
        "Cannot copy keys.",
    )
    copying.add_argument("names", metavar="NAME", nargs="*", help="of a key; all without one")
    copying.add_argument(
        "-from", dest="source", metavar="URI", required=True, help="the servers that have them"
    )
    command(
        "invalidateCache",
        "have the servers forget keys of files that they made ahead",
        _invalidate_cache,
        "Cannot invalidate the cache of {name}.",
    )
    return parser


def _servers(options: Namespace, conf: Configuration) -> KeyServers:
    address = options.provider or conf.get(keys.HADOOP_SECURITY_KEY_PROVIDER_PATH)
    if not address:
        raise InvalidConfiguration(
            f"there are no key servers: set {keys.HADOOP_SECURITY_KEY_PROVIDER_PATH.name}, or say "
            "-provider"
        )
    return _servers_at(address, conf)


def _servers_at(address: str, conf: Configuration) -> KeyServers:
    from howdah.protocol.encryption_zones.provider_address import ProviderAddress
    from howdah.security.identity import user_of
    from howdah.security.key_servers import KeyServers

    return KeyServers(ProviderAddress.of(address), conf, user_of(conf))


def _create(options: Namespace, servers: KeyServers) -> int:
    attributes: dict[str, str] = {}
    for text in options.attr:
        name, sign, value = text.partition("=")
        if not sign or not name or name in attributes:
            raise UsageError(f"-attr {text}: attributes are given once each, as NAME=VALUE")
        attributes[name] = value
    servers.create(
        options.name,
        cipher=options.cipher,
        length_bits=options.size,
        description=options.description,
        attributes=attributes,
    )
    shown = ", ".join(f"{name}={value}" for name, value in attributes.items())
    print(
        f"{options.name} has been successfully created with options "
        f"Options{{cipher='{options.cipher or _CIPHER}', bitLength={options.size or _LENGTH_BITS}, "
        f"description='{options.description or 'null'}', "
        f"attributes={'{' + shown + '}' if shown else 'null'}}}."
    )
    print(f"{servers} has been updated.")
    return 0


def _roll(options: Namespace, servers: KeyServers) -> int:
    print(f"Rolling key version from KeyProvider: {servers}\n  for key name: {options.name}")
    servers.roll(options.name)
    print(f"Key {options.name} has been successfully rolled.")
    print(f"{servers} has been updated.")
    return 0


def _delete(options: Namespace, servers: KeyServers) -> int:
    print(f"Deleting key: {options.name} from KeyProvider: {servers}")
    question = (
        f"You are about to DELETE all versions of  key {options.name} from KeyProvider {servers}. "
        "Continue? "
    )
    if not options.force and not confirm(question):
        print("Delete is aborted.")
        return EXIT_FAILURE
    servers.delete(options.name)
    print(f"{options.name} has been successfully deleted.")
    print(f"{servers} has been updated.")
    return 0


def _list(options: Namespace, servers: KeyServers) -> int:
    names = servers.names()
    print(f"Listing keys for KeyProvider: {servers}")
    if not options.metadata:
        for name in names:
            print(name)
        return 0
    for name, known in zip(names, servers.metadata_of(names) if names else [], strict=True):
        fields = ", ".join(f"{field}: {value}" for field, value in known.items() if field != "name")
        print(f"{name} : {fields}")
    return 0


def _invalidate_cache(options: Namespace, servers: KeyServers) -> int:
    print(f"Invalidating cache on KeyProvider: {servers}\n  for key name: {options.name}")
    servers.invalidate_cache(options.name)
    print(f"Cache for keyname={options.name} has been successfully invalidated.")
    return 0


def _copy(options: Namespace, servers: KeyServers) -> int:
    from howdah.security.key_copies import copy_key

    source = _servers_at(options.source, options.conf)
    try:
        for name in options.names or source.names():
            versions, copied = copy_key(source, servers, name)
            print(f"{name}: {versions} versions, {copied} of them copied")
    finally:
        source.close()
    print(f"{servers} has all keys.")
    return 0
