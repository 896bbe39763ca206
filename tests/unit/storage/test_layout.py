from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from howdah import errors
from howdah.formats.version import DatanodeVersion, NamenodeVersion
from howdah.storage.layout import StorageDirectory, StorageState

NAMENODE = NamenodeVersion(1, "CID-1", "BP-1-127.0.0.1-1", 1)

_HOLD = """
import sys
from pathlib import Path
from howdah.storage.layout import StorageDirectory
lock = StorageDirectory(Path(sys.argv[1])).lock()
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def storage(tmp_path: Path) -> StorageDirectory:
    directory = StorageDirectory(tmp_path / "name")
    directory.create()
    return directory


def test_a_directory_that_is_not_there_is_missing(tmp_path: Path) -> None:
    assert StorageDirectory(tmp_path / "none").state() is StorageState.MISSING


def test_a_directory_with_only_a_lock_is_empty(tmp_path: Path) -> None:
    (tmp_path / "in_use.lock").touch()
    assert StorageDirectory(tmp_path).state() is StorageState.EMPTY


def test_a_directory_without_a_version_is_not_formatted(storage: StorageDirectory) -> None:
    assert storage.state() is StorageState.NOT_FORMATTED


def test_a_version_makes_a_directory_formatted(storage: StorageDirectory) -> None:
    storage.write_version(NAMENODE, now_ms=0)
    assert storage.state() is StorageState.NORMAL
    assert storage.read_version(NamenodeVersion) == NAMENODE


@pytest.mark.parametrize("name", ["previous.tmp", "removed.tmp", "finalized.tmp"])
def test_an_interrupted_upgrade_is_noticed(storage: StorageDirectory, name: str) -> None:
    storage.write_version(NAMENODE, now_ms=0)
    (storage.root / name).mkdir()
    assert storage.state() is StorageState.UNFINISHED


def test_a_file_in_the_place_of_a_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "name").touch()
    with pytest.raises(errors.InconsistentStorage, match=str(tmp_path / "name")):
        StorageDirectory(tmp_path / "name").state()


def test_current_is_for_the_owner_alone(storage: StorageDirectory) -> None:
    assert storage.current.stat().st_mode & 0o777 == 0o700


def test_a_missing_version_is_named(storage: StorageDirectory) -> None:
    with pytest.raises(errors.InconsistentStorage, match="is not formatted"):
        storage.read_version(NamenodeVersion)


def test_the_version_of_another_kind_of_server_is_refused(storage: StorageDirectory) -> None:
    storage.write_version(NAMENODE, now_ms=0)
    with pytest.raises(errors.InconsistentStorage, match=str(storage.version_file)):
        storage.read_version(DatanodeVersion)


def test_seen_txid_comes_back(storage: StorageDirectory) -> None:
    storage.write_seen_txid(42)
    assert storage.read_seen_txid() == 42
    assert storage.seen_txid_file.read_bytes() == b"42\n"


@pytest.mark.parametrize("content", [b"", b"x\n"])
def test_a_spoilt_seen_txid_is_named(storage: StorageDirectory, content: bytes) -> None:
    storage.seen_txid_file.write_bytes(content)
    with pytest.raises(errors.InconsistentStorage, match="seen_txid"):
        storage.read_seen_txid()


def test_a_missing_seen_txid_is_named(storage: StorageDirectory) -> None:
    with pytest.raises(errors.InconsistentStorage, match="seen_txid is missing"):
        storage.read_seen_txid()


def test_the_lock_names_its_holder(storage: StorageDirectory) -> None:
    with storage.lock() as lock:
        assert lock.path.read_text() == f"{os.getpid()}@{socket.gethostname()}"


def test_a_second_holder_in_this_process_is_refused(storage: StorageDirectory) -> None:
    with storage.lock(), pytest.raises(errors.StorageLocked, match=str(storage.root)):
        StorageDirectory(storage.root).lock()


def test_a_released_lock_can_be_taken_again(storage: StorageDirectory) -> None:
    lock = storage.lock()
    lock.release()
    lock.release()
    storage.lock().release()


def test_a_second_process_is_refused_with_the_name_of_the_first(storage: StorageDirectory) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(storage.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(errors.StorageLocked) as caught:
            storage.lock()
        assert f"{storage.root} is in use by {holder.pid}@" in str(caught.value)
    finally:
        holder.kill()
        holder.communicate()
    storage.lock().release()


def test_a_refused_attempt_in_this_process_does_not_release_the_lock(
    storage: StorageDirectory,
) -> None:
    with storage.lock():
        with pytest.raises(errors.StorageLocked):
            storage.lock()
        second = subprocess.run(
            [sys.executable, "-c", _HOLD, str(storage.root)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    assert "StorageLocked" in second.stderr


def test_a_forked_child_does_not_give_up_its_parents_lock(storage: StorageDirectory) -> None:
    lock = storage.lock()
    child = os.fork()
    if child == 0:
        lock.release()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    second = subprocess.run(
        [sys.executable, "-c", _HOLD, str(storage.root)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    lock.release()
    assert "StorageLocked" in second.stderr
