"""Names: directories, renames, deletions, symbolic links (pure).

The part of ClientProtocol that Hadoop's FSDirMkdirOp, FSDirRenameOp, FSDirDeleteOp and
FSDirSymlinkOp serve.
"""

from __future__ import annotations

from howdah import errors
from howdah.namenode.service.calls.at_most_once import AtMostOnce
from howdah.namenode.service.calls.known_files import known_in
from howdah.namenode.service.calls.links import LinkCalls
from howdah.namenode.service.calls.namespace_changes import MOST_NEXT, TreeCalls
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols.fast_path import requests
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import TRUE, Encoded


class TreeMethods:
    """Calls that change which names there are."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem
        self._once = AtMostOnce(namesystem)
        self._tree = TreeCalls(namesystem)
        self._links = LinkCalls(namesystem)

    def mkdirs(
        self, request: pb.MkdirsRequestProto | requests.Mkdirs, caller: Caller
    ) -> pb.MkdirsResponseProto | Encoded:
        fields = request if isinstance(request, tuple) else requests.mkdirs_of(request)
        src, mode, create_parent, unmasked = fields
        done = self._tree.mkdirs(caller, src, mode, create_parent=create_parent, unmasked=unmasked)
        return TRUE if done else pb.MkdirsResponseProto(result=done)

    def rename(
        self, request: pb.RenameRequestProto | requests.Rename, caller: Caller
    ) -> pb.RenameResponseProto | Encoded:
        fields = request if isinstance(request, tuple) else requests.rename_of(request)
        src, dst = fields

        def run() -> pb.RenameResponseProto | Encoded:
            done = self._tree.rename(caller, src, dst)
            return TRUE if done else pb.RenameResponseProto(result=done)

        return self._once(caller, run, lambda: pb.RenameResponseProto(result=True))

    def rename2(
        self, request: pb.Rename2RequestProto | requests.Rename2, caller: Caller
    ) -> pb.Rename2ResponseProto:
        fields = request if isinstance(request, tuple) else requests.rename2_of(request)
        src, dst, overwrite, trash = fields
        replaces = known = None
        following: tuple[tuple[str, str], ...] = ()
        if not isinstance(request, tuple):
            if request.HasField("replaces"):
                replaces = known_in(request.replaces)
            if request.HasField("known"):
                known = known_in(request.known)
            following = tuple((step.src, step.dst) for step in request.next)
            if len(following) > MOST_NEXT:
                raise errors.IllegalArgument(
                    f"at most {MOST_NEXT} renames may follow one, and {len(following)} do"
                )

        def run() -> pb.Rename2ResponseProto:
            self._tree.rename2(
                caller,
                src,
                dst,
                overwrite=overwrite,
                trash=trash,
                replaces=replaces,
                known=known,
            )
            if not following:
                return pb.Rename2ResponseProto()
            return pb.Rename2ResponseProto(nextDone=self._tree.rename_next(caller, following))

        def rebuild() -> pb.Rename2ResponseProto:
            if not following:
                return pb.Rename2ResponseProto()
            made = self._namesystem.retry_cache.edits_of(caller)
            return pb.Rename2ResponseProto(nextDone=made - 1)

        return self._once(caller, run, rebuild)

    def delete(
        self, request: pb.DeleteRequestProto | requests.Delete, caller: Caller
    ) -> pb.DeleteResponseProto | Encoded:
        fields = request if isinstance(request, tuple) else requests.delete_of(request)
        src, recursive = fields
        known = None
        if not isinstance(request, tuple) and request.HasField("known"):
            known = known_in(request.known)

        def run() -> pb.DeleteResponseProto | Encoded:
            done = self._tree.delete(caller, src, recursive=recursive, known=known)
            return TRUE if done else pb.DeleteResponseProto(result=done)

        return self._once(caller, run, lambda: pb.DeleteResponseProto(result=True))

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
