"""`/webhdfs/v1` of a datanode: OPEN, CREATE, APPEND and GETFILECHECKSUM (shell).

Hadoop's WebHdfsHandler. Each request is a client of its own: it asks the namenode that
`namenoderpcaddress` names, which has to be one of those that are configured here, as the user
that `user.name` names. With `doas` that one acts for another: the namenode says whether he may,
from this datanode. Where users prove who they are, by Kerberos or by logins, the user is the owner
of the token that came along (`delegation`): the datanode shows it to the namenode, and has no
rights of its own there. Keys of files in encryption zones it asks for by its own login, acting for
the user, when the namenode has let him open the file. A namenode that does not look at the token
is asked for nothing: it would believe the name in it.

Pages of the namenodes that are configured here may read answers and send files from a browser;
pages of other servers may not, where Hadoop lets all of them.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.client.settings.short_circuit import ShortCircuitSettings
from howdah.client.shortcircuit.access import OwnDatanode
from howdah.client.shortcircuit.cache import ShortCircuitCache
from howdah.config import Configuration, keys
from howdah.config.nameservices import (
    http_addresses,
    https_addresses,
    nameservices,
    rpc_addresses,
    service_addresses,
)
from howdah.formats.malformed import MalformedRecord
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.formats.tokens.token import HDFS_DELEGATION, LOGICAL_SERVICE, Token
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.gateway.transfers import TRANSFERS
from howdah.runtime.fork_safety import made_once
from howdah.runtime.users.names import ProxyUser
from howdah.security.server_checks import has_logins, is_secured, takes_simple
from howdah.security.user_names import user_names
from howdah.web.channel import Channel
from howdah.web.cross_site import check_origin, filter_of
from howdah.web.http import Request, Response
from howdah.web.server import Exchange
from howdah.web.webhdfs.faults import refused
from howdah.web.webhdfs.parameters import InvalidParameter, ParsedRequest, parse_request
from howdah.web.webhdfs_names import patterns_of

if TYPE_CHECKING:
    from howdah.security.server_login import ServerLogin

log = logging.getLogger(__name__)

_KEPT_REPLICAS: Final = 64
_KEPT_S: Final = 4.0
_WITHOUT_S: Final = 30.0
"""So long replicas are read through the data process where it passed no files."""
_JAVA: Final = "Java/"
_CLOSES: Final = {"Connection": "close"}


class FileGateway:
    """Answers requests of WebHDFS about the bytes of files."""

    def __init__(self, conf: Configuration, own: OwnDatanode | None = None) -> None:
        """`own`: the datanode whose replicas are read from their files."""
        # Whoever asks over HTTP says the mode, and no umask of ours applies.
        self.conf = conf.with_values({keys.FS_PERMISSIONS_UMASK_MODE.name: "000"})
        self.patterns = patterns_of(conf)
        self.default_user = conf.get(keys.HADOOP_HTTP_STATICUSER_USER)
        self.cross_site = filter_of(conf)
        self._namenodes = _known_namenodes(conf)
        self.origins = _origins(conf)
        """Whose pages may use this."""
        own_header = conf.get(keys.DFS_WEBHDFS_REST_CSRF_CUSTOM_HEADER)
        self.may_send = {
            "Access-Control-Allow-Methods": "GET, PUT, POST",
            "Access-Control-Allow-Headers": f"Content-Type, {own_header}",
            "Access-Control-Max-Age": "600",
        }
        """What browsers hear that ask before they send something for such a page."""
        self._names = user_names(conf)
        self._takes_tokens = is_secured(conf) or has_logins(conf)
        self._simple_conf: Configuration | None = None
        """For who shows no token, while a cluster changes over to Kerberos."""
        if own is not None and takes_simple(conf):
            simple = {keys.HADOOP_SECURITY_AUTHENTICATION.name: "simple"}
            self._simple_conf = self.conf.with_values(simple)
        self._own = own
        self._replicas = None if own is None else _replicas_of(own, conf)

    @classmethod
    def of_datanode(
        cls,
        conf: Configuration,
        uuid: str,
        dial: Callable[[], socket.socket],
        has_read: Callable[[int], None],
    ) -> FileGateway:
        """The control process's of this datanode: `dial` makes a connection to its data process,
        and `has_read` hears how many bytes of a replica were read from its file."""
        return cls(conf, OwnDatanode(uuid, dial, has_read))

    def answer(self, request: Request) -> Exchange:
        return _Operation(self, request)

    def parsed(self, request: Request) -> ParsedRequest:
        """What is asked for. Raises InvalidParameter, MissingParameter, UnsupportedOperation."""
        return parse_request(
            request, self.patterns, takes_tokens=self._takes_tokens, short_name=self._names
        )

    def filesystem(self, wanted: ParsedRequest) -> HdfsFileSystem:
        """As the user who asks. Raises IllegalArgument for a namenode that is not ours,
        AuthorizationFailed for who shows no token where one is needed."""
        namenode = wanted.namenode
        if namenode is None:
            raise InvalidParameter("namenoderpcaddress", "it has to name a namenode")
        if namenode not in self._namenodes:
            raise InvalidParameter(
                "namenoderpcaddress", f"{namenode} is no namenode that is configured here"
            )
        is_believed = self._simple_conf is not None and wanted.delegation is None
        conf = self._simple_conf if self._simple_conf is not None and is_believed else self.conf
        fs = HdfsFileSystem(namenode, conf, self._user(wanted, namenode))
        if self._own is not None and self._replicas is not None:
            fs.client.read_from(self._replicas, self._own.uuid)
        if self._own is not None and is_secured(conf):
            user = str(fs.user)
            fs.client.ask_keys_as(lambda: self._acting_for(user))
        return fs

    def _acting_for(self, user: str) -> str:
        """The datanode's own login, acting for a user, whose token is for namenodes: key servers
        have to let it (`hadoop.kms.proxyuser.*`), as they let Hadoop's."""
        from howdah.security.users import SecuredUser

        own = self._login.caller
        assert isinstance(own, SecuredUser), "a server that is secured calls others so"
        return own.acting_for(user)

    @made_once
    def _login(self) -> ServerLogin:
        from howdah.security.server_login import log_in_server

        return log_in_server(
            self.conf,
            keys.DFS_DATANODE_KERBEROS_PRINCIPAL,
            keys.DFS_DATANODE_KEYTAB_FILE,
            self.conf.get(keys.DFS_DATANODE_HOSTNAME) or "",
        )

    def _user(self, wanted: ParsedRequest, namenode: str) -> str:
        """Whoever is named, or the owner of a token, who is nobody without it."""
        if self._takes_tokens and (wanted.delegation is not None or self._simple_conf is None):
            if wanted.delegation is None:
                raise errors.AuthorizationFailed(
                    "this datanode takes delegation tokens alone: ask a namenode, whose answer "
                    "leads here with one"
                )
            conf = self.conf
            if self._simple_conf is not None:
                # A namenode that has not changed believes everybody, as this datanode does.
                conf = conf.with_values(
                    {keys.IPC_CLIENT_FALLBACK_TO_SIMPLE_AUTH_ALLOWED.name: "true"}
                )
            needs_token = self._simple_conf is None
            return _owner(conf, wanted.delegation, namenode, needs_token=needs_token)
        user = wanted.user or self.default_user
        acts_for = wanted.acts_for_another(wanted.user)
        return user if acts_for is None else ProxyUser(acts_for, user)

    def close(self) -> None:
        """Let go of replicas."""
        if self._replicas is not None:
            self._replicas.close()


