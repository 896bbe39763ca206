"""The JSON files of a plan: `NODE.before.json` and `NODE.plan.json` (pure).

NodePlan, MoveStep and DiskBalancerCluster in Hadoop, as Jackson writes them there: names and order
of the fields are Hadoop's, numbers that are 0 are left out of a step, and a step begins with its
class. A plan's id is the SHA-1 of its text, so the text is what is passed on, never a copy of it.

A plan comes from outside: whatever is wrong with it is a `MalformedPlan`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any, Final, TypeVar

from howdah import errors
from howdah.diskbalancer.planner import MoveStep, NodePlan
from howdah.diskbalancer.volumes import DiskNode, DiskVolume, VolumeSet

VERSION: Final = 1
"""Of plans; there has been no other."""
BEFORE_NAME: Final = "{}.before.json"
PLAN_NAME: Final = "{}.plan.json"
_STEP_CLASS: Final = "org.apache.hadoop.hdfs.server.diskbalancer.planner.MoveStep"
_MOST: Final = (1 << 63) - 1
MOST_STEPS: Final = 65_536
"""256 volumes, each with each, as many as Hadoop reckons with."""

T = TypeVar("T")
Json = dict[str, Any]


class MalformedPlan(errors.HowdahError, ValueError):
    """This is no plan; the message says where."""


def plan_id(text: str) -> str:
    """By which the datanode knows the plan."""
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


# --- to JSON ---


def plan_text(plan: NodePlan) -> str:
    return _compact(
        {
            "volumeSetPlans": [_step(step) for step in plan.steps],
            "nodeName": plan.node_name,
            "nodeUUID": plan.node_uuid,
            "port": plan.port,
            "timeStamp": plan.timestamp_ms,
        }
    )


def before_text(nodes: Iterable[DiskNode], threshold_percent: float = 0.0) -> str:
    """How full all volumes of the cluster are."""
    return _compact(
        {
            "exclusionList": [],
            "inclusionList": [],
            "nodes": [_node(node) for node in nodes],
            "threshold": threshold_percent,
            "output": None,
        }
    )


def _compact(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _step(step: MoveStep) -> Json:
    fields = {
        "bytesToMove": step.bytes_to_move,
        "volumeSetID": step.set_id,
        "maxDiskErrors": step.max_disk_errors,
        "tolerancePercent": step.tolerance_percent,
        "bandwidth": step.bandwidth_mib,
    }
    return {
        "@class": _STEP_CLASS,
        "sourceVolume": _volume(step.source),
        "destinationVolume": _volume(step.destination),
        "idealStorage": step.ideal,
        **{name: value for name, value in fields.items() if value},
    }


def _node(node: DiskNode) -> Json:
    return {
        "nodeDataDensity": node.density,
        "volumeSets": {
            volume_set.storage_type: {
                "volumes": [_volume(volume) for volume in volume_set.volumes],
                "storageType": volume_set.storage_type,
                "setID": volume_set.set_id,
                "transient": any(volume.transient for volume in volume_set.volumes),
            }
            for volume_set in node.sets
        },
        "dataNodeUUID": node.uuid,
        "dataNodeIP": node.ip,
        "dataNodePort": node.port,
        "dataNodeName": node.name,
        "volumeCount": len(node.volumes),
    }


def _volume(volume: DiskVolume) -> Json:
    return {
        "path": volume.path,
        "capacity": volume.capacity_bytes,
        "storageType": volume.storage_type,
        "used": volume.used_bytes,
        "reserved": volume.reserved_bytes,
        "uuid": volume.storage_id,
        "failed": volume.failed,
        "volumeDataDensity": volume.density,
        "skip": volume.skip,
        "readOnly": volume.read_only,
        "transient": volume.transient,
    }


# --- from JSON ---


def parse_plan(text: str) -> NodePlan:
    """Raises `MalformedPlan`."""
    plan = _object(_loaded(text), "the plan")
    steps = _field(plan, "volumeSetPlans", list, [])
    if len(steps) > MOST_STEPS:
        raise MalformedPlan(f"the plan has {len(steps)} steps, and may have {MOST_STEPS}")
    return NodePlan(
        _field(plan, "nodeName", str, ""),
        _field(plan, "nodeUUID", str, ""),
        _number(plan, "port", most=65535),
        _number(plan, "timeStamp"),
        tuple(_parsed_step(_object(step, "a step")) for step in steps),
    )


def parse_before(text: str) -> list[DiskNode]:
    """Raises `MalformedPlan`."""
    cluster = _object(_loaded(text), "the cluster")
    return [
        _parsed_node(_object(node, "a datanode")) for node in _field(cluster, "nodes", list, [])
    ]


def _loaded(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedPlan(f"this is no JSON: {error}") from error


def _parsed_step(step: Json) -> MoveStep:
    return MoveStep(
        _parsed_volume(_object(step.get("sourceVolume"), "a step's sourceVolume")),
        _parsed_volume(_object(step.get("destinationVolume"), "a step's destinationVolume")),
        _number(step, "bytesToMove"),
        _share(step, "idealStorage"),
        _field(step, "volumeSetID", str, ""),
        _number(step, "maxDiskErrors"),
        _number(step, "tolerancePercent"),
        _number(step, "bandwidth"),
    )


def _parsed_node(node: Json) -> DiskNode:
    sets = _field(node, "volumeSets", dict, {})
    return DiskNode(
        _field(node, "dataNodeUUID", str, ""),
        _field(node, "dataNodeIP", str, ""),
        _field(node, "dataNodeName", str, ""),
        _number(node, "dataNodePort", most=65535),
        tuple(
            _parsed_set(name, _object(volume_set, "a volume set"))
            for name, volume_set in sets.items()
        ),
    )


def _parsed_set(name: str, volume_set: Json) -> VolumeSet:
    volumes = [
        _parsed_volume(_object(volume, "a volume"))
        for volume in _field(volume_set, "volumes", list, [])
    ]
    return VolumeSet.of(
        _field(volume_set, "setID", str, ""), _field(volume_set, "storageType", str, name), volumes
    )


def _parsed_volume(volume: Json) -> DiskVolume:
    return DiskVolume(
        _field(volume, "uuid", str, ""),
        _field(volume, "storageType", str, ""),
        _number(volume, "capacity"),
        _number(volume, "used"),
        _field(volume, "path", str, ""),
        _number(volume, "reserved"),
        _field(volume, "failed", bool, False),
        _field(volume, "transient", bool, False),
        _field(volume, "readOnly", bool, False),
        _field(volume, "skip", bool, False),
        _share(volume, "volumeDataDensity"),
    )


def _object(value: object, name: str) -> Json:
    if not isinstance(value, dict):
        raise MalformedPlan(f"{name} is no object")
    return value


def _field(of: Json, name: str, kind: type[T], default: T) -> T:
    value = of.get(name)
    if value is None:
        return default
    if not isinstance(value, kind):
        raise MalformedPlan(f"{name} is {str(value)[:80]!r}")
    return value


def _number(of: Json, name: str, most: int = _MOST) -> int:
    value = _field(of, name, int, 0)
    if isinstance(value, bool) or not 0 <= value <= most:
        raise MalformedPlan(f"{name} is {str(value)[:80]!r}")
    return value


def _share(of: Json, name: str) -> float:
    value = of.get(name, 0.0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _MOST:
        raise MalformedPlan(f"{name} is {str(value)[:80]!r}")
    return float(value)
