"""One RPC client for each namenode of a namespace, all under one client id."""

from __future__ import annotations

from collections.abc import Mapping

from howdah.client.namenodes.target import Target
from howdah.client.settings.settings import ClientSettings
from howdah.config.value_types import Address
from howdah.rpc.client import RpcClient
from howdah.rpc.identity import CallIdentity, SeenState

CLIENT_PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"


class Connections:
    """What the ways to call a namespace share. Thread-safe and fork-safe, as `RpcClient` is."""

    def __init__(
        self,
        target: Target,
        settings: ClientSettings,
        user: str,
        *,
        seen: SeenState | None = None,
    ) -> None:
        self.target = target
        self.user = user
        self.identity = CallIdentity()
        self.rpc: Mapping[str, RpcClient] = {
            name: RpcClient(
                address,
                CLIENT_PROTOCOL,
                user=self.user,
                identity=self.identity,
                seen=seen,
                connect_timeout_s=settings.connect_timeout_s,
                call_timeout_s=settings.call_timeout_s,
                max_response_bytes=settings.max_response_bytes,
                idle_limit_s=settings.idle_limit_s,
            )
            for name, address in target.namenodes.items()
        }

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.target.namenodes)

    def address(self, namenode: str) -> Address:
        return self.target.namenodes[namenode]

    def close(self) -> None:
        for rpc in self.rpc.values():
            rpc.close()
