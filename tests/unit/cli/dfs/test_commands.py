"""The commands of `howdah dfs`, on a filesystem in memory.

That they speak as Hadoop's shell does is proved beside the real one
(tests/compat/test_fsshell_parity.py); here is what that cannot show.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.cli.dfs import load
from howdah.cli.dfs.commands.manual import TEXTS
from howdah.cli.dfs.shell import registry
from howdah.cli.dfs.shell.command import Command
from howdah.fs.status import BlockLocation
from tests.unit.cli.conftest import Dfs, MemoryFiles

# -- the table of commands -----------------------------------------------------------


@pytest.mark.parametrize("name", registry.COMMANDS)
def test_every_command_of_the_table_can_be_loaded(name: str) -> None:
    assert issubclass(load(name), Command)


def test_every_command_has_a_text_for_help() -> None:
    current = {name for name, entry in registry.COMMANDS.items() if not entry.replaced_by}
    assert set(TEXTS) == current


@pytest.mark.req("FS-076")
def test_help_of_everything_describes_every_command(dfs: Any) -> None:
    done = dfs("-help")
    assert done.code == 0
    assert all(f"\n-{name} " in done.out for name in registry.COMMANDS)


def test_listing_loads_no_other_command() -> None:
    program = (
        "import sys, howdah.cli.dfs.shell.command, howdah.cli.dfs.commands.ls\n"
        "heavy = {'asyncio', 'uvloop', 'argparse', 'concurrent', 'http', 'json', 'xml'}\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0] in heavy"
        " or name.startswith('howdah.cli.dfs.') and name.split('.')[-1] not in\n"
        " {'shell', 'command', 'commands', 'ls', 'path_args', 'options', 'error_text', 'registry',"
        " 'text'}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.req("FS-192")
def test_a_name_in_an_error_ends_no_line_and_moves_no_cursor(dfs: Any, tmp_path: Path) -> None:
    hostile = "no\nrm: done\x1b2J"
    there = "`/no\\nrm: done\\x1b2J': No such file or directory\n"
    for command in ("-ls", "-cat", "-rm"):
        assert dfs(command, f"/{hostile}").err == f"{command[1:]}: {there}"
    local = f"{tmp_path}/{hostile}"
    there = there.replace("/no", f"{tmp_path}/no")
    assert dfs("-put", local, "/to").err == f"put: {there}"


# -- machine-readable output -----------------------------------------------------------


def test_json_of_a_listing_has_every_attribute(dfs: Any) -> None:
    dfs.fs.fill("/d/f", b"12345")
    assert json.loads(dfs("-ls", "--json", "/d").out) == [
        {
            "path": "/d/f",
            "type": "file",
            "length": 5,
            "replication": 3,
            "block_size": 1 << 20,
            "permission": "0644",
            "owner": "me",
            "group": "staff",
            "modification_time_ms": 1_600_000_000_000,
            "access_time_ms": 0,
        }
    ]


@pytest.mark.parametrize("command", ["ls", "du", "count", "df", "stat", "checksum"])
def test_json_is_one_value_though_a_path_fails(dfs: Any, command: str) -> None:
    dfs.fs.fill("/f", b"12345")
    done = dfs(f"-{command}", "--json", "/f", "/nope")
    assert done.code == 1
    assert len(json.loads(done.out)) == 1
    assert done.err == f"{command}: `/nope': No such file or directory\n"


def test_json_of_sizes_is_in_bytes(dfs: Any) -> None:
    dfs.fs.fill("/d/f", b"x" * 2048)
    assert json.loads(dfs("-du", "--json", "-s", "-h", "/d").out) == [
        {"path": "/d", "length": 2048, "space_consumed": 6144}
    ]


def test_json_is_refused_where_it_means_nothing(dfs: Any) -> None:
    done = dfs("-rm", "--json", "/f")
    assert done.code == 255
    assert done.err.startswith("-rm: Illegal option --json\n")


# -- copies ------------------------------------------------------------------------------


@pytest.mark.req("OS-061", "OS-065")
def test_a_close_that_fails_makes_the_copy_fail_and_leaves_nothing(
    dfs: Any, tmp_path: Path
) -> None:
    (tmp_path / "f").write_bytes(b"content")
    dfs.fs.failing_closes.add("/f._COPYING_")
    done = dfs("-put", str(tmp_path / "f"), "/f")
    assert done.code == 1
    assert done.err == "put: Could not close /f._COPYING_: all datanodes are bad\n"
    assert set(dfs.fs.entries) == {"/"}


def test_a_file_gets_its_name_when_it_is_complete(dfs: Any, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"content")
    assert dfs("-put", str(tmp_path / "f"), "/f").code == 0
    assert dfs.fs.calls[:2] == ["create /f._COPYING_", "rename /f._COPYING_ /f"]


def test_a_direct_put_writes_under_the_name_at_once(dfs: Any, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"content")
    assert dfs("-put", "-d", str(tmp_path / "f"), "/f").code == 0
    assert dfs.fs.calls[0] == "create /f"
    assert dfs.fs.contents == {"/f": b"content"}


@pytest.mark.req("OS-092")
def test_a_put_never_flushes(dfs: Any, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a line\n" * 200_000)
    assert dfs("-put", str(tmp_path / "f"), "/f").code == 0
    assert len(dfs.fs.contents["/f"]) == 1_400_000
    assert dfs.fs.flushes == 0


def test_a_put_with_threads_copies_the_whole_tree(dfs: Any, tmp_path: Path) -> None:
    expected = {}
    for number in range(40):
        name = f"d{number % 4}/f{number}"
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"%d" % number)
        expected[f"/t/{name}"] = b"%d" % number
    assert dfs("-put", "-t", "4", "-q", "2", str(tmp_path), "/t").code == 0
    assert dfs.fs.contents == expected


def test_a_thread_that_fails_makes_the_put_fail(dfs: Any, tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text(name)
    dfs.fs.failing_closes.add("/t/b._COPYING_")
    done = dfs("-put", "-t", "3", str(tmp_path), "/t")
    assert done.code == 1
    assert set(dfs.fs.contents) == {"/t/a", "/t/c"}


@pytest.mark.parametrize("name", ["a b", "p%20c", "br[x]", "st*r", "q?m", "uä", "col:on", "-x"])
def test_names_of_local_files_are_literal(
    dfs: Any, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_text(name)
    monkeypatch.chdir(tmp_path)
    assert dfs("-put", f"./{name}", "/").code == 0
    assert dfs("-get", glob_escaped(f"/{name}"), f"{tmp_path}/back").code == 0
    assert (tmp_path / "back").read_text() == name


def glob_escaped(path: str) -> str:
    return "".join(f"\\{char}" if char in "*?[]{}\\" else char for char in path)


def test_preserving_sets_times_before_the_mode_and_of_directories_last(
    dfs: Any, tmp_path: Path
) -> None:
    (tmp_path / "d").mkdir(mode=0o750)
    (tmp_path / "d" / "f").write_text("x")
    os.utime(tmp_path / "d" / "f", ns=(10**18, 2 * 10**18))
    assert dfs("-put", "-p", str(tmp_path / "d"), "/d").code == 0
    sets = [call for call in dfs.fs.calls if call.startswith("set_") and "owner" not in call]
    assert [call.split()[:2] for call in sets] == [
        ["set_times", "/d/f"],
        ["set_permission", "/d/f"],
        ["set_times", "/d"],
        ["set_permission", "/d"],
    ]
    assert sets[0] == "set_times /d/f 2000000000000 1000000000000"
    assert sets[3] == "set_permission /d 750"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("0x1", "0x1 is not hexadecimal: two digits for each byte"),
        ("0xzz", "0xzz is not hexadecimal: two digits for each byte"),
        ("0sA", "0sA is not base64: "),
    ],
)
def test_a_value_that_cannot_be_decoded_is_told_why(dfs: Any, value: str, reason: str) -> None:
    dfs.fs.fill("/f", b"")
    done = dfs("-setfattr", "-n", "user.a", "-v", value, "/f")
    assert done.code == 1
    assert done.err.startswith(f"setfattr: {reason}")


def test_a_get_that_fails_leaves_no_local_file(dfs: Any, tmp_path: Path) -> None:
    dfs.fs.fill("/f", b"x" * 10_000_000)
    dfs.fs.broken_reads["/f"] = errors.BlockMissing("No replica of a block of /f can be read")
    done = dfs("-get", "/f", str(tmp_path / "f"))
    assert done.code == 1
    assert done.err == "get: No replica of a block of /f can be read\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("threads", ["1", "2"])
def test_an_interrupted_copy_leaves_no_file(dfs: Any, tmp_path: Path, threads: str) -> None:
    dfs.fs.fill("/f", b"x" * 10_000_000)
    dfs.fs.broken_reads["/f"] = KeyboardInterrupt()
    done = dfs("-get", "-t", threads, "/f", str(tmp_path / "f"))
    assert done.code == 130
    assert done.err == "get: Interrupted\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [["-p", "/f", "/g"], ["/f", "-p", "/g"], ["/f", "/g", "-p"], ["-f", "/f", "/g", "-ppt"]],
)
def test_what_cp_preserves_may_stand_anywhere(dfs: Any, words: list[str]) -> None:
    """As in Hadoop's shell; it is none of the paths."""
    dfs.fs.fill("/f", b"x")
    dfs.fs.set_permission("/f", 0o640)
    assert dfs("-cp", *words).code == 0
    assert dfs.fs.contents == {"/f": b"x", "/g": b"x"}
    assert dfs.fs.entries["/g"].permission == 0o640


