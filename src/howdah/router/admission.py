"""Who may call a router, at either of its RPC ports (shell: files, threads, the state store).

Proofs of identity and delegation tokens, groups, who may act for whom, and who may speak which
protocol. The last two are read anew when an administrator asks for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.settings import read
from howdah.proto import refresh_pb2
from howdah.protocol.rpc.service import Deferred, Registry, Service
from howdah.router.security import Security
from howdah.router.state.deferred import settle
from howdah.router.state.refreshing import policy_service
from howdah.router.state.tokens import TokenTimes
from howdah.router.store.worker import StoreWorker
from howdah.router.tokens import RouterTokens, TokensShown
from howdah.rpc.proofs import EvaluatedBeside
from howdah.rpc.server import RpcServer
from howdah.runtime.users import service_authorization
from howdah.runtime.users.async_groups import Loop
from howdah.runtime.users.groups import KnownGroups, groups_from
from howdah.runtime.users.impersonation import OnLoop, read_rules
from howdah.security.server_methods import known_by_name
from howdah.security.user_names import user_names

log = logging.getLogger(__name__)


class Admission:
    """Decides who may call one router, on its loop. It makes both ports, which judge their callers
    alike."""

    def __init__(
        self,
        conf: Configuration,
        security: Security | None,
        store: StoreWorker,
        max_frame_bytes: int,
    ) -> None:
        """Raises InvalidConfiguration."""
        loop = asyncio.get_running_loop()
        self._conf: Final = conf
        self._max_frame_bytes: Final = max_frame_bytes
        self._names: Final = user_names(conf)
        self.tokens: RouterTokens | None = None
        self._proofs: EvaluatedBeside | None = None
        self._admin_proofs: EvaluatedBeside | None = None
        if security is not None:
            login = security.login
            self.tokens = RouterTokens(
                store,
                read(TokenTimes, conf),
                login.short_name,
                believes_strangers=login.takes_simple,
            )
            shown = TokensShown(self.tokens, loop)
            passwords = known_by_name(self.tokens.known_password_of)
            self._proofs = EvaluatedBeside(login.methods({}, shown), known=passwords)
            # A token, which others may have been given, is not good for administration.
            self._admin_proofs = EvaluatedBeside(login.methods({}))
        outside = Loop(loop.call_soon_threadsafe, loop.call_later)
        groups = _known_groups(conf, outside)
        self._impersonation: Final = OnLoop(read_rules(conf), groups.once_known, groups, outside)
        self._authorization: Final = service_authorization.OnLoop.of(conf, groups, outside)
        self._policy: Final = policy_service(self._begin_reading_policy)
        self._reading_policy: Final = asyncio.Lock()
        self._reading: Final[set[asyncio.Task[None]]] = set()
        self._servers: Final[list[RpcServer]] = []

    def server_for_clients(
        self, service: Service, federated_state: Callable[[], bytes] | None
    ) -> RpcServer:
        """Make the port that takes tickets, and the delegation tokens of all routers of a store."""
        return self._server([service], self._proofs, federated_state)

    def server_for_administrators(self, services: Sequence[Service]) -> RpcServer:
        """Make the port that takes tickets only."""
        return self._server(services, self._admin_proofs)

    def _server(
        self,
        services: Sequence[Service],
        proofs: EvaluatedBeside | None,
        federated_state: Callable[[], bytes] | None = None,
    ) -> RpcServer:
        server = RpcServer(
            Registry([*services, self._policy]),
            impersonation=self._impersonation,
            authentication=proofs,
            authorization=self._authorization,
            user_of=self._names,
            federated_state=federated_state,
            max_frame_bytes=self._max_frame_bytes,
        )
        self._servers.append(server)
        return server

    def close(self) -> None:
        """End the threads that look at proofs. The servers have stopped."""
        for proofs in (self._proofs, self._admin_proofs):
            if proofs is not None:
                proofs.close()

    async def read_proxy_users(self) -> None:
        """Read anew who may act for whom. Raises InvalidConfiguration; then all stays as it was."""
        self._impersonation.replace(
            await asyncio.to_thread(lambda: read_rules(self._conf.reloaded()))
        )
        log.info("who may act for whom was read anew")

    def _begin_reading_policy(self) -> Deferred:
        answer = Deferred()
        task = asyncio.create_task(settle("refreshServiceAcl", self._read_policy(), answer))
        self._reading.add(task)
        task.add_done_callback(self._reading.discard)
        return answer

    async def _read_policy(self) -> refresh_pb2.RefreshServiceAclResponseProto:
        """All connections are judged by what the files say now. Raises AuthorizationFailed where no
        policy is followed, InvalidConfiguration for what is none; then all stays as it was."""
        authorization = self._authorization
        if authorization is None:
            raise errors.AuthorizationFailed(service_authorization.NOT_ENABLED)
        async with self._reading_policy:
            authorization.replace(
                await asyncio.to_thread(
                    lambda: service_authorization.read_policy(self._conf.reloaded())
                )
            )
        for server in self._servers:
            server.judge_again()
        log.info("who may speak which protocol was read anew")
        return refresh_pb2.RefreshServiceAclResponseProto()


def _known_groups(conf: Configuration, outside: Loop) -> KnownGroups:
    groups = groups_from(conf)
    return KnownGroups(
        groups,
        groups.static.__contains__,
        outside,
        fresh_s=conf.get(keys.HADOOP_SECURITY_GROUPS_CACHE_SECS),
        changed=lambda user: None,
    )
