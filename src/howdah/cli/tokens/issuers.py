"""What delegation tokens are of, filesystems and key servers: these renew and cancel them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final
from urllib.parse import urlsplit

import howdah
from howdah.config import Configuration, keys
from howdah.errors import IllegalArgument
from howdah.formats.tokens.token import (
    HDFS_DELEGATION,
    KMS_DELEGATION,
    SWEBHDFS_DELEGATION,
    WEBHDFS_DELEGATION,
    Token,
)
from howdah.fs import paths
from howdah.fs.hdfs.namespace import HdfsNamespace
from howdah.fs.hdfs.tokens import rpc_service
from howdah.security.identity import user_of
from howdah.security.key_servers import servers_of_token

_SCHEMES: Final = {
    HDFS_DELEGATION: "hdfs",
    WEBHDFS_DELEGATION: "webhdfs",
    SWEBHDFS_DELEGATION: "swebhdfs",
}
_WEB: Final = {"http": "webhdfs", "https": "swebhdfs"}


@contextmanager
def connected(uri: str | None, conf: Configuration) -> Iterator[HdfsNamespace]:
    """A filesystem, or the default one, which has to issue tokens."""
    with howdah.connect(uri, conf=conf, laid_over=False) as fs:
        if not isinstance(fs, HdfsNamespace):
            raise IllegalArgument(
                f"FileSystem {fs.uri} is not an HDFS file system. See fs.defaultFS."
            )
        yield fs


def has_issuer(token: Token) -> bool:
    """Whether there is something that renews and cancels tokens of this kind."""
    return token.kind in _SCHEMES or token.kind == KMS_DELEGATION


def renewed(token: Token, conf: Configuration) -> int:
    """Renew a token; until when it is good now, in milliseconds since 1970."""
    if token.kind == KMS_DELEGATION:
        with closing(servers_of_token(token, conf, user_of(conf))) as servers:
            return servers.renew_delegation_token(token)
    with connected(uri_of(token, conf), conf) as fs:
        return fs.renew_delegation_token(token)


def cancel(token: Token, conf: Configuration) -> None:
    """Make a token worthless."""
    if token.kind == KMS_DELEGATION:
        with closing(servers_of_token(token, conf, user_of(conf))) as servers:
            servers.cancel_delegation_token(token)
        return
    with connected(uri_of(token, conf), conf) as fs:
        fs.cancel_delegation_token(token)


def uri_of(token: Token, conf: Configuration) -> str:
    """The filesystem that a token is of. Raises IllegalArgument for other kinds of tokens."""
    scheme = _SCHEMES.get(token.kind)
    if scheme is None:
        raise IllegalArgument(f"a token of the kind {token.kind} is of no filesystem")
    default = paths.parse(conf.get(keys.FS_DEFAULTFS) or "/")
    if scheme == default.scheme == "hdfs" and token.service == _service(default.authority, conf):
        # By the name that is configured: an address may have no principal.
        return f"hdfs://{default.authority}"
    return f"{scheme}://{token.service.removeprefix(f'ha-{scheme}:')}"


def _service(authority: str, conf: Configuration) -> str | None:
    try:
        return rpc_service(authority, conf)
    except IllegalArgument:
        return None


def web_uri(url: str) -> str:
    """The filesystem behind a namenode's or HttpFS's pages, as `http://host:port` names them."""
    parts = urlsplit(url)
    scheme = _WEB.get(parts.scheme)
    if scheme is None or not parts.netloc:
        raise IllegalArgument(f"{url} is no web service: it must be http://host:port, or https://")
    return f"{scheme}://{parts.netloc}"
