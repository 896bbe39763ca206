"""`howdah dfsadmin` where there are several namenodes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from howdah.cli import dfsadmin
from howdah.cli.dfsadmin.command import java_address
from howdah.client.namenodes import active_cache
from howdah.namenode.server.process.server import Namenode
from howdah.namenode.service.ha.states import HAState
from tests.support.namenode_pair import ROOT, Pair, become, run

T = TypeVar("T")
QUICK = {
    "dfs.client.failover.sleep.base.millis": "1",
    "dfs.client.failover.max.attempts": "1",
}


class Admin:
    """Namenodes of which the first is active, and an administrator."""

    def __init__(self, pair: Pair, capsys: pytest.CaptureFixture[str]) -> None:
        self.pair = pair
        self._capsys = capsys
        self.namenodes: list[Namenode] = []

    async def begin(self) -> None:
        for name in self.pair.names:
            self.namenodes.append(await self.pair.serve(name))
        await become(self.namenodes[0], HAState.ACTIVE)

    @property
    def places(self) -> list[str]:
        """The addresses of the namenodes."""
        conf = self.pair.conf(self.pair.names[0])
        return [str(conf.raw(f"dfs.namenode.rpc-address.ns.{name}")) for name in self.pair.names]

    async def __call__(self, *words: str) -> tuple[int, list[str], str]:
        """Exit code, lines and complaints."""
        conf = self.pair.conf(self.pair.names[0]).with_values(QUICK)
        code = await asyncio.to_thread(dfsadmin.main, list(words), conf)
        said = self._capsys.readouterr()
        return code, said.out.splitlines(), said.err


@pytest.fixture(autouse=True)
def _as_root(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HADOOP_USER_NAME", ROOT)
    active_cache.forget_all()
    yield
    active_cache.forget_all()


@pytest.fixture
def administer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., object]:
    def in_world(scenario: Callable[[Admin], Awaitable[T]]) -> T:
        pair = Pair(tmp_path)
        pair.format()

        async def main(pair: Pair) -> T:
            admin = Admin(pair, capsys)
            await admin.begin()
            return await scenario(admin)

        return run(pair, main)

    return in_world


Administer = Callable[..., object]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("-safemode get", "Safe mode is OFF in {}"),
        ("-safemode wait", "Safe mode is OFF in {}"),
        ("-safemode enter", "Safe mode is ON in {}"),
        ("-refreshNodes", "Refresh nodes successful for {}"),
        ("-refreshUserToGroupsMappings", "Refresh user to groups mapping successful for {}"),
        (
            "-refreshSuperUserGroupsConfiguration",
            "Refresh super user groups configuration successful for {}",
        ),
        ("-upgrade query", "Upgrade finalized for {}"),
        ("-finalizeUpgrade", "Finalize upgrade successful for {}"),
    ],
)
def test_every_namenode_is_asked(administer: Administer, words: str, said: str) -> None:
    async def scenario(admin: Admin) -> None:
        code, lines, complaints = await admin(*words.split())
        assert (code, complaints) == (0, "")
        assert lines == [said.format(place) for place in admin.places]

    administer(scenario)


def test_a_namenode_that_is_away_does_not_keep_the_others_from_being_asked(
    administer: Administer,
) -> None:
    async def scenario(admin: Admin) -> None:
        gone = admin.namenodes[1]
        await gone._rpc.stop()
        first, second = admin.places
        code, lines, complaints = await admin("-refreshNodes")
        assert code == 255
        assert lines == [f"Refresh nodes successful for {first}"]
        failed, why, *_ = complaints.splitlines()
        assert failed == f"Refresh nodes failed for {second}"
        assert why.startswith("refreshNodes: ")
        assert second in why
        code, lines, complaints = await admin("-safemode", "get")
        assert (code, lines) == (255, [f"Safe mode is OFF in {first}"])

    administer(scenario)


def test_all_that_failed_are_named(administer: Administer) -> None:
    async def scenario(admin: Admin) -> None:
        for namenode in admin.namenodes:
            await namenode._rpc.stop()
        code, lines, complaints = await admin("-refreshCallQueue")
        assert code == 255
        assert lines == []
        *failed, why = complaints.splitlines()
        assert failed == [f"Refresh call queue failed for {place}" for place in admin.places]
        assert all(f"{place}: " in why for place in admin.places)

    administer(scenario)


def test_a_standby_that_cannot_save_what_it_knows_is_skipped(administer: Administer) -> None:
    async def scenario(admin: Admin) -> None:
        assert await admin("-metasave", "dump.txt") == (
            0,
            [
                "Created metasave file dump.txt in the log directory of namenode "
                + admin.places[0],
                "Skip Standby NameNode, since it cannot perform metasave operation",
            ],
            "",
        )

    administer(scenario)


def test_a_standby_keeps_for_later_whether_it_restores_directories(
    administer: Administer,
) -> None:
    async def scenario(admin: Admin) -> None:
        assert (await admin("-restoreFailedStorage", "true"))[0] == 0
        await become(admin.namenodes[0], HAState.STANDBY)
        await become(admin.namenodes[1], HAState.ACTIVE)
        code, lines, _ = await admin("-restoreFailedStorage", "check")
        assert code == 0
        said = "restoreFailedStorage is set to true for"
        assert lines == [f"{said} {place}" for place in admin.places]
        journal = admin.namenodes[1].log_writer.journal
        assert journal is not None
        assert journal.restores

    administer(scenario)


def test_what_changes_the_namespace_goes_to_the_active_alone(administer: Administer) -> None:
    async def scenario(admin: Admin) -> None:
        assert (await admin("-setQuota", "100", "/"))[0] == 0
        code, lines, _ = await admin("-rollEdits")
        assert code == 0
        assert lines[0] == "Successfully rolled edit logs."
        code, lines, _ = await admin("-report")
        assert code == 0
        assert not any("Safe mode" in line for line in lines)
        code, lines, _ = await admin("-setBalancerBandwidth", "1000")
        assert (code, lines) == (0, ["Balancer bandwidth is set to 1000"])

    administer(scenario)


def test_images_are_saved_by_all_and_fetched_from_the_active(
    administer: Administer, tmp_path: Path
) -> None:
    async def scenario(admin: Admin) -> None:
        await admin("-safemode", "enter")
        code, lines, complaints = await admin("-saveNamespace")
        assert (code, complaints) == (0, "")
        assert lines == [f"Save namespace successful for {place}" for place in admin.places]
        await admin("-safemode", "leave")
        target = tmp_path / "images"
        target.mkdir()
        assert (await admin("-fetchImage", str(target)))[0] == 0
        names = sorted(path.name[:8] for path in target.iterdir())
        assert names == ["VERSION", "fsimage_", "fsimage_", "seen_txi"]

    administer(scenario)


def test_nothing_is_finalized_where_no_namenode_is_active(administer: Administer) -> None:
    async def scenario(admin: Admin) -> None:
        await become(admin.namenodes[0], HAState.STANDBY)
        code, lines, complaints = await admin("-finalizeUpgrade")
        assert (code, lines) == (255, [])
        assert "Cannot finalize with no NameNode active" in complaints

    administer(scenario)


def test_addresses_are_shown_as_java_shows_them() -> None:
    assert java_address(("127.0.0.1", 8020)) == "127.0.0.1:8020"
    assert java_address(("::1", 8020)) == "[::1]:8020"
    assert java_address(("localhost", 8020)) == "localhost/127.0.0.1:8020"
    assert java_address(("a..b", 8020)) == "a..b/<unresolved>:8020"
