"""`howdah fetchdt`: gets a delegation token into a file, renews, cancels and prints those of one.

Options are those of `hdfs fetchdt` (DelegationTokenFetcher). The file is for
HADOOP_TOKEN_FILE_LOCATION; only its owner can read it.
"""

from __future__ import annotations

from pathlib import Path

from howdah.cli.arguments.parser import Arguments
from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfs.shell.text import utc_second
from howdah.cli.tokens.files import identifier_of, read_file, write_file
from howdah.cli.tokens.issuers import cancel, connected, has_issuer, renewed, web_uri
from howdah.config import Configuration
from howdah.errors import IllegalArgument, RemoteError
from howdah.formats.tokens.credentials import Credentials
from howdah.formats.tokens.token import Token


def main(argv: list[str], conf: Configuration) -> int:
    parser = Arguments(
        prog="howdah fetchdt",
        description="retrieve delegation tokens from the namenode",
        allow_abbrev=False,
    )
    parser.add_argument("--renewer", "-renewer", default="", help="who may renew the token")
    parser.add_argument(
        "--webservice",
        "-webservice",
        metavar="URL",
        help="where to get it, as http://host:port; otherwise from the default filesystem",
    )
    parser.add_argument("--cancel", "-cancel", action="store_true", help="cancel the tokens")
    parser.add_argument("--renew", "-renew", action="store_true", help="renew the tokens")
    parser.add_argument("--print", "-print", action="store_true", dest="show", help="show them")
    parser.add_argument(
        "--verbose", "-verbose", action="store_true", help="show the secret of the tokens too"
    )
    parser.add_argument("file", help="the file of tokens")
    words = parser.parse_args(argv)
    if sum((words.cancel, words.renew, words.show)) > 1:
        raise UsageError("Only specify cancel, renew or print.")
    path = Path(words.file)
    if words.show:
        return _show(path, verbose=words.verbose)
    if words.renew:
        return _renew(path, conf)
    if words.cancel:
        return _cancel(path, conf)
    uri = None if words.webservice is None else web_uri(words.webservice)
    return _fetch(path, words.renewer, uri, conf)


def _fetch(path: Path, renewer: str, uri: str | None, conf: Configuration) -> int:
    with connected(uri, conf) as fs:
        renewer = renewer or str(fs.user)
        token = fs.get_delegation_token(renewer)
        if token is None:
            raise RemoteError(
                f"{fs.uri} issues no delegation tokens: it is not secured by Kerberos"
            )
        of_keys = fs.get_key_server_token(renewer)
    tokens = [token] if of_keys is None else [token, of_keys]
    write_file(path, Credentials({token.service: token for token in tokens}))
    for token in tokens:
        print(f"Fetched token for {token.service} into {path}")
    return 0


def _with_issuers(path: Path) -> list[Token]:
    tokens = [token for token in read_file(path).tokens.values() if has_issuer(token)]
    if not tokens:
        raise IllegalArgument(f"{path} has no delegation token of HDFS")
    return tokens


def _renew(path: Path, conf: Configuration) -> int:
    for token in _with_issuers(path):
        print(f"Renewed token for {token.service} until: {utc_second(renewed(token, conf))} UTC")
    return 0


def _cancel(path: Path, conf: Configuration) -> int:
    for token in _with_issuers(path):
        cancel(token, conf)
        print(f"Cancelled token for {token.service}")
    return 0


def _show(path: Path, *, verbose: bool) -> int:
    for token in read_file(path).tokens.values():
        known = identifier_of(token)
        said = token.kind if known is None else str(known)
        print(f"Token ({said}) for {token.service}")
        if verbose:
            print(f"  {token.url_string}")
    return 0
