"""The erasure coding policies of a namespace, and which one counts where (pure).

Hadoop's `ErasureCodingPolicyManager`. The five system policies are always there; users add more.
A policy is disabled, enabled or removed. Its state says whether a directory or a file may be given
it; those that have it keep it. A policy that was removed can be enabled again, and no id is given
twice.

Edits add policies and change their states. An edit that adds one does not carry its id: it is the
next one, so the order of edits matters. The policy that a namenode is set to use by default is
enabled from its start on; that is in no edit and in no image (`default_name`).

A directory keeps the name of its policy in an extended attribute, and what is below has the policy
of the nearest one. A file keeps the id from its creation on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from howdah.formats.edits import edits
from howdah.formats.edits.edits import XAttr
from howdah.formats.image import records as rec
from howdah.namenode.state.inodes import limits, xattrs
from howdah.namenode.state.inodes.block_events import EditDoesNotFit
from howdah.namenode.state.inodes.inode_features import NO_FEATURES
from howdah.namenode.state.inodes.inodes import Directory, File, INode, inherits_from
from howdah.protocol.striping.messages import PolicyState
from howdah.protocol.striping.policies import (
    FIRST_USER_ID,
    MAX_ID,
    REPLICATION_NAME,
    SYSTEM_POLICIES,
    Policy,
    Schema,
)

_LENGTH_BYTES: Final = 4


class CodingPolicies:
    """The policies of one namespace."""

    def __init__(self, known: dict[int, Policy]) -> None:
        """`known` has the policies by their ids, and is kept up."""
        self._known: Final = known
        self._states: Final = dict.fromkeys(known, PolicyState.DISABLED)
        self.default_name = ""
        """The policy that this namenode enables by itself; "" is none."""
        self._default_is_disabled = False
        self.appliers: Final[Mapping[type[edits.Edit], Callable[[Any], None]]] = {
            edits.AddErasureCodingPolicyOp: self._add,
            edits.EnableErasureCodingPolicyOp: self._enable,
            edits.DisableErasureCodingPolicyOp: self._disable,
            edits.RemoveErasureCodingPolicyOp: self._remove,
        }

    # Looking.

    def named(self, name: str) -> Policy | None:
        """Return the policy of that name, whatever its state."""
        return next((policy for policy in self._known.values() if policy.name == name), None)

    def by_id(self, policy_id: int) -> Policy | None:
        """Return the policy of that id, whatever its state."""
        return self._known.get(policy_id)

    def all(self) -> list[tuple[Policy, PolicyState]]:
        """Return all policies with their states, in the order of their ids."""
        return [(policy, self.state_of(policy)) for _, policy in sorted(self._known.items())]

    def state_of(self, policy: Policy) -> PolicyState:
        """Return the state of a policy, as this namenode has it."""
        if policy.name == self.default_name and not self._default_is_disabled:
            return PolicyState.ENABLED
        return self._states[policy.policy_id]

    def is_enabled_for_good(self, policy: Policy) -> bool:
        """Return whether an edit has enabled it: the default one may be enabled without."""
        return self._states[policy.policy_id] is PolicyState.ENABLED

    def enabled(self) -> list[Policy]:
        """Return the policies that may be given to files and directories."""
        return [policy for policy, state in self.all() if state is PolicyState.ENABLED]

    def like(self, schema: Schema, cell_bytes: int) -> Policy | None:
        """Return the policy of that schema and cell, or of the name that they make."""
        wanted = Policy(0, schema, cell_bytes)
        return next(
            (
                policy
                for policy in self._known.values()
                if policy.name == wanted.name
                or (policy.schema == schema and policy.cell_bytes == cell_bytes)
            ),
            None,
        )

    @property
    def next_id(self) -> int:
        """Return the id of the next policy that is added; more than `MAX_ID` where none is left."""
        return max(FIRST_USER_ID - 1, *self._known) + 1

    # Edits.

    def _add(self, op: edits.AddErasureCodingPolicyOp) -> None:
        schema = Schema(op.coding, op.data_units, op.parity_units, dict(op.options))
        if self.like(schema, op.cell_bytes) is not None:
            return
        wrong = limits.wrong_coding_policy(op.data_units, op.parity_units, op.cell_bytes)
        if wrong is not None:
            raise EditDoesNotFit(f"{op.opcode.name}: {wrong}")
        if self.next_id > MAX_ID:
            raise EditDoesNotFit(f"{op.opcode.name}: no policy has an id above {MAX_ID}")
        self._know(Policy(self.next_id, schema, op.cell_bytes), PolicyState.DISABLED)

    def _know(self, policy: Policy, state: PolicyState) -> None:
        self._known[policy.policy_id] = policy
        self._states[policy.policy_id] = state

    def _enable(self, op: edits.EnableErasureCodingPolicyOp) -> None:
        self._set(op, op.name, PolicyState.ENABLED)

    def _disable(self, op: edits.DisableErasureCodingPolicyOp) -> None:
        self._set(op, op.name, PolicyState.DISABLED)

    def _remove(self, op: edits.RemoveErasureCodingPolicyOp) -> None:
        self._set(op, op.name, PolicyState.REMOVED)

    def _set(self, op: edits.Edit, name: str, state: PolicyState) -> None:
        policy = self.named(name)
        if policy is None:
            raise EditDoesNotFit(f"{op.opcode.name}: there is no policy {name!r}")
        self._states[policy.policy_id] = state
        if name == self.default_name:
            self._default_is_disabled = state is not PolicyState.ENABLED

    # Images.

    def records(self) -> list[rec.ErasureCodingPolicyRecord]:
        """Return what an image has of them: system policies by their ids alone."""
        return [
            rec.ErasureCodingPolicyRecord(policy_id, state=self._states[policy_id])
            if policy_id in SYSTEM_POLICIES
            else rec.ErasureCodingPolicyRecord(
                policy_id,
                policy.name,
                rec.SchemaRecord(
                    policy.schema.codec,
                    policy.schema.data_units,
                    policy.schema.parity_units,
                    tuple(
                        rec.SchemaOptionRecord(key, value)
                        for key, value in policy.schema.options.items()
                    ),
                ),
                policy.cell_bytes,
                self._states[policy_id],
            )
            for policy_id, policy in sorted(self._known.items())
        ]

    def load(self, records: Iterable[rec.ErasureCodingPolicyRecord]) -> None:
        """Take over what an image has. Raises ValueError for what makes no sense."""
        for record in records:
            state = PolicyState(record.state or PolicyState.DISABLED)
            policy = SYSTEM_POLICIES.get(record.policy_id)
            if policy is None:
                policy = _policy_of(record)
            self._know(policy, state)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CodingPolicies) and self.records() == other.records()

    def __hash__(self) -> int:
        raise TypeError("policies change")


def _policy_of(record: rec.ErasureCodingPolicyRecord) -> Policy:
    if record.schema is None or not record.cell_size_bytes:
        raise ValueError(f"erasure coding policy {record.policy_id} has no schema")
    if not FIRST_USER_ID <= record.policy_id <= MAX_ID:
        raise ValueError(f"a user's erasure coding policy has the id {record.policy_id}")
    schema = record.schema
    wrong = limits.wrong_coding_policy(
        schema.data_units, schema.parity_units, record.cell_size_bytes
    )
    if wrong is not None:
        raise ValueError(f"{wrong}; its id is {record.policy_id}")
    options = {option.key: option.value for option in schema.options}
    return Policy(
        record.policy_id,
        Schema(schema.codec, schema.data_units, schema.parity_units, options),
        record.cell_size_bytes,
    )


# Of inodes.


def attribute(name: str) -> XAttr:
    """Return the attribute by which a directory has the policy of that name."""
    data = name.encode()
    return XAttr(*xattrs.ERASURE_CODING, len(data).to_bytes(_LENGTH_BYTES, "big") + data)


def own_name(directory: INode) -> str | None:
    """Return the name of the policy that was set on a directory; None where none was."""
    for xattr in directory.xattrs:
        if xattrs.name_of(xattr) == xattrs.ERASURE_CODING and xattr.value is not None:
            # A name that no policy has is refused where a file is to be created.
            return xattr.value[_LENGTH_BYTES:].decode(errors="replace")
    return None


def name_for(inode: INode | None) -> str | None:
    """Return the name of the policy that counts for what is created in a directory: that of the
    nearest one that has any. `REPLICATION_NAME` is one of them."""
    while inode is not None:
        # Every listing asks this of its directories, and hardly any has features.
        if inode.features is not NO_FEATURES and isinstance(inode, Directory):
            name = own_name(inode)
            if name is not None:
                return name
        inode = inherits_from(inode)
    return None


def of(inode: INode, policies: CodingPolicies) -> Policy | None:
    """Return the policy that counts for an inode; None for what is replicated, and for links."""
    if isinstance(inode, File):
        return policies.by_id(inode.coding_policy_id) if inode.coding_policy_id else None
    name = name_for(inode) if isinstance(inode, Directory) else None
    if name is None or name == REPLICATION_NAME:
        return None
    return policies.named(name)
