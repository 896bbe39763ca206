"""How patient a write pipeline is (pure)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from howdah.client.settings.replacement import DEFAULT_POLICY, ReplacementPolicy
from howdah.transfer.blocks import DatanodeAddress


def _none_is(node: DatanodeAddress) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class PipelineRules:
    """How patient a pipeline is, as the client's configuration says.

    `setup_retries` are for a new block, `recovery_retries` count pipelines that break
    with no packet acknowledged in between, `slow_acks` acks in a row by which a node says
    that it is slow (0: whatever it says). `is_local` tells the nodes on this machine,
    whose restart is worth `restart_timeout_s` of waiting.
    """

    setup_retries: int = 3
    recovery_retries: int = 5
    replacement: ReplacementPolicy = DEFAULT_POLICY
    exclude_s: float = 600.0
    heartbeat_interval_s: float = 30.0
    restart_timeout_s: float = 30.0
    is_local: Callable[[DatanodeAddress], bool] = _none_is
    slow_acks: int = 10


DEFAULT_RULES = PipelineRules()
