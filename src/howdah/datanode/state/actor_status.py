"""How this datanode stands with a namenode, for monitoring (pure). Hadoop:
BPServiceActor.getActorInfoMap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from howdah.proto import datanode_namenode_pb2 as pb

HA_STATES: Final = {
    pb.NNHAStatusHeartbeatProto.ACTIVE: "active",
    pb.NNHAStatusHeartbeatProto.STANDBY: "standby",
    pb.NNHAStatusHeartbeatProto.OBSERVER: "observer",
}


@dataclass(frozen=True, slots=True)
class ActorStatus:
    """A namenode as this datanode last dealt with it. `running` and `ha_state` are Hadoop's words;
    ages are None of what has not been."""

    namenode: str
    pool_id: str
    running: str
    ha_state: str
    heartbeat_age_s: float | None
    report_age_s: float | None
    pending_news: int
    """What it has not heard of replicas yet."""
