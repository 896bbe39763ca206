"""`/webhdfs/v1` of the namenode (shell): Hadoop's NamenodeWebHdfsMethods.

What an operation consists of is in `howdah.web.webhdfs`; here its steps are done one after the
other, each on the loop, while what is in between is done on the connection's thread.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial

from howdah import errors
from howdah.config import Configuration, keys, namenode_address
from howdah.config.nameservices import is_highly_available
from howdah.config.settings import read
from howdah.namenode.server.webhdfs.calls import Post, RestCalls
from howdah.namenode.server.webhdfs.proofs import Proofs, caller_of
from howdah.namenode.server.webhdfs.redirect_tokens import RedirectTokens
from howdah.namenode.server.webhdfs.relay import PARAMETER, Relay
from howdah.namenode.service.delegation_tokens import TokenTimes
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols.client import PROTOCOL
from howdah.namenode.service.target_selection import choose
from howdah.protocol.rpc.proven import Proven
from howdah.protocol.rpc.server_hooks import Admission, Barrier, Impersonation
from howdah.protocol.rpc.service import Registry
from howdah.protocol.sasl.auth_to_local import UserOf, simple_user
from howdah.runtime.users.names import ProxyUser
from howdah.security.user_names import user_names
from howdah.web.channel import Channel
from howdah.web.cross_site import HeaderFilter, check_origin, filter_of
from howdah.web.http import Request, Response
from howdah.web.server import Exchange, Run
from howdah.web.text_response import TextOut
from howdah.web.webhdfs.call_chain import Piece, Rpc, Step, Steps, driven
from howdah.web.webhdfs.faults import JSON_TYPE, refused
from howdah.web.webhdfs.parameters import ParsedRequest, parse_request
from howdah.web.webhdfs.patterns import Patterns
from howdah.web.webhdfs.reads import READS
from howdah.web.webhdfs.redirects import REDIRECTED, redirect
from howdah.web.webhdfs.tokens import OF_TOKENS
from howdah.web.webhdfs.writes import CHANGES
from howdah.web.webhdfs_names import patterns_of

log = logging.getLogger(__name__)


class WebHdfs:
    """Serves WebHDFS of one namenode."""

    def __init__(
        self,
        namesystem: Namesystem,
        calls: RestCalls,
        run: Run,
        namenode: Callable[[], str],
        patterns: Patterns,
        default_user: str,
        cross_site: HeaderFilter | None = None,
        *,
        makes_links: bool = True,
        relay: Relay | None = None,
        proofs: Proofs | None = None,
        redirect_tokens: RedirectTokens | None = None,
        names: UserOf = simple_user,
    ) -> None:
        """`run` does something on the loop; `namenode` is what datanodes are told to ask;
        `default_user` is whoever does not say his name; `makes_links`: whether a request may
        make a symbolic link; `relay` takes the bytes of files through this server; without
        `proofs` everybody is who he says; `redirect_tokens` are for datanodes that need some;
        `names` has the users of names, where everybody is believed."""
        self._namesystem = namesystem
        self._calls = calls
        self._run = run
        self._namenode = namenode
        self._patterns = patterns
        self._default_user = default_user
        self._cross_site = cross_site
        self._makes_links = makes_links
        self._relay = relay
        self._proofs = proofs
        self._redirect_tokens = redirect_tokens
        self._names = names

    def answer(self, request: Request) -> Exchange:
        return _Operation(self, request)

    def do(self, request: Request, channel: Channel) -> Response | None:
        """Return the answer to a request, on its connection's thread; None where it is out."""
        text = TextOut(channel, request, JSON_TYPE)
        try:
            check_origin(request)
            refusal = self._cross_site.refusal(request) if self._cross_site is not None else None
            if refusal is not None:
                return refusal
            proofs = self._proofs
            if proofs is None:
                wanted = parse_request(request, self._patterns, short_name=self._names)
                proven = None
            else:
                wanted = proofs.parsed(request, self._patterns)
                proven = proofs.proven(request, wanted)
            user = self._user(wanted, proven, request.peer, channel.has_left)
            response = driven(
                self._steps(wanted, user, proven, request.peer),
                lambda step: self._one(step, user, proven, request.peer, channel.has_left, text),
            )
            if text.has_begun:
                text.end()
            location = response.headers.get("Location") if response is not None else None
            if self._relay is not None and location and wanted.given.get(PARAMETER) == "true":
                return self._relay.pass_on(request, location, channel)
            return response
        except errors.HowdahError as error:
            if text.has_begun or channel.has_begun:
                # Only the end of the connection can say that the answer broke off.
                log.warning("%s %s breaks off: %s", request.method, request.shown_target, error)
                channel.broken = True
                return None
            log.info(
                "%s %s from %s is refused: %s",
                request.method,
                request.shown_target,
                request.peer,
                error,
            )
            return refused(error)

    def _user(
        self,
        wanted: ParsedRequest,
        proven: Proven | None,
        address: str,
        has_left: Callable[[], bool],
    ) -> str:
        """Who acts, or for whom. Raises AuthorizationFailed."""
        if proven is None:
            user = wanted.user or self._default_user
            acts_for = wanted.acts_for_another(wanted.user)
        else:
            user, acts_for = caller_of(proven, wanted)
        if acts_for is None:
            return user
        try:
            self._calls.check_may_act(user, acts_for, address, has_left)
        except errors.AuthorizationFailed as error:
            if wanted.user is not None or proven is not None:
                raise
            # Hadoop finds out about somebody without a name at another place.
            raise errors.RemoteError(
                f"Failed to obtain user group information: {error.java_class}: {error.message}",
                java_class="java.lang.SecurityException",
            ) from error
        return ProxyUser(acts_for, user)

    def _steps(
        self, wanted: ParsedRequest, user: str, proven: Proven | None, address: str
    ) -> Steps:
        if wanted.operation in REDIRECTED:
            tokens = self._redirect_tokens
            if proven is None or tokens is None:
                return redirect(wanted, user, self._namenode())
            make_token = partial(tokens.issued, proven=proven, address=address)
            return redirect(wanted, user, self._namenode(), make_token=make_token)
        if self._proofs is not None and wanted.operation in OF_TOKENS:
            return OF_TOKENS[wanted.operation](wanted, user)
        if wanted.operation == "CREATESYMLINK" and not self._makes_links:
            raise errors.UnsupportedOperation(
                f"Symlinks not supported: {keys.HOWDAH_CLIENT_SYMLINKS_ENABLED.name} is false at "
                "the namenode"
            )
        return (READS.get(wanted.operation) or CHANGES[wanted.operation])(wanted, user)

    def _one(
        self,
        step: Step,
        user: str,
        proven: Proven | None,
        address: str,
        has_left: Callable[[], bool],
        text: TextOut,
    ) -> object:
        if isinstance(step, Rpc):
            return self._calls.call(user, address, step, has_left, proven)
        if isinstance(step, Piece):
            return text.send(step.text)
        return self._run(lambda: choose(self._namesystem, step, address))


