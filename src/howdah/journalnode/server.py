"""`howdah journalnode`: the process (shell). Hadoop: JournalNode.

RPC is answered on threads, one a connection: a call waits for a disk, and a disk that hangs
holds up those who need it and nobody else. Pages and segments are answered by an event loop
with threads of its own. SIGTERM and SIGINT end the process; unfinished segments stay as they
are, as after a crash.
"""

from __future__ import annotations

import logging
import socket
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.value_types import Address
from howdah.journalnode import settings
from howdah.journalnode.election_service import Elections, election_service
from howdah.journalnode.journal_storage import Sink
from howdah.journalnode.node import ELECTIONS_NAME, JournalDirectories, Journals
from howdah.journalnode.pages import Pages
from howdah.journalnode.protocol import JournalCalls, WebPlace
from howdah.journalnode.security import check_journalnode_protection, security_of
from howdah.journalnode.settings import SyncSettings
from howdah.journalnode.sync import Peer, Syncer
from howdah.journalnode.web_access import guard_of_logins
from howdah.protocol.rpc.service import Registry
from howdah.rpc.threaded_server import ThreadedRpcServer
from howdah.runtime import disk, serve
from howdah.runtime.local_addresses import is_this_host
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.users import service_authorization
from howdah.runtime.users.impersonation import OnThread
from howdah.security.page_proofs import PageProofs
from howdah.security.server_checks import takes_simple
from howdah.security.server_cookies import check_secret_shared, signing_caller
from howdah.security.strangers import keep_reminding
from howdah.security.user_names import user_names
from howdah.web import segment_transfer
from howdah.web.http_client import fetch, split_url
from howdah.web.monitoring.pages import Port
from howdah.web.ports import WebKeys, WebPorts, listen
from howdah.web.server import HttpServer

log = logging.getLogger(__name__)

IDLE_TIMEOUT_S: Final = 600.0
MAX_CONNECTIONS: Final = 256
_WEB_KEYS: Final = WebKeys(
    keys.DFS_JOURNALNODE_HTTP_ADDRESS,
    keys.DFS_JOURNALNODE_HTTPS_ADDRESS,
    keys.DFS_JOURNALNODE_HTTP_BIND_HOST,
    keys.DFS_JOURNALNODE_HTTPS_BIND_HOST,
)


