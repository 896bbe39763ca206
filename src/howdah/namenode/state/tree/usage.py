"""What inodes use of quotas, with what snapshots keep of them (pure; see `quotas`).

Hadoop's `INode.computeQuotaUsage`. A directory uses what it has and what is kept of it:

* an entry that was deleted takes what is left of it, until no snapshot shows it
* an entry that was moved away takes, where it was, what the newest snapshot shows of it
  that shows it there; and where it is now it takes all that it has, as everything does
* a file takes all blocks that it has now or in a snapshot, with as many replicas as it
  has at most in any of these states
"""

from __future__ import annotations

from collections.abc import Iterator

from howdah.namenode.state.inodes import storage_policies
from howdah.namenode.state.inodes.files import FileTable
from howdah.namenode.state.inodes.group_table import Group
from howdah.namenode.state.inodes.inodes import Block, Directory, File, INode
from howdah.namenode.state.inodes.storage_policies import HOT, POLICIES, UNSPECIFIED
from howdah.namenode.state.snapshots.snapshots import DeadLink, Snapshots
from howdah.namenode.state.tree.quotas import Usage, counted_bytes, of_file, of_replicas


def stored_bytes(block: Block) -> int:
    """What a block of final length takes with one replica; a group with its parity."""
    return block.layout.space if isinstance(block, Group) else block.length_bytes


class Measuring:
    """Measures the inodes of one namespace."""

    def __init__(self, files: FileTable, snapshots: Snapshots) -> None:
        self._files = files
        self._snapshots = snapshots

    # Files.

    def file_bytes(self, file: File) -> int:
        """What the file's blocks count for, with one replica."""
        total = sum(counted_bytes(file, block) for block in file.blocks)
        versions = self._snapshots.versions.get(file.inode_id)
        if versions:
            kept = {block_id for version in versions for block_id in version.block_ids}
            blocks = file.table.blocks
            total += sum(
                stored_bytes(blocks[block_id]) for block_id in kept.difference(file.block_ids)
            )
        return total

    def replication(self, file: File) -> int:
        """With how many replicas they count."""
        versions = self._snapshots.versions.get(file.inode_id, ())
        return max([file.replication, *[version.replication for version in versions]])

    def wanted_replication(self, block: Block) -> int:
        """How many replicas a block is to have: as many as its file has at most, now or in
        a snapshot."""
        if not self._snapshots.versions:
            return self._files.of(block).replication
        return self.replication(self._files.of(block))

    def replication_with(self, file: File, wanted: int) -> int:
        """The same once the file has got as many as are wanted."""
        snapshots = self._snapshots
        if not snapshots.roots:
            return wanted
        versions = snapshots.versions.get(file.inode_id, ())
        kept = [version.replication for version in versions]
        if snapshots.newest(file) > (versions[-1].last if versions else -1):
            kept.append(file.replication)
        return max([wanted, *kept])

    def of_bytes(self, file: File, count: int) -> Usage:
        """What so many bytes more of the file take: of block groups with their parity."""
        return of_file(file, count, self.replication(file), storage_policies.of(file))

    def left_of(self, inode: INode) -> Usage:
        """What the inode still takes of its directory when it was deleted from there: one
        that has nothing in it."""
        snapshots = self._snapshots
        if not snapshots.leaves_link(inode):
            return Usage()
        if not isinstance(inode, File):
            return self.of_subtree(inode)
        count = self.file_bytes(inode) - sum(
            counted_bytes(inode, block)
            for block in inode.blocks
            if not snapshots.has_to_keep(inode, block.block_id)
        )
        replication = self.replication_with(inode, 0)
        if inode.coding_policy_id:
            count *= min(replication, 1)
        left = of_file(inode, count, replication, storage_policies.of(inode))
        left.names = 1
        return left

    # Trees.

    def of_subtree(self, top: INode, parent: INode | None = None) -> Usage:
        """What an inode and all below it take; or would take if `parent` were above it,
        whose policy then counts for what has none of its own."""
        above = parent if parent is not None else self._snapshots.holder(top)
        total = Usage()
        self._add(total, top, UNSPECIFIED if above is None else self.policy_id(above))
        return total

    def of_link(self, link: DeadLink) -> Usage:
        """What an entry that is no more takes of the directory in which it was."""
        total = Usage()
        policy_id = self.policy_id(link.parent)
        if link.moved:
            self._add_then(total, link.inode, link.last, policy_id)
        else:
            self._add(total, link.inode, policy_id)
        return total

    def policy_id(self, inode: INode) -> int:
        """Return the policy that counts for what is in it, also where only snapshots have it."""
        node: INode | None = inode
        while node is not None:
            policy_id = storage_policies.own_id(node)
            if policy_id:
                return policy_id
            node = self._snapshots.holder(node)
        return UNSPECIFIED

    def _add(self, total: Usage, top: INode, policy_id: int) -> None:
        dead_in = self._snapshots.dead_in
        stack = [(top, policy_id)]
        while stack:
            inode, policy_id = stack.pop()
            total.names += 1
            policy_id = storage_policies.own_id(inode) or policy_id
            if isinstance(inode, File):
                policy = POLICIES.get(policy_id, HOT)
                count = self.file_bytes(inode)
                total.add(of_file(inode, count, self.replication(inode), policy))
            elif isinstance(inode, Directory):
                self._add_files(total, inode, policy_id)
                stack.extend((child, policy_id) for child in self._others(inode))
                for links in dead_in.get(inode.inode_id, {}).values() if dead_in else ():
                    for link in links:
                        if link.moved:
                            self._add_then(total, link.inode, link.last, policy_id)
                        else:
                            stack.append((link.inode, policy_id))

    def _add_files(self, total: Usage, directory: Directory, policy_id: int) -> None:
        """What those files take that have nothing but what all files have."""
        files = directory.files
        if files is None:
            return
        versions = self._snapshots.versions
        lengths: dict[int, int] = {}
        for entry in directory.entries.values():
            if not isinstance(entry, int) or entry in versions:
                continue
            measure = files.measure(entry)
            if measure is not None:
                total.names += 1
                lengths[measure[0]] = lengths.get(measure[0], 0) + measure[1]
        policy = POLICIES.get(policy_id, HOT)
        for replication, count in lengths.items():
            total.add(of_replicas(count, replication, policy))

    def _others(self, directory: Directory) -> Iterator[INode]:
        """What else is in the directory."""
        files = directory.files
        versions = self._snapshots.versions
        for entry in directory.entries.values():
            if not isinstance(entry, int):
                yield entry
            elif files is not None and (entry in files.features or entry in versions):
                yield files[entry]

    def _add_then(self, total: Usage, top: INode, snapshot_id: int, policy_id: int) -> None:
        """What a snapshot shows of an inode and below."""
        snapshots = self._snapshots
        stack = [(top, policy_id)]
        while stack:
            inode, policy_id = stack.pop()
            total.names += 1
            policy_id = storage_policies.own_id(inode) or policy_id
            if isinstance(inode, File):
                state = snapshots.version(inode, snapshot_id) or inode
                policy = POLICIES.get(policy_id, HOT)
                count = state.length_bytes
                if inode.coding_policy_id:
                    blocks = inode.table.blocks
                    count = sum(stored_bytes(blocks[i]) for i in state.block_ids)
                total.add(of_file(inode, count, state.replication, policy))
            elif isinstance(inode, Directory):
                children = snapshots.children(inode, snapshot_id)
                stack.extend((child, policy_id) for child in children)
