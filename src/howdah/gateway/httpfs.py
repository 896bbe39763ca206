"""`/webhdfs/v1` of the gateway (shell): Hadoop's HttpFS.

The API of WebHDFS at one port, for those who reach neither namenode nor datanodes. Names go to
the namenode as calls of ClientProtocol, in the steps that a namenode does itself; bytes pass
through. Unlike WebHDFS

- CREATE and APPEND are sent to this same server with `data=true`, and want a body of the type
  `application/octet-stream` there; OPEN and GETFILECHECKSUM answer at once,
- who does not say who he is (`user.name`), or does not prove it where that is asked, gets a 401,
- an IOException has the status 500, and not 403,
- who may act for others (`doas`) is said by `httpfs.proxyuser.*`; a refusal has the status 403,
- `httpfs.access.mode` may refuse to read, or to write,
- LISTSTATUS takes a `filter`, a pattern of names.

Towards the namenode the gateway acts for its users under its own name, if that one has rules in
`hadoop.proxyuser.*` here; else it connects as each user, whom SIMPLE authentication believes
(`howdah.httpfs.impersonation`). Before a secured cluster it always acts for them
(`howdah.gateway.security`).
"""

from __future__ import annotations

import json
import logging
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from howdah import errors
from howdah.config import Configuration, keys
from howdah.formats.tokens.token import Token
from howdah.fs import paths
from howdah.fs.glob import compile_component
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.gateway.clients import Clients
from howdah.gateway.metrics import NO_OPERATION, Outcome, Requests, outcome_of
from howdah.gateway.security import Security, token_in_header
from howdah.gateway.transfers import TRANSFERS
from howdah.proto import client_namenode_pb2 as pb
from howdah.runtime.running_cluster import default_filesystem
from howdah.runtime.users.current import process_user
from howdah.runtime.users.impersonation import OnThread, read_rules
from howdah.runtime.users.names import ProxyUser
from howdah.security.user_names import user_names
from howdah.web.channel import Channel
from howdah.web.cross_site import check_origin, filter_of
from howdah.web.http import Request, Response, answer, text_response
from howdah.web.server import Exchange
from howdah.web.text_response import TextOut
from howdah.web.webhdfs.call_chain import (
    EMPTY,
    Piece,
    Step,
    Steps,
    Target,
    driven,
    json_response,
)
from howdah.web.webhdfs.faults import JSON_TYPE, refused, status_of
from howdah.web.webhdfs.parameters import (
    PREFIX,
    InvalidParameter,
    ParsedRequest,
    is_webhdfs,
    parse_request,
)
from howdah.web.webhdfs.reads import READS, listed
from howdah.web.webhdfs.tokens import OF_TOKENS, token_of
from howdah.web.webhdfs.writes import CHANGES
from howdah.web.webhdfs_names import patterns_of

log = logging.getLogger(__name__)
audit = logging.getLogger("httpfsaudit")

UPLOADS: Final = frozenset({"CREATE", "APPEND"})
UPLOAD_TYPE: Final = "application/octet-stream"
PROXY_USERS: Final = "httpfs.proxyuser."
_STATUSES: Final = frozenset({"GETFILESTATUS", "LISTSTATUS"})
_ANSWERS: Final = {
    method.name: GetMessageClass(method.output_type)
    for method in pb.DESCRIPTOR.services_by_name["ClientNamenodeProtocol"].methods
}


class HttpFs:
    """Answers requests for one filesystem."""

    def __init__(self, conf: Configuration, security: Security | None = None) -> None:
        """Without `security` users are believed. Raises InvalidConfiguration."""
        self.security: Final = security
        # Whoever asks over HTTP says the mode, and no umask of ours applies.
        self.conf = conf.with_values({keys.FS_PERMISSIONS_UMASK_MODE.name: "000"})
        self.patterns = patterns_of(conf)
        self.cross_site = filter_of(conf)
        self.mode = conf.get(keys.HTTPFS_ACCESS_MODE)
        self._names = user_names(conf)
        default = default_filesystem(conf)
        scheme, _, authority = default.partition("://")
        self.authority = authority.partition("/")[0]
        if scheme != "hdfs" or not self.authority:
            raise errors.InvalidConfiguration(
                f"{keys.FS_DEFAULTFS.name} = {default} (from "
                f"{conf.source(keys.FS_DEFAULTFS.name)}): a gateway needs hdfs://host:port or "
                "hdfs://NAME there"
            )
        self.proxy_users = OnThread.of(conf, PROXY_USERS)
        self._caller_for = None if security is None else security.caller_for
        """As whom to call a secured cluster for a user."""
        proven = None if security is None else security.own_user
        self.own_user: Final = process_user() if proven is None else proven
        acts = conf.get(keys.HOWDAH_HTTPFS_IMPERSONATION)
        if self._caller_for is not None:
            acts = True
        self.acts_for_users = self.own_user in read_rules(conf).rules if acts is None else acts
        """Whether it connects under its own name."""
        self.requests = Requests()
        self.clients = Clients(
            lambda user: HdfsFileSystem(self.authority, self.conf, self._as(user)),
            conf.get(keys.HTTPFS_HADOOP_FILESYSTEM_CACHE_PURGE_TIMEOUT),
        )

    def _as(self, user: str) -> str:
        if self._caller_for is not None:
            return self._caller_for(user)
        if self.acts_for_users and user != self.own_user:
            return ProxyUser(user, self.own_user)
        return user

    def parsed(self, request: Request) -> ParsedRequest:
        """What is asked for. Raises InvalidParameter, MissingParameter, UnsupportedOperation."""
        if self.security is None:
            return parse_request(request, self.patterns, short_name=self._names)
        short_name = self.security.short_name
        return parse_request(request, self.patterns, takes_tokens=True, short_name=short_name)

    def answer(self, request: Request) -> Response | Exchange:
        if not is_webhdfs(request.path):
            return text_response(404, f"this is a gateway: {PREFIX} is what it serves")
        return _Operation(self, request)

    def close(self) -> None:
        self.clients.close()
        if self.security is not None:
            self.security.tokens.close()


