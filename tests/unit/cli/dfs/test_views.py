"""`howdah dfs` and its kin on views of files in memory."""

from __future__ import annotations

import socket
import uuid

import pytest

import howdah
from howdah.cli.dfs import main
from howdah.cli.main import main as howdah_main
from howdah.config import Configuration


@pytest.fixture
def conf() -> Configuration:
    """A view of two filesystems, which is the default one."""
    place = uuid.uuid4().hex
    found = Configuration(
        {
            "fs.viewfs.mounttable.v.link./one": f"mem://one-{place}/",
            "fs.viewfs.mounttable.v.link./in/two": f"mem://two-{place}/two",
            "fs.defaultFS": "viewfs://v/",
        }
    )
    with howdah.connect("viewfs://v/", conf=found) as fs:
        fs.mkdirs("/in/two/d")
        fs.create("/one/f").close()
    return found


@pytest.mark.req("FS-047")
@pytest.mark.parametrize(
    ("words", "mounts"),
    [
        (["/"], ["/in/two", "/one"]),
        (["/in"], ["/in/two"]),
        (["/one/f"], ["/one"]),
        (["/one", "/in/two/d"], ["/one", "/in/two"]),
    ],
)
def test_df_has_a_line_for_each_mount_point(
    words: list[str], mounts: list[str], conf: Configuration, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-df", *words], conf) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["Filesystem", "Size", "Used", "Available", "Use%", "Mounted", "on"]
    assert [line.split()[-1] for line in lines] == mounts
    assert all(line.startswith("mem://") for line in lines)


def test_df_has_lines_for_the_others_where_one_target_is_away(
    conf: Configuration, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    more = conf.with_values(
        {
            "fs.viewfs.mounttable.v.link./away": f"hdfs://127.0.0.1:{port}/",
            "ipc.client.connect.max.retries": "0",
        }
    )
    assert main(["-df", "/"], more) == 1
    said = capsys.readouterr()
    assert [line.split()[-1] for line in said.out.splitlines()[1:]] == ["/in/two", "/one"]
    assert said.err.startswith(f"df: Cannot connect to 127.0.0.1:{port}")


def test_snapshots_of_what_has_none_are_refused_by_the_target(
    conf: Configuration, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-createSnapshot", "/one", "s"], conf) == 1
    assert "mem://one-" in capsys.readouterr().err
    assert main(["-createSnapshot", "/in", "s"], conf) == 1
    assert "operation createSnapshot not permitted on path /in" in capsys.readouterr().err


def test_the_replication_of_a_link_is_not_silently_left(
    conf: Configuration, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-setrep", "2", "/in"], conf) == 1
    assert capsys.readouterr().err == "setrep: `/in/two': Symlinks unsupported\n"


def test_a_mount_point_is_no_matter_for_the_trash(
    conf: Configuration, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-rm", "-r", "/one"], conf) == 1
    assert capsys.readouterr().err == (
        "rm: InternalDir of ViewFileSystem is readonly, operation delete not permitted on path "
        "/one.\n"
    )


def test_what_is_deleted_goes_to_the_trash_of_its_target_and_is_expunged(
    conf: Configuration,
) -> None:
    kept = conf.with_values({"fs.trash.interval": "60"})
    assert main(["-rm", "/one/f"], kept) == 0
    with howdah.connect(conf.raw("fs.viewfs.mounttable.v.link./one"), conf=kept) as one:
        user = one.home_directory()
        assert one.exists(f"{user}/.Trash/Current/f")
        assert main(["-expunge", "-immediate"], kept) == 0
        assert not one.exists(f"{user}/.Trash/Current/f")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["dfsadmin", "-report"], "viewfs://v is not an HDFS file system"),
        (["fsck", "/in"], "FileSystem is viewfs://v"),
        (["fsck", "/one"], "FileSystem is mem://one-"),
        (["debug", "recoverLease", "-path", "/one/f"], "needed scheme hdfs, but got: viewfs"),
    ],
)
def test_what_a_view_has_not_is_refused_by_its_name(
    words: list[str], said: str, conf: Configuration, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [f"-D{key}={value}" for key, value in conf.items()]
    assert howdah_main([words[0], *options, *words[1:]]) != 0
    assert said in capsys.readouterr().err
