"""What a router answers of directories that are there because of the mount points below them."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.router.state.table.mount_table import Destination, MountEntry
from howdah.router.state.table.virtual_directories import ANSWERED
from tests.support.routing.in_memory import InMemoryRouter

pytestmark = pytest.mark.req("LM-020")

Action = types_pb2.AclEntryProto.FsActionProto
VIRTUAL = ("/", "/deep", "/deep//", "/deep/er")


@pytest.fixture
def router() -> InMemoryRouter:
    """/deep/er/data is /real."""
    found = InMemoryRouter(
        [MountEntry("/deep/er/data", (Destination("east", "/real"),))], ("east",), ""
    )
    mode = types_pb2.FsPermissionProto(perm=0o755)
    found.at("east", "mkdirs", pb.MkdirsRequestProto(src="/real", masked=mode, createParent=True))
    link = pb.CreateSymlinkRequestProto(
        target="/real/file", link="/real/link", dirPerm=mode, createParent=True
    )
    found.at("east", "createSymlink", link)
    return found


@pytest.mark.parametrize("path", VIRTUAL)
def test_it_is_a_directory_also_if_links_are_not_followed(
    router: InMemoryRouter, path: str
) -> None:
    followed = router.call("getFileInfo", pb.GetFileInfoRequestProto(src=path), user="ann").fs
    status = router.call("getFileLinkInfo", pb.GetFileLinkInfoRequestProto(src=path)).fs
    assert status.fileType == types_pb2.HdfsFileStatusProto.IS_DIR
    assert status == followed


def test_a_link_leads_to_the_routers_path(router: InMemoryRouter) -> None:
    request = pb.GetFileLinkInfoRequestProto(src="/deep/er/data/link")
    status = router.call("getFileLinkInfo", request).fs
    assert (status.fileType, status.symlink) == (
        types_pb2.HdfsFileStatusProto.IS_SYMLINK,
        b"/deep/er/data/file",
    )


@pytest.mark.parametrize("path", VIRTUAL)
def test_everybody_may_read_and_search_it_and_nobody_writes(
    router: InMemoryRouter, path: str
) -> None:
    for mode in (Action.NONE, Action.READ, Action.EXECUTE, Action.READ_EXECUTE):
        request = pb.CheckAccessRequestProto(path=path, mode=mode)
        assert router.call("checkAccess", request, user="ann") == pb.CheckAccessResponseProto()
    for mode in (Action.WRITE, Action.WRITE_EXECUTE, Action.READ_WRITE, Action.PERM_ALL):
        with pytest.raises(errors.AccessDenied, match="there are mount points below it"):
            router.call("checkAccess", pb.CheckAccessRequestProto(path=path, mode=mode))


@pytest.mark.parametrize("path", VIRTUAL)
def test_it_has_the_permissions_that_it_shows_and_no_attributes(
    router: InMemoryRouter, path: str
) -> None:
    status = router.call("getFileInfo", pb.GetFileInfoRequestProto(src=path)).fs
    acl = router.call("getAclStatus", types_pb2.GetAclStatusRequestProto(src=path)).result
    assert (acl.owner, acl.group, acl.permission) == (
        status.owner,
        status.group,
        status.permission,
    )
    assert not acl.entries
    assert not router.call("getXAttrs", types_pb2.GetXAttrsRequestProto(src=path)).xAttrs
    assert not router.call("listXAttrs", types_pb2.ListXAttrsRequestProto(src=path)).xAttrs
    wanted = types_pb2.XAttrProto(namespace=types_pb2.XAttrProto.USER, name="a")
    with pytest.raises(errors.AttributeNotFound):
        router.call("getXAttrs", types_pb2.GetXAttrsRequestProto(src=path, xAttrs=[wanted]))


@pytest.mark.parametrize("path", ["/else", "/deep/else", "/deep/er/dat"])
def test_what_is_no_way_to_a_mount_point_is_nowhere(router: InMemoryRouter, path: str) -> None:
    requests = {
        "getFileLinkInfo": pb.GetFileLinkInfoRequestProto(src=path),
        "checkAccess": pb.CheckAccessRequestProto(path=path, mode=Action.READ),
        "getAclStatus": types_pb2.GetAclStatusRequestProto(src=path),
        "getXAttrs": types_pb2.GetXAttrsRequestProto(src=path),
        "listXAttrs": types_pb2.ListXAttrsRequestProto(src=path),
    }
    assert {*ANSWERED} < {*requests}
    for method, request in requests.items():
        with pytest.raises(errors.NoLocation):
            router.call(method, request)
