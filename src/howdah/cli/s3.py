"""`howdah s3`: runs a gateway for S3; `howdah s3 keys` manages the access keys of its users.

A secret is shown once, when its key is made. One that is brought along is the first line of stdin
(`--stdin`): an argument could be seen by every user of the machine. For the same reason a
passphrase is the first line of a file.
"""

from __future__ import annotations

import secrets
import string
import sys
from pathlib import Path

from howdah.cli.arguments.parser import Arguments
from howdah.cli.arguments.usage import UsageError
from howdah.cli.servers import begin, check_configuration, server_arguments
from howdah.config import Configuration, keys
from howdah.errors import IllegalArgument, InvalidConfiguration
from howdah.formats.access_keys import AccessKey

_ACTIONS = ("add", "delete", "list", "encrypt", "decrypt")
_ACCESS_LETTERS = string.ascii_uppercase + string.digits
_SECRET_LETTERS = string.ascii_letters + string.digits
_ACCESS_LENGTH = 20
_SECRET_LENGTH = 40
_MOST_CHARACTERS = 1024


def main(argv: list[str], conf: Configuration) -> int:
    if argv[:1] == ["keys"]:
        return _keys(argv[1:], conf)
    parser = server_arguments("s3")
    parser.description = (
        "run a gateway for S3 in front of the default filesystem; howdah s3 keys --help says how "
        "its users get access keys"
    )
    options = parser.parse_args(argv)
    begin(options)
    from howdah.gateway.s3.server import check_s3_protection, run

    check_configuration(conf, check_s3_protection)
    return run(conf, options.ready_file)


def _keys(argv: list[str], conf: Configuration) -> int:
    from howdah.gateway.s3.access_keys import (
        change_access_keys,
        configured_passphrase,
        read_access_keys,
    )

    parser = Arguments(
        prog="howdah s3 keys",
        description="manage the access keys of the users of a gateway for S3",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--file",
        metavar="FILE",
        help=f"the file of access keys; otherwise {keys.HOWDAH_S3_KEYS_FILE.name}",
    )
    parser.add_argument(
        "--access-key", metavar="KEY", help="add: the name of the key; otherwise one is made"
    )
    parser.add_argument(
        "--stdin", action="store_true", help="add: the secret is the first line of stdin"
    )
    parser.add_argument(
        "--passphrase-file",
        metavar="FILE",
        help="the file whose first line is the passphrase of an encrypted file; otherwise "
        f"{keys.HOWDAH_S3_KEYS_PASSPHRASE_FILE.name}",
    )
    parser.add_argument("action", choices=_ACTIONS, help="what to do")
    parser.add_argument(
        "name", nargs="?", help="add: the user; delete: the access key; list: nothing, or a user"
    )
    words = parser.parse_args(argv)
    path = Path(words.file or _configured(conf)).expanduser()
    if words.passphrase_file:
        name = keys.HOWDAH_S3_KEYS_PASSPHRASE_FILE.name
        conf = conf.with_values({name: words.passphrase_file})
    passphrase = configured_passphrase(conf)
    if words.action in ("encrypt", "decrypt"):
        seals = words.action == "encrypt"
        change_access_keys(path, lambda found: None, passphrase=passphrase, seals=seals)
        print(f"{path} is {'encrypted' if seals else 'plain text'} now")
        return 0
    if words.action == "list":
        for key in read_access_keys(path, passphrase).values():
            if words.name in (None, key.user):
                print(key.access_key, key.user)
        return 0
    if words.name is None:
        raise UsageError(f"{words.action}: which {'user' if words.action == 'add' else 'key'}?")
    if words.action == "delete":
        change_access_keys(
            path, lambda found: _delete(found, words.name, path), passphrase=passphrase
        )
        print(f"{words.name} counts for nothing any more, also in presigned URLs")
        return 0
    made = AccessKey(
        words.access_key or _random(_ACCESS_LETTERS, _ACCESS_LENGTH),
        _line_of_stdin() if words.stdin else _random(_SECRET_LETTERS, _SECRET_LENGTH),
        words.name,
    )
    change_access_keys(
        path, lambda found: _add(found, made, path), creates=True, passphrase=passphrase
    )
    print(f"AWS_ACCESS_KEY_ID={made.access_key}")
    if not words.stdin:
        print(f"AWS_SECRET_ACCESS_KEY={made.secret_key}")
    return 0


def _configured(conf: Configuration) -> str:
    path = conf.get(keys.HOWDAH_S3_KEYS_FILE)
    if not path:
        raise InvalidConfiguration(f"{keys.HOWDAH_S3_KEYS_FILE.name} is not set: say --file FILE")
    return path


def _add(found: dict[str, AccessKey], made: AccessKey, path: Path) -> None:
    if made.access_key in found:
        raise IllegalArgument(f"{made.access_key} is in {path} already: delete it first")
    found[made.access_key] = made


def _delete(found: dict[str, AccessKey], name: str, path: Path) -> None:
    if found.pop(name, None) is None:
        raise IllegalArgument(f"{name} is not in {path}")


def _random(letters: str, length: int) -> str:
    return "".join(secrets.choice(letters) for _ in range(length))


def _line_of_stdin() -> str:
    return sys.stdin.readline(_MOST_CHARACTERS).rstrip("\n").rstrip("\r")
