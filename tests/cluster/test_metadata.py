"""What is told of a file once it is closed: everywhere the same, by the server's clock."""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Callable, Iterator

import pytest

import howdah
from howdah.cli.main import main
from howdah.fs.status import FileStatus
from howdah.fsspec import HowdahFileSystem
from howdah.testing import MiniCluster

HOUR_S = 3600
DIRECTORY = "/metadata/listed"
PATH = f"{DIRECTORY}/file"
Shell = Callable[..., list[str]]


@pytest.fixture
def fs(howdah_cluster: MiniCluster) -> Iterator[howdah.FileSystem]:
    with howdah_cluster.connect() as connected:
        yield connected


@pytest.fixture
def shell(howdah_cluster: MiniCluster, capsys: pytest.CaptureFixture[str]) -> Shell:
    """The lines that a command of `howdah dfs` prints."""

    def run(*words: str) -> list[str]:
        capsys.readouterr()
        assert main(["dfs", "-fs", howdah_cluster.uri, *words]) == 0
        return capsys.readouterr().out.splitlines()

    return run


@pytest.fixture
def status(fs: howdah.FileSystem) -> FileStatus:
    """Of a closed file, as getFileStatus tells it."""
    with fs.create(PATH, overwrite=True, replication=2) as out:
        out.write(b"x" * 777)
    fs.set_permission(PATH, 0o640)
    return fs.get_file_status(PATH)


def local_minute(status: FileStatus) -> str:
    return f"{dt.datetime.fromtimestamp(status.modification_time_ms / 1000):%Y-%m-%d %H:%M}"


@pytest.mark.req("OS-145", "OS-142")
def test_every_listing_of_the_interface_tells_what_the_status_tells(
    fs: howdah.FileSystem, status: FileStatus
) -> None:
    ways: dict[str, list[FileStatus]] = {
        "link status": [fs.get_file_link_status(PATH)],
        "list": fs.list_status(DIRECTORY),
        "list of the file": fs.list_status(PATH),
        "pages": list(fs.list_status_iter(DIRECTORY)),
        "glob": fs.glob_status("/metadata/*/f*"),
        "glob of a name": fs.glob_status(PATH),
        "walk": next(iter(fs.walk(DIRECTORY)))[2],
    }
    assert ways == {name: [status] for name in ways}


@pytest.mark.req("OS-145")
def test_fsspec_tells_what_the_status_tells(
    howdah_cluster: MiniCluster, fs: howdah.FileSystem, status: FileStatus
) -> None:
    host, _, port = howdah_cluster.uri.removeprefix("hdfs://").partition(":")
    other = HowdahFileSystem(host, int(port))
    told = other.info(PATH)
    assert (told["name"], told["size"], told["type"]) == (PATH, 777, "file")
    assert told["mtime"] * 1000 == status.modification_time_ms
    assert (told["mode"], told["replication"]) == (0o640, 2)
    assert other.ls(DIRECTORY) == [told]
    assert list(other.find(DIRECTORY, detail=True).values()) == [told]
    assert list(other.glob(f"{DIRECTORY}/f*", detail=True).values()) == [told]
    assert other.size(PATH) == 777


@pytest.mark.req("OS-145")
def test_every_listing_of_the_shell_tells_what_the_status_tells(
    shell: Shell, status: FileStatus
) -> None:
    line = (f"-rw-r----- 2 {status.owner} {status.group} 777 {local_minute(status)} {PATH}").split()
    for words in (
        ["-ls", DIRECTORY],
        ["-ls", PATH],
        ["-ls", "-d", PATH],
        ["-ls", "-R", "/metadata"],
        ["-ls", "-t", "-r", DIRECTORY],
        ["-ls", f"{DIRECTORY}/f*"],
    ):
        assert shell(*words)[-1].split() == line, words
    assert shell("-ls", "-C", DIRECTORY) == [PATH]
    assert shell("-find", DIRECTORY, "-name", "f*") == [PATH]
    told = shell("-stat", "%F|%b|%r|%u|%g|%a|%Y|%n", PATH)[0].split("|")
    assert told == [
        "regular file",
        "777",
        "2",
        status.owner,
        status.group,
        "640",
        str(status.modification_time_ms),
        "file",
    ]
    assert shell("-count", DIRECTORY)[0].split() == ["1", "1", "777", DIRECTORY]
    assert shell("-du", DIRECTORY)[0].split() == ["777", "1554", PATH]


@pytest.mark.req("OS-145")
def test_shell_tells_programs_what_the_status_tells(
    howdah_cluster: MiniCluster, capsys: pytest.CaptureFixture[str], status: FileStatus
) -> None:
    assert main(["dfs", "-fs", howdah_cluster.uri, "-ls", "--json", DIRECTORY]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert (told["path"], told["length"], told["replication"]) == (PATH, 777, 2)
    assert told["modification_time_ms"] == status.modification_time_ms
    assert told["permission"] == "0640"


@pytest.mark.req("OS-148", "OS-149", "OS-150")
@pytest.mark.parametrize("wrong_s", [HOUR_S, -HOUR_S])
def test_modification_time_is_the_servers_however_wrong_the_clients_clock_is(
    fs: howdah.FileSystem, monkeypatch: pytest.MonkeyPatch, wrong_s: int
) -> None:
    true_time, true_time_ns = time.time, time.time_ns
    monkeypatch.setattr(time, "time", lambda: true_time() + wrong_s)
    monkeypatch.setattr(time, "time_ns", lambda: true_time_ns() + wrong_s * 10**9)
    path = f"/metadata/clock{wrong_s}"
    for act in (fs.create, fs.append):
        out = act(path)
        out.write(b"data")
        before_ms = true_time_ns() // 10**6
        out.close()
        after_ms = true_time_ns() // 10**6
        assert before_ms <= fs.get_file_status(path).modification_time_ms <= after_ms
        (listed,) = [each for each in fs.list_status("/metadata") if each.path == path]
        assert before_ms <= listed.modification_time_ms <= after_ms
