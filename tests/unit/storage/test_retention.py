"""What of a namenode's directories may go, and what of it is out of reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from howdah.storage.image_files import save_image
from howdah.storage.retention import Retention, purge
from howdah.storage.segments import finished_name


def made(directory: Path, *image_txids: int) -> Path:
    """A directory with images, and a segment of ten edits before each of them."""
    directory.mkdir()
    for txid in image_txids:
        save_image([directory], txid, lambda sink: sink.write(b"image"))
        (directory / finished_name(txid - 9, txid)).write_bytes(b"edits")
    return directory


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir() if path.suffix != ".md5")


@pytest.mark.parametrize("lost_first", [True, False])
def test_a_directory_that_is_out_of_reach_keeps_nothing_in_the_others(
    tmp_path: Path, lost_first: bool, caplog: pytest.LogCaptureFixture
) -> None:
    healthy, lost = made(tmp_path / "a", 10, 20, 30), tmp_path / "lost"
    directories = [lost, healthy] if lost_first else [healthy, lost]
    purge(directories, directories, Retention(images=1, extra_edits=0))
    assert names(healthy) == [f"fsimage_{30:019d}"]
    assert f"nothing is purged in {lost}" in caplog.text


def test_images_that_are_out_of_reach_do_not_count(tmp_path: Path) -> None:
    """The edits behind the newest image that can be read stay."""
    healthy = made(tmp_path / "a", 10, 20)
    purge([tmp_path / "lost", healthy], [healthy], Retention(images=2, extra_edits=0))
    assert len(names(healthy)) == 3


def test_every_edit_behind_the_oldest_image_that_stays_is_kept(tmp_path: Path) -> None:
    """Also where each segment has one edit: the newest image may be damaged."""
    current = made(tmp_path / "a", 10, 20)
    for path in current.glob("edits_*"):
        path.unlink()
    for txid in range(1, 25):
        (current / finished_name(txid, txid)).write_bytes(b"edits")
    purge([current], [current], Retention(images=2, extra_edits=0))
    kept = [finished_name(txid, txid) for txid in range(11, 25)]
    assert [name for name in names(current) if name.startswith("edits_")] == kept
