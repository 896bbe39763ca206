"""Encryption zones behind a router: files of two clusters, whose keys one key server has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.router.state.table.mount_table import Destination, MountEntry
from howdah.router.store.factory import store_at
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.key_server import KEY_ACCESS, key_server
from tests.support.routers import Routers

pytestmark = [pytest.mark.req("LM-020"), pytest.mark.timeout(180)]

PATTERN = b"plain text that no datanode may have "
DATA = PATTERN * 5000
SIDES = ("east", "west")


@dataclass(frozen=True)
class Scene:
    fs: HdfsFileSystem
    """Through the router."""
    direct: dict[str, HdfsFileSystem]
    provider: str


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("zones")
    with ExitStack() as stack:
        provider = stack.enter_context(key_server(directory / "kms", KEY_ACCESS))
        assert main(["key", "create", "payroll", "-provider", provider]) == 0
        conf: dict[str, str | int] = {
            "dfs.replication": 1,
            "hadoop.security.key.provider.path": provider,
        }
        clusters = {
            side: stack.enter_context(MiniCluster(datanodes=1, conf=conf)) for side in SIDES
        }
        routers = stack.enter_context(Routers(directory / "routers", clusters))
        store = store_at(directory / "routers" / "store")
        store.prepare()
        direct = {}
        for side, cluster in clusters.items():
            store.add_mount(MountEntry(f"/{side}", (Destination(side, "/mounted"),)))
            fs = stack.enter_context(cluster.connect())
            assert isinstance(fs, HdfsFileSystem)
            fs.mkdirs("/mounted")
            direct[side] = fs
        routers.start()
        through = stack.enter_context(routers.connect())
        assert isinstance(through, HdfsFileSystem)
        for side in SIDES:
            through.mkdirs(f"/{side}/zone")
            through.create_encryption_zone(f"/{side}/zone", "payroll")
        yield Scene(through, direct, provider)


@pytest.mark.parametrize("side", SIDES)
def test_files_are_encrypted_as_without_a_router(scene: Scene, side: str) -> None:
    with scene.fs.create(f"/{side}/zone/file") as out:
        out.write(DATA)
    assert scene.fs.read_bytes(f"/{side}/zone/file") == DATA
    direct = scene.direct[side]
    assert direct.read_bytes("/mounted/zone/file") == DATA
    assert PATTERN not in direct.read_bytes("/.reserved/raw/mounted/zone/file")
    with scene.fs.append(f"/{side}/zone/file") as out:
        out.write(b"more")
    assert direct.read_bytes("/mounted/zone/file") == DATA + b"more"
    info = scene.fs.get_file_encryption_info(f"/{side}/zone/file")
    assert info == direct.get_file_encryption_info("/mounted/zone/file")


@pytest.mark.parametrize("side", SIDES)
def test_a_zone_is_looked_up_by_its_paths(scene: Scene, side: str) -> None:
    zone = scene.fs.get_encryption_zone(f"/{side}/zone")
    assert zone is not None
    assert zone.key_name == "payroll"
    assert scene.fs.get_encryption_zone(f"/{side}") is None


def test_nothing_moves_out_of_a_zone(scene: Scene) -> None:
    scene.fs.write_bytes("/east/zone/moved", DATA)
    with pytest.raises(errors.RemoteError, match="can't be moved from an encryption zone"):
        scene.fs.rename("/east/zone/moved", "/east/moved")


def test_a_zone_is_re_encrypted(scene: Scene) -> None:
    scene.fs.mkdirs("/west/rolled")
    assert main(["key", "create", "rolled", "-provider", scene.provider]) == 0
    scene.fs.create_encryption_zone("/west/rolled", "rolled")
    scene.fs.write_bytes("/west/rolled/file", DATA)
    assert main(["key", "roll", "rolled", "-provider", scene.provider]) == 0
    scene.fs.reencrypt_zone("/west/rolled")

    def is_over() -> bool:
        info = scene.fs.get_file_encryption_info("/west/rolled/file")
        return info is not None and info.version_name == "rolled@1"

    wait_until(is_over, 60)
    assert scene.fs.read_bytes("/west/rolled/file") == DATA


def test_lists_of_zones_are_refused_by_name(scene: Scene) -> None:
    """Which cluster's they would be is not said."""
    for ask in (scene.fs.list_encryption_zones, scene.fs.list_reencryption):
        with pytest.raises(errors.HowdahError, match=r"listEncryptionZones|listReencryptionStatus"):
            list(ask())
