"""Whether a plan that was submitted is taken (pure).

DiskBalancer.verifyPlan and createWorkPlan in Hadoop, with the same order, messages and result
codes. A plan is for one datanode, not older than `dfs.disk.balancer.plan.valid.interval`, and
names volumes that there are. Between volumes of different storage types nothing is moved: Hadoop
would, and take replicas to where their policy does not want them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from howdah.datanode.state.disk_balancer.work import BalancerWork
from howdah.diskbalancer.plan_files import VERSION, MalformedPlan, parse_plan, plan_id
from howdah.diskbalancer.planner import MoveStep, NodePlan
from howdah.errors import DiskBalancerError
from howdah.protocol.data_transfer.blocks import StorageType

IN_MEMORY: Final = StorageType.RAM_DISK


@dataclass(frozen=True, slots=True)
class Submitted:
    """What was submitted."""

    plan_id: str
    version: int
    text: str
    skips_date_check: bool


def checked_plan(submitted: Submitted, uuid: str, valid_ms: int, now_ms: int) -> NodePlan:
    """The plan, for the datanode `uuid`. Raises `DiskBalancerError`."""
    if submitted.version != VERSION:
        raise DiskBalancerError.of("INVALID_PLAN_VERSION", "Invalid plan version.")
    if not submitted.text:
        raise DiskBalancerError.of("INVALID_PLAN", "Invalid plan.")
    if plan_id(submitted.text) != submitted.plan_id.lower():
        raise DiskBalancerError.of("INVALID_PLAN_HASH", "Invalid or mis-matched hash.")
    try:
        plan = parse_plan(submitted.text)
    except MalformedPlan as error:
        raise DiskBalancerError.of("MALFORMED_PLAN", f"Parsing plan failed. {error}") from error
    if not submitted.skips_date_check and plan.timestamp_ms + valid_ms < now_ms:
        raise DiskBalancerError.of(
            "OLD_PLAN_SUBMITTED", f"Plan was generated more than {_time_text(valid_ms)} ago"
        )
    if not uuid or plan.node_uuid != uuid:
        raise DiskBalancerError.of("DATANODE_ID_MISMATCH", "Plan was generated for another node.")
    return plan


def _time_text(time_ms: int) -> str:
    for unit, unit_ms in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)):
        if time_ms and time_ms % unit_ms == 0:
            return f"{time_ms // unit_ms}{unit}"
    return f"{time_ms}ms"


def work_of(plan: NodePlan, volumes: Mapping[str, StorageType]) -> list[BalancerWork]:
    """What is to be done, once for each pair of volumes, in the order of the plan. Raises
    `DiskBalancerError`. `volumes` has those that work, by their storage ids."""
    works: dict[tuple[str, str], BalancerWork] = {}
    for step in plan.steps:
        source_id, destination_id = _checked_pair(step, volumes)
        work = works.get((source_id, destination_id))
        if work is None:
            works[source_id, destination_id] = BalancerWork(source_id, destination_id, step)
        else:
            work.add(step)
    return list(works.values())


def _checked_pair(step: MoveStep, volumes: Mapping[str, StorageType]) -> tuple[str, str]:
    source_id, destination_id = step.source.storage_id, step.destination.storage_id
    for volume in (step.source, step.destination):
        if volume.storage_id not in volumes:
            raise DiskBalancerError.of(
                "INVALID_VOLUME",
                f"Disk Balancer - Unable to find volume: {volume.path}. SubmitPlan failed.",
            )
    if source_id == destination_id:
        raise DiskBalancerError.of(
            "INVALID_MOVE",
            f"Disk Balancer - Source and destination volumes are same: {source_id}",
        )
    kinds = volumes[source_id], volumes[destination_id]
    if IN_MEMORY in kinds:
        raise DiskBalancerError.of(
            "INVALID_MOVE", "Disk Balancer - Unable to support transient storage type."
        )
    if kinds[0] is not kinds[1]:
        raise DiskBalancerError.of(
            "INVALID_MOVE",
            f"Disk Balancer - {source_id} is of type {kinds[0].name} and {destination_id} of type "
            f"{kinds[1].name}",
        )
    return source_id, destination_id
