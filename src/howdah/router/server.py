"""`howdah router`: the process (shell). Hadoop: Router, DFSRouter.

One event loop answers clients at one port and administrators at another. Beside the calls it
asks namenodes how they are, reads the mount table again, and asks what quotas are used up, each
at its interval. SIGTERM and SIGINT end the process.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.settings import read
from howdah.config.value_types import Address
from howdah.proto import refresh_pb2
from howdah.protocol.rpc.service import Deferred, Registry
from howdah.router.admin import RouterAdmin
from howdah.router.calls.core import Core
from howdah.router.calls.forwarding import Forwarding
from howdah.router.namenodes.connections import Connections
from howdah.router.namenodes.locality import Locality
from howdah.router.namenodes.nameservices import Nameservices
from howdah.router.pages import Pages
from howdah.router.security import security_of
from howdah.router.settings import Settings
from howdah.router.state.deferred import settle
from howdah.router.state.namenodes.state_ids import States
from howdah.router.state.refreshing import policy_service, refresh_services
from howdah.router.state.table.mount_table import MountTable, Order
from howdah.router.state.table.quotas import Usage
from howdah.router.state.tokens import TokenTimes
from howdah.router.store.factory import store_at
from howdah.router.store.state_store import StateStore
from howdah.router.store.worker import StoreWorker
from howdah.router.tokens import RouterTokens, TokensShown
from howdah.rpc.client import DEFAULT_CALL_TIMEOUT_S
from howdah.rpc.proofs import EvaluatedBeside
from howdah.rpc.server import RpcServer
from howdah.runtime import background_threads, serve, unexpected_errors
from howdah.runtime.users import service_authorization
from howdah.runtime.users.async_groups import Loop
from howdah.runtime.users.current import process_user
from howdah.runtime.users.groups import KnownGroups, groups_from
from howdah.runtime.users.impersonation import OnLoop, read_rules
from howdah.security.server_checks import takes_simple
from howdah.security.server_methods import known_by_name
from howdah.security.strangers import keep_reminding
from howdah.security.user_names import user_names
from howdah.web.monitoring.health import HEALTH_PATH
from howdah.web.ports import WebKeys, WebPorts, listen
from howdah.web.server import HttpServer, on_loop

log = logging.getLogger(__name__)

_HTTP_TIMEOUT_S: Final = 60.0
_PULSE_S: Final = 0.5
_WEB_KEYS: Final = WebKeys(
    keys.DFS_FEDERATION_ROUTER_HTTP_ADDRESS,
    keys.DFS_FEDERATION_ROUTER_HTTPS_ADDRESS,
    keys.DFS_FEDERATION_ROUTER_HTTP_BIND_HOST,
    keys.DFS_FEDERATION_ROUTER_HTTPS_BIND_HOST,
)


def _known_groups(conf: Configuration, outside: Loop) -> KnownGroups:
    groups = groups_from(conf)
    return KnownGroups(
        groups,
        groups.static.__contains__,
        outside,
        fresh_s=conf.get(keys.HADOOP_SECURITY_GROUPS_CACHE_SECS),
        changed=lambda user: None,
    )


class Router:
    """Runs one router, on the event loop that calls `start`."""

    def __init__(self, conf: Configuration) -> None:
        """Raises InvalidConfiguration."""
        self._settings = settings = Settings.of(conf)
        self._conf = conf
        self._security = security = security_of(conf)
        user = process_user() if security is None else security.login.user
        self._connections = Connections(
            connect_timeout_s=settings.connect_timeout_s,
            call_timeout_s=DEFAULT_CALL_TIMEOUT_S,
            idle_limit_s=settings.idle_limit_s,
            most_bytes=settings.max_frame_bytes,
            acts_as=user if settings.tells_where_clients_are else None,
            caller_for=None if security is None else security.caller_for,
        )
        states = States(
            settings.namenodes,
            by_default=settings.observer_reads,
            overrides=settings.observer_overrides,
            most_sent=settings.observer_states_sent,
            refresh_s=settings.observer_refresh_s,
        )
        self.nameservices = Nameservices(
            settings.namenodes,
            self._connections,
            user=user,
            heartbeat_interval_s=settings.heartbeat_interval_s,
            heartbeat_timeout_s=settings.heartbeat_timeout_s,
            states=states,
        )
        self._locality = Locality(settings.namenodes, self.nameservices)
        self.core = Core(
            self.nameservices,
            "{}:{}".format(*settings.rpc),
            user,
            settings.supergroup,
            quotas_enabled=settings.quotas,
            partial_listing=settings.partial_listing,
            mount_status_timeout_s=settings.mount_status_timeout_s,
            default_nameservice=settings.default_nameservice,
            near=self._locality.near,
        )
        self._store = StoreWorker(store_at(settings.store))
        loop = asyncio.get_running_loop()
        self._tokens: RouterTokens | None = None
        self._proofs: EvaluatedBeside | None = None
        self._admin_proofs: EvaluatedBeside | None = None
        if security is not None:
            login = security.login
            self._tokens = RouterTokens(
                self._store,
                read(TokenTimes, conf),
                login.short_name,
                believes_strangers=login.takes_simple,
            )
            shown = TokensShown(self._tokens, loop)
            passwords = known_by_name(self._tokens.known_password_of)
            self._proofs = EvaluatedBeside(login.methods({}, shown), known=passwords)
            # A token, which others may have been given, is not good for administration.
            self._admin_proofs = EvaluatedBeside(login.methods({}))
        self._forwarding = Forwarding(self.core, self._tokens)
        outside = Loop(loop.call_soon_threadsafe, loop.call_later)
        known = _known_groups(conf, outside)
        self._impersonation = OnLoop(read_rules(conf), known.once_known, known, outside)
        self._authorization = service_authorization.OnLoop.of(conf, known, outside)
        self._reading_policy = asyncio.Lock()
        policy = policy_service(self._begin_reading_policy)
        names = user_names(conf)
        self._rpc = RpcServer(
            Registry([self._forwarding.service, policy]),
            impersonation=self._impersonation,
            authentication=self._proofs,
            authorization=self._authorization,
            user_of=names,
            federated_state=states.header if states.with_observers else None,
            max_frame_bytes=settings.max_frame_bytes,
        )
        admin = RouterAdmin(
            self.core,
            self._store,
            self.reload,
            permissions=settings.permissions,
            groups=groups_from(conf),
            reload_proxy_users=self._read_proxy_users,
        )
        self._admin = RpcServer(
            Registry([admin.service(), policy, *refresh_services()]),
            impersonation=self._impersonation,
            authentication=self._admin_proofs,
            authorization=self._authorization,
            user_of=names,
            max_frame_bytes=settings.max_frame_bytes,
        )
        self._pages = Pages(
            self.core,
            self.nameservices,
            self._rpc,
            conf,
            asyncio.get_running_loop(),
            self._connections,
            self._store.figures,
            None if security is None else security.login.caller,
        )
        self._http = HttpServer(
            self._pages.answer,
            timeout_s=_HTTP_TIMEOUT_S,
            run=on_loop(background_threads.poster(asyncio.get_running_loop())),
            beside={HEALTH_PATH: self._pages.watch.health},
        )
        self._http.guard = None if security is None else security.web
        self._reading: set[asyncio.Task[None]] = set()
        self._background: list[asyncio.Task[None]] = []
        self._read_at_s = 0.0
        self.bound: list[tuple[str, int]] = []

    async def start(self) -> tuple[Address, Address | None, WebPorts]:
        """Listen; the addresses for clients, for administrators and for HTTP. Raises
        InvalidConfiguration, OSError."""
        settings = self._settings
        if self._tokens is not None:
            # First: it goes by what of the store others could write until now.
            await self._store.run(StateStore.prepare_for_tokens)
        await self._store.run(StateStore.prepare)
        if self._tokens is not None:
            await self._tokens.prepare()
            self._repeat(self._tokens.sweep_interval_s, "delegation tokens", self._tokens.sweep)
        await self.reload()
        await self.nameservices.heartbeat()
        await self._locate()
        port = await self._rpc.start(settings.rpc_bind, settings.rpc[1], backlog=settings.backlog)
        self.core.name = f"{settings.rpc[0]}:{port}"
        self.bound += self._rpc.bound
        admin: Address | None = None
        if settings.admin is not None:
            admin_port = await self._admin.start(settings.admin_bind, settings.admin[1])
            self.bound += self._admin.bound
            admin = settings.admin[0], admin_port
        web = WebPorts(None, None)
        if settings.has_http:
            web = listen(self._http, self._conf, _WEB_KEYS)
            self.bound += self._http.bound
        self._repeat(_PULSE_S, "the pulse", self._beat)
        self._repeat(settings.heartbeat_interval_s, "heartbeats", self.nameservices.heartbeat)
        self._repeat(settings.store_ttl_s, "the mount table", self._read_again)
        self._repeat(settings.locality_interval_s, "what is near whom", self._locate)
        self._repeat(settings.idle_limit_s / 2, "idle connections", self._sweep)
        if settings.quotas:
            self._repeat(settings.quota_interval_s, "quotas", self.measure)
        return (settings.rpc[0], port), admin, web

    async def _beat(self) -> None:
        self._pages.beat()

    async def stop(self) -> None:
        self._http.stop()
        for task in self._background:
            task.cancel()
        await self._admin.stop()
        await self._rpc.stop()
        for proofs in (self._proofs, self._admin_proofs):
            if proofs is not None:
                proofs.close()
        self._connections.close()
        try:
            await self._store.run(StateStore.close)
        except OSError as error:
            log.warning("the state store is left as it is: %s", error)

    def _repeat(self, interval_s: float, action: str, work: Callable[[], Awaitable[None]]) -> None:
        async def repeat() -> None:
            while True:
                await asyncio.sleep(interval_s)
                try:
                    await work()
                except (errors.HowdahError, OSError) as error:
                    log.warning("%s failed: %s; again in %g s", action, error, interval_s)
                except Exception as error:  # noqa: BLE001 - rule 3 of `howdah.runtime.unexpected_errors`
                    unexpected_errors.note(
                        action, error, f"it has another turn in {interval_s:g} s"
                    )

        self._background.append(asyncio.create_task(repeat()))

    async def _sweep(self) -> None:
        self._connections.sweep()

    async def _locate(self) -> None:
        """Look where servers are, while a mount point goes by it."""
        if _has_local(self.core.table):
            await self._locality.refresh()

    # -- who may act for whom -----------------------------------------------------------------

    async def _read_proxy_users(self) -> None:
        """Raises InvalidConfiguration."""
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
        self._rpc.judge_again()
        self._admin.judge_again()
        log.info("who may speak which protocol was read anew")
        return refresh_pb2.RefreshServiceAclResponseProto()

    # -- state store -------------------------------------------------------------------------

    async def reload(self) -> None:
        """Read the state store. Raises OSError."""
        entries, disabled = await self._store.run(
            lambda store: (store.mount_entries(), store.disabled_nameservices())
        )
        before = self.core.table
        table = MountTable(entries, self._settings.default_nameservice)
        if table.entries != before.entries:
            log.info("the mount table has %d entries now", len(table.entries))
            for source in before.entries.keys() - table.entries.keys():
                self.core.usage.pop(source, None)
            self.core.table = table
        elif table.default_nameservice != before.default_nameservice:
            self.core.table = table
        self.nameservices.disabled = frozenset(disabled)
        self._read_at_s = asyncio.get_running_loop().time()
        if self.core.safe_mode.store:
            self.core.safe_mode.store = False
            log.warning("the state store can be read again: safe mode is off")
        if _has_local(table) and not _has_local(before):
            await self._locality.refresh(self._settings.heartbeat_timeout_s)

    async def _read_again(self) -> None:
        try:
            await self.reload()
        except OSError as error:
            log.error(
                "the state store in %s cannot be read: %s; the mount table stays as it was",
                self._store.location,
                error,
            )
            limit_s = self._settings.safe_mode_after_s
            silent_s = asyncio.get_running_loop().time() - self._read_at_s
            if limit_s is not None and silent_s > limit_s and not self.core.safe_mode.store:
                self.core.safe_mode.store = True
                log.warning(
                    "safe mode is on: the state store could not be read for %.0f s", silent_s
                )

    async def measure(self) -> None:
        """Ask what the destinations of mount points with a quota use."""
        for source, entry in list(self.core.table.entries.items()):
            if not entry.quota.is_set:
                self.core.usage.pop(source, None)
                continue
            try:
                measured = await self._forwarding.listing.measure(entry)
                if self.core.table.entries.get(source) == entry:
                    # It was not removed, or led elsewhere, meanwhile.
                    self.core.usage[source] = measured
            except errors.HowdahError as error:
                known = self.core.usage.setdefault(source, Usage())
                log.warning(
                    "what %s uses cannot be asked: %s; it counts as %d names, %d bytes",
                    source,
                    error,
                    known.names,
                    known.space_bytes,
                )


def _has_local(table: MountTable) -> bool:
    return any(entry.order is Order.LOCAL for entry in table.entries.values())


def run(conf: Configuration, ready_file: Path | None = None) -> int:
    """Serve until SIGTERM; the exit code. What hinders the start is logged and gives 1."""
    return serve.run_on_loop("router", lambda: _serve(conf, ready_file))


async def _serve(conf: Configuration, ready_file: Path | None) -> None:
    stop = serve.stop_event()
    router = Router(conf)
    try:
        rpc, admin, web = await router.start()
        serve.warn_if_exposed("router", router.bound)
        if takes_simple(conf):
            keep_reminding("router")
        log.info(
            "serving %d mount points of %s at hdfs://%s:%d",
            len(router.core.table.entries),
            ", ".join(router.nameservices.members),
            *rpc,
        )
        facts = {"http": None, **web.addresses()}
        serve.write_ready_file(
            ready_file,
            "router",
            rpc="{}:{}".format(*rpc),
            admin="{}:{}".format(*admin) if admin else None,
            **facts,
        )
        await stop.wait()
    finally:
        await router.stop()
    log.info("stopped")
