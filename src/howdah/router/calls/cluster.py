"""Calls about nameservices as a whole: asked of one, or of all, and their answers merged
(shell)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from google.protobuf.message import Message

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import ha_pb2, types_pb2
from howdah.protocol.rpc.call import Caller
from howdah.router.calls.core import Core, is_unavailable
from howdah.router.calls.paths import Work
from howdah.router.state.methods import ANSWERS, is_write
from howdah.router.state.table import merging
from howdah.router.state.table.mount_table import Location

_ANY: Final = (
    "getStoragePolicies",
    "getDataEncryptionKey",
)
"""What is the same in all nameservices: the default one, or the first that can be reached."""

_SUMS: Final = ("getFsStats", "getFsReplicatedBlockStats", "getFsECBlockGroupStats")
_ALL: Final = (
    "saveNamespace",
    "restoreFailedStorage",
    "refreshNodes",
    "finalizeUpgrade",
    "metaSave",
    "setBalancerBandwidth",
    "removeErasureCodingPolicy",
    "enableErasureCodingPolicy",
    "disableErasureCodingPolicy",
)
"""Done in all nameservices; each has to do it."""

_UNIONS: Final = {
    "getErasureCodingPolicies": "ecPolicies",
    "addErasureCodingPolicies": "responses",
}
"""The entries of all nameservices, in this field of the answer; equal ones once. As in Hadoop, a
policy that nameservices have with other states or ids is there more than once."""


def cluster_methods(core: Core) -> dict[str, Work]:
    """The calls that need no method of their own, by their names."""
    calls = _Simple(core)
    return {
        **{method: calls.any_one(method) for method in _ANY},
        **{method: calls.sum(method) for method in _SUMS},
        **{method: calls.all(method) for method in _ALL},
        **{method: calls.union(method, field) for method, field in _UNIONS.items()},
    }


class _Asking:
    def __init__(self, core: Core) -> None:
        self._core = core

    async def _every(
        self, method: str, request: Message, caller: Caller, *, may_miss: bool = False
    ) -> list[tuple[str, Any]]:
        """Return what every nameservice answers. Raises the first failure; with `may_miss` only if
        none answers, or one refuses."""
        names = self._core.nameservices.enabled
        if not names:
            raise errors.NoNamenodes("No namespace available.")
        done = await self._core.call_all(
            [_root_location(name) for name in names], method, request, caller
        )
        failures = [outcome for _, outcome in done if isinstance(outcome, errors.HowdahError)]
        grave = [failure for failure in failures if not (may_miss and is_unavailable(failure))]
        if grave or len(failures) == len(done):
            raise (grave or failures)[0]
        return [
            (place.nameservice, outcome)
            for place, outcome in done
            if not isinstance(outcome, errors.HowdahError)
        ]


class _Simple(_Asking):
    def any_one(self, method: str) -> Work:
        async def work(request: Message, caller: Caller) -> Message:
            names = self._core.nameservices.enabled
            default = self._core.default_nameservice
            names.sort(key=lambda nameservice: nameservice != default)
            failures: list[errors.HowdahError] = []
            for name in names:
                try:
                    answer = await self._core.call_one(
                        _root_location(name), method, request, caller
                    )
                except errors.HowdahError as error:
                    if not is_unavailable(error):
                        raise
                    failures.append(error)
                else:
                    assert isinstance(answer, Message)
                    return answer
            raise failures[0] if failures else errors.NoNamenodes("No namespace available.")

        return work

    def sum(self, method: str) -> Work:
        async def work(request: Message, caller: Caller) -> Message:
            done = await self._every(method, request, caller, may_miss=True)
            answer: Message = merging.summed([response for _, response in done], ANSWERS[method])
            return answer

        return work

    def union(self, method: str, field: str) -> Work:
        async def work(request: Message, caller: Caller) -> Message:
            # A change has to reach all.
            done = await self._every(method, request, caller, may_miss=not is_write(method))
            answer = ANSWERS[method]()
            entries: list[Message] = []
            for _, response in done:
                entries += [entry for entry in getattr(response, field) if entry not in entries]
            getattr(answer, field).extend(entries)
            return answer

        return work

    def all(self, method: str) -> Work:
        async def work(request: Message, caller: Caller) -> Message:
            done = await self._every(method, request, caller)
            answer = done[0][1]
            if isinstance(answer, pb.RestoreFailedStorageResponseProto):
                answer.result = all(response.result for _, response in done)
            elif isinstance(answer, pb.SaveNamespaceResponseProto):
                answer.saved = all(response.saved for _, response in done)
            assert isinstance(answer, Message)
            return answer

        return work


class ClusterCalls(_Asking):
    async def get_server_defaults(
        self, request: pb.GetServerDefaultsRequestProto, caller: Caller
    ) -> Message:
        """Return those of the default nameservice, or of the first that can be reached. What they
        say of the order of names is true of all nameservices, or it is not said: clients go by it
        in each directory."""
        answer = await _Simple(self._core).any_one("getServerDefaults")(request, caller)
        assert isinstance(answer, pb.GetServerDefaultsResponseProto)
        names = self._core.nameservices.enabled
        if len(names) > 1 and answer.serverDefaults.listsByUnsignedBytes:
            are_alike = await self._all_list_by_unsigned_bytes(names, request, caller)
            answer.serverDefaults.listsByUnsignedBytes = are_alike
        return answer

    async def _all_list_by_unsigned_bytes(
        self, names: Sequence[str], request: pb.GetServerDefaultsRequestProto, caller: Caller
    ) -> bool:
        """False, too, where one does not answer soon: no client waits for a nameservice that it
        may have nothing to do with."""
        places = [_root_location(name) for name in names]
        try:
            async with asyncio.timeout(self._core.mount_status_timeout_s):
                done = await self._core.call_all(places, "getServerDefaults", request, caller)
        except TimeoutError:
            return False
        return all(
            not isinstance(outcome, errors.HowdahError)
            and outcome.serverDefaults.listsByUnsignedBytes
            for _, outcome in done
        )

    async def get_datanode_report(
        self, request: pb.GetDatanodeReportRequestProto, caller: Caller
    ) -> Message:
        done = await self._every("getDatanodeReport", request, caller, may_miss=True)
        return pb.GetDatanodeReportResponseProto(
            di=merging.datanodes((name, answer.di) for name, answer in done)
        )

    async def get_slow_datanode_report(
        self, request: pb.GetSlowDatanodeReportRequestProto, caller: Caller
    ) -> Message:
        done = await self._every("getSlowDatanodeReport", request, caller, may_miss=True)
        return pb.GetSlowDatanodeReportResponseProto(
            datanodeInfoProto=merging.datanodes(
                (name, answer.datanodeInfoProto) for name, answer in done
            )
        )

    async def get_datanode_storage_report(
        self, request: pb.GetDatanodeStorageReportRequestProto, caller: Caller
    ) -> Message:
        done = await self._every("getDatanodeStorageReport", request, caller, may_miss=True)
        reports = [report for _, answer in done for report in answer.datanodeStorageReports]
        return pb.GetDatanodeStorageReportResponseProto(
            datanodeStorageReports=merging.storage_reports(reports)
        )

    async def set_safe_mode(self, request: pb.SetSafeModeRequestProto, caller: Caller) -> Message:
        """Return True if all nameservices are in safe mode."""
        asks = request.action == pb.SAFEMODE_GET
        done = await self._every("setSafeMode", request, caller, may_miss=asks)
        return pb.SetSafeModeResponseProto(result=all(answer.result for _, answer in done))

    async def roll_edits(self, request: pb.RollEditsRequestProto, caller: Caller) -> Message:
        done = await self._every("rollEdits", request, caller)
        return pb.RollEditsResponseProto(
            newSegmentTxId=max(answer.newSegmentTxId for _, answer in done)
        )

    async def get_current_edit_log_txid(
        self, request: pb.GetCurrentEditLogTxidRequestProto, caller: Caller
    ) -> Message:
        done = await self._every("getCurrentEditLogTxid", request, caller)
        return pb.GetCurrentEditLogTxidResponseProto(txid=max(answer.txid for _, answer in done))

    async def upgrade_status(
        self, request: pb.UpgradeStatusRequestProto, caller: Caller
    ) -> Message:
        done = await self._every("upgradeStatus", request, caller)
        return pb.UpgradeStatusResponseProto(
            upgradeFinalized=all(answer.upgradeFinalized for _, answer in done)
        )

    async def rolling_upgrade(
        self, request: pb.RollingUpgradeRequestProto, caller: Caller
    ) -> Message:
        """Send the action to all nameservices; return the first answer that has an upgrade under
        way, or else the first."""
        done = await self._every("rollingUpgrade", request, caller)
        under_way = [response for _, response in done if response.HasField("rollingUpgradeInfo")]
        answer = (under_way or [response for _, response in done])[0]
        assert isinstance(answer, Message)
        return answer

    async def get_erasure_coding_codecs(
        self, request: types_pb2.GetErasureCodingCodecsRequestProto, caller: Caller
    ) -> Message:
        """List the codecs of all nameservices; of several entries for one the last counts."""
        done = await self._every("getErasureCodingCodecs", request, caller, may_miss=True)
        codecs = {codec.codec: codec.coders for _, answer in done for codec in answer.codec}
        answer = types_pb2.GetErasureCodingCodecsResponseProto()
        for codec, coders in codecs.items():
            answer.codec.add(codec=codec, coders=coders)
        return answer

    async def get_ectopology_result_for_policies(
        self, request: types_pb2.GetECTopologyResultForPoliciesRequestProto, caller: Caller
    ) -> Message:
        """Return the first answer of a nameservice that cannot support the policies; any one where
        all can."""
        done = await self._every("getECTopologyResultForPolicies", request, caller)
        answers = [answer for _, answer in done]
        refusals = [answer for answer in answers if not answer.response.isSupported]
        answer = (refusals or answers)[0]
        assert isinstance(answer, Message)
        return answer

    async def get_snapshottable_dir_listing(
        self, request: pb.GetSnapshottableDirListingRequestProto, caller: Caller
    ) -> Message:
        """List the mounted snapshottable directories by the router's paths: a directory that is in
        several destinations is listed once."""
        done = await self._every("getSnapshottableDirListing", request, caller)
        answer = pb.GetSnapshottableDirListingResponseProto()
        directories: Sequence[types_pb2.SnapshottableDirectoryStatusProto]
        sources: set[str] = set()
        for name, response in done:
            directories = response.snapshottableDirList.snapshottableDirListing
            for directory in directories:
                parent = directory.parent_fullpath.decode("utf-8", "surrogateescape")
                own = directory.dirStatus.path.decode("utf-8", "surrogateescape")
                path = f"{parent.rstrip('/')}/{own}".rstrip("/") or "/"
                source = self._core.table.source_of(name, path)
                if source is None or source in sources:
                    continue
                sources.add(source)
                above, _, last = source.rpartition("/")
                copy = answer.snapshottableDirList.snapshottableDirListing.add()
                copy.CopyFrom(directory)
                copy.parent_fullpath = (above or "/").encode("utf-8", "surrogateescape")
                copy.dirStatus.path = last.encode("utf-8", "surrogateescape")
        if not answer.snapshottableDirList.snapshottableDirListing:
            return pb.GetSnapshottableDirListingResponseProto()
        return answer

    async def msync(self, request: pb.MsyncRequestProto, caller: Caller) -> Message:
        """Send msync to the nameservices whose reads go to observers; the others are up to date."""
        nameservices = self._core.nameservices
        names = [
            nameservice
            for nameservice in nameservices.enabled
            if nameservice in nameservices.states.with_observers
        ]
        places = [_root_location(name) for name in names]
        for _, outcome in await self._core.call_all(places, "msync", request, caller):
            if isinstance(outcome, errors.HowdahError):
                raise outcome
        return pb.MsyncResponseProto()

    async def get_haservice_state(
        self, request: pb.HAServiceStateRequestProto, caller: Caller
    ) -> Message:
        """Of this router: in safe mode another one should be asked."""
        state = ha_pb2.STANDBY if self._core.safe_mode.is_on else ha_pb2.ACTIVE
        return pb.HAServiceStateResponseProto(state=state)


def _root_location(nameservice: str) -> Location:
    return Location(nameservice, "/", "/", "/")
