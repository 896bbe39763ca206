"""What `howdah diskbalancer` prints: Hadoop's lines, or JSON (pure, but for printing)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from howdah.diskbalancer.planner import NodePlan
from howdah.diskbalancer.status import WorkStatus, entry_json, state_text
from howdah.diskbalancer.volumes import DiskNode, DiskVolume
from howdah.runtime.units import human_size

PLACE: Final = re.compile(r"[^:]+:[0-9]{2,5}")
_WIDTHS: Final = (30, 30, 10, 10)
_RULE: Final = "=" * 80


def print_json(value: object) -> None:
    print(json.dumps(value))


# --- a plan ---


def plan_table(plan: NodePlan) -> str:
    head = ("Source Disk", "Dest.Disk", "Size", "Type")
    lines = ["", "Plan :", "", _RULE, "".join(map(_centred, head, _WIDTHS))]
    for step in plan.steps:
        cells = (
            step.source.path,
            step.destination.path,
            human_size(step.bytes_to_move),
            step.destination.storage_type,
        )
        lines.append(" ".join(map(_centred, cells, _WIDTHS)))
    return "\n".join([*lines, _RULE])


def _centred(text: str, width: int) -> str:
    """With the odd blank behind, other than Python's."""
    left = max(width - len(text), 0) // 2
    return (" " * left + text).ljust(width)


def plan_json(plan: NodePlan, threshold: float, before: str, plan_file: str | None) -> Any:
    return {
        "node": plan.node_name,
        "node_uuid": plan.node_uuid,
        "ipc_port": plan.port,
        "threshold_percent": threshold,
        "before_file": before,
        "plan_file": plan_file,
        "steps": [
            {
                "source": step.source.path,
                "destination": step.destination.path,
                "storage_type": step.destination.storage_type,
                "bytes": step.bytes_to_move,
                "bandwidth_mib_per_s": step.bandwidth_mib or None,
                "max_errors": step.max_disk_errors or None,
            }
            for step in plan.steps
        ],
    }


# --- what a datanode does ---


def status_lines(names: str, statuses: Sequence[tuple[str, WorkStatus]], *, verbose: bool) -> str:
    text = (
        "Get current status of the diskbalancer for DataNode(s). "
        f"These DataNode(s) are parsed from '{names}'.\n"
    )
    for place, status in statuses:
        text += (
            f"DataNode: {place}\nPlan File: {status.plan_file}\nPlan ID: {status.plan_id}\n"
            f"Result: {status.result.name}\n"
        )
        if verbose:
            text += state_text(status.entries)
        text += "\n"
    return text


def status_json(place: str, status: WorkStatus) -> Any:
    return {
        "node": place,
        "result": status.result.name,
        "plan_id": status.plan_id,
        "plan_file": status.plan_file,
        "moves": [entry_json(entry) for entry in status.entries],
    }


# --- volumes ---


def top_lines(nodes: Sequence[DiskNode], complaint: str) -> str:
    lines = ["Processing report command"]
    if complaint:
        lines.append(complaint)
    lines.append(f"Reporting top {len(nodes)} DataNode(s) benefiting from running DiskBalancer.")
    lines += [f"{n}/{len(nodes)} {_node_line(node)}" for n, node in enumerate(nodes, 1)]
    return "\n".join(lines) + "\n"


def node_lines(names: str, nodes: Sequence[DiskNode], unknown: Sequence[str]) -> str:
    lines = [
        "Processing report command",
        "Reporting volume information for DataNode(s). "
        f"These DataNode(s) are parsed from '{names}'.",
    ]
    if unknown:
        return "\n".join([*lines, not_found(unknown)]) + "\n"
    for node in nodes:
        lines += [_node_line(node), *sorted(map(_volume_line, node.volumes)), ""]
    return "\n".join(lines) + "\n"


def not_found(names: Sequence[str]) -> str:
    text = ",".join(names)
    return f"The node(s) '{text}' not found. Please make sure that '{text}' exists in the cluster."


def _node_line(node: DiskNode) -> str:
    return (
        f"{node.name}[{node.ip}:{node.port}] - <{node.uuid}>: {len(node.volumes)} volumes with "
        f"node data density {node.density:.2f}."
    )


def _volume_line(volume: DiskVolume) -> str:
    capacity = volume.capacity_bytes
    used = volume.used_bytes / capacity if capacity else 0.0
    free = volume.free_bytes / capacity if capacity else 0.0
    return (
        f"[{volume.storage_type}: volume-{volume.path}] - "
        f"{used:.2f} used: {volume.used_bytes}/{capacity}, "
        f"{free:.2f} free: {volume.free_bytes}/{capacity}, "
        f"isFailed: {volume.failed}, isReadOnly: {volume.read_only}, "
        f"isSkip: {volume.skip}, isTransient: {volume.transient}."
    )


def node_json(node: DiskNode) -> Any:
    return {
        "node": node.name,
        "ip": node.ip,
        "ipc_port": node.port,
        "uuid": node.uuid,
        "density": node.density,
        "volumes": [
            {
                "path": volume.path or None,
                "storage_id": volume.storage_id,
                "storage_type": volume.storage_type,
                "capacity_bytes": volume.capacity_bytes,
                "used_bytes": volume.used_bytes,
                "density": volume.density,
                "failed": volume.failed,
                "read_only": volume.read_only,
                "skip": volume.skip,
            }
            for volume in node.volumes
        ],
    }
