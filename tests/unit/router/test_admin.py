"""Who may change a mount table, and as whom the router does what that takes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import router_pb2, types_pb2
from howdah.protocol.rpc.call import Call, Caller
from howdah.protocol.rpc.service import Deferred, Registry
from howdah.router.admin import PROTOCOL, RouterAdmin
from howdah.router.state.table.mount_table import Destination, MountEntry, MountTable, Quota
from howdah.router.state.table.quotas import Usage
from howdah.router.state.table.records import entry_to_proto
from howdah.router.store.factory import store_at
from tests.support.routing.in_memory import InMemoryRouter

pytestmark = pytest.mark.req("LM-020")

HOME = MountEntry("/home/bob", (Destination("east", "/bob"),), owner="bob", group="bob", mode=0o770)
GROUPS = {"carol": ("supergroup",), "dave": ("bob",)}


class Direct:
    """A state store that is asked where the caller stands."""

    def __init__(self, directory: Path) -> None:
        self.store = store_at(directory)
        self.store.prepare()

    async def run(self, work: Any) -> Any:
        return work(self.store)


class Scene:
    def __init__(self, directory: Path) -> None:
        self.router = InMemoryRouter([HOME], ["east"])
        for path in ("/bob", "/finance"):
            mode = types_pb2.FsPermissionProto(perm=0o700)
            make = pb.MkdirsRequestProto(src=path, masked=mode, createParent=True)
            self.router.at("east", "mkdirs", make)
        beside: Any = Direct(directory)
        self.store = beside.store
        self.store.add_mount(HOME)
        self.admin = RouterAdmin(
            self.router.core,
            beside,
            self.reload,
            permissions=True,
            groups=lambda user: GROUPS.get(user, ()),
            reload_proxy_users=self.reload,
        )

    async def reload(self) -> None:
        self.router.core.table = MountTable(self.store.mount_entries())

    def ask(self, method: str, request: Any, user: str) -> Any:
        async def made() -> Any:
            caller = Caller(user, b"c" * 16, 1, 0, "::1")
            call = Call(caller, PROTOCOL, 1, method, request.SerializeToString())
            answer = Registry([self.admin.service()], lambda *call: None).dispatch(call)
            assert isinstance(answer, Deferred)
            done = asyncio.get_running_loop().create_future()
            answer.when_settled(done.set_result)
            return await done

        outcome = asyncio.run(made())
        if isinstance(outcome, errors.HowdahError):
            raise outcome
        return outcome

    def add(self, entry: MountEntry, user: str) -> bool:
        request = router_pb2.AddMountTableEntryRequestProto(entry=entry_to_proto(entry, Usage()))
        return bool(self.ask("addMountTableEntry", request, user).status)

    def update(self, entry: MountEntry, user: str) -> bool:
        request = router_pb2.UpdateMountTableEntryRequestProto(entry=entry_to_proto(entry, Usage()))
        return bool(self.ask("updateMountTableEntry", request, user).status)

    def quota(self, path: str) -> int:
        answer = self.router.at("east", "getQuotaUsage", pb.GetQuotaUsageRequestProto(path=path))
        return int(answer.usage.quota - (answer.usage.quota >> 63 << 64))


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def capped(source: str, path: str, names: int = 1) -> MountEntry:
    return MountEntry(
        source,
        (Destination("east", path),),
        owner="bob",
        group="bob",
        mode=0o770,
        quota=Quota(names=names),
    )


@pytest.mark.parametrize("user", ["bob", "dave"])
def test_who_may_change_a_mount_point_sets_no_quota_of_directories(scene: Scene, user: str) -> None:
    """He limits what goes through his mount point, and nobody else."""
    assert scene.add(capped("/home/bob/x", "/finance"), user)
    assert scene.update(capped("/home/bob", "/finance"), user)
    assert scene.quota("/finance") == -1
    assert scene.router.core.table.entries["/home/bob/x"].quota == Quota(names=1)


def test_the_router_sets_a_quota_as_who_asked_for_it(scene: Scene) -> None:
    """A superuser of the router is none of the nameservice, unless that says so."""
    assert scene.add(capped("/home/bob/x", "/finance"), "carol")
    assert scene.quota("/finance") == -1
    assert scene.add(capped("/home/bob/z", "/finance"), "root")
    assert scene.quota("/finance") == 1


def test_groups_are_those_that_the_router_is_given(scene: Scene) -> None:
    place = (Destination("east", "/bob/y"),)
    with pytest.raises(errors.AccessDenied, match="eve does not have WRITE"):
        scene.add(MountEntry("/home/bob/y", place), "eve")
    assert scene.add(MountEntry("/home/bob/y", place), "dave")
