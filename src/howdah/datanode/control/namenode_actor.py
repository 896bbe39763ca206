"""What a datanode says to one namenode, for as long as it runs: one thread each.

BPServiceActor in Hadoop. Its nameservice may have several namenodes, each with an actor;
what they share is in `block_pool`.

    CONNECT --versionRequest--> JOIN --registerDatanode--> SERVE
       ^                          |                          |
       +------ refused: again in 5 s, then later and later --+
       +------ unknown to the namenode (it restarted) -------+

1. versionRequest tells which cluster and block pool this is; the data directories
   are made ready for them, and the data process serves the block pool: clients may come
   as soon as the namenode knows this datanode.
2. registerDatanode; then a heartbeat, so the namenode knows the volumes, and a full
   block report when it grants a lease for one (`report_schedule`). After that the
   namenode is served.
3. From then on: news of replicas at once, in the order in which they happened; a
   heartbeat each interval, whose answer brings orders; a full report now and then. That
   goes to every namenode; orders count only from the active one (`active_tracker`).

While the namenode is away, everything waits: news are kept (a full report makes up
for them if it has forgotten this datanode, or if they are too many to keep), and it is
called again after 50 ms, then twice as long each time, up to a second. It is back when it
has answered a call.

A namenode refuses the datanode for good if it is of another cluster or namespace, of
another version, does not let it register or has it shut down. Its administrator may mend
that, so it is asked again after 5 s, then twice as long each time, up to a minute. Others
are served meanwhile; `nameservices` ends the datanode when nobody is left.

Single calls that it refuses are not made again: news of replicas are made good by the next
full report, which comes the later the more is refused; a bad replica is found again by
the next reader, and the end of a recovery by the next recovery.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeVar

from google.protobuf.message import Message

from howdah import errors
from howdah.config import keys
from howdah.config.value_types import Address
from howdah.datanode.channel.shared_counters import Gauges
from howdah.datanode.control import reports
from howdah.datanode.control.block_pool import BlockPool, Member
from howdah.datanode.control.cache_reports import CachedBlocks, CacheReportSchedule
from howdah.datanode.control.directories import DataDirectories
from howdah.datanode.control.incremental_reports import AWAY, IncrementalReports, News
from howdah.datanode.control.lifeline import LifelineSender
from howdah.datanode.control.replica_index import ReplicaIndex, VolumeState
from howdah.datanode.control.reports import Namespace
from howdah.datanode.latency.activity import Activity, Work
from howdah.datanode.state.actor_status import HA_STATES, ActorStatus
from howdah.datanode.state.commands import (
    FinalizeUpgrade,
    Order,
    Register,
    Shutdown,
    Unsupported,
    UpdateKeys,
    decode_orders,
)
from howdah.datanode.state.messages import (
    BalanceBandwidth,
    Cache,
    CheckVolumes,
    Command,
    Invalidate,
    KeysTold,
    OutliersFound,
    Reconstruct,
    RecoverBlock,
    RecoverGroup,
    Transfer,
)
from howdah.datanode.state.report_schedule import ReportSchedule
from howdah.formats.tokens.block_keys import ExportedKeys
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.protocol.data_transfer.blocks import DatanodeAddress
from howdah.rpc.client import AnswerType, RpcClient

log = logging.getLogger(__name__)

PROTOCOL = "org.apache.hadoop.hdfs.server.protocol.DatanodeProtocol"
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 1.0
M = TypeVar("M")


_WORK: Final = {
    "sendHeartbeat": Work.Heartbeats,
    "blockReport": Work.BlockReports,
    "blockReceivedAndDeleted": Work.IncrementalBlockReports,
    "cacheReport": Work.CacheReports,
}
"""What is measured of the calls that a namenode answers."""


@dataclass(frozen=True, slots=True)
class ActorSettings:
    heartbeat_s: float
    report_s: float
    report_split: int
    refusal_pause_s: float = 5.0
    """Before a namenode that refuses this datanode is called again, the first time."""
    longest_refusal_pause_s: float = 60.0
    lifelines: Mapping[Address, Address] = field(default_factory=dict)
    """Where namenodes take lifelines, by where they take heartbeats."""
    lifeline_s: float = 9.0
    """A heartbeat that is so late is followed by a lifeline."""
    memory_bytes: int = 0
    """What may be cached; 0: there is nothing to report of it."""
    cache_report_s: float = 10.0
    user: str | None = None
    """As whom namenodes are called; None: as the user of this process."""
    wants_tokens: bool = False
    """Whether this datanode asks for block tokens."""
    may_lack_tokens: bool = False
    """Whether a namenode may give none all the same: it has not changed over to Kerberos yet."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a namenode is not served at present, though it can be reached."""

    reason: str
    status: int = 1
    """The exit status of the datanode, should it be the last one."""


