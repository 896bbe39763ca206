"""New name directories from an image that was fetched."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
import uvloop

from howdah import errors
from howdah.config import Configuration, keys
from howdah.formats.image.fsimage import ImageReader
from howdah.formats.version import NamenodeVersion
from howdah.namenode.server.process.checkpoint_import import import_image
from howdah.namenode.server.process.format import format_namenode
from howdah.namenode.server.process.loading import load
from howdah.namenode.server.process.server import Namenode
from howdah.namenode.service.ha.states import HAState
from howdah.storage.image_files import list_images, md5_path
from howdah.storage.layout import StorageDirectory
from tests.support.namenode_pair import mkdir


def conf_of(*roots: Path) -> Configuration:
    return Configuration(
        {
            keys.FS_DEFAULTFS.name: "hdfs://127.0.0.1:0",
            keys.DFS_NAMENODE_NAME_DIR.name: ",".join(map(str, roots)),
        }
    )


@pytest.fixture
def fetched(tmp_path: Path) -> Path:
    """What -fetchImage brings of a namenode that has `/a`."""
    root, target = tmp_path / "lost", tmp_path / "backup"
    conf = conf_of(root)
    format_namenode(conf)

    async def scenario() -> None:
        loaded = load([root], [root])
        namenode = Namenode(conf, loaded)
        namenode.namesystem.safe_mode.leave(force=True)
        namenode.roles.become(HAState.ACTIVE)
        await mkdir(namenode, "/a")
        namenode.roles.become(HAState.STOPPING)
        for lock in loaded.locks:
            lock.release()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(scenario())
    # A namenode that starts from what was imported is as good as a checkpoint.
    shutil.copytree(root / "current", tmp_path / "checkpoint" / "current")
    from howdah.namenode.server.process.checkpoint_import import import_checkpoint

    import_checkpoint(
        conf_of(tmp_path / "saved").with_values(
            {keys.DFS_NAMENODE_CHECKPOINT_DIR.name: str(tmp_path / "checkpoint")}
        )
    )
    shutil.copytree(tmp_path / "saved" / "current", target)
    return target


def names_of(root: Path) -> set[str]:
    loaded = load([root], [root])
    for lock in loaded.locks:
        lock.release()
    return {name for name in ("/a", "/b") if loaded.namespace.find(name) is not None}


@pytest.mark.parametrize("names_the_image", [True, False])
def test_a_fetched_image_becomes_the_namespace(
    fetched: Path, tmp_path: Path, names_the_image: bool
) -> None:
    before = sorted((path.name, path.read_bytes()) for path in fetched.iterdir())
    image = list_images([fetched])[0].path if names_the_image else fetched
    new, second = tmp_path / "new", tmp_path / "second"
    import_image(conf_of(new, second), image)
    for root in (new, second):
        assert names_of(root) == {"/a"}
        restored = StorageDirectory(root).read_version(NamenodeVersion)
        assert restored == StorageDirectory(tmp_path / "lost").read_version(NamenodeVersion)
    assert sorted((path.name, path.read_bytes()) for path in fetched.iterdir()) == before


def test_no_new_block_gets_an_id_that_the_lost_namenode_may_have_given_out(
    fetched: Path, tmp_path: Path
) -> None:
    """A datanode that comes back late would have a replica of it, with other bytes."""
    import_image(conf_of(tmp_path / "new"), fetched)
    of_image, restored = last_block_id(list_images([fetched])[0].path), tmp_path / "new" / "current"
    assert last_block_id(list_images([restored])[0].path) >= of_image + (1 << 40)


def last_block_id(image: Path) -> int:
    with open(image, "rb") as file:
        return ImageReader(file, str(image)).namesystem().last_block_id


def test_what_was_fetched_is_a_directory_of_a_namenode(fetched: Path, tmp_path: Path) -> None:
    shutil.copytree(fetched, tmp_path / "new" / "current")
    assert names_of(tmp_path / "new") == {"/a"}


def test_an_image_without_its_version_says_what_to_write(fetched: Path, tmp_path: Path) -> None:
    (fetched / "VERSION").unlink()
    with pytest.raises(errors.InconsistentStorage, match=r"namespaceID=.*blockpoolID=") as caught:
        import_image(conf_of(tmp_path / "new"), fetched)
    assert "clusterID" in str(caught.value)
    assert not (tmp_path / "new").exists()


def test_a_version_of_another_namespace_is_refused(fetched: Path, tmp_path: Path) -> None:
    version = fetched / "VERSION"
    version.write_text(version.read_text().replace("namespaceID=", "namespaceID=1"))
    with pytest.raises(errors.InconsistentStorage, match="is of namespace"):
        import_image(conf_of(tmp_path / "new"), fetched)


def test_a_damaged_image_is_refused(fetched: Path, tmp_path: Path) -> None:
    image = list_images([fetched])[0].path
    data = bytearray(image.read_bytes())
    data[len(data) // 2] ^= 1
    image.write_bytes(data)
    with pytest.raises(errors.CorruptImage, match="its sum is"):
        import_image(conf_of(tmp_path / "new"), image)
    assert not (tmp_path / "new").exists()


def test_an_image_of_hadoops_program_comes_without_a_sum(fetched: Path, tmp_path: Path) -> None:
    md5_path(list_images([fetched])[0].path).unlink()
    import_image(conf_of(tmp_path / "new"), fetched)
    assert names_of(tmp_path / "new") == {"/a"}


def test_nothing_is_written_over(fetched: Path, tmp_path: Path) -> None:
    with pytest.raises(errors.InconsistentStorage, match="already contains an image"):
        import_image(conf_of(tmp_path / "lost"), fetched)


def test_an_image_that_is_not_there_is_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "fsimage_1"):
        with pytest.raises(errors.PathNotFound, match=str(path)):
            import_image(conf_of(tmp_path / "new"), path)


def test_a_start_on_an_image_without_version_does_not_advise_to_format(
    fetched: Path, tmp_path: Path
) -> None:
    for root in (tmp_path / "copied", tmp_path / "copied2"):
        image = list_images([fetched])[0].path
        place = root / "current" if root.name == "copied" else root
        place.mkdir(parents=True)
        shutil.copy(image, place)
        with pytest.raises(errors.InconsistentStorage, match="-importImage") as caught:
            load([root], [root])
        assert "Do not format" in str(caught.value)


@pytest.mark.parametrize("exists", [True, False])
def test_a_start_on_nothing_names_all_ways(exists: bool, tmp_path: Path) -> None:
    root = tmp_path / "name"
    if exists:
        root.mkdir()
    with pytest.raises(errors.InconsistentStorage, match=r"mount.*-format.*-importImage"):
        load([root], [root])
