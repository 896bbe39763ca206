"""Names: directories, renames, deletions, symbolic links (pure).

The part of ClientProtocol that Hadoop's FSDirMkdirOp, FSDirRenameOp, FSDirDeleteOp and
FSDirSymlinkOp serve.
"""

from __future__ import annotations

from howdah.namenode.calls.core import Core
from howdah.namenode.calls.links import LinkCalls
from howdah.namenode.calls.once import Once
from howdah.namenode.calls.tree import TreeCalls
from howdah.proto import client_namenode_pb2 as pb
from howdah.rpc.service import Caller


class TreeMethods:
    """Calls that change which names there are."""

    def __init__(self, core: Core) -> None:
        self._once = Once(core)
        self._tree = TreeCalls(core)
        self._links = LinkCalls(core)

    def mkdirs(self, request: pb.MkdirsRequestProto, caller: Caller) -> pb.MkdirsResponseProto:
        done = self._tree.mkdirs(
            caller,
            request.src,
            request.masked.perm,
            create_parent=request.createParent,
            unmasked=request.unmasked.perm if request.HasField("unmasked") else None,
        )
        return pb.MkdirsResponseProto(result=done)

    def rename(self, request: pb.RenameRequestProto, caller: Caller) -> pb.RenameResponseProto:
        return self._once(
            caller,
            lambda: pb.RenameResponseProto(
                result=self._tree.rename(caller, request.src, request.dst)
            ),
            lambda: pb.RenameResponseProto(result=True),
        )

    def rename2(self, request: pb.Rename2RequestProto, caller: Caller) -> pb.Rename2ResponseProto:
        def run() -> pb.Rename2ResponseProto:
            self._tree.rename2(
                caller,
                request.src,
                request.dst,
                overwrite=request.overwriteDest,
                trash=request.moveToTrash,
            )
            return pb.Rename2ResponseProto()

        return self._once(caller, run, pb.Rename2ResponseProto)

    def delete(self, request: pb.DeleteRequestProto, caller: Caller) -> pb.DeleteResponseProto:
        return self._once(
            caller,
            lambda: pb.DeleteResponseProto(
                result=self._tree.delete(caller, request.src, recursive=request.recursive)
            ),
            lambda: pb.DeleteResponseProto(result=True),
        )

    def create_symlink(
        self, request: pb.CreateSymlinkRequestProto, caller: Caller
    ) -> pb.CreateSymlinkResponseProto:
        def run() -> pb.CreateSymlinkResponseProto:
            self._links.create(
                caller,
                request.link,
                request.target,
                create_parent=request.createParent,
            )
            return pb.CreateSymlinkResponseProto()

        return self._once(caller, run, pb.CreateSymlinkResponseProto)
