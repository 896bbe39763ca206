"""Which volumes give how much to which others (pure).

GreedyPlanner in Hadoop. For each set of volumes, as long as one of them is farther from the mean
than the threshold:

1. The emptiest volume (the highest density) and the fullest one are taken.
2. The one may take up to the mean, the other may give down to it; what is less is moved.
3. A volume that cannot take, or give, any more is left out, and the mean of the others counts.
   That mean may be another one, if by the digits that are cut off: a volume that has given takes
   nothing nevertheless, and the other way round.

Each round brings a volume to the mean or leaves one out, so there are fewer than two rounds for
each volume.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from howdah.diskbalancer.volumes import DiskNode, DiskVolume, VolumeSet


@dataclass(frozen=True, slots=True)
class MoveStep:
    """So many bytes are to go from one volume to another."""

    source: DiskVolume
    destination: DiskVolume
    bytes_to_move: int
    ideal: float
    set_id: str
    max_disk_errors: int = 0
    """How many moves may fail; 0 leaves that to the datanode, as with the next two."""
    tolerance_percent: int = 0
    """By how much of the bytes it may be less, or more."""
    bandwidth_mib: int = 0
    """MiB a second."""


@dataclass(frozen=True, slots=True)
class NodePlan:
    """What one datanode is to do."""

    node_name: str
    node_uuid: str
    port: int
    timestamp_ms: int
    steps: tuple[MoveStep, ...]


def plan(
    node: DiskNode,
    threshold_percent: float,
    now_ms: int,
    *,
    bandwidth_mib: int = 0,
    max_disk_errors: int = 0,
) -> NodePlan:
    """Return the moves after which all volumes of `node` are within the threshold: none where they
    are already."""
    steps = [
        replace(step, bandwidth_mib=bandwidth_mib, max_disk_errors=max_disk_errors)
        for volume_set in node.sets
        for step in _steps(volume_set, threshold_percent)
    ]
    return NodePlan(node.name, node.uuid, node.port, now_ms, tuple(steps))


def _steps(volumes: VolumeSet, threshold_percent: float) -> list[MoveStep]:
    steps: list[MoveStep] = []
    givers, takers = set[str](), set[str]()
    current = volumes
    while current.needs_balancing(threshold_percent):
        current = _set_of(current, [volume for volume in current.volumes if volume.counts])
        ordered = sorted(current.volumes, key=lambda volume: volume.density)
        if len(ordered) < 2:
            break
        full, empty = ordered[0], ordered[-1]
        can_take = can_give = 0
        if empty.storage_id not in givers:
            can_take = int(current.ideal * empty.effective_bytes) - empty.used_bytes
        if full.storage_id not in takers:
            can_give = full.used_bytes - int(current.ideal * full.effective_bytes)
        count = min(can_take, can_give)
        moved = {
            empty: replace(empty, skip=can_take <= 0),
            full: replace(full, skip=can_give <= 0),
        }
        if count > 0:
            moved = {
                empty: replace(empty, used_bytes=empty.used_bytes + count),
                full: replace(full, used_bytes=full.used_bytes - count),
            }
            steps.append(MoveStep(full, empty, count, current.ideal, current.set_id))
            givers.add(full.storage_id)
            takers.add(empty.storage_id)
        current = _set_of(current, [moved.get(volume, volume) for volume in current.volumes])
    return steps


def _set_of(before: VolumeSet, volumes: list[DiskVolume]) -> VolumeSet:
    return VolumeSet.of(before.set_id, before.storage_type, volumes)