class _Unknown(Exception):
    """The namenode doesn't know this datanode: register again."""


class _ShutDown(Exception):
    """The namenode has this datanode shut down."""


class _Left(Exception):
    """The namenode was taken out of its nameservice while it owed an answer."""


class NamenodeActor:
    """Deals with one namenode for this datanode."""

    def __init__(
        self,
        address: tuple[str, int],
        node: Callable[[], DatanodeAddress],
        pool: BlockPool,
        directories: DataDirectories,
        inventory: ReplicaIndex,
        gauges: Gauges,
        cached: CachedBlocks,
        settings: ActorSettings,
        *,
        command: Callable[[Command], None],
        served: Callable[[], object],
        refused: Callable[[], bool],
        away: Callable[[], object] = lambda: None,
    ) -> None:
        """`served` is called when the namenode has taken its first full report; `refused` when
        it refuses this datanode, and says whether the datanode goes on with others; `away` when
        it does not answer."""
        self.name = f"{address[0]}:{address[1]}"
        self.lifeline_address = settings.lifelines.get(address)
        self.refusal: Refusal | None = None
        self.is_away = False
        """It did not answer the last call."""
        self._client = RpcClient(address, PROTOCOL, user=settings.user)
        self._node = node
        self._pool = pool
        self._member = Member(self.name)
        self._directories = directories
        self._inventory = inventory
        self._gauges = gauges
        self._activity = Activity(gauges.add_to_figure)
        self._settings = settings
        self._command = command
        self._on_served = served
        self._on_refused = refused
        self._on_away = away
        self._changed = threading.Condition()
        self._news = IncrementalReports(
            self.name,
            inventory.volumes.by_id,
            node,
            self._call,
            self._reports_refused,
        )
        self._keeps_news = False
        self._slow: OutliersFound | None = None
        self._stopping = False
        self._heartbeat_due_s = 0.0
        self._reports = ReportSchedule(settings.report_s)
        self._cache_reports = CacheReportSchedule(cached, settings.cache_report_s)
        self._refusal_pause_s = settings.refusal_pause_s
        self._is_served = False
        self._ha_state = ""
        self._heartbeat_s: float | None = None
        self._reported_s: float | None = None
        self._registration = pb.DatanodeRegistrationProto()
        self._lifeline = (
            None
            if self.lifeline_address is None
            else LifelineSender(
                self.lifeline_address,
                settings.lifeline_s,
                self._lifeline_request,
                took=partial(self._activity.took, Work.Lifelines),
                user=settings.user,
            )
        )
        self._thread = threading.Thread(target=self._run, name=f"namenode {self.name}", daemon=True)

    # --- from other threads ---

    @property
    def is_served(self) -> bool:
        """Whether this namenode has had a full report of this start."""
        return self._is_served

    def facts(self, now_s: float) -> ActorStatus:
        """How it stands with this namenode."""
        refusal = self.refusal
        return ActorStatus(
            self.name,
            self._pool.pool_id or "",
            "RUNNING" if self._is_served else "CONNECTING" if refusal is None else "INIT_FAILED",
            self._ha_state,
            None if self._heartbeat_s is None else now_s - self._heartbeat_s,
            None if self._reported_s is None else now_s - self._reported_s,
            len(self._news),
        )

    def start(self) -> None:
        self._thread.start()
        if self._lifeline is not None:
            self._lifeline.start()

    def stop(self) -> None:
        """Whatever the namenode has yet to answer is dropped."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._pool.namenode_left(self._member)
        if self._lifeline is not None:
            self._lifeline.stop()

    def wait_until_ended(self, timeout_s: float) -> bool:
        """After `stop`. Not, while the namenode leaves a call without an answer."""
        self._client.close()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def enqueue(self, news: News) -> None:
        """Pass this on to the namenode as soon as possible.

        One that has yet to register this datanode, or refuses it, gets a full report first.
        """
        with self._changed:
            if self._keeps_news:
                self._news.append(news)
                self._changed.notify()

    def report_now(self, *, full: bool) -> None:
        """A heartbeat, and a full report if `full`, without waiting for their time."""
        with self._changed:
            self._heartbeat_due_s = 0.0
            if full:
                self._reports.request_now()
            self._changed.notify()

    def found_slow(self, outliers: OutliersFound) -> None:
        """Keep the outliers for the next heartbeat, instead of earlier ones."""
        with self._changed:
            self._slow = outliers

    def volume_failed(self) -> None:
        self.report_now(full=False)

    # --- the thread ---

    def _run(self) -> None:
        while not self._stopping:
            try:
                self._live()
            except _Left:
                return
            except Exception as error:
                # A datanode that tells none of its namenodes anything had better be gone.
                log.exception("dealing with namenode %s failed on a defect", self.name)
                reason = f"nobody talks to namenode {self.name} any more: {error!r}"
                if not self._refused(Refusal(reason)):
                    return

    def _live(self) -> None:
        pause_s = _FIRST_PAUSE_S
        away = False
        joined = False
        while not self._stopping:
            try:
                if not joined:
                    self._join()
                    joined = True
                # After a failure that is a heartbeat at least: it is back when it answers.
                self._do_what_is_due()
                if away:
                    log.info("namenode %s is back", self.name)
                away = self.is_away = False
                pause_s = _FIRST_PAUSE_S
                self._wait_for_more()
            except _Unknown:
                log.info("namenode %s does not know this datanode: registering again", self.name)
                joined = False
            except AWAY as error:
                if self._stopping:
                    return
                if not away:
                    log.warning("namenode %s is away: %s", self.name, error)
                away = self.is_away = True
                self._on_away()
                self._heartbeat_due_s = 0.0
                self._keep_news_short()
                self._pause(pause_s)
                pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
            except (
                errors.InconsistentStorage,
                errors.IncorrectVersion,
                errors.DisallowedDatanode,
            ) as error:
                joined = False
                if not self._refused(Refusal(f"namenode {self.name}: {error}")):
                    return
            except _ShutDown:
                joined = False
                reason = f"namenode {self.name} says that it is to shut down"
                if not self._refused(Refusal(reason, status=0)):
                    return
            except (errors.HowdahError, OSError) as error:
                log.error("namenode %s: %s; it is called again in 1 s", self.name, error)
                self._keep_news_short()
                self._pause(_LONGEST_PAUSE_S)

    def _refused(self, refusal: Refusal) -> bool:
        """Wait before the namenode is called again; or False if the datanode ends, or the
        namenode was left."""
        with self._changed:
            if self._stopping:
                return False
            self._keeps_news = False
            self._news.clear()
        self.refusal = refusal
        if not self._on_refused():
            return False
        pause_s = self._refusal_pause_s
        self._refusal_pause_s = min(pause_s * 2, self._settings.longest_refusal_pause_s)
        log.error(
            "%s is not served at namenode %s: %s. This datanode goes on with its other "
            "namenodes, and asks again in %g s",
            f"nameservice {self._pool.nameservice}" if self._pool.nameservice else "the namespace",
            self.name,
            refusal.reason,
            pause_s,
        )
        self._pause(pause_s)
        return True

    def _keep_news_short(self) -> None:
        """A namenode that takes nothing for long gets a full report instead of all the news,
        whatever its reason."""
        with self._changed:
            if self._news.is_too_long:
                log.warning(
                    "namenode %s has missed %d incremental reports: a full one replaces them",
                    self.name,
                    len(self._news),
                )
                self._news.shorten()
                self._reports.incremental_reports_lost()

    def _pause(self, seconds: float) -> None:
        deadline_s = time.monotonic() + seconds
        with self._changed:
            while not self._stopping and (left_s := deadline_s - time.monotonic()) > 0:
                self._changed.wait(left_s)

    def _call(self, method: str, request: Message, response_type: AnswerType[M]) -> M:
        began_ns = time.perf_counter_ns()
        try:
            answer = self._call_unless_stopping(method, request, response_type)
        except errors.UnregisteredNode as error:
            raise _Unknown from error
        work = _WORK.get(method)
        if work is not None:
            self._activity.took(work, time.perf_counter_ns() - began_ns)
        return answer

    def _call_unless_stopping(
        self, method: str, request: Message, response_type: AnswerType[M]
    ) -> M:
        """Call the namenode. Raises `_Left` if the actor is stopping, whatever the answer."""
        try:
            answer = self._client.call(method, request, response_type)
        except (errors.HowdahError, OSError) as error:
            if self._stopping:
                raise _Left from error
            raise
        if self._stopping:
            raise _Left
        return answer

    # --- joining ---

    def _join(self) -> None:
        info = self._call_unless_stopping(
            "versionRequest", pb.VersionRequestProto(), pb.VersionResponseProto
        )
        namespace = Namespace.from_proto(info.info)
        node = self._node()
        self._pool.join(self._member, namespace, node)
        answer = self._call_unless_stopping(
            "registerDatanode",
            pb.RegisterDatanodeRequestProto(registration=reports.registration(node, namespace)),
            pb.RegisterDatanodeResponseProto,
        )
        self._take_keys(namespace.pool_id, ExportedKeys.from_proto(answer.registration.keys))
        self._registration = answer.registration
        self.refusal, self._refusal_pause_s = None, self._settings.refusal_pause_s
        log.info(
            "registered with namenode %s as %s (%s), block pool %s",
            self.name,
            node,
            node.uuid,
            namespace.pool_id,
        )
        with self._changed:
            self._keeps_news = True
            self._heartbeat_due_s = 0.0
            self._reports.registered()
        self._cache_reports.start_over()

    def _take_keys(self, pool_id: str, known: ExportedKeys | None) -> None:
        """Raises DisallowedDatanode where one side alone wants tokens for blocks."""
        key = keys.DFS_BLOCK_ACCESS_TOKEN_ENABLE.name
        if known is None and self._settings.may_lack_tokens:
            return
        if known is None and self._settings.wants_tokens:
            raise errors.DisallowedDatanode(
                "Inconsistent configuration of block access tokens: this datanode asks for them "
                f"({key}), and this namenode gives none to clients"
            )
        if known is not None and not self._settings.wants_tokens:
            raise errors.DisallowedDatanode(
                "Inconsistent configuration of block access tokens: this namenode has its "
                f"datanodes ask for them ({key}), and this datanode would serve its blocks to "
                "everybody"
            )
        if known is not None:
            self._command(KeysTold(pool_id, known))

    # --- serving ---

    def _do_what_is_due(self) -> None:
        pool_id = self._pool.pool_id
        assert pool_id is not None, "served after joining"
        now_s = time.monotonic()
        if now_s >= self._heartbeat_due_s:
            self._heartbeat(pool_id)
            if self._settings.memory_bytes and self._cache_reports.is_due(now_s):
                self._report_cache(pool_id, now_s)
        if self._reports.may_report(now_s):
            self._full_report(pool_id)
        self._news.send_all(self._registration, pool_id)

    def _wait_for_more(self) -> None:
        with self._changed:
            now_s = time.monotonic()
            # A report that has no lease waits for the heartbeat that asks for one.
            due_s = self._heartbeat_due_s
            if not self._reports.wants_lease(now_s):
                due_s = min(due_s, self._reports.next_s)
            if not self._news and not self._stopping:
                self._changed.wait(max(due_s - now_s, 0.0))

    def _heartbeat(self, pool_id: str) -> None:
        now_s = time.monotonic()
        states = self._inventory.states(pool_id)
        if any(state.hangs or state.failure != state.volume.failure for state in states):
            self._command(CheckVolumes())
        request = self._heartbeat_request(states, wants_lease=self._reports.wants_lease(now_s))
        slow = self._slow
        if slow is not None:
            reports.add_outliers(request, slow)
        if self._lifeline is not None:
            self._lifeline.heartbeat_begins()
        answer = self._call("sendHeartbeat", request, pb.HeartbeatResponseProto)
        self._heartbeat_due_s = now_s + self._settings.heartbeat_s
        self._heartbeat_s = now_s
        self._ha_state = HA_STATES.get(answer.haStatus.state, "")
        with self._changed:
            if self._slow is slow:
                self._slow = None
        self._reports.granted(answer.fullBlockReportLeaseId)
        self._pool.note_heartbeat(self._member, answer.haStatus)
        if answer.HasField("rollingUpgradeStatusV2"):
            self._pool.heard_of_upgrade(self._member, answer.rollingUpgradeStatusV2)
        for order in decode_orders(answer.cmds):
            self._obey(order)

    def _heartbeat_request(
        self, states: Sequence[VolumeState], *, wants_lease: bool
    ) -> pb.HeartbeatRequestProto:
        return reports.heartbeat(
            self._registration,
            states,
            connections=self._gauges.connections,
            copies=self._gauges.copies,
            want_report_lease=wants_lease,
            cache_capacity_bytes=self._settings.memory_bytes,
            cache_used_bytes=self._gauges.locked_bytes,
            failures=self._inventory.failures(),
        )

    def _lifeline_request(self) -> pb.HeartbeatRequestProto | None:
        """What a heartbeat would have now; from the thread of lifelines."""
        pool_id = self._pool.pool_id
        if pool_id is None or not self._keeps_news:
            return None
        return self._heartbeat_request(self._inventory.states(pool_id), wants_lease=False)

    def _obey(self, order: Order) -> None:
        if not self._pool.obeys(self._member, order):
            return
        match order:
            case Register():
                raise _Unknown
            case Invalidate() | Transfer() | Reconstruct() | BalanceBandwidth() | Cache():
                self._command(order)
            case RecoverBlock() | RecoverGroup():
                self._command(replace(order, ordered_by=self.name))
            case Shutdown():
                raise _ShutDown
            case UpdateKeys(known):
                pool = self._pool.pool_id
                assert pool is not None, "served after joining"
                self._take_keys(pool, known)
            case FinalizeUpgrade(pool_id):
                self._directories.finalize_upgrade(pool_id)
            case Unsupported(name):
                log.warning("namenode %s sent a %s, which is not supported", self.name, name)

    def _report_cache(self, pool_id: str, now_s: float) -> None:
        request = pb.CacheReportRequestProto(
            registration=self._registration,
            blockPoolId=pool_id,
            blocks=self._cache_reports.pop_due(pool_id, now_s),
        )
        answer = self._call("cacheReport", request, pb.CacheReportResponseProto)
        if answer.HasField("cmd"):
            for order in decode_orders([answer.cmd]):
                self._obey(order)

    def _full_report(self, pool_id: str) -> None:
        started_s = time.monotonic()
        try:
            replicas, calls = self._report_all(pool_id)
        except AWAY:
            self._reports.lost()
            raise
        except errors.InvalidReportLease as error:
            # It came too late: the next heartbeat asks for another one.
            log.warning("namenode %s wants no report now: %s", self.name, error)
            self._reports.lost()
            return
        except errors.HowdahError as error:
            self._reports_refused(f"the report of {pool_id}", error)
            return
        self._reported_s = started_s
        self._reports.reported(started_s, int.from_bytes(os.urandom(4), "big") / 2**32)
        log.info(
            "reported %d replicas of %s to namenode %s in %d calls",
            replicas,
            pool_id,
            self.name,
            calls,
        )
        if not self._is_served:
            self._is_served = True
            self._on_served()

    def _reports_refused(self, report: str, error: errors.HowdahError) -> None:
        pause_s = self._reports.refused(time.monotonic())
        log.error(
            "namenode %s refuses %s: %s; a full report in %g s makes it good",
            self.name,
            report,
            error,
            pause_s,
        )

    def _report_all(self, pool_id: str) -> tuple[int, int]:
        """(how many replicas were reported, in how many calls)"""
        with self._changed:
            # What has happened up to here is in the lists.
            self._reports.begin()
            lists = self._inventory.listed(pool_id)
            listed_news = len(self._news)
        requests = reports.full_reports(
            self._registration,
            pool_id,
            self._inventory.volumes.working(),
            lists,
            report_id=int.from_bytes(os.urandom(8), "big", signed=True),
            lease_id=self._reports.lease_id,
            split_threshold=self._settings.report_split,
        )
        for request in requests:
            answer = self._call("blockReport", request, pb.BlockReportResponseProto)
            if answer.HasField("cmd"):
                for order in decode_orders([answer.cmd]):
                    self._obey(order)
        # Only now: a report that was refused or lost has told nothing.
        with self._changed:
            self._news.drop_news_of_blocks(listed_news)
        return sum(map(len, lists.values())), len(requests)
