"""What is mounted on this machine."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from howdah.mount import device

TABLE = r"""
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 0:39 / /mnt/a\040b rw,nosuid,nodev - fuse.howdah hdfs://nn:8020/x\134y rw,user_id=0
41 22 0:40 / /mnt/c ro - fuse.howdah hdfs://nn:8020/ ro
42 22 0:41 / /mnt/c rw shared:2 master:3 - tmpfs tmpfs rw
a line of another kind
""".lstrip()


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mountinfo").write_text(TABLE)
    monkeypatch.setattr(device, "_MOUNT_TABLE", tmp_path / "mountinfo")


@pytest.mark.usefixtures("table")
def test_the_table_of_mounts_is_read() -> None:
    assert [each.directory for each in device.mounts()] == ["/", "/mnt/a b", "/mnt/c", "/mnt/c"]
    assert device.mounted_at("/mnt/a b") == device.Mounted(
        "/mnt/a b", "0:39", "fuse.howdah", r"hdfs://nn:8020/x\y"
    )


@pytest.mark.usefixtures("table")
def test_what_was_mounted_last_counts() -> None:
    found = device.mounted_at("/mnt/c")
    assert found is not None
    assert found.kind == "tmpfs"
    assert device.mounted_at("/mnt") is None


def test_paths_of_directories_have_no_links_above(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    real = os.path.realpath(tmp_path / "real")
    assert device.full_path(str(tmp_path / "link" / "dead")) == f"{real}/dead"
    assert device.full_path("/") == "/"


def test_what_is_no_directory_is_not_mounted(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for name, words in (("file", "is no directory"), ("missing", "No such file")):
        with pytest.raises(device.NotMounted, match=words):
            device.mount(str(tmp_path / name), "hdfs://nn/", read_only=False, allow_other=False)


HELPER = """#!{python}
import array, os, socket, sys
print(sys.argv[1:], file=open({said!r}, "w"))
channel = socket.socket(fileno=int(os.environ["_FUSE_COMMFD"]))
if {works}:
    fds = array.array("i", [os.open("/dev/null", os.O_RDWR)])
    channel.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
else:
    sys.exit("fusermount3: option allow_other only allowed if 'user_allow_other' is set")
"""


def as_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, works: bool) -> Path:
    """A user who has a program to mount by; where it writes what it was told."""
    import sys

    said = tmp_path / "said"
    helper = tmp_path / "fusermount3"
    helper.write_text(HELPER.format(python=sys.executable, said=str(said), works=works))
    helper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return said


def test_users_mount_by_a_program_that_passes_a_descriptor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = as_user(tmp_path, monkeypatch, works=True)
    descriptor = device.mount(str(tmp_path), "hdfs://a,b:8020/", read_only=True, allow_other=True)
    assert os.readlink(f"/proc/self/fd/{descriptor}") == "/dev/null"
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)
    words = said.read_text()
    assert "'-o', 'ro,nosuid,nodev,max_read=1048576,fsname=hdfs://a" in words
    assert r"\\,b:8020/,subtype=howdah,allow_other'" in words
    assert words.endswith(f"'--', '{tmp_path}']\n")


def test_what_the_program_says_is_handed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_user(tmp_path, monkeypatch, works=False)
    with pytest.raises(device.NotMounted, match="user_allow_other"):
        device.mount(str(tmp_path), "hdfs://nn/", read_only=False, allow_other=True)


def test_a_user_without_the_program_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(device.NotMounted, match="install fuse3"):
        device.mount(str(tmp_path), "hdfs://nn/", read_only=False, allow_other=False)


def test_a_socket_that_passes_nothing_gives_nothing() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        theirs.close()
        assert device._received(ours) is None