@dataclass(frozen=True, slots=True)
class _Asking:
    """Who asks, and whom he acts for, if that is another one."""

    user: str
    acts_for: str | None

    @property
    def counts_as(self) -> str:
        """As whom files are reached."""
        return self.acts_for or self.user

    @property
    def audited_name(self) -> str:
        return self.user if self.acts_for is None else f"{self.acts_for} via {self.user}"


class _Operation:
    """Answers one request, as an exchange."""

    def __init__(self, gateway: HttpFs, request: Request) -> None:
        self._gateway = gateway
        self._request = request
        self._answer: Response | None = None

    def run(self, channel: Channel) -> None:
        request, requests, operation = self._request, self._gateway.requests, NO_OPERATION
        try:
            check_origin(request)
            cross_site = self._gateway.cross_site
            self._answer = cross_site.refusal(request) if cross_site is not None else None
            if self._answer is not None:
                requests.note(operation, Outcome.REFUSED)
                return
            wanted = self._gateway.parsed(request)
            operation = wanted.operation
            asking = self._asking(wanted)
            if isinstance(asking, Response):
                self._answer = asking
                requests.note(operation, Outcome.REFUSED)
                return
            self._answer = self._answered(wanted, asking, channel)
            redirects = operation in TRANSFERS and wanted.flag("noredirect")
            requests.note(operation, Outcome.REDIRECTED if redirects else outcome_of(self._answer))
            path = paths.printable(wanted.path)
            audit.info("%s %s %s %s", request.peer, asking.audited_name, wanted.operation, path)
        except errors.HowdahError as error:
            if channel.has_begun:
                # Its head is out: only the end of the connection can say that it broke off.
                log.warning("%s %s breaks off: %s", request.method, request.shown_target, error)
                channel.broken = True
                requests.note(operation, Outcome.BROKEN)
                return
            requests.note(operation, Outcome.REFUSED)
            log.info(
                "%s %s from %s is refused: %s",
                request.method,
                request.shown_target,
                request.peer,
                error,
            )
            status = status_of(error)
            self._answer = refused(error, 500 if status == 403 else status)

    def done(self) -> Response | None:
        return self._answer

    def _answered(
        self, wanted: ParsedRequest, asking: _Asking, channel: Channel
    ) -> Response | None:
        refusal = self._refusal_to_act(asking)
        if refusal is not None:
            return refusal
        security = self._gateway.security
        if security is not None and wanted.operation in OF_TOKENS:
            # No mode of access is about these, as at Hadoop's.
            return _about_token(security, wanted, asking)
        if self._is_forbidden(wanted):
            mode = self._gateway.mode
            return text_response(403, f"this gateway is {mode} ({keys.HTTPFS_ACCESS_MODE.name})")
        user = asking.counts_as
        if wanted.operation in TRANSFERS:
            if wanted.flag("noredirect"):
                location = {"Location": self._address(wanted)}
                return answer(200, json.dumps(location).encode(), JSON_TYPE)
            if wanted.operation in UPLOADS:
                if wanted.given.get("data", "").lower() != "true":
                    headers = {"Content-Type": UPLOAD_TYPE, "Location": self._address(wanted)}
                    return Response(307, headers)
                content_type = self._request.headers.get("content-type", "")
                if content_type.partition(";")[0].strip().lower() != UPLOAD_TYPE:
                    return text_response(
                        400,
                        f"Data upload requests must have content-type set to '{UPLOAD_TYPE}'",
                    )
            with self._gateway.clients.of(user) as fs:
                return TRANSFERS[wanted.operation](fs, wanted, channel, self._address(wanted, ""))
        with self._gateway.clients.of(user) as fs:
            steps = _steps(wanted, user)
            text = TextOut(channel, self._request, JSON_TYPE)
            response = driven(steps, lambda step: _called(fs, step, text))
            if text.has_begun:
                text.end()
            return response

    def _asking(self, wanted: ParsedRequest) -> _Asking | Response:
        """Who asks; or what one hears who says nothing of himself, or shows no good token. A token
        goes before a ticket, but for what is about tokens, where it is no proof at all: it would
        get another by itself. `user.name` counts for nothing where users prove who they are."""
        security = self._gateway.security
        if security is None:
            if wanted.user is None:
                return text_response(401, "Authentication required: say who you are, by user.name")
            return _Asking(wanted.user, wanted.acts_for_another(wanted.user))
        if wanted.delegation is not None and wanted.operation not in OF_TOKENS:
            try:
                owner = security.tokens.proven(Token.from_url_string(wanted.delegation)).user
            except (
                errors.InvalidToken,
                errors.IllegalArgument,
                errors.AuthenticationFailed,
            ) as error:
                return refused(_not_proven(error), 403)
            if wanted.acts_for not in (None, owner):
                return refused(
                    errors.AuthorizationFailed(
                        f"a token of {owner} is good for {owner} alone, not for {wanted.acts_for}"
                    ),
                    403,
                )
            return _Asking(owner, None)
        proven = self._request.proven
        if proven is None:
            return text_response(
                401,
                "Authentication required: show a Kerberos ticket (SPNEGO) or a delegation token",
            )
        return _Asking(proven.user, wanted.acts_for_another(proven.user))

    def _refusal_to_act(self, asking: _Asking) -> Response | None:
        """What one hears who may not act for the other."""
        if asking.acts_for is None:
            return None
        whose = asking.user, asking.acts_for, self._request.peer
        try:
            self._gateway.proxy_users.check(*whose)
        except errors.AuthorizationFailed as error:
            log.info("%s may not act for %r from %s: %s", *whose, error)
            return refused(error, 403)
        return None

    def _is_forbidden(self, wanted: ParsedRequest) -> bool:
        """Whether the mode of access is against it."""
        mode, reads = self._gateway.mode, self._request.method in ("GET", "HEAD")
        if mode == "write-only":
            return reads and wanted.operation not in _STATUSES
        return mode == "read-only" and not reads

    def _address(self, wanted: ParsedRequest, query: str | None = None) -> str:
        """This server's own, as the client calls it; with `data=true` for an upload.

        A token that came by the header is not in it: addresses are written into logs, and clients
        that send the header send it to this address, too (Hadoop's HttpFSFileSystem does, whose
        server leaves it out as well; howdah's and WebHdfsFileSystem have tokens in the address)."""
        host = self._request.headers.get("host", "")
        if re.fullmatch(r"[A-Za-z0-9._:\[\]-]{1,300}", host) is None:
            raise InvalidParameter("Host", f"{host!r} is no host")
        if query is None:
            left_out = {"noredirect", "data"}
            if token_in_header(self._request) is not None:
                left_out.add("delegation")
            kept = {name: value for name, value in wanted.given.items() if name not in left_out}
            if wanted.operation in UPLOADS:
                kept["data"] = "true"
            query = "?" + urlencode(kept)
        scheme = "https" if self._request.is_secure else "http"
        return f"{scheme}://{host}{PREFIX}{quote(wanted.path, safe='/')}{query}"


