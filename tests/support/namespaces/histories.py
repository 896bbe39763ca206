"""One namespace twice, in the model and in the namenode, through a random history.

Each rule runs an operation on both. What the model refuses the namenode must refuse too,
with an error of that meaning and without an edit; what the model does the namenode must
do. After each step the two trees are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from google.protobuf.message import Message
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant

from howdah import errors
from howdah.model.entries import Entry, Refused
from howdah.model.namespace import ModelNamespace
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.inodes.inodes import File
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.service import Deferred
from howdah.testing.fingerprint import check_consistent
from howdah.testing.in_memory import InMemoryNamenode
from tests.support.namespaces.comparing import compare
from tests.support.namespaces.survival import NotedNamespace, check_survival

BLOCK: Final = 1024
MAX_XATTRS: Final = 3
REFUSALS: Final[dict[str, tuple[type[errors.HowdahError], ...]]] = {
    "parent is a file": (errors.ParentNotDirectory, errors.PathThroughFile),
    "exists": (errors.PathExists,),
    "not found": (errors.PathNotFound,),
    "not empty": (errors.DirectoryNotEmpty, errors.RemoteError),
    "root": (errors.RemoteError, errors.IllegalArgument),
    "under itself": (errors.RemoteError,),
    "kinds differ": (errors.RemoteError,),
    "is written": (errors.AlreadyBeingCreated, errors.RecoveryInProgress),
    "is cut": (errors.RecoveryInProgress,),
    "too long": (errors.IllegalArgument,),
    "cannot be joined": (errors.IllegalArgument,),
    "no block": (errors.RemoteError,),
    "not the writer": (errors.LeaseExpired,),
    "no list": (errors.InvalidAcl,),
    "no flag": (errors.IllegalArgument,),
    "is set": (errors.RemoteError,),
    "is not set": (errors.RemoteError,),
    "too many": (errors.RemoteError,),
    "a directory": (errors.RemoteError,),
    "not for clients": (errors.AccessDenied,),
    "is fixed": (errors.IllegalArgument,),
    "no directory": (errors.PathIsNotDirectory,),
    "quota": (errors.QuotaExceeded,),
    "a link": (errors.UnresolvedPath,),
    "is in a snapshot": (errors.SnapshotError,),
    "has snapshots": (errors.SnapshotError,),
    "would be nested": (errors.SnapshotError,),
    "not snapshottable": (errors.SnapshotError,),
    "snapshot exists": (errors.SnapshotError,),
    "no such snapshot": (errors.SnapshotError,),
    "a lazy persist file": (errors.UnsupportedOperation,),
    "no sense": (errors.InvalidRequest,),
    "is coded": (errors.UnsupportedOperation,),
    "not enabled": (errors.IllegalArgument,),
    "a file": (errors.RemoteError,),
    "not coded": (errors.NoCodingPolicySet,),
    "no name": (errors.InvalidRequest, errors.RemoteError),
}

names = st.sampled_from(["a", "b", "ü €"])
paths = st.lists(names, min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))
paths_and_root = st.just("/") | paths
modes = st.sampled_from([0o755, 0o700, 0o1777, 0o644])
writers = st.sampled_from(["DFSClient_1", "DFSClient_2"])
lengths = st.integers(0, BLOCK) | st.just(BLOCK)

# Paths that are there, names in directories that are there, closed files, and open ones
# with their writers: drawn at random they would hardly ever be met.
there = st.runner().flatmap(
    lambda machine: (
        st.sampled_from(machine.paths_there())
        | st.sampled_from(machine.paths_there()[1:] or ["/a"])
        | paths_and_root
    )
)
directories = st.runner().flatmap(lambda machine: st.sampled_from(machine.directories()))
beside = st.runner().flatmap(
    lambda machine: st.tuples(st.sampled_from(machine.directories()), names).map(
        lambda pair: pair[0].rstrip("/") + "/" + pair[1]
    )
)
closed = st.runner().flatmap(lambda machine: st.sampled_from(machine.closed_files()) | paths)
opened = st.runner().flatmap(
    lambda machine: st.sampled_from(machine.open_files()) | st.tuples(paths, writers)
)


def having(what: Callable[[Entry], object]) -> st.SearchStrategy[str]:
    """Paths of which that is true; now and then, and where there is none, another one."""
    some = st.runner().flatmap(
        lambda machine: st.sampled_from(
            sorted(path for path, entry in machine.model.entries.items() if what(entry)) or ["/b"]
        )
    )
    return some | some | there


files = having(lambda entry: not entry.is_directory)
listed = having(lambda entry: entry.acl)
marked = having(lambda entry: entry.xattrs)

# The mode before the client's mask, where it says so.
before_masks = st.none() | st.sampled_from([0o777, 0o666, 0o750])


def permission(mode: int | None) -> types_pb2.FsPermissionProto | None:
    return None if mode is None else types_pb2.FsPermissionProto(perm=mode)


class Histories(RuleBasedStateMachine):
    """What all operations need. They come with the classes that inherit from this one."""

    def __init__(self) -> None:
        super().__init__()
        self.namenode = InMemoryNamenode(
            Settings(
                "",
                min_block_size_bytes=512,
                block_size_bytes=BLOCK,
                max_xattrs_per_inode=MAX_XATTRS,
            ),
            namespace=NotedNamespace(),
        )
        self.node = self.namenode.join("dn0")
        self.nodes = [self.node]
        self.model = ModelNamespace("root", "supergroup", max_xattrs=MAX_XATTRS)

    @initialize(depth=st.integers(0, 2))
    def grow(self, depth: int) -> None:
        """Something to begin with: most operations are about what is there."""
        for path in ["/b", "/a/b", "/a/b/b"][: depth + 1]:
            self.begin_with(path)

    def begin_with(self, path: str) -> None:
        """Make a directory, unless a quota is there already that forbids it."""
        now_ms = self.now()
        request = pb.MkdirsRequestProto(src=path, masked=permission(0o755), createParent=True)

        def model() -> bool:
            self.model.mkdirs(path, 0o755, now_ms=now_ms)
            return True

        self.both(lambda: self.call("mkdirs", request).result, model)

    # What there is.

    def paths_there(self) -> list[str]:
        return sorted(self.model.entries)

    def directories(self) -> list[str]:
        return sorted(path for path, entry in self.model.entries.items() if entry.is_directory)

    def closed_files(self) -> list[str]:
        entries = self.model.entries.items()
        return sorted(p for p, e in entries if not e.is_directory and not e.writer) or ["/a"]

    def open_files(self) -> list[tuple[str, str]]:
        entries = self.model.entries.items()
        return sorted((p, e.writer) for p, e in entries if e.writer) or [("/a", "DFSClient_1")]

    def file(self, path: str) -> File | None:
        """As the namenode has it."""
        inode = self.namenode.namesystem.namespace.find(path)
        return inode if isinstance(inode, File) else None

    # Both sides.

    def both(self, real: Callable[[], object], model: Callable[[], object]) -> bool:
        """Run an operation on both; True if it happened."""
        try:
            expected = model()
        except Refused as refusal:
            before = len(self.namenode.log)
            try:
                real()
            except REFUSALS[refusal.why]:
                assert len(self.namenode.log) == before, "what is refused is not logged"
                return False
            raise AssertionError(f"the namenode does what the model refuses: {refusal}") from None
        assert real() == expected
        return True

    def call(self, method: str, request: Message) -> Any:
        answer = self.namenode.call(method, request)
        assert not isinstance(answer, Deferred), "all replicas are reported in time"
        return answer

    def do(self, method: str, request: Message) -> Callable[[], None]:
        """The call, for its effect."""

        def run() -> None:
            self.call(method, request)

        return run

    def now(self) -> int:
        """Every operation has a time of its own."""
        self.namenode.clock.advance(1)
        return self.namenode.clock.wall_ms()

    # What must hold.

    @invariant()
    def the_namenode_is_consistent(self) -> None:
        check_consistent(self.namenode.namesystem.namespace)

    @invariant()
    def tree_is_the_models(self) -> None:
        compare(self.namenode, self.model)

    def teardown(self) -> None:
        check_survival(self.namenode)
