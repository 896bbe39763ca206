"""mkdirs, links, delete and both renames."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import rule

from howdah.proto import client_namenode_pb2 as pb
from tests.support.namespaces.histories import (
    Histories,
    before_masks,
    beside,
    directories,
    modes,
    names,
    paths_and_root,
    permission,
    there,
)

goals = st.sampled_from(["/a", "/a/b", "../b", "hdfs://elsewhere/ü €"])


class TreeHistories(Histories):
    """Operations that change which paths there are."""

    @rule(path=paths_and_root, mode=modes, unmasked=before_masks)
    def mkdirs(self, path: str, mode: int, unmasked: int | None) -> None:
        now_ms = self.now()
        request = pb.MkdirsRequestProto(
            src=path, masked=permission(mode), createParent=True, unmasked=permission(unmasked)
        )

        def model() -> bool:
            self.model.mkdirs(path, mode, unmasked=unmasked, now_ms=now_ms)
            return True

        self.both(lambda: self.call("mkdirs", request).result, model)

    @rule(path=beside | paths_and_root, goal=goals, mode=modes)
    def link(self, path: str, goal: str, mode: int) -> None:
        now_ms = self.now()
        request = pb.CreateSymlinkRequestProto(
            link=path, target=goal, dirPerm=permission(mode), createParent=True
        )
        self.both(
            self.do("createSymlink", request),
            lambda: self.model.link(path, goal, now_ms=now_ms),
        )

    @rule(path=there, recursive=st.booleans())
    def delete(self, path: str, recursive: bool) -> None:
        now_ms = self.now()
        request = pb.DeleteRequestProto(src=path, recursive=recursive)
        self.both(
            lambda: self.call("delete", request).result,
            lambda: self.model.delete(path, recursive=recursive, now_ms=now_ms),
        )

    @rule(src=there | beside, dst=beside | there)
    def rename(self, src: str, dst: str) -> None:
        now_ms = self.now()
        request = pb.RenameRequestProto(src=src, dst=dst)
        self.both(
            lambda: self.call("rename", request).result,
            lambda: self.model.rename(src, dst, now_ms=now_ms),
        )

    @rule(src=there | beside, dst=beside | there, overwrite=st.booleans(), trash=st.booleans())
    def rename2(self, src: str, dst: str, overwrite: bool, trash: bool) -> None:
        now_ms = self.now()
        request = pb.Rename2RequestProto(
            src=src, dst=dst, overwriteDest=overwrite, moveToTrash=trash
        )

        real = self.do("rename2", request)
        self.both(real, lambda: self.model.rename2(src, dst, overwrite=overwrite, now_ms=now_ms))

    @rule(data=st.data(), into=directories, name=names, new_call=st.booleans())
    def move(self, data: st.DataObject, into: str, name: str, new_call: bool) -> None:
        """Drawn at random few renames are of something, and to a place that is free."""
        movable = [path for path in self.paths_there() if path != "/"]
        src = data.draw(st.sampled_from(movable or ["/a"]))
        dst = into.rstrip("/") + "/" + name
        if new_call:
            self.rename2(src, dst, overwrite=True, trash=False)
        else:
            self.rename(src, dst)