def test_behind_two_dashes_nothing_is_preserved(dfs: Any) -> None:
    dfs.fs.fill("/-p", b"x")
    assert dfs("-cp", "--", "/-p", "/g").code == 0
    assert dfs("-cp", "/g", "--", "-p").code == 1


def test_stat_goes_into_directories_and_wants_a_path(dfs: Any) -> None:
    dfs.fs.fill("/d/e/f", b"x")
    for words in (["-R", "%n", "/d"], ["%n", "-R", "/d"]):
        assert dfs("-stat", *words).out == "d\ne\nf\n"
    assert dfs("-stat", "%n", "/d").out == "d\n"
    done = dfs("-stat", "%n")
    assert done.code == 255
    assert "Not enough arguments: expected 1 but got 0" in done.err


def test_moved_files_are_gone_from_the_local_disk(dfs: Any, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_text("x")
    assert dfs("-moveFromLocal", str(tmp_path / "d"), "/d").code == 0
    assert list(tmp_path.iterdir()) == []
    assert dfs.fs.contents == {"/d/f": b"x"}


@pytest.mark.parametrize("words", [["-put", "-f", "-d"], ["-moveFromLocal", "-f"]])
def test_file_that_would_be_lost_is_not_copied_onto_itself(
    dfs: Any, tmp_path: Path, words: list[str]
) -> None:
    """By another name of it as well."""
    (tmp_path / "f").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "f")
    for name in ("f", "link"):
        done = dfs(*words, str(tmp_path / "f"), f"file://{tmp_path}/{name}")
        assert done.code == 1
        assert "are the same file" in done.err
        assert (tmp_path / "f").read_text() == "x"


