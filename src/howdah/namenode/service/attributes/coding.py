"""Erasure coding policies: which there are, and which a directory gives to new files (pure).

Hadoop's `FSDirErasureCodingOp` and `ECTopologyVerifier`. Adding, enabling, disabling and removing
policies is for superusers; whoever may write a directory may give it one that is enabled, or
"replication". Checks first, then an edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.calls.permissions import Access
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes import paths
from howdah.namenode.state.inodes.inodes import Directory, INode
from howdah.namenode.state.tree import coding_policies
from howdah.namenode.state.tree.reserved import is_reserved
from howdah.namenode.state.tree.snapshot_views import DotSnapshot
from howdah.protocol.rpc.call import Caller
from howdah.protocol.striping.layout import MAX_UNITS
from howdah.protocol.striping.messages import PolicyState
from howdah.protocol.striping.policies import KIB, MAX_ID, REPLICATION_NAME, Policy, Schema
from howdah.protocol.striping.policies import SYSTEM_POLICIES as SYSTEM

CODECS: Final = ("rs", "rs-legacy", "xor")


class CodingCalls:
    """Operations on erasure coding policies."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem
        self._policies = namesystem.namespace.coding_policies

    # Directories.

    def set(self, caller: Caller, path: str, name: str) -> None:
        """Give a directory a policy; "" is the one that this namenode has by default."""
        namesystem = self._namesystem
        namesystem.safe_mode.check(f"Cannot set erasure coding policy on {path}")
        policy_name = self._enabled_name(name or namesystem.settings.default_coding_policy)
        who, resolved = namesystem.resolver.resolve_to_change(caller, path)
        inode = resolved.require("Path not found: {}")
        namesystem.permissions.check(who, inode, Access.WRITE)
        if not isinstance(inode, Directory):
            raise errors.RemoteError(
                f"Attempt to set an erasure coding policy for a file {resolved.path}"
            )
        namesystem.commit(
            edits.SetXAttrOp(
                resolved.path,
                (coding_policies.attribute(policy_name),),
                rpc_client_id=caller.client_id,
                rpc_call_id=caller.call_id,
            )
        )

    def unset(self, caller: Caller, path: str) -> None:
        """Take a directory's own policy away: those above decide again."""
        namesystem = self._namesystem
        namesystem.safe_mode.check(f"Cannot unset erasure coding policy on {path}")
        who, resolved = namesystem.resolver.resolve_to_change(caller, path)
        inode = resolved.require("Path not found: {}")
        namesystem.permissions.check(who, inode, Access.WRITE)
        if not isinstance(inode, Directory):
            raise errors.RemoteError(
                f"Cannot unset an erasure coding policy on a file {resolved.path}"
            )
        name = coding_policies.own_name(inode)
        if name is None:
            raise errors.NoCodingPolicySet(
                f"No erasure coding policy explicitly set on {resolved.path}"
            )
        namesystem.commit(
            edits.RemoveXAttrOp(
                resolved.path,
                (coding_policies.attribute(name),),
                rpc_client_id=caller.client_id,
                rpc_call_id=caller.call_id,
            )
        )

    def effective(self, caller: Caller, path: str) -> Policy | None:
        """Return the policy that counts for a path; None where files are replicated. Raises
        AccessDenied for those who may not read there."""
        namesystem = self._namesystem
        who, resolved = namesystem.resolver.resolve_checked(caller, path)
        is_virtual = isinstance(resolved.inode, DotSnapshot) or is_reserved(resolved.components)
        if is_virtual or resolved.components[-1:] == [paths.DOT_SNAPSHOT]:
            return None
        inode = resolved.require("Path not found: {}")
        namesystem.permissions.check(who, inode, Access.READ)
        return coding_policies.of(inode, self._policies)

    def _enabled_name(self, name: str) -> str:
        """Return the name of a policy that may be given. Raises IllegalArgument for others."""
        if name.lower() == REPLICATION_NAME:
            return REPLICATION_NAME
        enabled = self._policies.enabled()
        if any(policy.name == name for policy in enabled):
            return name
        names = ", ".join(sorted(policy.name for policy in enabled))
        raise errors.IllegalArgument(
            f"Policy '{name}' does not match any enabled erasure coding policies: [{names}]. An "
            "erasure coding policy can be enabled by enableErasureCodingPolicy API."
            if enabled
            else "No erasure coding policies are enabled. Please enable a policy by the "
            "enableErasureCodingPolicy API."
        )

    # New files.

    def for_new_file(self, above: INode | None, name: str, *, replicated: bool) -> Policy | None:
        """Return how a new file is coded: as its creator says, or else as the nearest directory
        `above` that has a policy, whatever the state of that policy is. Raises IllegalArgument
        where the creator says both, or names a policy that is not enabled; RemoteError where the
        directory's policy is not known."""
        if replicated and name:
            raise errors.IllegalArgument(
                "SHOULD_REPLICATE flag and ecPolicyName are exclusive parameters. Set both is not "
                "allowed!"
            )
        if replicated:
            return None
        if name:
            name = self._enabled_name(name)
        else:
            name = coding_policies.name_for(above) or REPLICATION_NAME
        if name == REPLICATION_NAME:
            return None
        policy = self._policies.named(name)
        if policy is None:
            raise errors.RemoteError(
                f"The erasure coding policy {name} of {above.path if above else '/'} is not known"
            )
        return policy

    # Policies.

    def _check_superuser(self, caller: Caller, operation: str) -> None:
        namesystem = self._namesystem
        namesystem.permissions.check_superuser(namesystem.identities.of(caller.user), operation)

    def check_may_add(self, caller: Caller) -> None:
        """Raises AccessDenied for those who are not superuser."""
        self._check_superuser(caller, "add erasure coding policies")

    def add(self, caller: Caller, schema: Schema, cell_bytes: int) -> Policy:
        """Add a policy, disabled, and return it with its id. One that is there already is returned
        as it is. Raises IllegalArgument for one that cannot be."""
        namesystem = self._namesystem
        self.check_may_add(caller)
        namesystem.safe_mode.check("Cannot add erasure coding policy")
        self._check_new(schema, cell_bytes)
        if self._policies.like(schema, cell_bytes) is None and self._policies.next_id > MAX_ID:
            raise errors.IllegalArgument(
                "Adding erasure coding policy failed because the number of policies stored in the "
                f"system already reached the threshold, which is {MAX_ID}"
            )
        namesystem.commit(
            edits.AddErasureCodingPolicyOp(
                schema.codec,
                schema.data_units,
                schema.parity_units,
                cell_bytes,
                tuple(schema.options.items()),
                rpc_client_id=caller.client_id,
                rpc_call_id=caller.call_id,
            )
        )
        policy = self._policies.like(schema, cell_bytes)
        assert policy is not None, "it was just added"
        return policy

    def _check_new(self, schema: Schema, cell_bytes: int) -> None:
        settings = self._namesystem.settings
        if not settings.users_add_coding_policies:
            raise errors.IllegalArgument(
                "Addition of user defined erasure coding policy is disabled."
            )
        if schema.codec not in CODECS:
            raise errors.IllegalArgument(f"Codec name {schema.codec} is not supported")
        if schema.data_units < 1 or schema.parity_units < 1:
            raise errors.IllegalArgument(
                f"A policy has {schema.data_units} data and {schema.parity_units} parity units: "
                "both must be positive"
            )
        if schema.codec == "xor" and schema.parity_units != 1:
            raise errors.IllegalArgument(
                f"Codec xor has one parity unit, and the policy has {schema.parity_units}"
            )
        if schema.units > MAX_UNITS:
            raise errors.IllegalArgument(
                f"Number of data and parity blocks in an EC group {schema.units} should not exceed "
                f"maximum {MAX_UNITS}"
            )
        if cell_bytes <= 0 or cell_bytes % KIB:
            raise errors.IllegalArgument(
                f"cellSize must be a positive multiple of 1024, and is {cell_bytes}"
            )
        if cell_bytes > settings.max_coding_cell_bytes:
            raise errors.IllegalArgument(
                f"Cell size {cell_bytes} should not exceed maximum "
                f"{settings.max_coding_cell_bytes} bytes"
            )

    def _existing(self, name: str, called: str = "policy name", end: str = "") -> Policy:
        """Raises `IllegalArgument`; Hadoop has two sentences for it."""
        policy = self._policies.named(name)
        if policy is None:
            raise errors.IllegalArgument(f"The {called} {name} does not exist{end}")
        return policy

    def enable(self, caller: Caller, name: str) -> None:
        """Files and directories may be given the policy from now on."""
        self._check_superuser(caller, "enable erasure coding policies")
        self._namesystem.safe_mode.check(f"Cannot enable erasure coding policy {name}")
        policy = self._existing(name)
        if not self._policies.is_enabled_for_good(policy):
            self._namesystem.commit(
                edits.EnableErasureCodingPolicyOp(
                    name, rpc_client_id=caller.client_id, rpc_call_id=caller.call_id
                )
            )

    def disable(self, caller: Caller, name: str) -> None:
        """Nothing more is given the policy. What has it keeps it."""
        self._check_superuser(caller, "disable erasure coding policies")
        self._namesystem.safe_mode.check(f"Cannot disable erasure coding policy {name}")
        if self._policies.state_of(self._existing(name)) is PolicyState.ENABLED:
            self._namesystem.commit(
                edits.DisableErasureCodingPolicyOp(
                    name, rpc_client_id=caller.client_id, rpc_call_id=caller.call_id
                )
            )

    def remove(self, caller: Caller, name: str) -> None:
        """The same of a user's policy, and it is shown as removed."""
        self._check_superuser(caller, "remove erasure coding policies")
        self._namesystem.safe_mode.check(f"Cannot remove erasure coding policy {name}")
        if self._existing(name).policy_id in SYSTEM:
            raise errors.IllegalArgument(f"System erasure coding policy {name} cannot be removed")
        self._namesystem.commit(
            edits.RemoveErasureCodingPolicyOp(
                name, rpc_client_id=caller.client_id, rpc_call_id=caller.call_id
            )
        )

    # Does the cluster have enough datanodes and racks?

    def verify_topology(self, caller: Caller, names: Sequence[str]) -> tuple[bool, str]:
        """Return whether the cluster has datanodes and racks enough for these policies, or for
        those that are enabled if none is named, and that in words."""
        self._check_superuser(caller, "verify that policies fit the cluster")
        policies = [self._existing(name, "given erasure coding policy", ".") for name in names]
        return self.topology_for(policies or self._policies.enabled())

    def topology_for(self, policies: Sequence[Policy]) -> tuple[bool, str]:
        """The same, of policies."""
        if not policies:
            return True, "No erasure coding policy is given."
        nodes = self._namesystem.datanode_manager.datanodes.live()
        racks = len({node.location for node in nodes})
        wanted_nodes = max(policy.schema.units for policy in policies)
        wanted_racks = max(
            -(-policy.schema.units // policy.schema.parity_units) for policy in policies
        )
        names = ", ".join(policy.name for policy in policies)
        if len(nodes) < wanted_nodes:
            return False, (
                f"{wanted_nodes} DataNodes are required for the erasure coding policies: {names}. "
                f"The number of DataNodes is only {len(nodes)}."
            )
        if racks < wanted_racks:
            return False, (
                f"{wanted_racks} racks are required for the erasure coding policies: {names}. "
                f"The number of racks is only {racks}."
            )
        return True, f"The cluster setup can support EC policies: {names}"
