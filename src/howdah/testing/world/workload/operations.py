"""The operations that a client draws from: each says what it does to the tree, and does it.

An operation looks at the tree and draws what fits, mostly; now and then it draws what the
namenode has to refuse. `Step.change` is done to the model, `Step.act` to the filesystem.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from howdah.testing.world.workload.trees import Tree, directory_of

_NAMES: Final = tuple("abcdef")
_MODES: Final = (0o777, 0o755, 0o700, 0o1777)
_POLICIES: Final = ("HOT", "WARM", "ONE_SSD", "ALL_SSD")
_MOST_DEPTH: Final = 3
REPLICATIONS: Final = (1, 2, 2, 3, 3, 3)
_ODD_CHANCE: Final = 0.1
"""How often a path is drawn that need not fit."""


@dataclass(frozen=True, slots=True)
class Step:
    """Is one operation, drawn."""

    name: str
    change: Callable[[Tree], Any]
    act: Callable[[], Any]
    path: str = ""
    """Of what is opened, or cut."""

    def __str__(self) -> str:
        return self.name


class Drawing:
    """Draws steps for one client."""

    new_block_chance = 0.2
    """How often an append begins a block."""

    def __init__(
        self,
        dice: random.Random,
        fs: Any,
        acl_entry: Callable[..., Any],
        replications: Sequence[int] = REPLICATIONS,
    ) -> None:
        self._dice = dice
        self._replications = replications
        self._fs = fs
        self._acl_entry = acl_entry

    # -- paths

    def _one(self, tree: Tree, paths: list[str]) -> str | None:
        """One of these, or now and then anything."""
        dice = self._dice
        if dice.random() < _ODD_CHANCE:
            paths = [path for path in tree.paths if path != tree.root]
        return dice.choice(paths) if paths else None

    def _below(self, tree: Tree) -> list[str]:
        return [path for path in tree.paths if path != tree.root]

    def _new(self, tree: Tree) -> str:
        """A path in a directory that is there; it may be there as well."""
        dice = self._dice
        shallow = [
            path
            for path in tree.directories()
            if path.count("/") - tree.root.count("/") < _MOST_DEPTH
        ]
        return f"{dice.choice(shallow)}/{dice.choice(_NAMES)}"

    # -- directories and names

    def mkdirs(self, tree: Tree) -> Step | None:
        path, mode = self._new(tree), self._dice.choice(_MODES)
        return Step(
            f"mkdirs {path} {mode:o}",
            lambda after: after.mkdirs(path, mode),
            lambda: self._fs.mkdirs(path, mode),
        )

    def rename(self, tree: Tree) -> Step | None:
        source = self._one(tree, self._below(tree))
        if source is None:
            return None
        target, overwrite = self._new(tree), self._dice.random() < 0.5
        return Step(
            f"rename {source} to {target}{' (overwrite)' if overwrite else ''}",
            lambda after: after.rename(source, target, overwrite=overwrite),
            lambda: self._fs.rename(source, target, overwrite=overwrite),
        )

    def delete(self, tree: Tree) -> Step | None:
        path = self._one(tree, self._below(tree))
        if path is None:
            return None
        recursive = self._dice.random() < 0.7
        return Step(
            f"delete {path}{' and all below' if recursive else ''}",
            lambda after: after.delete(path, recursive=recursive),
            lambda: self._fs.delete(path, recursive),
        )

    # -- files as a whole

    def truncate(self, tree: Tree) -> Step | None:
        path = self._one(tree, tree.closed_files())
        if path is None or tree.entry(path).is_directory or tree.entry(path).writer:
            return None
        length = self._dice.randrange(len(tree.content(path).promised) + 1)
        return Step(
            f"truncate {path} to {length}",
            lambda after: after.truncate(path, length),
            lambda: self._fs.truncate(path, length),
            path,
        )

    def concat(self, tree: Tree) -> Step | None:
        target = self._one(tree, tree.closed_files())
        if target is None:
            return None
        beside = [
            path
            for path in tree.closed_files()
            if directory_of(path) == directory_of(target) and path != target
        ]
        if not beside:
            return None
        sources = self._dice.sample(beside, min(len(beside), self._dice.randrange(1, 3)))
        return Step(
            f"concat {' '.join(sources)} to {target}",
            lambda after: after.concat(target, sources),
            lambda: self._fs.concat(target, sources),
        )

    def set_replication(self, tree: Tree) -> Step | None:
        path = self._one(tree, tree.files())
        if path is None or tree.entry(path).is_directory:
            return None
        count = self._dice.choice(self._replications)
        return Step(
            f"setReplication {path} {count}",
            lambda after: after.model.set_replication(path, count),
            lambda: self._fs.set_replication(path, count),
        )

    # -- attributes

    def set_permission(self, tree: Tree) -> Step | None:
        path = self._one(tree, self._below(tree))
        if path is None:
            return None
        mode = self._dice.choice(_MODES)
        return Step(
            f"chmod {mode:o} {path}",
            lambda after: after.model.set_mode(path, mode),
            lambda: self._fs.set_permission(path, mode),
        )

    def set_acl(self, tree: Tree) -> Step | None:
        path = self._one(tree, self._below(tree))
        if path is None:
            return None
        user, permission = self._dice.choice(("ann", "bob")), self._dice.randrange(8)
        is_default = tree.entry(path).is_directory and self._dice.random() < 0.4
        scope = "default" if is_default else "access"
        return Step(
            f"setfacl {scope} user:{user}:{permission} {path}",
            lambda after: after.model.modify_acl(path, {(scope, "user", user): permission}),
            lambda: self._fs.modify_acl_entries(
                path, [self._acl_entry("user", user, permission, is_default)]
            ),
        )

    def remove_acl(self, tree: Tree) -> Step | None:
        path = self._one(tree, [path for path in self._below(tree) if tree.entry(path).acl])
        if path is None:
            return None
        return Step(
            f"remove the ACL of {path}",
            lambda after: after.model.remove_acl(path),
            lambda: self._fs.remove_acl(path),
        )

    def set_xattr(self, tree: Tree) -> Step | None:
        path = self._one(tree, self._below(tree))
        if path is None:
            return None
        name, value = f"user.{self._dice.choice(_NAMES)}", self._dice.randbytes(4)
        return Step(
            f"set {name} of {path}",
            lambda after: after.model.set_xattr(path, name, value, create=True, replaces=True),
            lambda: self._fs.set_xattr(path, name, value),
        )

    def remove_xattr(self, tree: Tree) -> Step | None:
        path = self._one(tree, [path for path in self._below(tree) if tree.entry(path).xattrs])
        if path is None:
            return None
        name = self._dice.choice(sorted(tree.entry(path).xattrs) or ["user.a"])
        return Step(
            f"remove {name} of {path}",
            lambda after: after.model.remove_xattr(path, name),
            lambda: self._fs.remove_xattr(path, name),
        )

    def set_policy(self, tree: Tree) -> Step | None:
        path = self._one(tree, self._below(tree))
        if path is None:
            return None
        policy = self._dice.choice(_POLICIES)
        return Step(
            f"set the policy {policy} of {path}",
            lambda after: after.model.set_policy(path, policy),
            lambda: self._fs.set_storage_policy(path, policy),
        )

    def set_quota(self, tree: Tree) -> Step | None:
        path = self._one(tree, [path for path in tree.directories() if path != tree.root])
        if path is None or not tree.entry(path).is_directory:
            return None
        names = self._dice.choice((None, None, 3, 6, 1000))
        return Step(
            f"set the quota {names} of {path}",
            lambda after: after.model.set_bounds(path, {"names": names}),
            lambda: self._fs.set_quota(path, names=names),
        )

    # -- snapshots

    def allow_snapshot(self, tree: Tree) -> Step | None:
        path = self._dice.choice(tree.directories())
        return Step(
            f"allowSnapshot {path}",
            lambda after: after.model.allow_snapshot(path),
            lambda: self._fs.allow_snapshot(path),
        )

    def create_snapshot(self, tree: Tree) -> Step | None:
        roots = [p for p in tree.directories() if tree.entry(p).number in tree.model.snapshots]
        if not roots:
            return self.allow_snapshot(tree)
        path, name = self._dice.choice(roots), f"s{self._dice.randrange(5)}"
        return Step(
            f"createSnapshot {path} {name}",
            lambda after: after.create_snapshot(path, name),
            lambda: self._fs.create_snapshot(path, name),
        )

    def rename_snapshot(self, tree: Tree) -> Step | None:
        there = tree.snapshots()
        if not there:
            return None
        (path, old), new = self._dice.choice(there), f"s{self._dice.randrange(5)}"
        return Step(
            f"renameSnapshot {path} {old} {new}",
            lambda after: after.rename_snapshot(path, old, new),
            lambda: self._fs.rename_snapshot(path, old, new),
        )

    def delete_snapshot(self, tree: Tree) -> Step | None:
        there = tree.snapshots()
        if not there:
            return None
        path, name = self._dice.choice(there)
        return Step(
            f"deleteSnapshot {path} {name}",
            lambda after: after.delete_snapshot(path, name),
            lambda: self._fs.delete_snapshot(path, name),
        )

    # -- the beginning of writing

    def create(self, tree: Tree, is_open: Callable[[str], bool]) -> Step | None:
        path, overwrite = self._new(tree), self._dice.random() < 0.3
        if is_open(path):
            return None
        replication = self._dice.choice(self._replications)
        return Step(
            f"create {path}{' (overwrite)' if overwrite else ''}, {replication} replicas",
            lambda after: after.create(path, replication=replication, overwrite=overwrite),
            lambda: self._fs.create(path, overwrite=overwrite, replication=replication),
            path,
        )

    def append(self, tree: Tree) -> Step | None:
        path = self._one(tree, tree.closed_files())
        if path is None:
            return None
        new_block = self._dice.random() < self.new_block_chance
        return Step(
            f"append {path}{' in a new block' if new_block else ''}",
            lambda after: after.append(path),
            lambda: self._fs.append(path, new_block=new_block),
            path,
        )


Draw = Callable[[Drawing, Tree], Step | None]

SIMPLE: Final[Mapping[str, tuple[float, Draw]]] = {
    "mkdirs": (3.0, Drawing.mkdirs),
    "rename": (3.0, Drawing.rename),
    "delete": (2.0, Drawing.delete),
    "truncate": (2.0, Drawing.truncate),
    "concat": (1.5, Drawing.concat),
    "set_replication": (1.5, Drawing.set_replication),
    "set_permission": (0.5, Drawing.set_permission),
    "set_acl": (0.7, Drawing.set_acl),
    "remove_acl": (0.3, Drawing.remove_acl),
    "set_xattr": (0.5, Drawing.set_xattr),
    "remove_xattr": (0.3, Drawing.remove_xattr),
    "set_policy": (0.5, Drawing.set_policy),
    "set_quota": (0.5, Drawing.set_quota),
    "create_snapshot": (1.5, Drawing.create_snapshot),
    "rename_snapshot": (0.3, Drawing.rename_snapshot),
    "delete_snapshot": (0.7, Drawing.delete_snapshot),
}
"""Operations that are one call, with their weights. Writing and reading take several
(`clients`)."""
