"""The failover controller as a process (shell): `howdah zkfc`.

Mirrors Hadoop's DFSZKFailoverController: its exit codes, the checks before it starts, where its
RPC server listens.
"""

from __future__ import annotations

import getpass
import logging
import socket
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys, namenode_address
from howdah.config.nameservices import specialise, this_namenode
from howdah.failover.controller_loop import RunningController, Surroundings, now_ms
from howdah.failover.fencing_methods import Fencer
from howdah.failover.graceful import fail_over_to
from howdah.failover.lease import LeaseElection
from howdah.failover.namenodes import Controller as OtherController
from howdah.failover.pages import Pages
from howdah.failover.process_watch import resignation
from howdah.failover.security import check_controller_protection
from howdah.failover.service_calls import ControllerCalls, controller_service
from howdah.failover.settings import (
    Timeouts,
    elects_on_zookeeper,
    intervals,
    journal_nodes,
    journal_uri,
    targets,
)
from howdah.failover.state import active_node
from howdah.failover.state.controller import Controller
from howdah.failover.state.election import Election
from howdah.failover.state.elector import Elector
from howdah.failover.state.fencing import does_nothing, parse_methods
from howdah.failover.state.service import Target
from howdah.failover.state.status import ROLE
from howdah.failover.zookeeper import (
    ZooKeeperElection,
    ZooKeeperSettings,
    format_znode,
    is_formatted,
)
from howdah.protocol.rpc.service import Registry
from howdah.protocol.zookeeper import NoZooKeeper
from howdah.rpc.threaded_server import ThreadedRpcServer
from howdah.runtime import serve
from howdah.runtime.local_addresses import is_this_host
from howdah.runtime.users import service_authorization
from howdah.runtime.users.access_list import AccessList
from howdah.runtime.users.current import process_user
from howdah.runtime.users.groups import groups_from
from howdah.runtime.users.impersonation import OnThread
from howdah.security.server_login import ServerLogin, check_journal_nodes_known, log_in_namenode
from howdah.security.strangers import keep_reminding
from howdah.security.user_names import user_names
from howdah.web.access.login_guard import login_guard
from howdah.web.access.rules import AccessRules
from howdah.web.access.server_guard import server_guard
from howdah.web.ports import WebKeys, WebPorts, listen
from howdah.web.server import HttpServer

log = logging.getLogger(__name__)

EXIT_FORMAT_DENIED: Final = 2
EXIT_NO_PARENT_ZNODE: Final = 3
EXIT_NO_FENCER: Final = 4
EXIT_NOT_AUTOMATIC: Final = 5
EXIT_NO_ZOOKEEPER: Final = 6
_WEB_KEYS: Final = WebKeys(
    keys.HOWDAH_FAILOVER_CONTROLLER_HTTP_ADDRESS, keys.HOWDAH_FAILOVER_CONTROLLER_HTTPS_ADDRESS
)
_WEB_TIMEOUT_S: Final = 60.0


