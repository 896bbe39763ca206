"""What a local cluster asks of its namenodes, and the one thing that it tells them.

Each question goes to one namenode, whatever its role: standbys answer all of these.
"""

from __future__ import annotations

import getpass
import time
from typing import Self

from howdah.config.value_types import Address

CLIENT_PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
HA_PROTOCOL = "org.apache.hadoop.ha.HAServiceProtocol"
LEAST_TIMEOUT_S = 0.5


class NamenodeQuestions:
    """Questions to the namenode at `address`, each answered before `deadline`
    (`time.monotonic()`) or soon after.

    Raises what `RpcClient` does: `Unreachable` where nobody answers.
    """

    def __init__(self, address: Address, deadline: float) -> None:
        # Imported here, as the launcher is at work meanwhile.
        from howdah.rpc.client import RpcClient

        self._deadline = deadline
        # The superuser, whatever user the tests' clients are.
        user = getpass.getuser()
        self._client = RpcClient(address, CLIENT_PROTOCOL, user=user)
        self._ha = RpcClient(address, HA_PROTOCOL, user=user)

    def reported_datanodes(self) -> set[str]:
        """The data addresses, `ip:port`, of live datanodes that have said what they hold."""
        from howdah.proto import client_namenode_pb2 as pb

        answer = self._client.call(
            "getDatanodeReport",
            pb.GetDatanodeReportRequestProto(type=pb.LIVE),
            pb.GetDatanodeReportResponseProto,
            timeout_s=self._timeout_s(),
        )
        return {
            f"{node.id.ipAddr}:{node.id.xferPort}" for node in answer.di if node.lastBlockReportTime
        }

    def in_safe_mode(self) -> bool:
        from howdah.proto import client_namenode_pb2 as pb

        answer = self._client.call(
            "setSafeMode",
            pb.SetSafeModeRequestProto(action=pb.SAFEMODE_GET, checked=False),
            pb.SetSafeModeResponseProto,
            timeout_s=self._timeout_s(),
        )
        return bool(answer.result)

    def ha_state(self) -> str:
        """`active`, `standby`, `observer` or `initializing`."""
        from howdah.proto import ha_pb2 as pb

        answer = self._ha.call(
            "getServiceStatus",
            pb.GetServiceStatusRequestProto(),
            pb.GetServiceStatusResponseProto,
            timeout_s=self._timeout_s(),
        )
        return pb.HAServiceStateProto.Name(answer.state).lower()

    def become_active(self) -> None:
        """Tell it to; for clusters without failover controllers."""
        from howdah.proto import ha_pb2 as pb

        source = pb.HAStateChangeRequestInfoProto(reqSource=pb.REQUEST_BY_USER)
        self._ha.call(
            "transitionToActive",
            pb.TransitionToActiveRequestProto(reqInfo=source),
            pb.TransitionToActiveResponseProto,
            timeout_s=self._timeout_s(),
        )

    def _timeout_s(self) -> float:
        return max(LEAST_TIMEOUT_S, self._deadline - time.monotonic())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        self._ha.close()
