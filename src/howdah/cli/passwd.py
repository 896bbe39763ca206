"""`howdah passwd`: adds, changes, deletes, lists and verifies the users who log in at web pages.

A password is typed twice without echo, or is the first line of stdin (`--stdin`); it is never an
argument, which every user of the machine can see.
"""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Callable
from pathlib import Path

from howdah.cli.arguments.parser import Arguments
from howdah.cli.arguments.usage import EXIT_FAILURE, UsageError
from howdah.config import Configuration, keys
from howdah.errors import IllegalArgument, InvalidConfiguration
from howdah.formats.passwords import MOST_CHARACTERS, SALT_BYTES, PasswordRecord, record_of
from howdah.security.password_file import change, read_passwords

_ACTIONS = ("add", "change", "delete", "list", "verify")


def main(argv: list[str], conf: Configuration) -> int:
    parser = Arguments(
        prog="howdah passwd",
        description="manage the users who log in at web pages and WebHDFS "
        f"({keys.HOWDAH_HTTP_AUTHENTICATION.name} = file)",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--file",
        metavar="FILE",
        help=f"the file of passwords; otherwise {keys.HOWDAH_HTTP_AUTHENTICATION_FILE.name}",
    )
    parser.add_argument(
        "--stdin", action="store_true", help="read the password from the first line of stdin"
    )
    parser.add_argument("action", choices=_ACTIONS, help="what to do")
    parser.add_argument("user", nargs="?", help="the user, unless all are listed")
    words = parser.parse_args(argv)
    path = Path(words.file or _configured(conf)).expanduser()
    if words.action == "list":
        if words.user is not None:
            raise UsageError("list takes no user")
        for user in sorted(read_passwords(path)):
            print(user)
        return 0
    if words.user is None:
        raise UsageError(f"{words.action}: which user?")
    if words.action == "delete":
        change(path, _removal(words.user, path))
        print(
            f"{words.user} cannot log in any more: cookies and delegation tokens of {words.user} "
            "end at the servers with this file, open connections when they close. RPC and data "
            "ports believe every client as before"
        )
        return 0
    if words.action == "verify":
        return _verify(path, words.user, from_stdin=words.stdin)
    is_new = words.action == "add"
    if (words.user in _known(path)) == is_new:
        raise IllegalArgument(_presence(words.user, path, is_there=is_new))
    password = _password(from_stdin=words.stdin, twice=True)
    record = record_of(words.user, password, os.urandom(SALT_BYTES))
    change(path, _entry(record, path, is_new=is_new), creates=is_new)
    print(f"{words.user} can log in" if is_new else f"{words.user} has another password")
    return 0


def _configured(conf: Configuration) -> str:
    path = conf.get(keys.HOWDAH_HTTP_AUTHENTICATION_FILE)
    if not path:
        raise InvalidConfiguration(
            f"{keys.HOWDAH_HTTP_AUTHENTICATION_FILE.name} is not set: say --file FILE"
        )
    return path


def _known(path: Path) -> dict[str, PasswordRecord]:
    return read_passwords(path) if path.exists() else {}


def _presence(user: str, path: Path, *, is_there: bool) -> str:
    if is_there:
        return f"{user} is in {path} already: howdah passwd change sets another password"
    return f"{user} is not in {path}"


def _entry(
    record: PasswordRecord, path: Path, *, is_new: bool
) -> Callable[[dict[str, PasswordRecord]], None]:
    def enter(records: dict[str, PasswordRecord]) -> None:
        if (record.user in records) == is_new:
            raise IllegalArgument(_presence(record.user, path, is_there=is_new))
        records[record.user] = record

    return enter


def _removal(user: str, path: Path) -> Callable[[dict[str, PasswordRecord]], None]:
    def remove(records: dict[str, PasswordRecord]) -> None:
        if records.pop(user, None) is None:
            raise IllegalArgument(_presence(user, path, is_there=False))

    return remove


def _verify(path: Path, user: str, *, from_stdin: bool) -> int:
    record = read_passwords(path).get(user)
    password = _password(from_stdin=from_stdin, twice=False)
    if record is None or not record.matches(password):
        print("there is no such user, or the password is another one", file=sys.stderr)
        return EXIT_FAILURE
    print("the password is right")
    return 0


def _password(*, from_stdin: bool, twice: bool) -> str:
    """Raises IllegalArgument."""
    if from_stdin:
        line = sys.stdin.readline(MOST_CHARACTERS * 4)
        return line.rstrip("\n").rstrip("\r")
    if not sys.stdin.isatty():
        raise IllegalArgument("there is no terminal to ask for a password: use --stdin")
    password = getpass.getpass("Password: ")
    if twice and getpass.getpass("Once more: ") != password:
        raise IllegalArgument("these are two different passwords: nothing has changed")
    return password
