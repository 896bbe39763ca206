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
from howdah.config.value_types import Address
from howdah.router.admin import RouterAdmin
from howdah.router.admission import Admission
from howdah.router.calls.core import Core
from howdah.router.calls.forwarding import Forwarding
from howdah.router.namenodes.connections import Connections
from howdah.router.namenodes.locality import Locality
from howdah.router.namenodes.nameservices import Nameservices
from howdah.router.pages import Pages
from howdah.router.security import security_of
from howdah.router.settings import Settings
from howdah.router.state.namenodes.state_ids import States
from howdah.router.state.refreshing import refresh_services
from howdah.router.state.table.mount_table import MountTable, Order
from howdah.router.state.table.quotas import Usage
from howdah.router.store.factory import store_at
from howdah.router.store.state_store import StateStore
from howdah.router.store.worker import StoreWorker
from howdah.rpc.client import DEFAULT_CALL_TIMEOUT_S
from howdah.runtime import background_threads, serve, unexpected_errors
from howdah.runtime.users.current import process_user
from howdah.runtime.users.groups import groups_from
from howdah.security.server_checks import takes_simple
from howdah.security.strangers import keep_reminding
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


class Router:
    """Runs one router, on the event loop that calls `start`."""

    def __init__(self, conf: Configuration) -> None:
        """Raises InvalidConfiguration."""
        loop = asyncio.get_running_loop()
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
        self._admission = Admission(conf, security, self._store, settings.max_frame_bytes)
        self._tokens = self._admission.tokens
        self._forwarding = Forwarding(self.core, self._tokens)
        self._rpc = self._admission.server_for_clients(
            self._forwarding.service, states.header if states.with_observers else None
        )
        admin = RouterAdmin(
            self.core,
            self._store,
            self.reload,
            permissions=settings.permissions,
            groups=groups_from(conf),
            reload_proxy_users=self._admission.read_proxy_users,
        )
        self._admin = self._admission.server_for_administrators(
            [admin.service(), *refresh_services()]
        )
        self._pages = Pages(
            self.core,
            self.nameservices,
            self._rpc,
            conf,
            loop,
            self._connections,
            self._store.figures,
            None if security is None else security.login.caller,
        )
        self._http = HttpServer(
            self._pages.answer,
            timeout_s=_HTTP_TIMEOUT_S,
            run=on_loop(background_threads.poster(loop)),
            beside={HEALTH_PATH: self._pages.watch.health},
        )
        self._http.guard = None if security is None else security.web
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
        self._admission.close()
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