def _owner(conf: Configuration, text: str, namenode: str, *, needs_token: bool) -> str:
    """The owner of a token, who calls a namenode by it. The namenode says whether it is good, and
    with `needs_token` none is asked that does not look at it.

    Raises InvalidToken for what is none."""
    from howdah.security.users import user_by_tokens

    try:
        token = Token.from_url_string(text)
        DelegationTokenIdentifier.decode(token.identifier)
    except (errors.IllegalArgument, MalformedRecord):
        raise errors.InvalidToken("that is no delegation token") from None
    service = namenode if ":" in namenode else f"{LOGICAL_SERVICE}{namenode}"
    own = replace(token, kind=HDFS_DELEGATION, service=service.lower())
    return user_by_tokens(conf, [own], needs_token=needs_token)


def _replicas_of(own: OwnDatanode, conf: Configuration) -> ShortCircuitCache:
    """What was read stays open for a moment, in which the same reader may go on. No file is
    mapped: what is cut under a reader must not end this process."""
    settings = ShortCircuitSettings(
        cache_size=_KEPT_REPLICAS,
        cache_expiry_s=_KEPT_S,
        disable_interval_s=_WITHOUT_S,
        mmap=False,
    )
    timeout_s = conf.get(keys.DFS_CLIENT_SOCKET_TIMEOUT)
    return ShortCircuitCache(settings, lambda: "the control process", timeout_s, own)


def _known_namenodes(conf: Configuration) -> frozenset[str]:
    names = nameservices(conf)
    addresses = {
        f"{host}:{port}"
        for name in names or ("",)
        for by_name in (rpc_addresses(conf, name), service_addresses(conf, name))
        for host, port in by_name.values()
    }
    return frozenset(addresses | set(names))


def _origins(conf: Configuration) -> frozenset[str]:
    """Of the pages of all namenodes, as browsers write them."""
    return frozenset(
        f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
        for name in nameservices(conf) or ("",)
        for scheme, addresses in (("http", http_addresses), ("https", https_addresses))
        for host, port in addresses(conf, name).values()
    )


class _Operation:
    """One request, as an exchange."""

    def __init__(self, gateway: FileGateway, request: Request) -> None:
        self._gateway = gateway
        self._request = request
        self._answer: Response | None = None

    def run(self, channel: Channel) -> None:
        request = self._request
        if request.headers.get("user-agent", "").startswith(_JAVA):
            # It sends the next file over a kept connection without a look whether that has ended
            # (the datanode was restarted), and does not try again. Hadoop's datanodes keep none.
            channel.added = _CLOSES
        origin = request.headers.get("origin", "")
        if origin in self._gateway.origins:
            # Tells the browser that the page which asks may read the answer.
            channel.added = {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}
            if request.method == "OPTIONS":
                self._answer = Response(200, self._gateway.may_send)
                return
        try:
            check_origin(request, self._gateway.origins)
            cross_site = self._gateway.cross_site
            self._answer = cross_site.refusal(request) if cross_site is not None else None
            if self._answer is not None:
                return
            wanted = self._gateway.parsed(request)
            transfer = TRANSFERS.get(wanted.operation)
            if transfer is None:
                raise InvalidParameter("op", f"Invalid operation {wanted.operation}")
            with closing(self._gateway.filesystem(wanted)) as fs:
                location = f"hdfs://{wanted.namenode}{wanted.path}"
                self._answer = transfer(fs, wanted, channel, location)
        except errors.HowdahError as error:
            if channel.has_begun:
                # Its length is out: only the end of the connection can say that it broke off.
                log.warning("%s %s breaks off: %s", request.method, request.shown_target, error)
                channel.broken = True
                return
            log.info(
                "%s %s from %s is refused: %s",
                request.method,
                request.shown_target,
                request.peer,
                error,
            )
            self._answer = refused(error)

    def done(self) -> Response | None:
        return self._answer