class CannotStart(errors.InvalidConfiguration):
    """The reason, and the exit code that Hadoop's controller has for it."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class Setup:
    """What a controller knows of itself before it starts."""

    conf: Configuration
    """Specialised for its namenode."""
    own: Target
    targets: dict[str, Target]


def setup(conf: Configuration) -> Setup:
    """Return which namenode this controller belongs to. Raises InvalidConfiguration."""
    identity = this_namenode(conf, is_this_host)
    if identity.nameservice is None or identity.namenode is None:
        raise errors.InvalidConfiguration(
            "HA is not enabled for this namenode: a failover controller needs "
            f"{keys.DFS_NAMESERVICES.name} and {keys.DFS_HA_NAMENODES.name}.NAMESERVICE"
        )
    all_targets = targets(conf, identity.nameservice)
    own = all_targets[identity.namenode]
    if not own.is_automatic:
        raise CannotStart(
            f"Automatic failover is not enabled for {own}: set "
            f"{keys.DFS_HA_AUTOMATIC_FAILOVER_ENABLED.name} = true",
            EXIT_NOT_AUTOMATIC,
        )
    return Setup(specialise(conf, identity.nameservice, identity.namenode), own, all_targets)


def format_zookeeper(conf: Configuration, confirm: Callable[[str], bool] = lambda _: True) -> bool:
    """Make the znode of this namenode's nameservice. `confirm` is asked with the path if it is
    there; False: it stays. Raises HowdahError."""
    known = setup(conf)
    settings = ZooKeeperSettings.of(known.conf, known.own.nameservice)
    return format_znode(settings, confirm=lambda: confirm(settings.directory))


class FailoverServer:
    """A controller, its election, its RPC server and its web port, where one is set."""

    def __init__(self, known: Setup) -> None:
        """Listens. Raises CannotStart, HowdahError or OSError."""
        conf, own = known.conf, known.own
        check_controller_protection(conf)
        login = log_in_namenode(conf)
        self._user = None if login is None else login.caller
        try:
            for target in known.targets.values():
                parse_methods(target.fencing)
        except errors.BadFencingConfiguration as error:
            raise CannotStart(
                f"Fencing is not configured for {target}: {error}", EXIT_NO_FENCER
            ) from error
        self._conf = conf
        uri = journal_uri(conf)
        if uri is not None:
            check_journal_nodes_known(conf)
        if uri is None and does_nothing(parse_methods(own.fencing)):
            log.warning(
                "%s = %s fences nobody, and the log is not on journal nodes, which would admit one "
                "writer only: two namenodes may write it. Set a method that stops the other one",
                keys.DFS_HA_FENCING_METHODS.name,
                own.fencing,
            )
        self._check_election(own.nameservice)
        guard = login_guard(conf, "failover controller", AccessRules({}))
        if login is not None:
            guard = server_guard(
                conf,
                login,
                namenode_address(conf)[0],
                AccessRules({}),
                # It is a namenode's, as all that it proves itself by.
                own_key=keys.DFS_NAMENODE_KERBEROS_INTERNAL_SPNEGO_PRINCIPAL,
            )
        self._listener = _listen(conf, own)
        host, port = self._listener.getsockname()[:2]
        self.own = replace(own, controller_port=port)
        self._targets = known.targets | {own.namenode: self.own}
        self._timeouts = Timeouts.of(conf)
        around = Surroundings(
            self.own,
            self._targets,
            Fencer(conf),
            self._timeouts,
            intervals(conf),
            resignation(uri, own.nameservice, self._user),
            self._user,
        )
        self.running = RunningController(Controller(Elector(active_node.encode(self.own))), around)
        calls = ControllerCalls(self.running.cede, self._fail_over, _administrators(conf, login))
        self._rpc = ThreadedRpcServer(
            self._listener,
            Registry([controller_service(calls)]),
            may_act=OnThread.of(conf).check,
            methods=None if login is None else login.methods({}),
            authorization=service_authorization.OnThread.of(conf),
            user_of=user_names(conf),
        )
        pages = Pages(conf, self._rpc, self.running.sight)
        self._http = HttpServer(pages.answer, timeout_s=_WEB_TIMEOUT_S)
        self._http.guard = guard
        self.web = self._listen_for_pages()
        """Where its pages are."""
        if login is None:
            serve.warn_if_exposed("failover controller", [(host, port), *self._http.bound])
        elif login.takes_simple:
            keep_reminding("failover controller")

    def serve(self, ready_file: Path | None = None) -> int:
        """Until it is stopped; the exit code."""

        def say_ready() -> None:
            host, port = self.own.controller_address
            serve.write_ready_file(ready_file, ROLE, rpc=f"{host}:{port}", **self.web.addresses())

        self._rpc.start()
        try:
            failure = self.running.run(self._election(), say_ready)
        finally:
            self._http.stop()
            self._rpc.close()
        if failure is not None:
            log.critical("the failover controller of %s failed: %s", self.own, failure)
            return 1
        log.info("stopped")
        return 0

    def stop(self) -> None:
        """End soon. May be called by a signal's handler."""
        self.running.stop()

    def _listen_for_pages(self) -> WebPorts:
        try:
            web = listen(self._http, self._conf, _WEB_KEYS)
        except (errors.HowdahError, OSError):
            self._http.stop()
            self._listener.close()
            raise
        if web.urls:
            log.info("pages of the failover controller are at %s", web.urls)
        return web

    def _fail_over(self) -> None:
        fail_over_to(
            self.own,
            self._targets,
            self.running,
            self._timeouts.to_standby_s,
            now_ms,
            lambda target, timeout_s: OtherController(target, timeout_s, self._user),
        )

    def _check_election(self, nameservice: str) -> None:
        if not elects_on_zookeeper(self._conf):
            journal_nodes(self._conf)
            return
        settings = ZooKeeperSettings.of(self._conf, nameservice)
        try:
            if is_formatted(settings):
                return
        except NoZooKeeper as error:
            raise CannotStart(f"Unable to start: {error}", EXIT_NO_ZOOKEEPER) from error
        raise CannotStart(
            f"Parent znode {settings.directory} does not exist. "
            "Run with -formatZK flag to initialize ZooKeeper.",
            EXIT_NO_PARENT_ZNODE,
        )

    def _election(self) -> Election:
        nameservice = self.own.nameservice
        if elects_on_zookeeper(self._conf):
            settings = ZooKeeperSettings.of(self._conf, nameservice)
            log.info("%s: elected on ZooKeeper at %s", self.own, settings.ensemble.servers)
            return ZooKeeperElection(settings, self.running.report, self.running.fail)
        nodes = journal_nodes(self._conf)
        log.info("%s: elected on %d journal nodes", self.own, len(nodes))
        return LeaseElection(
            nodes,
            nameservice,
            f"{nameservice}.{self.own.namenode}@{uuid.uuid4().hex}",
            round(self._conf.get(keys.HOWDAH_HA_ELECTION_LEASE_MS) * 1000),
            self.running.report,
            self.running.fail,
            user=self._user,
        )


def _listen(conf: Configuration, own: Target) -> socket.socket:
    """At the address of the namenode, or that which it binds instead."""
    host = (
        conf.get(keys.DFS_NAMENODE_SERVICERPC_BIND_HOST)
        or conf.get(keys.DFS_NAMENODE_RPC_BIND_HOST)
        or own.address[0]
    )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, own.controller_port), family=family, backlog=64)


def _administrators(conf: Configuration, login: ServerLogin | None = None) -> AccessList:
    """Who may order: the user whom this process proves to be, else the process's, and those in
    dfs.cluster.administrators."""
    own = (getpass.getuser(), process_user()) if login is None else (login.user,)
    return AccessList(conf.get(keys.DFS_CLUSTER_ADMINISTRATORS), groups_from(conf), own)


def run(conf: Configuration, ready_file: Path | None = None) -> int:
    """Serve until SIGTERM; the exit code."""
    try:
        server = FailoverServer(setup(conf))
    except CannotStart as error:
        log.critical("%s", error)
        return error.exit_code
    except (errors.HowdahError, OSError) as error:
        log.critical("the failover controller cannot start: %s", error)
        return 1
    serve.on_signals(server.stop)
    return server.serve(ready_file)
