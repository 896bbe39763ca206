"""Calls of the active namenode of a nameservice, and how namenodes are (shell).

A call goes to the namenode that is believed to be active. One that says it is not, or does not
answer, is followed by the next, under the same client id and call id. Where all namenodes say
that they are standbys, a failover is probably under way, and the round is repeated for some
seconds. Where none can be reached, the call fails at once: other nameservices go on.

A read of a caller who says what it has seen goes to observers first, where the configuration
says so (`howdah.router.state.namenodes.state_ids`); one that they do not answer goes to the active.

Hadoop: RouterRpcClient, NamenodeHeartbeatService.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, TypeVar

from google.protobuf.message import Message

from howdah import errors
from howdah.config.value_types import Address
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2, ha_pb2
from howdah.protocol.rpc.call import Caller
from howdah.router.namenodes.connections import CLIENT_PROTOCOL, Connections
from howdah.router.state.methods import UNCHECKED
from howdah.router.state.metrics import NameserviceFigures, ProxyFigures
from howdah.router.state.namenodes.identity import Identity
from howdah.router.state.namenodes.membership import Members, Namenode, State
from howdah.router.state.namenodes.state_ids import States
from howdah.rpc.connection import NotAccepted

log = logging.getLogger(__name__)

M = TypeVar("M", bound=Message)

HA_PROTOCOL: Final = "org.apache.hadoop.ha.HAServiceProtocol"
NAMENODE_PROTOCOL: Final = "org.apache.hadoop.hdfs.server.protocol.NamenodeProtocol"
FAILOVER_PAUSES_S: Final = (0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.5, 2.0, 2.0, 2.0, 2.0)
"""Between the rounds in which all namenodes are standbys: a failover takes less than these."""

_STATES: Final = {
    ha_pb2.ACTIVE: State.ACTIVE,
    ha_pb2.STANDBY: State.STANDBY,
    ha_pb2.OBSERVER: State.OBSERVER,
}


class Nameservices:
    """All nameservices that the configuration names."""

    def __init__(
        self,
        addresses: Mapping[str, dict[str, Address]],
        connections: Connections,
        *,
        user: str,
        heartbeat_interval_s: float,
        heartbeat_timeout_s: float,
        states: States | None = None,
    ) -> None:
        self.members = {name: Members(name, namenodes) for name, namenodes in addresses.items()}
        self.disabled: frozenset[str] = frozenset()
        self.states = states or States()
        self.figures = ProxyFigures()
        self._connections = connections
        if self.states.with_observers:
            self._names = {
                namenode.address: name
                for name, members in self.members.items()
                for namenode in members.namenodes
            }
            connections.when_seen = self._seen
        self._user = user
        self._interval_s = heartbeat_interval_s
        self._heartbeat_timeout_s = heartbeat_timeout_s
        self._client_id = uuid.uuid4().bytes
        self._telling_superusers: set[Address] = set()
        """Namenodes that tell a superuser alone how they are."""
        self._numbers = itertools.count()
        self._refresh: asyncio.Task[None] | None = None

    # -- who there is ----------------------------------------------------------------------

    @property
    def enabled(self) -> list[str]:
        """Names of the nameservices that are not disabled."""
        return [name for name in self.members if name not in self.disabled]

    @property
    def available_bytes(self) -> dict[str, int]:
        return {name: members.available_bytes for name, members in self.members.items()}

    def is_alone(self, nameservice: str) -> bool:
        """Whether the nameservice has one namenode."""
        return len(self.members[nameservice].namenodes) == 1

    async def of_block_pool(self, block_pool: str) -> str:
        """Return the nameservice of a block pool. Raises NoLocation."""
        for attempt in range(2):
            for name, members in self.members.items():
                if members.block_pool == block_pool:
                    return name
            if not attempt:
                await self.heartbeat()
        raise errors.NoLocation(f"Cannot locate a nameservice for block pool {block_pool}")

    # -- calls -------------------------------------------------------------------------------

    def own_identity(self, user: str | None = None) -> Identity:
        """For a call of the router's own, which changes nothing, or the same when repeated."""
        return Identity(user or self._user, *self._own_call())

    def _own_call(self) -> tuple[bytes, int]:
        return self._client_id, next(self._numbers) & 0x7FFFFFFF

    def identified(self, caller: Caller) -> Caller:
        """The caller of a call, which gets an identity that no other call has if it came without
        one: answers of namenodes are told apart by it."""
        if caller.is_identified:
            return caller
        client_id, call_id = self._own_call()
        return replace(caller, client_id=client_id, call_id=call_id)

    def _seen(self, address: Address, txid: int) -> None:
        self.states.saw(self._names[address], txid)

    def required_txid(self, nameservice: str, method: str, caller: Caller) -> int | None:
        """The transaction that an observer must have reached to answer a caller; None where the
        call is for the active namenode. Raises ProtocolViolation."""
        if not self.states.with_observers:
            return None
        now_s = asyncio.get_running_loop().time()
        return self.states.required_txid(nameservice, method, caller.federated_state, now_s)

    async def call(
        self,
        nameservice: str,
        method: str,
        request: Message,
        kind: type[M],
        identity: Identity,
        *,
        timeout_s: float | None = None,
        seen: int | None = None,
    ) -> M:
        """The answer of the active namenode, or of an observer that has reached the transaction
        `seen`, where one is given. Raises what it raises, and NoNamenodes."""
        members, figures = self._members(nameservice), self.figures.of(nameservice)
        asks_observers = seen is not None
        for pause_s in (*FAILOVER_PAUSES_S, None):
            failures: dict[str, errors.HowdahError] = {}
            order = members.observers_first() if asks_observers else members.in_order()
            for namenode in order:
                is_observer = namenode.state is State.OBSERVER
                if is_observer and seen is not None and not asks_observers:
                    continue  # one of them has said that the active has to be asked
                if self._is_given_up(namenode):
                    failures[str(namenode)] = errors.Unreachable(namenode.why)
                    continue
                asked_s = asyncio.get_running_loop().time()
                try:
                    with _measured(figures, of_observer=is_observer):
                        answer = await self._connections.call(
                            namenode.address,
                            CLIENT_PROTOCOL,
                            method,
                            request,
                            kind,
                            identity,
                            timeout_s=timeout_s,
                            state_id=seen if is_observer else None,
                        )
                except errors.ObserverRetryOnActive as error:
                    asks_observers = False
                    failures[str(namenode)] = error
                except errors.StandbyError as error:
                    # An observer refuses who does not say what it has seen.
                    if not is_observer or asks_observers:
                        self._note_state(namenode, State.STANDBY, asked_s)
                    failures[str(namenode)] = error
                except errors.RetriableError as error:
                    if not is_observer:
                        raise
                    log.debug("observer %s sends %s to the active: %s", namenode, method, error)
                    failures[str(namenode)] = error
                except errors.CallTimeout as error:
                    if len(members.namenodes) == 1 or timeout_s is not None:
                        raise
                    self._note_state(namenode, State.UNAVAILABLE, asked_s, error.message)
                    failures[str(namenode)] = error
                except errors.Unreachable as error:
                    was_slow = isinstance(error, NotAccepted)
                    self._note_state(namenode, State.UNAVAILABLE, asked_s, error.message, was_slow)
                    failures[str(namenode)] = error
                else:
                    if not is_observer:
                        self._answered(namenode, method, asked_s)
                    return answer
            is_failing_over = any(
                isinstance(failure, errors.StandbyError) for failure in failures.values()
            )
            if not is_failing_over or pause_s is None:
                break
            self.figures.retries += 1
            await asyncio.sleep(pause_s)
        figures.no_namenodes += 1
        said = "; ".join(f"{name}: {error}" for name, error in failures.items())
        raise errors.NoNamenodes(f"No namenodes available under nameservice {nameservice}: {said}")

    def _answered(self, namenode: Namenode, method: str, asked_s: float) -> None:
        """One that is no observer did: it is the active, if only that one answers such calls."""
        if method not in UNCHECKED:
            self._note_state(namenode, State.ACTIVE, asked_s)
        elif method != "msync":
            return
        self.states.heard_active(namenode.nameservice, asyncio.get_running_loop().time())

    def send(
        self,
        nameservice: str,
        method: str,
        request: Message,
        identity: Identity,
        done: Callable[[bytes | errors.HowdahError], None],
        seen: int | None = None,
    ) -> bool:
        """Write a call to the active namenode, or to an observer as `call` does, if it is known
        and connected to; `done` is given its answer, or the error that it or the connection
        ended with. False for all else."""
        members = self.members.get(nameservice)
        if members is None or nameservice in self.disabled:
            return False
        observer = None if seen is None else members.next_observer()
        namenode = observer or members.active
        if namenode is None:
            return False

        figures, began_ns = self.figures.of(nameservice), time.perf_counter_ns()
        asked_s = asyncio.get_running_loop().time()

        def complete(outcome: bytes | errors.HowdahError) -> None:
            took_ns = time.perf_counter_ns() - began_ns
            figures.ended(took_ns, outcome, of_observer=observer is not None)
            if isinstance(outcome, errors.ObserverRetryOnActive):
                pass
            elif isinstance(outcome, errors.StandbyError):
                self._note_state(namenode, State.STANDBY, asked_s)
            elif isinstance(outcome, errors.CallTimeout):
                if not self.is_alone(nameservice):
                    self._note_state(namenode, State.UNAVAILABLE, asked_s, outcome.message)
            elif not isinstance(outcome, errors.HowdahError):
                now_s = namenode.contact_s = asyncio.get_running_loop().time()
                if observer is None:
                    self.states.heard_active(nameservice, now_s)
            if observer is not None and isinstance(outcome, errors.RetriableError):
                # It is behind, or cannot say: the long way asks the others.
                outcome = errors.StandbyError(outcome.message)
            done(outcome)

        return self._connections.send(
            namenode.address,
            CLIENT_PROTOCOL,
            method,
            request,
            identity,
            complete,
            state_id=None if observer is None else seen,
        )

    def _members(self, nameservice: str) -> Members:
        members = self.members.get(nameservice)
        if members is None:
            raise errors.NoNamenodes(
                f"No namenodes available under nameservice {nameservice}: "
                f"this router's dfs.nameservices does not have it"
            )
        if nameservice in self.disabled:
            raise errors.NoNamenodes(
                f"No namenodes available under nameservice {nameservice}: it is disabled"
            )
        return members

    def _is_given_up(self, namenode: Namenode) -> bool:
        """It did not accept a connection lately: a call need not wait for that once more."""
        now_s = asyncio.get_running_loop().time()
        return namenode.state is State.UNAVAILABLE and now_s < namenode.given_up_until_s

    def _note_state(
        self,
        namenode: Namenode,
        state: State,
        asked_s: float,
        why: str = "",
        was_slow: bool = False,
    ) -> None:
        now_s = asyncio.get_running_loop().time()
        members = self.members[namenode.nameservice]
        before = members.note_state(namenode, state, now_s, why, asked_s=asked_s)
        if namenode.state is not state:
            log.debug("%s comes too late: namenode %s is %s", state, namenode, namenode.state)
            return
        namenode.given_up_until_s = now_s + 2 * self._interval_s if was_slow else 0.0
        if before is not state:
            level = logging.WARNING if state is State.UNAVAILABLE else logging.INFO
            log.log(
                level,
                "namenode %s at %s is %s now, it was %s%s",
                namenode,
                namenode.address_text,
                state.value,
                before.value,
                f": {why}" * bool(why),
            )

    # -- heartbeats --------------------------------------------------------------------------

    async def heartbeat(self) -> None:
        """Ask every namenode how it is; several who want to know ask once."""
        if self._refresh is None or self._refresh.done():
            self._refresh = asyncio.create_task(self._heartbeat())
        await asyncio.shield(self._refresh)

    async def _heartbeat(self) -> None:
        namenodes = [
            namenode for members in self.members.values() for namenode in members.namenodes
        ]
        await asyncio.gather(*(self._poll(namenode) for namenode in namenodes))

    async def _poll(self, namenode: Namenode) -> None:
        asked_s = asyncio.get_running_loop().time()
        try:
            version = await self.own_call(
                namenode,
                NAMENODE_PROTOCOL,
                "versionRequest",
                datanode_namenode_pb2.VersionRequestProto(),
                datanode_namenode_pb2.VersionResponseProto,
            )
            namenode.block_pool = version.info.blockPoolID
            namenode.cluster = version.info.storageInfo.clusterID
            asked_s = asyncio.get_running_loop().time()
            state = await self._state_of(namenode)
            if state is State.ACTIVE:
                await self._ask_for_figures(namenode)
            namenode.is_in_safe_mode = state is State.ACTIVE and await self._is_safe(namenode)
        except errors.HowdahError as error:
            was_slow = isinstance(error, NotAccepted)
            self._note_state(namenode, State.UNAVAILABLE, asked_s, error.message, was_slow)
        else:
            self._note_state(namenode, state, asked_s)

    async def _state_of(self, namenode: Namenode) -> State:
        """The only namenode of a nameservice is active; it does not answer the question. Where a
        router is no superuser, a namenode tells it its role as it tells clients."""
        if len(self.members[namenode.nameservice].namenodes) == 1:
            return State.ACTIVE
        if namenode.address not in self._telling_superusers:
            try:
                status = await self.own_call(
                    namenode,
                    HA_PROTOCOL,
                    "getServiceStatus",
                    ha_pb2.GetServiceStatusRequestProto(),
                    ha_pb2.GetServiceStatusResponseProto,
                )
                return _STATES.get(status.state, State.UNKNOWN)
            except (errors.AccessDenied, errors.AuthorizationFailed) as error:
                log.info("namenode %s is asked for its role as clients do: %s", namenode, error)
                self._telling_superusers.add(namenode.address)
        answer = await self.own_call(
            namenode,
            CLIENT_PROTOCOL,
            "getHAServiceState",
            pb.HAServiceStateRequestProto(),
            pb.HAServiceStateResponseProto,
        )
        return _STATES.get(answer.state, State.UNKNOWN)

    async def _is_safe(self, namenode: Namenode) -> bool:
        request = pb.SetSafeModeRequestProto(action=pb.SAFEMODE_GET, checked=False)
        answer = await self.own_call(
            namenode, CLIENT_PROTOCOL, "setSafeMode", request, pb.SetSafeModeResponseProto
        )
        return bool(answer.result)

    async def _ask_for_figures(self, namenode: Namenode) -> None:
        stats = await self.own_call(
            namenode,
            CLIENT_PROTOCOL,
            "getFsStats",
            pb.GetFsStatusRequestProto(),
            pb.GetFsStatsResponseProto,
        )
        namenode.capacity_bytes, namenode.available_bytes = stats.capacity, stats.remaining
        namenode.missing_blocks = stats.missing_blocks
        namenode.missing_single_blocks = stats.missing_repl_one_blocks
        namenode.low_redundancy_blocks = stats.under_replicated
        namenode.pending_deletion_blocks = stats.pending_deletion_blocks

    async def own_call(
        self, namenode: Namenode, protocol: str, method: str, request: Message, kind: type[M]
    ) -> M:
        """What one namenode answers the router itself, soon. Raises what it raises,
        Unreachable, CallTimeout."""
        return await self._connections.call(
            namenode.address,
            protocol,
            method,
            request,
            kind,
            self.own_identity(),
            timeout_s=self._heartbeat_timeout_s,
        )


@contextmanager
def _measured(figures: NameserviceFigures, *, of_observer: bool) -> Iterator[None]:
    """An attempt to have a call answered."""
    began_ns, outcome = time.perf_counter_ns(), None
    try:
        yield
    except errors.HowdahError as error:
        outcome = error
        raise
    finally:
        figures.ended(time.perf_counter_ns() - began_ns, outcome, of_observer=of_observer)