class JournalNode:
    """One node. `serve` runs on an event loop."""

    def __init__(self, conf: Configuration) -> None:
        """Open what is there. Raises HowdahError, OSError."""
        self._conf = conf
        check_journalnode_protection(conf)
        self._security = security_of(conf)
        """None where everybody is believed."""
        check_secret_shared(conf)
        caller = signing_caller(conf) if self._security is None else self._security.caller
        self._proofs = PageProofs(caller, keeps_cookies=False)
        self._sync = SyncSettings.of(conf)
        self._tls = ClientTls(conf)
        self._proxy_users = OnThread.of(conf)
        self._authorization = service_authorization.OnThread.of(conf)
        directories = JournalDirectories.of(conf)
        for directory in directories.all():
            disk.make_directory(directory, 0o700)
        self._quorums = settings.quorums(conf)
        self.journals = Journals(directories, self._fetch, settings.cache_bytes(conf))
        self.web = WebPlace()
        self._elections = Elections(directories.default / ELECTIONS_NAME)
        timeout_s = conf.get(keys.DFS_IMAGE_TRANSFER_TIMEOUT)
        bytes_per_s = conf.get(keys.DFS_IMAGE_TRANSFER_BANDWIDTHPERSEC)
        name = "{}:{}".format(*conf.get(keys.DFS_JOURNALNODE_HTTP_ADDRESS))
        pages = Pages(conf, self.journals, bytes_per_s, timeout_s, self._ports, name)
        self._http = HttpServer(pages.answer, timeout_s=timeout_s)
        security = self._security
        self._http.guard = guard_of_logins(conf) if security is None else security.web
        self.bound: list[Address] = []
        """IP addresses and ports at which it listens."""
        self._rpc: ThreadedRpcServer | None = None
        self._syncer: Syncer | None = None

    async def start(self) -> tuple[Address, WebPorts]:
        """Listen; the addresses for RPC and for HTTP. Raises InvalidConfiguration, OSError."""
        conf = self._conf
        web = listen(self._http, conf, _WEB_KEYS)
        self.web.host, self.web.port = web.first
        self.web.is_secure = web.is_secure
        self.bound += self._http.bound
        host, port = conf.get(keys.DFS_JOURNALNODE_RPC_ADDRESS)
        bind = conf.get(keys.DFS_JOURNALNODE_RPC_BIND_HOST) or host
        backlog = conf.get(keys.IPC_SERVER_LISTEN_QUEUE_SIZE)
        listener = _listen(bind, port, backlog)
        address, port = listener.getsockname()[:2]
        self.bound.append((address, port))
        self.journals.open_all()
        services = JournalCalls(self.journals, self.web).services()
        self._rpc = ThreadedRpcServer(
            listener,
            Registry([*services, election_service(self._elections)]),
            max_frame_bytes=conf.get(keys.IPC_MAXIMUM_DATA_LENGTH),
            max_connections=MAX_CONNECTIONS,
            idle_timeout_s=IDLE_TIMEOUT_S,
            may_act=self._proxy_users.check,
            methods=None if self._security is None else self._security.methods,
            authorization=self._authorization,
            user_of=user_names(conf),
        )
        self._rpc.start()
        if self._sync.is_enabled:
            self._syncer = Syncer(
                self.journals,
                self._peers(port),
                self._sync.interval_s,
                formats=self._sync.formats,
            )
            self._syncer.start()
        return (host, port), web

    def stop(self) -> None:
        """Answer no more, and give up all files."""
        if self._syncer is not None:
            self._syncer.stop()
        self._http.stop()
        if self._rpc is not None:
            self._rpc.close()
        self.journals.close()

    @property
    def is_secured(self) -> bool:
        """Whether callers prove who they are."""
        return self._security is not None

    def _ports(self) -> dict[int, Port]:
        rpc = self._rpc
        return {} if rpc is None else {rpc.port: Port(rpc.figures, rpc.active)}

    def _peers(self, own_port: int) -> dict[str, list[Peer]]:
        user = None if self._security is None else self._security.caller
        return {
            journal_id: [
                Peer(address, self._sync.timeout_s, user)
                for address in nodes
                if not (address[1] == own_port and is_this_host(address[0]))
            ]
            for journal_id, nodes in self._quorums.items()
        }

    def _fetch(self, url: str, sink: Sink) -> None:
        """A segment of another node. Raises IllegalArgument for any other address: a caller
        must not have this node ask for whatever it likes."""
        address = split_url(url)
        if address.path != segment_transfer.PATH:
            raise errors.IllegalArgument(f"{url!r} is no segment of a journal node")
        fetch(
            url,
            sink,
            tls=self._tls,
            connect_timeout_s=self._sync.timeout_s,
            read_timeout_s=self._sync.timeout_s,
            # Only a decision is about unfinished segments, and a takeover waits for it.
            proofs=self._proofs,
            bytes_per_s=0 if "inProgressOk=true" in address.query else self._sync.bytes_per_s,
        )


def _resolved(host: str, port: int) -> tuple[int, tuple[str, int]]:
    """Return the family and the socket address. Raises OSError."""
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, address = infos[0]
    return family, (str(address[0]), int(address[1]))


def _listen(host: str, port: int, backlog: int) -> socket.socket:
    """Raises OSError."""
    family, address = _resolved(host, port)
    return socket.create_server(address, family=family, backlog=backlog)


def run(conf: Configuration, ready_file: Path | None = None) -> int:
    """Serve until SIGTERM; the exit code. What hinders the start is logged and gives 1."""
    return serve.run_on_loop("journal node", lambda: _serve(conf, ready_file))


async def _serve(conf: Configuration, ready_file: Path | None) -> None:
    stop = serve.stop_event()
    node = JournalNode(conf)
    try:
        rpc, web = await node.start()
        if not node.is_secured:
            serve.warn_if_exposed("journal node", node.bound)
        elif takes_simple(conf):
            keep_reminding("journal node")
        log.info("serving journals at %s:%d and %s", *rpc, web.urls)
        serve.write_ready_file(
            ready_file, "journalnode", rpc="{}:{}".format(*rpc), **web.addresses()
        )
        await stop.wait()
    finally:
        node.stop()
    log.info("stopped")
