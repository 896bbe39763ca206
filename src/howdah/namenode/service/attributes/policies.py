"""setStoragePolicy and the calls about it: checks first, then an edit (pure).

Part of Hadoop's `FSDirAttrOp`.
"""

from __future__ import annotations

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.calls.permissions import Access
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes import storage_policies
from howdah.namenode.state.inodes.inodes import File
from howdah.namenode.state.inodes.storage_policies import POLICIES, UNSPECIFIED, StoragePolicy
from howdah.protocol.rpc.call import Caller


class PolicyCalls:
    """Operations on storage policies."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem

    def set(self, caller: Caller, path: str, name: str) -> None:
        self._namesystem.safe_mode.check(f"Cannot set storage policy for {path}")
        check_policies_enabled(self._namesystem, "set")
        self._check_superuser(caller)
        self._give(caller, path, policy_named(name))

    def unset(self, caller: Caller, path: str) -> None:
        """The directories above decide again."""
        self._namesystem.safe_mode.check(f"Cannot unset storage policy for {path}")
        check_policies_enabled(self._namesystem, "unset")
        self._check_superuser(caller)
        self._give(caller, path, None)

    def _check_superuser(self, caller: Caller) -> None:
        """Raises AccessDenied where policies are the superuser's to set."""
        namesystem = self._namesystem
        if namesystem.settings.policies_are_superusers:
            namesystem.permissions.check_superuser(
                namesystem.identities.of(caller.user), "set storage policies"
            )

    def _give(self, caller: Caller, path: str, policy: StoragePolicy | None) -> None:
        namesystem = self._namesystem
        who, resolved = namesystem.resolver.resolve_to_change(caller, path)
        inode = resolved.inode
        if inode is None:
            raise errors.PathNotFound(f"File/Directory does not exist: {resolved.path}")
        namesystem.permissions.check(who, inode, Access.WRITE)
        if isinstance(inode, File):
            if policy is not None and policy.fixed:
                raise errors.IllegalArgument(f"Policy {policy} cannot be set after file creation.")
            current = POLICIES.get(inode.storage_policy_id)
            if current is not None and current.fixed:
                raise errors.IllegalArgument(
                    f"Existing policy {current.name} cannot be changed after file creation."
                )
        policy_id = UNSPECIFIED if policy is None else policy.policy_id
        namesystem.commit(edits.SetStoragePolicyOp(resolved.path, policy_id))

    def get(self, caller: Caller, path: str) -> StoragePolicy:
        """The policy that counts for a path."""
        namesystem = self._namesystem
        who, resolved = namesystem.resolver.resolve_checked(caller, path, follows=False)
        if resolved.inode is None:
            raise errors.PathNotFound(f"File/Directory does not exist: {resolved.path}")
        namesystem.permissions.check(who, resolved.inode, Access.READ)
        return storage_policies.of(resolved.inode)


def check_policies_enabled(namesystem: Namesystem, action: str) -> None:
    """Raises RemoteError where there are no storage policies."""
    if not namesystem.settings.storage_policies_enabled:
        raise errors.RemoteError(
            f"Failed to {action} storage policy since dfs.storage.policy.enabled is set to false."
        )


def policy_named(name: str) -> StoragePolicy:
    """Raises IllegalArgument for a name that no policy has."""
    policy = storage_policies.by_name(name)
    if policy is None:
        raise errors.IllegalArgument(f"Cannot find a block policy with the name {name}")
    return policy
