"""`howdah dtutil`: works on files of tokens, as `hadoop dtutil` (DtUtilShell).

A file holds tokens by aliases, which are their services unless an alias is given. `print` shows the
tokens themselves: who sees them has them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from howdah.cli.arguments.parser import Arguments
from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfs.shell.text import utc_second
from howdah.cli.tokens.files import identifier_of, read_file, write_file
from howdah.cli.tokens.issuers import cancel, connected, has_issuer, renewed
from howdah.config import Configuration
from howdah.errors import IllegalArgument, RemoteError
from howdah.formats.tokens.credentials import PROTOBUF, WRITABLE, Credentials
from howdah.formats.tokens.token import Token

USAGE: Final = """\
Usage: howdah dtutil COMMAND [OPTIONS] FILE ...
  print [-alias A] FILE ...           show the tokens of files, secrets included
  get URI [-service S] [-alias A] [-renewer R] FILE
                                      get a token of a filesystem, and add it to the file
  edit -service S -alias A FILE ...   give the token of a service another alias
  append FILE ... LAST                add the tokens of files to the last one
  remove -alias A FILE ...            take tokens out of files
  cancel -alias A FILE ...            the same, and cancel them
  renew -alias A FILE ...             renew tokens
  import TOKEN [-alias A] FILE        add a token that is given as text
-format java|protobuf (java) is how files are written."""
_FORMATS: Final = {"java": WRITABLE, "protobuf": PROTOBUF}
_COLUMNS: Final = "{:<24} {:<20} {:<15} {:<12} {}"


class _Words:
    """What the command line says behind the command."""

    def __init__(self, command: str, argv: list[str]) -> None:
        parser = Arguments(prog=f"howdah dtutil {command}", allow_abbrev=False)
        parser.add_argument("-alias", default="")
        parser.add_argument("-service", default="")
        parser.add_argument("-renewer", default="")
        parser.add_argument("-format", default="java", choices=sorted(_FORMATS))
        parser.add_argument("words", nargs="+")
        options = parser.parse_intermixed_args(argv)
        self.command = command
        self.alias: str = options.alias
        self.service: str = options.service
        self.renewer: str = options.renewer
        self.version = _FORMATS[options.format]
        self.words: list[str] = options.words

    @property
    def files(self) -> list[Path]:
        return [Path(word) for word in self.words]

    def need_alias(self) -> str:
        if not self.alias:
            raise UsageError(f"dtutil {self.command} needs -alias")
        return self.alias

    def split_first(self) -> tuple[str, Path]:
        """A word and one file."""
        if len(self.words) != 2:
            raise UsageError(f"dtutil {self.command} needs a word and one file")
        return self.words[0], Path(self.words[1])


def main(argv: list[str], conf: Configuration) -> int:
    if not argv or argv[0] in ("help", "-h", "-help", "--help"):
        print(USAGE, file=sys.stdout if argv else sys.stderr)
        return 0 if argv else 255
    command = _COMMANDS.get(argv[0])
    if command is None:
        raise UsageError(f"dtutil has no command {argv[0]!r}: {', '.join(_COMMANDS)}")
    command(_Words(argv[0], argv[1:]), conf)
    return 0


def _print(words: _Words, conf: Configuration) -> None:
    for path in words.files:
        print(f"File: {path}")
        print(_COLUMNS.format("Token kind", "Service", "Renewer", "Exp date", "URL enc token"))
        print("-" * 80)
        for alias, token in read_file(path).tokens.items():
            if words.alias and alias != words.alias:
                continue
            known = identifier_of(token)
            ends = renewer = "NA"
            if known is not None:
                ends = utc_second(known.max_date_ms).partition(" ")[0]
                renewer = known.renewer
            print(_COLUMNS.format(token.kind, token.service, renewer, ends, token.url_string))


def _get(words: _Words, conf: Configuration) -> None:
    uri, path = words.split_first()
    with connected(uri, conf) as fs:
        token = fs.get_delegation_token(words.renewer or str(fs.user))
        if token is None:
            raise RemoteError(f"{uri} issues no delegation tokens: it is not secured by Kerberos")
    if words.service:
        token = token.at(words.service)
    _add(path, words.alias or token.service, token, words.version)


def _add(path: Path, alias: str, token: Token, version: int) -> None:
    known = read_file(path) if path.exists() else Credentials()
    write_file(path, Credentials({**known.tokens, alias: token}, known.secrets), version)


def _edit(words: _Words, conf: Configuration) -> None:
    alias = words.need_alias()
    if not words.service:
        raise UsageError("dtutil edit needs -service")
    for path in words.files:
        known = read_file(path)
        tokens = {
            alias if token.service == words.service else old: token
            for old, token in known.tokens.items()
        }
        if alias not in tokens:
            raise IllegalArgument(f"{path} has no token of the service {words.service}")
        write_file(path, Credentials(tokens, known.secrets), words.version)


def _append(words: _Words, conf: Configuration) -> None:
    *sources, target = words.files
    if not sources:
        raise UsageError("dtutil append needs two files or more")
    # The first file that has an alias counts, as in Hadoop.
    tokens: dict[str, Token] = {}
    secrets: dict[str, bytes] = {}
    for path in (target, *sources) if target.exists() else sources:
        known = read_file(path)
        tokens = {**known.tokens, **tokens}
        secrets = {**known.secrets, **secrets}
    write_file(target, Credentials(tokens, secrets), words.version)


def _remove(words: _Words, conf: Configuration) -> None:
    alias = words.need_alias()
    for path in words.files:
        _take_out(path, alias, words.version)


def _take_out(path: Path, alias: str, version: int) -> Token:
    known = read_file(path)
    if alias not in known.tokens:
        raise IllegalArgument(f"{path} has no token with the alias {alias}")
    kept = {name: token for name, token in known.tokens.items() if name != alias}
    write_file(path, Credentials(kept, known.secrets), version)
    return known.tokens[alias]


def _cancel(words: _Words, conf: Configuration) -> None:
    alias = words.need_alias()
    for path in words.files:
        token = _token_of(path, alias)
        cancel(token, conf)
        _take_out(path, alias, words.version)


def _renew(words: _Words, conf: Configuration) -> None:
    alias = words.need_alias()
    for path in words.files:
        token = _token_of(path, alias)
        until = utc_second(renewed(token, conf))
        print(f"Renewed {token.kind}:{token.service} until {until} UTC")


def _token_of(path: Path, alias: str) -> Token:
    token = read_file(path).tokens.get(alias)
    if token is None:
        raise IllegalArgument(f"{path} has no token with the alias {alias}")
    if not has_issuer(token):
        raise IllegalArgument(f"{path}: {alias} is a {token.kind}, which is of no filesystem")
    return token


def _import(words: _Words, conf: Configuration) -> None:
    text, path = words.split_first()
    token = Token.from_url_string(text)
    _add(path, words.alias or token.service, token, words.version)


_COMMANDS: Final[dict[str, Callable[[_Words, Configuration], None]]] = {
    "print": _print,
    "get": _get,
    "edit": _edit,
    "append": _append,
    "remove": _remove,
    "cancel": _cancel,
    "renew": _renew,
    "import": _import,
}