def webhdfs_of(
    conf: Configuration,
    namesystem: Namesystem,
    registry: Registry,
    admission: Admission,
    barrier: Barrier,
    post: Post,
    soon: Post,
    run: Run,
    impersonation: Impersonation,
    *,
    port: Callable[[], int],
    proofs: Proofs | None = None,
) -> WebHdfs | None:
    """As it is configured; None where it is switched off. `port` is the one for RPC, 0 before
    the namenode listens. Without `proofs` everybody is who he says."""
    if not conf.get(keys.DFS_WEBHDFS_ENABLED):
        return None
    return WebHdfs(
        namesystem,
        RestCalls(PROTOCOL, registry, admission, barrier, post, soon, impersonation),
        run,
        told_to_datanodes(conf, port),
        patterns_of(conf),
        conf.get(keys.HADOOP_HTTP_STATICUSER_USER),
        filter_of(conf),
        makes_links=conf.get(keys.HOWDAH_CLIENT_SYMLINKS_ENABLED),
        relay=Relay(conf),
        proofs=proofs,
        redirect_tokens=_redirect_tokens_of(conf, proofs),
        names=user_names(conf),
    )


def _redirect_tokens_of(conf: Configuration, proofs: Proofs | None) -> RedirectTokens | None:
    if proofs is None:
        return None  # Nobody is known by anything that a token could be made for.
    times = read(TokenTimes, conf)
    life_s = min(times.renewal_ms, times.lifetime_ms) / 1000
    return RedirectTokens(life_s, proofs.is_good, time.monotonic)


def told_to_datanodes(conf: Configuration, port: Callable[[], int]) -> Callable[[], str]:
    """Whom a datanode is to ask about a file that it reads or writes for somebody: the nameservice
    where it has several namenodes, of which another one may be active before the file is closed.
    Else this namenode, as `host:port` for RPC."""
    nameservice = conf.get(keys.DFS_NAMESERVICE_ID)
    if nameservice is not None and is_highly_available(conf, nameservice):
        return lambda: nameservice
    host, configured = namenode_address(conf)
    return lambda: f"{host}:{port() or configured}"


class _Operation:
    """One request, as an exchange."""

    def __init__(self, pages: WebHdfs, request: Request) -> None:
        self._pages = pages
        self._request = request
        self._answer: Response | None = None

    def run(self, channel: Channel) -> None:
        self._answer = self._pages.do(self._request, channel)

    def done(self) -> Response | None:
        return self._answer