def _not_proven(error: errors.HowdahError) -> errors.RemoteError:
    """What Hadoop's HttpFS says of a token that is not good."""
    return errors.RemoteError(
        f"{error.remote_class}: {error.message}",
        java_class="org.apache.hadoop.security.authentication.client.AuthenticationException",
    )


def _about_token(security: Security, wanted: ParsedRequest, asking: _Asking) -> Response:
    """Issue, renew or cancel a token of the gateway's own. Statuses of refusals are Hadoop's."""
    try:
        if wanted.operation == "GETDELEGATIONTOKEN":
            owner, real_user = asking.counts_as, asking.user if asking.acts_for else ""
            renewer, service = wanted.given.get("renewer"), wanted.given.get("service")
            token = security.tokens.issue(owner, renewer or owner, real_user, service or "")
            return json_response({"Token": {"urlString": token.url_string}})
        token = token_of(wanted)
        if wanted.operation == "RENEWDELEGATIONTOKEN":
            return json_response({"long": security.tokens.renew(token, asking.counts_as)})
    except (errors.AccessDenied, errors.InvalidToken, errors.AuthenticationFailed) as error:
        return refused(error, 403)
    try:
        security.tokens.cancel(token, asking.counts_as)
    except (errors.AccessDenied, errors.InvalidToken, errors.AuthenticationFailed) as error:
        return refused(error, 404)
    return EMPTY


def _steps(wanted: ParsedRequest, user: str) -> Steps:
    """Raises InvalidParameter for a filter that is no pattern."""
    pattern = wanted.given.get("filter")
    if pattern and wanted.operation == "LISTSTATUS":
        try:
            return listed(wanted, compile_component(pattern))
        except errors.IllegalArgument as error:
            raise InvalidParameter("filter", error.message) from error
    return (READS.get(wanted.operation) or CHANGES[wanted.operation])(wanted, user)


def _called(fs: HdfsFileSystem, step: Step, text: TextOut) -> Message | bool:
    if isinstance(step, Piece):
        return text.send(step.text)
    if isinstance(step, Target):
        raise errors.UnsupportedOperation("a gateway sends nobody to a datanode")
    return fs.client.namenode.call(step.method, step.request, _ANSWERS[step.method])