def test_copy_straight_onto_itself_is_refused(dfs: Any) -> None:
    dfs.fs.fill("/f", b"x")
    assert dfs("-cp", "-f", "/f", "/f").code == 0
    done = dfs("-cp", "-f", "-d", "/f", "/f")
    assert (done.code, done.err) == (1, "cp: `/f' to `/f': are the same file\n")
    assert dfs.fs.contents == {"/f": b"x"}


def test_getmerge_into_one_of_its_sources_is_refused(dfs: Any, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text(name)
    done = dfs("-getmerge", f"file://{tmp_path}", str(tmp_path / "a"))
    assert done.code == 1
    assert "are the same file" in done.err
    assert [(tmp_path / name).read_text() for name in "ab"] == ["a", "b"]


def test_a_local_file_that_could_not_be_moved_stays(dfs: Any, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    dfs.fs.failing_closes.add("/f._COPYING_")
    assert dfs("-moveFromLocal", str(tmp_path / "f"), "/f").code == 1
    assert (tmp_path / "f").read_text() == "x"


def test_a_local_file_that_is_written_to_while_it_is_moved_stays(
    dfs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_text("one")
    rename = dfs.fs.rename

    def late(*args: Any, **options: Any) -> None:
        rename(*args, **options)
        (tmp_path / "f").write_text("one and more")

    monkeypatch.setattr(dfs.fs, "rename", late)
    done = dfs("-moveFromLocal", str(tmp_path / "f"), "/f")
    assert done.code == 1
    assert "was written to while it was copied; it stays" in done.err
    assert (tmp_path / "f").read_text() == "one and more"
    assert dfs.fs.contents == {"/f": b"one"}


def test_checksum_files_of_hadoop_are_not_copied(dfs: Any, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    (tmp_path / ".f.crc").write_bytes(b"crc\0" + struct.pack(">II", 512, zlib.crc32(b"x")))
    (tmp_path / ".other.crc").write_text("nobody's checksum")
    assert dfs("-put", str(tmp_path), "/d").code == 0
    assert set(dfs.fs.contents) == {"/d/f", "/d/.other.crc"}


def test_a_local_file_that_does_not_fit_its_checksums_is_not_copied(
    dfs: Any, tmp_path: Path
) -> None:
    (tmp_path / "f").write_text("x")
    (tmp_path / ".f.crc").write_bytes(b"crc\0" + struct.pack(">II", 512, zlib.crc32(b"y")))
    done = dfs("-put", str(tmp_path / "f"), "/f")
    assert done.code == 1
    assert done.err.startswith(f"put: Checksum error: {tmp_path}/f at 0")
    assert dfs.fs.contents == {}


def test_a_get_without_sums_removes_those_of_the_file_that_it_replaces(
    dfs: Any, tmp_path: Path
) -> None:
    dfs.fs.fill("/f", b"x" * 1000)
    dfs.fs.fill("/g", b"y")
    assert dfs("-get", "-crc", "/f", str(tmp_path / "f")).code == 0
    assert sorted(os.listdir(tmp_path)) == [".f.crc", "f"]
    assert dfs("-get", "-f", "/g", str(tmp_path / "f")).code == 0
    assert os.listdir(tmp_path) == ["f"]
    assert dfs("-cat", f"file://{tmp_path}/f").out == "y"


# -- the rest ---------------------------------------------------------------------------


def test_safely_asks_before_many_files_go(dfs: Any) -> None:
    for number in range(3):
        dfs.fs.fill(f"/d/{number}", b"")
    conf = {"hadoop.shell.delete.limit.num.files": "2"}
    refused = dfs("-rm", "-r", "-safely", "/d", stdin=b"n\n", conf=conf)
    assert refused.code == 1
    assert "/d" in dfs.fs.entries
    assert dfs("-rm", "-r", "-safely", "/d", stdin=b"y\n", conf=conf).out == "Deleted /d\n"


def test_the_servers_word_on_the_trash_counts(dfs: Any) -> None:
    dfs.fs.fill("/f", b"")
    dfs.fs.trash_interval_minutes = 1
    done = dfs("-rm", "/f")
    assert done.code == 0
    assert done.err.endswith(
        "INFO fs.TrashPolicyDefault: Moved: 'hdfs://memory:8020/f' to trash at: "
        "hdfs://memory:8020/user/me/.Trash/Current/f\n"
    )
    assert "/user/me/.Trash/Current/f" in dfs.fs.entries


def test_append_reads_all_sources_before_it_writes(dfs: Any, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    done = dfs("-appendToFile", str(tmp_path / "a"), str(tmp_path / "nope"), "/f")
    assert done.code == 1
    assert "/f" not in dfs.fs.entries


def test_append_goes_behind_what_is_there(dfs: Any, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    dfs.fs.fill("/f", b"before ")
    assert dfs("-appendToFile", str(tmp_path / "a"), "/f").code == 0
    assert dfs("-appendToFile", "-", "/f", stdin=b" more").code == 0
    assert dfs.fs.contents["/f"] == b"before a more"


def test_getmerge_puts_newlines_only_behind_what_has_content(dfs: Any, tmp_path: Path) -> None:
    dfs.fs.fill("/d/a", b"1")
    dfs.fs.fill("/d/b", b"")
    dfs.fs.fill("/d/c", b"2")
    assert dfs("-getmerge", "-nl", "-skip-empty-file", "/d", str(tmp_path / "m")).code == 0
    assert (tmp_path / "m").read_bytes() == b"1\n2\n"


def test_following_a_file_prints_what_is_appended(
    dfs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    dfs.fs.fill("/log", b"x" * 2000)
    coming = iter([b"first ", b"", b"second"])
    waits = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        more = next(coming, None)
        if more is None:
            raise KeyboardInterrupt
        dfs.fs.fill("/log", dfs.fs.contents["/log"] + more)

    monkeypatch.setattr("howdah.fs.tail.time.sleep", sleep)
    done = dfs("-tail", "-f", "-s", "250", "/log")
    assert done.code == 130
    assert done.out == "x" * 1024 + "first second"
    assert waits == [0.25] * 4


def test_waiting_for_replicas_shows_a_dot_each_time_it_looks(
    dfs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    dfs.fs.fill("/f", b"x")
    found = iter([1, 1, 2])

    def locations(path: str) -> list[BlockLocation]:
        nodes = tuple(f"10.0.0.{number}:9866" for number in range(next(found)))
        return [BlockLocation(0, 1, nodes, nodes)]

    monkeypatch.setattr(dfs.fs, "set_replication", lambda path, count: True, raising=False)
    monkeypatch.setattr(dfs.fs, "block_locations", locations)
    monkeypatch.setattr("howdah.cli.dfs.commands.attributes.time.sleep", lambda seconds: None)
    done = dfs("-setrep", "-w", "2", "/f")
    assert done.out == "Replication 2 set: /f\nWaiting for /f ..... done\n"


def test_unreadable_times_are_refused(dfs: Any) -> None:
    assert dfs("-touch", "-t", "20201332:999999", "/f").code == 255


def test_connections_are_closed_at_the_end(dfs: Any) -> None:
    dfs("-ls", "/")
    assert dfs.fs.calls[-1] == "close"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_behind_the_output_is_told() -> None:
    program = (
        "import sys\nfrom howdah.cli.dfs import main\nfrom howdah.config import Configuration\n"
        "sys.exit(main(['-ls', 'file:///'], Configuration()))"
    )
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", program], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.stderr == "ls: Unable to write to output stream. No space left on device\n"
    assert done.returncode == 1


def test_a_reader_that_leaves_ends_the_output_quietly(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(bytes(3 << 20))
    program = (
        "import sys\nfrom howdah.cli.dfs import main\nfrom howdah.config import Configuration\n"
        f"sys.exit(main(['-cat', 'file://{tmp_path}/big'], Configuration()))"
    )
    shell = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert shell.stdout is not None
    assert shell.stderr is not None
    assert shell.stdout.read(10) == bytes(10)
    shell.stdout.close()
    assert shell.stderr.read() == b"cat: Unable to write to output stream.\n"
    assert shell.wait(30) == 1
    shell.stderr.close()


@pytest.mark.parametrize("options", [(), ("-f",), ("-r", "-skipTrash")])
def test_a_link_to_nothing_is_removed(dfs: Any, tmp_path: Path, options: tuple[str, ...]) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nothing")
    done = dfs("-rm", *options, f"file://{link}")
    assert (done.code, done.out) == (0, f"Deleted file://{link}\n")
    assert not link.is_symlink()


def test_what_a_removed_link_names_stays(dfs: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    assert dfs("-rm", f"file://{tmp_path}/link").code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_pipe_in_a_directory_is_named_and_one_that_is_named_is_read(
    dfs: Any, tmp_path: Path
) -> None:
    place = tmp_path / "d"
    place.mkdir()
    (place / "file").write_bytes(b"1")
    pipe = place / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(pipe.write_bytes, b"2")
        try:
            done = dfs("-put", str(place), "/to")
            assert done.code == 1
            assert done.err == f"put: `{pipe}': is a named pipe, which is not copied with a tree\n"
            assert dfs("-put", str(pipe), "/pipe").code == 0
        finally:
            os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))
            written.result()
    assert dfs("-cat", "/to/file", "/pipe").out == "12"
    assert dfs("-test", "-e", "/to/pipe").code == 1


# -- names that could be patterns ------------------------------------------------------


@pytest.mark.parametrize("name", ["r[1]", "r?", "r*", "{r1,r2}"])
def test_a_path_that_exists_is_no_pattern(dfs: Any, fs: Any, name: str, tmp_path: Path) -> None:
    for each in (name, "r1", "r2"):
        fs.write_bytes(f"/d/{each}", each.encode())
    assert dfs("-cat", f"/d/{name}").out == name
    assert dfs("-get", f"/d/{name}", f"{tmp_path}/got").code == 0
    assert (tmp_path / "got").read_text() == name
    assert dfs("-cp", f"/d/{name}", "/copy").code == 0
    assert fs.read_bytes("/copy") == name.encode()
    assert dfs("-rm", "-skipTrash", f"/d/{name}").out == f"Deleted /d/{name}\n"
    assert [each.name for each in fs.list_status("/d")] == ["r1", "r2"]
    if name != "{r1,r2}":
        assert dfs("-rm", "-skipTrash", f"/d/{name}").out.startswith("Deleted /d/r1\n")


# -- names that mean a directory ---------------------------------------------------------


@pytest.mark.parametrize("end", ["/", "/.", "/..", "/./", "/x/.."])
@pytest.mark.parametrize(
    "words",
    [
        ["-put", "one"],
        ["-put", "-f", "one"],
        ["-put", "-"],
        ["-moveFromLocal", "one"],
        ["-cp", "/f"],
        ["-cp", "/d"],
        ["-mv", "/f"],
        ["-mv", "/d"],
        ["-touch"],
        ["-touchz"],
        ["-appendToFile", "one"],
    ],
    ids=" ".join,
)
def test_a_target_that_means_a_directory_is_none_of_a_file(
    words: list[str],
    end: str,
    dfs: Dfs,
    fs: MemoryFiles,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one").write_text("one")
    fs.fill("/f", b"f")
    fs.mkdirs("/d")
    before = set(fs.entries)
    done = dfs(*words, f"/n/new{end}")
    assert done.code == 1
    assert "No such file or directory" in done.err
    assert set(fs.entries) == before
    assert (tmp_path / "one").exists()


@pytest.mark.parametrize("end", ["", "/", "/.", "/sub/.."])
def test_a_directory_that_is_there_takes_files_by_any_of_its_names(
    end: str, dfs: Dfs, fs: MemoryFiles
) -> None:
    fs.fill("/f", b"f")
    fs.mkdirs("/d")
    assert dfs("-cp", "/f", f"/d{end}").code == 0
    assert fs.contents["/d/f"] == b"f"


@pytest.mark.parametrize("target", ["merged/", "merged/."])
def test_a_merged_file_has_no_name_of_a_directory(
    target: str, dfs: Dfs, fs: MemoryFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fs.fill("/f", b"f")
    assert dfs("-getmerge", "/f", target).code == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [["-chown", "svc+etl"], ["-chown", ":team+x"], ["-chown", "a+b:c+d"], ["-chgrp", "c++"]],
)
def test_names_of_users_and_groups_may_have_a_plus(
    words: list[str], dfs: Dfs, fs: MemoryFiles
) -> None:
    fs.fill("/f", b"f")
    assert dfs(*words, "/f").code == 0
    assert "+" in fs.entries["/f"].owner + fs.entries["/f"].group


@pytest.mark.parametrize("words", [["-chown", "\xa0me"], ["-chgrp", "me\u2003"], ["-chown", "a b"]])
def test_blanks_of_other_scripts_are_no_part_of_a_name(
    words: list[str], dfs: Dfs, fs: MemoryFiles
) -> None:
    fs.fill("/f", b"f")
    assert dfs(*words, "/f").code == 255


@pytest.mark.parametrize("char", ["\u202e", "\u200d", "\ufeff", "\x1b", "\ue000"])
def test_what_a_terminal_would_not_just_draw_is_a_question_mark(
    char: str, dfs: Dfs, fs: MemoryFiles
) -> None:
    fs.fill(f"/d/a{char}b", b"")
    assert dfs("-ls", "-q", "/d").out.rstrip("\n").endswith("/d/a?b")


def test_an_append_may_begin_a_new_block(
    dfs: Dfs, fs: MemoryFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one").write_text("one")
    fs.fill("/f", b"f")
    asked: list[bool] = []
    append = fs.append

    def noted(path: str, *, new_block: bool = False) -> Any:
        asked.append(new_block)
        return append(path)

    monkeypatch.setattr(fs, "append", noted)
    assert dfs("-appendToFile", "-n", str(tmp_path / "one"), "/f").code == 0
    assert dfs("-appendToFile", str(tmp_path / "one"), "/f").code == 0
    assert asked == [True, False]
    assert fs.contents["/f"] == b"foneone"
    assert dfs("-appendToFile", "-n", str(tmp_path / "one"), "/fresh").code == 0


def test_a_quota_says_what_hadoops_does(
    dfs: Dfs, fs: MemoryFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs read the message from the front: no path stands before it."""
    said = "The DiskSpace quota of /q is exceeded: quota = 1 B = 1 B but diskspace consumed = 3 B"
    refused = errors.SpaceQuotaExceeded(said).naming("/q/f._COPYING_")
    assert refused.filename == "/q/f._COPYING_"
    (tmp_path / "f").write_text("x")
    fs.mkdirs("/q")

    def create(path: str, **how: Any) -> Any:
        raise refused

    monkeypatch.setattr(fs, "create", create)
    assert dfs("-put", str(tmp_path / "f"), "/q/").err == f"put: {said}\n"


def test_no_help_denies_snapshots() -> None:
    assert [name for name, text in TEXTS.items() if "there are none" in text] == []
