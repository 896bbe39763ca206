"""An erasure coding policy that few datanodes suffice for."""

from __future__ import annotations

from typing import Any, Final

from howdah.testing.world.processes import Process

DATA_UNITS: Final = 3
PARITY_UNITS: Final = 2
CELL_BYTES: Final = 64 << 10
NAME: Final = "RS-3-2-64k"
_ID: Final = 64


def policy_of(process: Process) -> Any:
    """Return it as an object of howdah's in a process."""
    policies = process.modules.load("howdah.protocol.striping.policies")
    return policies.Policy(_ID, policies.Schema("rs", DATA_UNITS, PARITY_UNITS), CELL_BYTES)


def use_coding(process: Process, fs: Any, path: str) -> None:
    """Have the files of a directory coded by the policy, which is added and enabled first."""
    namenode = fs.client.namenode
    for answer in namenode.add_erasure_coding_policies([policy_of(process)]):
        assert answer.succeed, answer.errorMsg
    namenode.enable_erasure_coding_policy(NAME)
    fs.set_erasure_coding_policy(path, NAME)


def internal_blocks(process: Process, length: int) -> int:
    """Return how many internal blocks a group of so many bytes has."""
    layout = process.modules.load("howdah.protocol.striping.layout")
    return len(layout.GroupLayout(policy_of(process), length).block_indices)
