"""Asks a secured cluster by everyone who may ask (shell: sockets, keytabs)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from http.client import HTTPConnection, HTTPResponse
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from howdah import errors
from howdah.config import Configuration
from howdah.formats.tokens.token import Token
from howdah.proto import rpc_pb2
from howdah.rpc.client import RpcClient
from howdah.runtime.users.names import ProxyUser
from howdah.security.http import COOKIE, HttpAuthentication
from howdah.security.identity import user_of
from howdah.security.users import SecuredUser
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.who_may.addresses import FORBIDDEN, OK, UNAUTHORIZED
from tests.support.security.who_may.askers import Asker
from tests.support.security.who_may.calls import ANSWERED, FRONTS, RpcRow, opening, services
from tests.support.security.who_may.requests import request_of

FORGED_PASSWORD: Final = b"a planted secret of 1"
FOREIGN: Final = "elsewhere.example"
PRINCIPALS: Final[Mapping[Asker, str]] = {
    Asker.STRANGER: "bob",
    Asker.OWNER: "alice",
    Asker.ADMINISTRATOR: "hdfs",
    Asker.DATANODE: "dn/localhost",
    Asker.FOREIGN_DATANODE: f"dn/{FOREIGN}",
    Asker.NAMENODE: "nn/localhost",
    Asker.JOURNALNODE: "jn/localhost",
    Asker.PROXY: "oozie",
}
_SERVERS: Final = {
    "datanode": "dn",
    "journalnode": "jn",
    "router": "router",
    "router-admin": "router",
}
"""Who is expected at a port that is administered; elsewhere namenodes are."""
_ADMINISTERED: Final = "hadoop.security.service.user.name.key"
_PRINCIPAL_KEYS: Final = (
    _ADMINISTERED,
    "dfs.namenode.kerberos.principal",
    "dfs.datanode.kerberos.principal",
    "dfs.journalnode.kerberos.principal",
    "dfs.federation.router.kerberos.principal",
)
"""Whom a client expects, by what it wants to speak."""
_TIMEOUT_S: Final = 60.0


def keytab_of(kdc: Kdc, principal: str) -> Path:
    """Where the key of a principal is; makes that of the datanode of another host."""
    if not principal.endswith(FOREIGN):
        return kdc.services_keytab if "/" in principal else kdc.keytab(principal)
    path = kdc.directory / "foreign.keytab"
    if not path.exists():
        kdc.administer(f"addprinc -randkey {principal}", f"ktadd -k {path} {principal}")
    return path


class Askers:
    """All of them at one cluster."""

    def __init__(
        self,
        kdc: Kdc,
        conf: Mapping[str, str],
        addresses: Mapping[str, tuple[str, int]],
        issue: Callable[[], Token],
        expired: Token,
        pool_id: str,
        web: Mapping[str, tuple[str, int]],
        *,
        directive_id: int = 1,
    ) -> None:
        """`addresses` are those of ports, by their kinds and by the calls that go elsewhere;
        `web` those of web ports. `directive_id` is of the owner's cache directive, as the ports
        know it.
        `issue` gives a token of the owner's, which he may renew himself."""
        self._kdc = kdc
        self._conf = dict(conf)
        self._addresses = dict(addresses)
        self._issue = issue
        self._expired = expired
        self._pool_id = pool_id
        self._web = dict(web)
        self._directive_id = directive_id
        self.told: list[str] = []
        """What those hear who are refused, or meet an error."""
        self._cookies: dict[tuple[tuple[str, int], Asker], str] = {}
        self._users: dict[tuple[str, Asker], str] = {}
        self._clients: dict[tuple[str, str, Asker], RpcClient] = {}
        self._services = {
            (port, service.protocol): service
            for port, those in services().items()
            for service in those
        }

    def ask(self, row: RpcRow, who: Asker) -> str:
        """The Java class of the exception that a call is answered by; `ANSWERED` without one."""
        message, answer = self._messages(row)
        request = request_of(row.method, message, self._pool_id)
        named: Any = request
        if row.method == "modifyCacheDirective":
            named.info.id = self._directive_id
        elif row.method == "removeCacheDirective":
            named.id = self._directive_id
        if row.method in ("renewDelegationToken", "cancelDelegationToken"):
            token = self._issue()
            field: Any = request
            field = field.token
            field.identifier, field.password = token.identifier, token.password
            field.kind, field.service = token.kind, token.service
        client = self._client(row, who)
        if who is Asker.FORGED:
            client.user = self._forged(row.port)  # Of a token that is not over, each time.
        try:
            client.call(row.method, request, answer)
        except errors.HowdahError as error:
            self.told.append(f"{error} {error!r}")
            return error.remote_class
        return ANSWERED

    def speaks(self, port: str, protocol: str, who: Asker) -> bool:
        """Whether a port answers calls of a protocol at all, of which this one does not exist."""
        server = f"{_SERVERS.get(port, 'nn')}/_HOST@{REALM}"
        user = self._by_keytab({**self._conf, **dict.fromkeys(_PRINCIPAL_KEYS, server)}, who)
        client = RpcClient(self._addresses[port], protocol, user=user)
        empty = rpc_pb2.GetProtocolVersionsRequestProto(protocol=protocol)
        try:
            client.call("noSuchCall", empty, rpc_pb2.GetProtocolVersionsResponseProto)
        except errors.RpcNoSuchProtocol:
            return False
        except errors.RpcNoSuchMethod:
            return True
        finally:
            client.close()
        raise AssertionError(f"{port} answers noSuchCall of {protocol}")

    def page(self, port: str, target: str) -> bytes:
        """A page of a web port, as an administrator sees it."""
        self.status_of(port, target, Asker.ADMINISTRATOR)
        headers, _ = self._proof(self._web[port], target, Asker.ADMINISTRATOR)
        connection = HTTPConnection(*self._web[port], timeout=_TIMEOUT_S)
        try:
            connection.request("GET", target, headers=headers)
            answer = connection.getresponse()
            assert answer.status == OK, (port, target, answer.status)
            return answer.read()
        finally:
            connection.close()

    @property
    def cookies(self) -> Collection[str]:
        """Those that were given."""
        return self._cookies.values()

    def shown_users(self) -> list[str]:
        """All askers, as they are shown."""
        return [f"{user!r} {user}" for user in self._users.values()]

    # -- over HTTP ---------------------------------------------------------------------

    def status_of(self, port: str, target: str, who: Asker, method: str = "GET") -> int:
        """The status of the answer to a request of a web port, to which nothing leads on. `port` is
        the kind of server."""
        address = self._web[port]
        headers, target = self._proof(address, target, who)
        connection = HTTPConnection(*address, timeout=_TIMEOUT_S)
        try:
            connection.request(method, target, headers=headers)
            answer = connection.getresponse()
            self._keep_cookie(address, who, answer)
            body = answer.read()
            if answer.status in (UNAUTHORIZED, FORBIDDEN):
                self.told.append(body.decode(errors="replace"))
            return answer.status
        finally:
            connection.close()

    def _proof(
        self, address: tuple[str, int], target: str, who: Asker
    ) -> tuple[Mapping[str, str], str]:
        def with_query(name: str, value: str) -> str:
            return f"{target}{'&' if '?' in target else '?'}{name}={quote(value)}"

        match who:
            case Asker.NOBODY:
                return {}, with_query("user.name", "hdfs")
            case Asker.TOKEN:
                return {}, with_query("delegation", self._issue().url_string)
            case Asker.EXPIRED:
                return {}, with_query("delegation", self._expired.url_string)
            case Asker.FORGED:
                forged = replace(self._issue(), password=FORGED_PASSWORD)
                return {}, with_query("delegation", forged.url_string)
        if who is Asker.PROXY:
            target = with_query("doas", "alice")
        cookie = self._cookies.get((address, who))
        if cookie is not None:
            return {"Cookie": f'{COOKIE}="{cookie}"'}, target
        principal = PRINCIPALS[who]
        user = user_of(
            Configuration(self._conf),
            keytab=str(keytab_of(self._kdc, principal)),
            principal=f"{principal}@{REALM}",
        )
        assert isinstance(user, SecuredUser)
        return HttpAuthentication(user, None).proof_by_ticket(address).headers, target

    def _keep_cookie(self, address: tuple[str, int], who: Asker, answer: HTTPResponse) -> None:
        found = SimpleCookie(answer.headers.get("Set-Cookie", "")).get(COOKIE)
        if found is not None and found.value:
            self._cookies[address, who] = found.value

    def moved(self, port: str, address: tuple[str, int]) -> None:
        """A server is elsewhere now."""
        self._addresses[port] = address

    def close(self) -> None:
        for client in self._clients.values():
            client.close()

    def a_token(self) -> str:
        """A token of the owner's that nobody has used, as text."""
        return self._issue().url_string

    def _messages(self, row: RpcRow) -> tuple[type[Message], type[Message]]:
        descriptor: ServiceDescriptor = self._services[row.port, row.protocol].descriptor
        method = descriptor.methods_by_name[row.method]
        return GetMessageClass(method.input_type), GetMessageClass(method.output_type)

    def _client(self, row: RpcRow, who: Asker) -> RpcClient:
        address = self._addresses.get(row.method, self._addresses[row.port])
        key = (f"{address}", row.protocol, who)
        client = self._clients.get(key)
        if client is None:
            first = opening(row.port, row.protocol)
            client = RpcClient(
                address, first, user=self._user(row.port, who), call_timeout_s=_TIMEOUT_S
            )
            if first != row.protocol:
                self._open(client, row.port, first)
                client.protocol = row.protocol
            self._clients[key] = client
        return client

    def _open(self, client: RpcClient, port: str, protocol: str) -> None:
        """Make the connection, by a call that may fail."""
        service = self._services[port, protocol]
        method = service.descriptor.methods[0]
        request = request_of(method.name, GetMessageClass(method.input_type), self._pool_id)
        try:
            client.call(method.name, request, GetMessageClass(method.output_type))
        except errors.HowdahError:
            return  # Refused by an answer, the connection is there; otherwise the next one is too.

    def _user(self, port: str, who: Asker) -> str:
        if who is Asker.TOKEN:
            return self._owner(port).carrying([self._issue()])
        user = self._users.get((port, who))
        if user is None:
            user = self._users[port, who] = self._make_user(port, who)
        return user

    def _make_user(self, port: str, who: Asker) -> str:
        match who:
            case Asker.NOBODY:
                simple = {**self._conf, "hadoop.security.authentication": "simple"}
                return user_of(Configuration(simple), "hdfs")
            case Asker.EXPIRED:
                return self._owner(port).carrying([self._expired])
            case Asker.FORGED:
                return self._forged(port)
        server = f"{_SERVERS.get(port, 'nn')}/_HOST@{REALM}"
        named = _PRINCIPAL_KEYS if port in FRONTS else (_ADMINISTERED,)
        return self._by_keytab({**self._conf, **dict.fromkeys(named, server)}, who)

    def _by_keytab(self, conf: Mapping[str, str], who: Asker) -> str:
        principal = PRINCIPALS[who]
        return user_of(
            Configuration(conf),
            ProxyUser("alice", principal) if who is Asker.PROXY else None,
            keytab=str(keytab_of(self._kdc, principal)),
            principal=f"{principal}@{REALM}",
        )

    def _forged(self, port: str) -> SecuredUser:
        return self._owner(port).carrying([replace(self._issue(), password=FORGED_PASSWORD)])

    def _owner(self, port: str) -> SecuredUser:
        owner = self._user(port, Asker.OWNER)
        assert isinstance(owner, SecuredUser)
        return owner
