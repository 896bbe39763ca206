"""`mem://`: a filesystem within the process; its streams: test_contract_memory.py."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.fs.memory import filesystem as memory
from howdah.fs.memory.filesystem import MemoryFileSystem
from howdah.options import FileRange, SyncFlag

pytestmark = pytest.mark.kind("mem")

CONF = Configuration()
NAME = "unit"


@pytest.fixture
def fs() -> Iterator[MemoryFileSystem]:
    """As the superuser."""
    yield MemoryFileSystem(NAME, CONF, user="root")
    memory.forget(NAME)


@pytest.fixture
def anna(fs: MemoryFileSystem) -> MemoryFileSystem:
    """The same files, as a user of no distinction."""
    fs.mkdirs("/user/anna")
    fs.set_owner("/user/anna", "anna", "anna")
    return MemoryFileSystem(NAME, CONF, user="anna")


def put(fs: MemoryFileSystem, path: str, data: bytes = b"content") -> None:
    with fs.create(path) as out:
        out.write(data)


# --- which filesystem --------------------------------------------------------------------


@pytest.mark.req("FS-004")
def test_all_who_name_it_the_same_have_the_same_files(fs: MemoryFileSystem) -> None:
    put(fs, "/a")
    again = howdah.connect(f"mem://{NAME}/", conf=CONF)
    assert again.open(f"mem://{NAME}/a").read() == b"content"
    assert again.qualify("/a") == f"mem://{NAME}/a"


def test_another_name_is_another_filesystem(fs: MemoryFileSystem) -> None:
    put(fs, "/a")
    other = MemoryFileSystem("other", CONF)
    assert not other.exists("/a")
    with pytest.raises(errors.IllegalArgument, match="Wrong filesystem"):
        other.exists(f"mem://{NAME}/a")
    memory.forget("other")


def test_files_stay_when_the_filesystem_is_closed(fs: MemoryFileSystem) -> None:
    put(fs, "/a")
    fs.close()
    assert MemoryFileSystem(NAME, CONF).exists("/a")


def test_what_is_forgotten_is_gone(fs: MemoryFileSystem) -> None:
    put(fs, "/a")
    memory.forget(NAME)
    assert not MemoryFileSystem(NAME, CONF).exists("/a")


# --- visibility --------------------------------------------------------------------------


@pytest.mark.req("OS-009")
@pytest.mark.req("OS-082")
def test_what_is_written_is_seen_when_it_is_flushed(fs: MemoryFileSystem) -> None:
    with fs.create("/f") as out:
        out.write(b"seen")
        assert fs.open("/f").read() == b""
        out.hflush()
        assert fs.open("/f").read() == b"seen"
        out.write(b" at close")
    assert fs.open("/f").read() == b"seen at close"


@pytest.mark.req("OS-139")
@pytest.mark.req("OS-158")
def test_the_length_is_that_of_what_can_be_read(fs: MemoryFileSystem) -> None:
    with fs.create("/f") as out:
        out.write(b"four")
        assert fs.get_file_status("/f").length == 0
        out.hflush()
        assert fs.get_file_status("/f").length == fs.list_status("/")[0].length == 4


@pytest.mark.req("OS-088")
def test_a_reader_keeps_what_it_has_opened(fs: MemoryFileSystem) -> None:
    put(fs, "/f")
    with fs.open("/f") as stream:
        with fs.create("/f", overwrite=True) as out:
            out.write(b"other")
        assert stream.read() == b"content"


@pytest.mark.req("OS-159")
def test_a_reader_that_opens_again_follows_the_writer(fs: MemoryFileSystem) -> None:
    with fs.create("/log") as out:
        position = 0
        for line in (b"one", b"two", b"three"):
            out.write(line)
            out.hflush()
            with fs.open("/log") as stream:
                stream.seek(position)
                assert stream.read() == line
                position = stream.tell()


@pytest.mark.req("OS-096")
def test_hsync_shows_as_hflush_does(fs: MemoryFileSystem) -> None:
    with fs.create("/f") as out:
        assert out.has_capability("hsync")
        out.write(b"seen")
        out.hsync()
        assert fs.open("/f").read() == b"seen"
        with pytest.raises(errors.UnsupportedOperation, match="blocks"):
            out.hsync(SyncFlag.END_BLOCK)


# --- one writer --------------------------------------------------------------------------


@pytest.mark.req("OS-177")
def test_a_second_creation_is_refused(fs: MemoryFileSystem) -> None:
    with fs.create("/f"), pytest.raises(errors.PathExists):
        fs.create("/f")


def test_a_file_that_is_written_is_not_changed_by_others(fs: MemoryFileSystem) -> None:
    put(fs, "/g")
    with fs.create("/f"):
        assert not fs.is_file_closed("/f")
        for change in (
            lambda: fs.append("/f"),
            lambda: fs.truncate("/f", 0),
            lambda: fs.concat("/f", ["/g"]),
            lambda: fs.concat("/g", ["/f"]),
        ):
            with pytest.raises(errors.AlreadyBeingCreated, match="/f"):
                change()
    assert fs.is_file_closed("/f")


@pytest.mark.parametrize("what", ["delete", "overwrite", "recover_lease"])
def test_a_writer_that_was_put_out_is_told(fs: MemoryFileSystem, what: str) -> None:
    out = fs.create("/d/f")
    out.write(b"lost")
    if what == "delete":
        fs.delete("/d", recursive=True)
    elif what == "overwrite":
        fs.create("/d/f", overwrite=True).close()
    else:
        assert fs.recover_lease("/d/f")
    with pytest.raises(errors.LeaseExpired, match="/d/f"):
        out.write(b"more")
    with pytest.raises(errors.LeaseExpired, match="/d/f"):
        out.hflush()
    with pytest.raises(errors.LeaseExpired, match="/d/f"):
        out.close()
    out.close()
    assert not fs.exists("/d/f") or fs.open("/d/f").read() == b""


def test_a_lease_that_is_recovered_leaves_what_was_flushed(fs: MemoryFileSystem) -> None:
    out = fs.create("/f")
    out.write(b"kept")
    out.hflush()
    out.write(b"lost")
    fs.recover_lease("/f")
    with fs.append("/f") as more:
        more.write(b" and more")
    assert fs.open("/f").read() == b"kept and more"


def test_a_writer_follows_its_file_to_another_name(fs: MemoryFileSystem) -> None:
    with fs.create("/a") as out:
        fs.rename("/a", "/b")
        out.write(b"content")
    assert fs.open("/b").read() == b"content"


def test_records_of_several_threads_stay_whole(fs: MemoryFileSystem) -> None:
    records = [bytes([65 + number]) * 37 for number in range(8)]
    with fs.create("/f") as out, ThreadPoolExecutor(8) as pool:

        def write(record: bytes) -> None:
            for _ in range(100):
                out.write(record)

        for record in records:
            pool.submit(write, record)
        pool.shutdown()
    content = fs.open("/f").read()
    found = [content[at : at + 37] for at in range(0, len(content), 37)]
    assert sorted(found) == sorted(records * 100)


@pytest.mark.req("XC-005")
def test_of_many_that_create_a_file_one_does(fs: MemoryFileSystem) -> None:
    together = threading.Barrier(8)

    def create(number: int) -> bool:
        together.wait()
        try:
            put(fs, "/d/f", bytes([number]))
        except errors.PathExists:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(create, range(8))) == 1


# --- streams that are closed -------------------------------------------------------------


@pytest.mark.req("OS-033")
@pytest.mark.req("OS-051")
@pytest.mark.req("OS-086")
def test_a_closed_stream(fs: MemoryFileSystem) -> None:
    out = fs.create("/f")
    out.close()
    out.close()
    out.flush()
    with pytest.raises(errors.ClosedStream, match="/f"):
        out.write(1)
    with pytest.raises(errors.ClosedStream, match="/f"):
        out.hflush()
    assert out.has_capability("HFlush")


def test_a_closed_input(fs: MemoryFileSystem) -> None:
    put(fs, "/f")
    stream = fs.open("/f")
    stream.close()
    with pytest.raises(errors.ClosedStream, match="/f"):
        stream.pread(0, 1)


def test_reads_anywhere(fs: MemoryFileSystem) -> None:
    data = os.urandom(1000)
    put(fs, "/f", data)
    with fs.open("/f", 7) as stream:
        assert stream.pread(990, 100) == data[990:]
        assert stream.seek(-10, os.SEEK_END) == 990
        assert stream.read() == data[990:]
        assert stream.seek(2000) == 2000
        assert stream.read(1) == b""
        (part,) = stream.read_vectored([FileRange(3, 5)])
        assert bytes(part.result()) == data[3:8]
        with pytest.raises(ValueError, match="seek"):
            stream.seek(-1)
        with pytest.raises(ValueError, match="offset"):
            stream.pread(-1, 1)


@pytest.mark.req("OS-117")
def test_dropping_caches_is_refused(fs: MemoryFileSystem) -> None:
    with fs.create("/f") as out:
        assert not out.has_capability("dropbehind")
        with pytest.raises(errors.UnsupportedOperation):
            out.set_drop_behind(True)


# --- files that change -------------------------------------------------------------------


def test_truncate(fs: MemoryFileSystem) -> None:
    put(fs, "/f")
    assert fs.truncate("/f", 3)
    assert fs.open("/f").read() == b"con"
    for length in (-1, 4):
        with pytest.raises(errors.IllegalArgument, match="it has 3"):
            fs.truncate("/f", length)


def test_concat_moves_content(fs: MemoryFileSystem) -> None:
    for name in "abc":
        put(fs, f"/{name}", name.encode())
    fs.concat("/a", ["/c", "/b"])
    assert fs.open("/a").read() == b"acb"
    assert [status.name for status in fs.list_status("/")] == ["a"]


@pytest.mark.parametrize(
    ("sources", "error"),
    [
        ([], errors.IllegalArgument),
        (["/a"], errors.IllegalArgument),
        (["/b", "/b"], errors.IllegalArgument),
        (["/b", "/missing"], errors.PathNotFound),
        (["/b", "/d"], errors.PathIsDirectory),
    ],
)
def test_a_concat_that_makes_no_sense_changes_nothing(
    fs: MemoryFileSystem, sources: list[str], error: type[errors.HowdahError]
) -> None:
    put(fs, "/a", b"a")
    put(fs, "/b", b"b")
    fs.mkdirs("/d")
    with pytest.raises(error):
        fs.concat("/a", sources)
    assert fs.open("/a").read() == b"a"
    assert fs.open("/b").read() == b"b"


# --- the tree ----------------------------------------------------------------------------


def test_a_missing_parent_is_made_unless_that_is_not_wanted(fs: MemoryFileSystem) -> None:
    with pytest.raises(errors.PathNotFound, match="/a"):
        fs.create("/a/f", create_parent=False)
    put(fs, "/a/b/f")
    assert fs.get_file_status("/a/b").permission == 0o755


def test_nothing_is_below_a_file(fs: MemoryFileSystem) -> None:
    put(fs, "/f")
    for make in (lambda: fs.create("/f/g"), lambda: fs.mkdirs("/f/g/h"), lambda: fs.mkdir("/f/g")):
        with pytest.raises(errors.ParentNotDirectory, match="/f"):
            make()
    with pytest.raises(errors.PathNotFound, match="/f/g"):
        fs.get_file_status("/f/g")
    assert not fs.delete("/f/g")


def test_mkdirs_over_a_file_and_mkdir_over_anything(fs: MemoryFileSystem) -> None:
    put(fs, "/d/f")
    assert fs.mkdirs("/d")
    with pytest.raises(errors.PathExists):
        fs.mkdirs("/d/f")
    with pytest.raises(errors.PathExists):
        fs.mkdir("/d")
    with pytest.raises(errors.PathNotFound):
        fs.mkdir("/x/y")
    assert fs.mkdir("/d/e")


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_directory_is_not_replaced_by_a_file(fs: MemoryFileSystem, overwrite: bool) -> None:
    fs.mkdirs("/d")
    with pytest.raises(errors.PathExists):
        fs.create("/d", overwrite=overwrite)


@pytest.mark.parametrize(
    ("source", "target", "error"),
    [
        ("/missing", "/new", errors.PathNotFound),
        ("/", "/new", errors.RemoteError),
        ("/dir", "/", errors.RemoteError),
        ("/dir", "/dir", errors.PathExists),
        ("/dir", "/dir/below", errors.RemoteError),
        ("/file", "/missing/new", errors.PathNotFound),
        ("/file", "/file2/new", errors.ParentNotDirectory),
        ("/file", "/dir", errors.RemoteError),
        ("/dir", "/file", errors.RemoteError),
        ("/dir", "/full", errors.DirectoryNotEmpty),
    ],
)
def test_renames_that_make_no_sense(
    fs: MemoryFileSystem, source: str, target: str, error: type[errors.HowdahError]
) -> None:
    for name in ("/file", "/file2", "/full/file"):
        put(fs, name)
    fs.mkdirs("/dir")
    with pytest.raises(error):
        fs.rename(source, target, overwrite=True)


def test_the_root_is_not_deleted(fs: MemoryFileSystem) -> None:
    assert not fs.delete("/")
    put(fs, "/d/f")
    with pytest.raises(errors.DirectoryNotEmpty):
        fs.delete("/")
    assert not fs.delete("/", recursive=True)


def test_status_of_a_file(fs: MemoryFileSystem) -> None:
    with fs.create("/d/f", replication=2, block_size=1024, permission=0o666) as out:
        out.write(b"1234")
    fs.set_times("/d/f", mtime_ms=1234, atime_ms=5678)
    status = fs.get_file_status("/d/f")
    assert (status.path, status.length, status.is_file) == ("/d/f", 4, True)
    assert (status.replication, status.block_size, status.permission) == (2, 1024, 0o644)
    assert (status.modification_time_ms, status.access_time_ms) == (1234, 5678)
    assert (status.owner, status.group) == ("root", "supergroup")
    assert fs.list_status("/d/f") == fs.list_status("/d") == [status]
    assert fs.set_replication("/d/f", 5)
    assert not fs.set_replication("/d", 5)
    assert fs.get_file_status("/d/f").replication == 5
    assert fs.get_status().used == fs.content_summary("/").length == 4


@pytest.mark.req("OS-144")
@pytest.mark.req("OS-150")
def test_the_modification_time_is_that_of_the_close(
    fs: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter(range(1, 100))
    monkeypatch.setattr(memory, "now_ms", lambda: next(times))
    out = fs.create("/f")
    created = fs.get_file_status("/f").modification_time_ms
    out.close()
    assert created < fs.get_file_status("/f").modification_time_ms


def test_a_handle_follows_its_file(fs: MemoryFileSystem) -> None:
    put(fs, "/f")
    handle = fs.get_path_handle(fs.get_file_status("/f"), may_move=True)
    fixed = fs.get_path_handle(fs.get_file_status("/f"))
    fs.rename("/f", "/g")
    assert fs.open_path_handle(handle).read() == b"content"
    with pytest.raises(errors.InvalidPathHandle):
        fs.open_path_handle(fixed)
    fs.delete("/g")
    with pytest.raises(errors.InvalidPathHandle):
        fs.open_path_handle(handle)


# --- permissions -------------------------------------------------------------------------


def test_others_may_not_write_where_they_may_not(
    fs: MemoryFileSystem, anna: MemoryFileSystem
) -> None:
    put(fs, "/d/f")
    for change in (
        lambda: anna.create("/d/g"),
        lambda: anna.create("/d/f", overwrite=True),
        lambda: anna.append("/d/f"),
        lambda: anna.mkdirs("/e"),
        lambda: anna.delete("/d/f"),
        lambda: anna.rename("/d/f", "/user/anna/f"),
        lambda: anna.truncate("/d/f", 0),
        lambda: anna.set_permission("/d/f", 0o777),
        lambda: anna.set_times("/d/f", 1),
        lambda: anna.access("/d", os.W_OK),
    ):
        with pytest.raises(errors.AccessDenied):
            change()
    assert anna.open("/d/f").read() == b"content"


def test_nobody_reads_what_is_hidden_but_the_superuser(
    fs: MemoryFileSystem, anna: MemoryFileSystem
) -> None:
    put(fs, "/d/f")
    put(fs, "/g")
    fs.set_permission("/d", 0o700)
    fs.set_permission("/g", 0o600)
    for look in (
        lambda: anna.open("/g"),
        lambda: anna.list_status("/d"),
        lambda: anna.get_file_status("/d/f"),
    ):
        with pytest.raises(errors.AccessDenied, match="user=anna"):
            look()
    assert fs.open("/g").read() == b"content"


def test_a_user_may_do_everything_at_home(anna: MemoryFileSystem) -> None:
    with anna.create("f") as out:
        out.write(b"mine")
    status = anna.get_file_status("/user/anna/f")
    assert (status.owner, status.group) == ("anna", "anna")
    anna.set_permission("f", 0o640)
    anna.set_owner("f", group="anna")
    with pytest.raises(errors.AccessDenied, match="others"):
        anna.set_owner("f", "somebody")
    anna.rename("f", "g")
    assert anna.delete("g")


def test_in_a_sticky_directory_the_owner_takes_out(
    fs: MemoryFileSystem, anna: MemoryFileSystem
) -> None:
    fs.mkdirs("/tmp")
    fs.set_permission("/tmp", 0o1777)
    put(fs, "/tmp/f")
    with pytest.raises(errors.AccessDenied, match="sticky"):
        anna.delete("/tmp/f")
    put(anna, "/tmp/g")
    assert anna.delete("/tmp/g")
