"""`howdah mount` of a real cluster, by the real kernel, with the programs that people use."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from howdah import errors
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.mount import device
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.mounts import TIMEOUT_S, Mount, mounted, need_fuse

ROOT = "/mounted"
MIB = 1 << 20


def need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


@pytest.fixture(scope="module")
def fs(howdah_cluster: MiniCluster) -> Iterator[HdfsFileSystem]:
    with howdah_cluster.connect() as found:
        assert isinstance(found, HdfsFileSystem)
        found.mkdirs(ROOT)
        yield found
        found.delete(ROOT, recursive=True)


@pytest.fixture(scope="module")
def mount(
    howdah_cluster: MiniCluster, fs: HdfsFileSystem, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mount]:
    need_fuse()
    directory = tmp_path_factory.mktemp("mount") / "hdfs"
    with mounted(f"{howdah_cluster.uri}{ROOT}", directory) as found:
        yield found


# -- files -------------------------------------------------------------------------------


def test_files_come_in_and_out_whole(mount: Mount, fs: HdfsFileSystem, tmp_path: Path) -> None:
    content = os.urandom(9 * MIB + 17)
    (tmp_path / "source").write_bytes(content)
    mount.run("cp", tmp_path / "source", "copied")
    assert fs.read_bytes(f"{ROOT}/copied") == content
    mount.run("cp", "copied", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == content
    assert mount.run("cat", "copied").stdout == content
    mount.run("dd", "if=copied", f"of={tmp_path / 'part'}", "bs=1M", "skip=3", "count=2")
    assert (tmp_path / "part").read_bytes() == content[3 * MIB : 5 * MIB]
    mount.run("cp", "copied", "again")
    assert fs.read_bytes(f"{ROOT}/again") == content


def test_a_listing_shows_what_there_is(mount: Mount, fs: HdfsFileSystem) -> None:
    fs.mkdirs(f"{ROOT}/listed/below")
    for number in range(40):
        fs.write_bytes(f"{ROOT}/listed/{number:03}", b"x" * number)
    lines = mount.shell("ls -l listed").splitlines()[1:]
    assert [line.split()[4] for line in lines] == [*map(str, range(40)), "0"]
    assert lines[-1].startswith("drwx")
    assert mount.shell("find listed -type f | wc -l").strip() == "40"


def test_a_shell_writes_and_appends(mount: Mount, fs: HdfsFileSystem) -> None:
    printed = mount.shell(
        "echo one > log; echo two >> log; (echo three; echo four) >> log; cat log"
    )
    assert printed == "one\ntwo\nthree\nfour\n"
    assert fs.read_bytes(f"{ROOT}/log") == printed.encode()
    assert fs.is_file_closed(f"{ROOT}/log")


def test_a_file_is_replaced_by_mv(mount: Mount, fs: HdfsFileSystem) -> None:
    mount.shell(
        "echo old > target; echo new > source; mv source target; sed -i s/new/newer/ target"
    )
    assert fs.read_bytes(f"{ROOT}/target") == b"newer\n"
    assert not fs.exists(f"{ROOT}/source")


def test_trees_are_made_and_removed(mount: Mount, fs: HdfsFileSystem) -> None:
    mount.shell("mkdir -p tree/a/b/c; touch tree/a/b/f tree/g; mv tree/a tree/z; rmdir tree/z/b/c")
    assert fs.exists(f"{ROOT}/tree/z/b/f")
    assert mount.run("rmdir", "tree", check=False).stderr.endswith(b"Directory not empty\n")
    mount.shell("rm -r tree")
    assert not fs.exists(f"{ROOT}/tree")


def test_a_file_is_cut_shorter(mount: Mount, fs: HdfsFileSystem) -> None:
    fs.write_bytes(f"{ROOT}/cut", b"x" * 100_000)
    mount.shell("truncate -s 1000 cut; echo end >> cut")
    assert fs.read_bytes(f"{ROOT}/cut") == b"x" * 1000 + b"end\n"
    assert b"not supported" in mount.run("truncate", "-s", "5000", "cut", check=False).stderr


def test_an_editor_saves_without_losing_text(mount: Mount, fs: HdfsFileSystem) -> None:
    """As vim writes over a file: it opens without O_TRUNC, truncates, writes, syncs, closes."""
    fs.write_bytes(f"{ROOT}/text", b"the old text, which is longer\n")
    mount.python(
        "import os\n"
        "fd = os.open('text', os.O_WRONLY | os.O_CREAT)\n"
        "os.ftruncate(fd, 0)\n"
        "os.write(fd, b'the new text\\n')\n"
        "os.fsync(fd)\n"
        "assert os.fstat(fd).st_size == 13\n"
        "os.close(fd)\n"
        "assert open('text').read() == 'the new text\\n'\n"
    )
    assert fs.read_bytes(f"{ROOT}/text") == b"the new text\n"


def test_what_cannot_be_written_is_refused_at_open_and_harms_nothing(
    mount: Mount, fs: HdfsFileSystem
) -> None:
    fs.write_bytes(f"{ROOT}/kept", b"kept")
    said = mount.python(
        "import errno\n"
        "try:\n"
        "    open('kept', 'r+b')\n"
        "except OSError as error:\n"
        "    print(error.errno == errno.EOPNOTSUPP)\n"
    )
    assert said == "True\n"
    assert mount.run(
        "dd", "if=/dev/zero", "of=kept", "conv=notrunc", "count=1", check=False
    ).returncode
    assert fs.read_bytes(f"{ROOT}/kept") == b"kept"


def test_a_second_program_sees_what_is_being_written(mount: Mount) -> None:
    mount.python(
        "import os\n"
        "with open('growing', 'wb', buffering=0) as out:\n"
        "    for size in range(1000, 6000, 1000):\n"
        "        out.write(b'x' * 1000)\n"
        "        assert os.stat('growing').st_size == size\n"
        "        assert open('growing', 'rb').read() == b'x' * size\n"
    )


def test_a_deleted_file_is_there_for_those_who_have_it_open(
    mount: Mount, fs: HdfsFileSystem
) -> None:
    mount.python(
        "import os, tempfile\n"
        "with open('gone', 'w+b') as scratch:\n"
        "    os.unlink('gone')\n"
        "    scratch.write(b'x' * 300000)\n"
        "    scratch.flush()\n"
        "    scratch.seek(0)\n"
        "    assert scratch.read() == b'x' * 300000\n"
        "    assert 'gone' not in os.listdir('.')\n"
        "with tempfile.TemporaryFile(dir='.') as other:\n"
        "    other.write(b'y')\n"
    )
    wait_until(lambda: not [each for each in fs.list_status(ROOT) if "unlinked" in each.name])


def test_a_file_is_read_through_memory(mount: Mount, fs: HdfsFileSystem) -> None:
    content = os.urandom(3 * MIB)
    fs.write_bytes(f"{ROOT}/mapped", content)
    mount.python(
        "import mmap\n"
        "with open('mapped', 'rb') as source, mmap.mmap(source.fileno(), 0, prot=mmap.PROT_READ)"
        " as view:\n"
        "    assert view[-100:] == open('mapped', 'rb').read()[-100:]\n"
        "    assert view[1 << 20:1 << 21].count(0) > 1000\n"
    )


def test_others_see_changes_in_time(mount: Mount, fs: HdfsFileSystem) -> None:
    mount.shell("echo one > shared; cat shared")
    with fs.append(f"{ROOT}/shared") as out:
        out.write(b"two\n")
    wait_until(lambda: mount.shell("cat shared") == "one\ntwo\n")
    fs.write_bytes(f"{ROOT}/shared", b"three\n", overwrite=True)
    wait_until(lambda: mount.shell("cat shared") == "three\n")
    fs.delete(f"{ROOT}/shared")
    wait_until(lambda: mount.run("test", "-e", "shared", check=False).returncode)


# -- attributes --------------------------------------------------------------------------


def test_times_modes_and_owners_are_kept(mount: Mount, fs: HdfsFileSystem, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"x")
    source.chmod(0o604)
    os.utime(source, (1_000_000_000, 1_100_000_000))
    mount.run("cp", "-p", source, "kept-times")
    status = fs.get_file_status(f"{ROOT}/kept-times")
    assert (status.permission, status.modification_time_ms) == (0o604, 1_100_000_000_000)
    assert status.access_time_ms == 1_000_000_000_000
    mount.shell("chmod 640 kept-times; touch -d @1200000000 kept-times")
    status = fs.get_file_status(f"{ROOT}/kept-times")
    assert (status.permission, status.modification_time_ms) == (0o640, 1_200_000_000_000)
    assert mount.shell("stat -c '%a %Y %u' kept-times").split() == [
        "640",
        "1200000000",
        str(os.getuid()),
    ]


def test_the_umask_of_a_program_applies(mount: Mount, fs: HdfsFileSystem) -> None:
    mount.shell("umask 0; mkdir open-to-all; echo x > open-to-all/f; umask 77; mkdir closed")
    assert fs.get_file_status(f"{ROOT}/open-to-all").permission == 0o777
    assert fs.get_file_status(f"{ROOT}/open-to-all/f").permission == 0o666
    assert fs.get_file_status(f"{ROOT}/closed").permission == 0o700


def test_extended_attributes_are_those_of_hdfs(mount: Mount, fs: HdfsFileSystem) -> None:
    fs.write_bytes(f"{ROOT}/marked", b"")
    fs.set_xattr(f"{ROOT}/marked", "user.theirs", b"1")
    mount.python(
        "import errno, os\n"
        "assert os.getxattr('marked', 'user.theirs') == b'1'\n"
        "os.setxattr('marked', 'user.ours', b'2', os.XATTR_CREATE)\n"
        "assert sorted(os.listxattr('marked')) == ['user.ours', 'user.theirs']\n"
        "os.removexattr('marked', 'user.theirs')\n"
        "for act in (\n"
        "    lambda: os.getxattr('marked', 'user.theirs'),\n"
        "    lambda: os.removexattr('marked', 'user.theirs'),\n"
        "    lambda: os.setxattr('marked', 'user.theirs', b'', os.XATTR_REPLACE),\n"
        "):\n"
        "    try:\n"
        "        act()\n"
        "        raise AssertionError('it was there')\n"
        "    except OSError as error:\n"
        "        assert error.errno == errno.ENODATA, error\n"
        "try:\n"
        "    os.setxattr('marked', 'user.ours', b'3', os.XATTR_CREATE)\n"
        "    raise AssertionError('it was not there')\n"
        "except FileExistsError:\n"
        "    pass\n"
    )
    assert fs.get_xattrs(f"{ROOT}/marked") == {"user.ours": b"2"}


def test_errors_are_those_that_programs_know(mount: Mount, fs: HdfsFileSystem) -> None:
    fs.mkdirs(f"{ROOT}/quota")
    fs.set_quota(f"{ROOT}/quota", names=2)
    said = mount.python(
        "import errno, os\n"
        "def number(act, *arguments):\n"
        "    try:\n"
        "        act(*arguments)\n"
        "    except OSError as error:\n"
        "        print(errno.errorcode[error.errno])\n"
        "number(open, 'missing')\n"
        "number(os.mkdir, 'quota')\n"
        "number(open, 'a:b', 'w')\n"
        "number(open, 'x' * 256, 'w')\n"
        "number(os.link, 'quota', 'link')\n"
        "number(os.mkfifo, 'pipe')\n"
        "os.mkdir('quota/1')\n"
        "number(os.mkdir, 'quota/2')\n"
        "number(os.rmdir, 'quota')\n"
        "number(os.listdir, 'a:b')\n"
    ).split()
    assert said == [
        *("ENOENT", "EEXIST", "EINVAL", "ENAMETOOLONG", "EPERM", "EPERM"),
        *("EDQUOT", "ENOTEMPTY", "ENOENT"),
    ]


def test_sizes_of_the_cluster_are_shown(mount: Mount, fs: HdfsFileSystem) -> None:
    shown = mount.shell("df --output=size -B1 . | tail -1")
    assert abs(int(shown) - fs.get_status().capacity) < 100 * MIB


# -- programs ----------------------------------------------------------------------------


def small_tree(directory: Path) -> Path:
    """Some files, with modes and times of their own."""
    directory.mkdir()
    for number in range(20):
        below = directory / f"d{number % 3}"
        below.mkdir(exist_ok=True)
        file = below / f"f{number}"
        file.write_bytes(os.urandom(number * 1000))
        file.chmod(0o600 + number)
        os.utime(file, (1_000_000_000 + number, 1_000_000_000 + number))
    return directory


@pytest.mark.parametrize(
    "how",
    [
        ("--rw=read", "--bs=128k"),
        ("--rw=randread", "--bs=4k"),
        ("--rw=randread", "--bs=16k", "--direct=1"),
        ("--rw=randread", "--bs=64k", "--ioengine=mmap"),
        ("--rw=randread", "--bs=16k", "--ioengine=libaio", "--iodepth=16"),
    ],
    ids=" ".join,
)
def test_fio_verifies_what_it_reads(
    mount: Mount, fs: HdfsFileSystem, tmp_path: Path, how: tuple[str, ...]
) -> None:
    need("fio")
    size = ("--name=verified", "--filename=verified", "--size=8m", "--verify=crc32c")
    block = next(word for word in how if word.startswith("--bs="))
    write = ("--rw=write", block, "--do_verify=0", "--fallocate=none", "--minimal")
    subprocess.run(["fio", *size, *write], cwd=tmp_path, check=True, capture_output=True)
    fs.put(tmp_path / "verified", f"{ROOT}/verified", overwrite=True)
    mount.run("fio", "--readonly", *size, *how, "--minimal")


def test_rsync_copies_a_tree_and_then_nothing(mount: Mount, tmp_path: Path) -> None:
    need("rsync")
    source = small_tree(tmp_path / "source")
    mount.run("rsync", "-a", f"{source}/", "synced")
    again = mount.run("rsync", "-ain", f"{source}/", "synced").stdout
    assert not again, "modes, times and sizes are as at the source"
    (source / "d0" / "f0").write_bytes(b"changed")
    mount.run("rsync", "-a", f"{source}/", "synced")
    assert mount.shell("cat synced/d0/f0") == "changed"
    assert not mount.run("diff", "-r", source, "synced").stdout


def test_tar_packs_and_unpacks(mount: Mount, tmp_path: Path) -> None:
    source = small_tree(tmp_path / "source")
    mount.run("tar", "-czf", "packed.tar.gz", "-C", source, ".")
    mount.shell("mkdir unpacked && tar -xpzf packed.tar.gz -C unpacked")
    assert not mount.run("diff", "-r", source, "unpacked").stdout
    assert mount.shell("stat -c '%a %Y' unpacked/d1/f10").split() == ["612", "1000000010"]
    mount.run("cp", "-a", "unpacked", "copied-tree")
    assert mount.shell("stat -c '%a %Y' copied-tree/d1/f10").split() == ["612", "1000000010"]


def test_git_keeps_a_repository(mount: Mount) -> None:
    need("git")
    mount.shell(
        "export HOME=$PWD GIT_CONFIG_NOSYSTEM=1\n"
        "git config --global user.email ann@example.org; git config --global user.name ann\n"
        "git init -q -b main repository; cd repository\n"
        "echo one > f; git add f; git commit -q -m one\n"
        "echo two >> f; git commit -q -a -m two\n"
        "git status --porcelain > ../status; git fsck --strict\n"
        "git log --format=%s > ../log-of-git; git show HEAD~1:f > ../first\n"
    )
    assert mount.shell("cat log-of-git first status") == "two\none\none\n"


def test_data_frames_are_written_and_read_by_path(mount: Mount) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    said = mount.python(
        "import pandas as pd\n"
        "frame = pd.DataFrame({'a': range(100000), 'b': 'x'})\n"
        "frame.to_parquet('frame.parquet')\n"
        "assert pd.read_parquet('frame.parquet').equals(frame)\n"
        "frame.to_csv('frame.csv', index=False)\n"
        "assert len(pd.read_csv('frame.csv')) == 100000\n"
        "import pyarrow.parquet as pq\n"
        "print(pq.ParquetFile('frame.parquet', memory_map=True).metadata.num_rows)\n"
    )
    assert said == "100000\n"


# -- mounts ------------------------------------------------------------------------------


@pytest.fixture
def own_directory(fs: HdfsFileSystem, tmp_path: Path) -> Iterator[str]:
    """A directory of the filesystem for a mount of a test's own."""
    need_fuse()
    path = f"{ROOT}/{tmp_path.name}"
    fs.mkdirs(path)
    yield path
    fs.delete(path, recursive=True)


def test_a_mount_that_is_read_only_changes_nothing(
    howdah_cluster: MiniCluster, fs: HdfsFileSystem, own_directory: str, tmp_path: Path
) -> None:
    fs.write_bytes(f"{own_directory}/f", b"x")
    uri = f"{howdah_cluster.uri}{own_directory}"
    with mounted(uri, tmp_path / "hdfs", "--read-only") as mount:
        assert mount.shell("cat f") == "x"
        assert b"Read-only" in mount.run("touch", "g", check=False).stderr
    assert [each.name for each in fs.list_status(own_directory)] == ["f"]


def test_mount_points_of_a_view_are_directories(
    howdah_cluster: MiniCluster, fs: HdfsFileSystem, own_directory: str, tmp_path: Path
) -> None:
    options = []
    for name in ("one", "two"):
        fs.mkdirs(f"{own_directory}/{name}")
        target = f"{howdah_cluster.uri}{own_directory}/{name}"
        options += ["-D", f"fs.viewfs.mounttable.c.link./{name}={target}"]
    with mounted("viewfs://c/", tmp_path / "view", *options) as mount:
        listed = [line.split() for line in mount.shell("ls -l").splitlines()[1:]]
        assert [(fields[0][0], fields[-1]) for fields in listed] == [("d", "one"), ("d", "two")]
        mount.shell("echo text > one/f; mv one/f two/g; echo more >> two/g")
        assert b"denied" in mount.run("mkdir", "three", check=False).stderr
    assert fs.read_bytes(f"{own_directory}/two/g") == b"text\nmore\n"
    assert not fs.exists(f"{own_directory}/one/f")


def test_unmounting_completes_what_is_being_written(
    howdah_cluster: MiniCluster, fs: HdfsFileSystem, own_directory: str, tmp_path: Path
) -> None:
    uri = f"{howdah_cluster.uri}{own_directory}"
    with mounted(uri, tmp_path / "hdfs") as mount:
        writer = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import time; f = open('f', 'wb', 0); f.write(b'x' * 1000);"
                "print(flush=True); time.sleep(600)",
            ],
            cwd=mount.directory,
            stdout=subprocess.PIPE,
        )
        try:
            assert writer.stdout is not None
            assert writer.stdout.readline()
            mount.process.terminate()
            assert mount.process.wait(TIMEOUT_S) == 0
            assert "while it is in use" in mount.log.read_text()
        finally:
            writer.kill()
            writer.communicate()
    assert fs.is_file_closed(f"{own_directory}/f")
    assert fs.read_bytes(f"{own_directory}/f") == b"x" * 1000


def test_a_killed_mount_loses_nothing_that_was_closed(
    howdah_cluster: MiniCluster, fs: HdfsFileSystem, own_directory: str, tmp_path: Path
) -> None:
    directory = tmp_path / "hdfs"
    uri = f"{howdah_cluster.uri}{own_directory}"
    with mounted(uri, directory) as mount:
        mount.shell("echo closed > f; mkdir d")
        mount.process.send_signal(signal.SIGKILL)
        mount.process.wait(TIMEOUT_S)
        assert device.mounted_at(str(directory)) is not None
        subprocess.run(
            [sys.executable, "-m", "howdah", "umount", str(directory)],
            check=True,
            timeout=TIMEOUT_S,
        )
    assert device.mounted_at(str(directory)) is None
    assert fs.read_bytes(f"{own_directory}/f") == b"closed\n"


def test_a_mount_serves_in_the_background(
    howdah_cluster: MiniCluster, own_directory: str, tmp_path: Path
) -> None:
    directory = tmp_path / "hdfs"
    directory.mkdir()
    uri, log = f"{howdah_cluster.uri}{own_directory}", tmp_path / "log"
    howdah = [sys.executable, "-m", "howdah"]
    options = ["-o", "attr_timeout=0,_netdev", "--log-file", str(log)]
    started = subprocess.run(
        [*howdah, "mount", uri, str(directory), *options],
        capture_output=True,
        text=True,
        check=True,
        timeout=TIMEOUT_S,
    )
    try:
        assert started.stdout == f"{uri} is mounted at {directory}; its log is {log}\n"
        listed = subprocess.run(
            ["sh", "-c", f"echo x > {directory}/f; cat {directory}/f"],
            capture_output=True,
            check=True,
            timeout=TIMEOUT_S,
        )
        assert listed.stdout == b"x\n"
    finally:
        done = subprocess.run(
            [*howdah, "umount", "--lazy", str(directory)], check=False, timeout=TIMEOUT_S
        )
    assert done.returncode == 0
    wait_until(lambda: f"unmounted {directory}" in log.read_text())


def test_a_mount_that_cannot_be_says_why(howdah_cluster: MiniCluster, tmp_path: Path) -> None:
    need_fuse()

    def said(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "howdah", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )
        assert done.returncode
        return done.stderr

    foreground = ("--foreground", "--log-level", "ERROR")
    assert "File does not exist: /no/such" in said(
        "mount", f"{howdah_cluster.uri}/no/such", str(tmp_path), *foreground
    )
    missing = str(tmp_path / "missing")
    assert "No such file" in said("mount", howdah_cluster.uri, missing, *foreground)
    assert "nothing is mounted at" in said("umount", str(tmp_path))
    assert "not of howdah's" in said("umount", "/proc")


def test_other_users_have_their_own_permissions(
    howdah_cluster: MiniCluster, fs: HdfsFileSystem, own_directory: str
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be two users")
    fs.set_permission(own_directory, 0o777)
    fs.write_bytes(f"{own_directory}/secret", b"x")
    fs.set_permission(f"{own_directory}/secret", 0o600)
    # Where others may look for it.
    directory = Path("/tmp") / f"howdah-mount-{os.getpid()}"
    try:
        with mounted(f"{howdah_cluster.uri}{own_directory}", directory, "--allow-other") as mount:

            def as_nobody(script: str) -> subprocess.CompletedProcess[bytes]:
                return subprocess.run(
                    ["sh", "-ec", script],
                    cwd=mount.directory,
                    user="nobody",
                    capture_output=True,
                    check=False,
                    timeout=TIMEOUT_S,
                )

            assert mount.shell("cat secret") == "x"
            assert b"Permission denied" in as_nobody("cat secret").stderr
            made = as_nobody("echo mine > mine; ls -l mine")
            assert made.stdout.split()[2] == b"nobody", made.stderr
        assert fs.get_file_status(f"{own_directory}/mine").owner == "nobody"
    finally:
        for path in (directory, directory.with_suffix(".log"), directory.with_suffix(".ready")):
            if path.is_dir():
                path.rmdir()
            else:
                path.unlink(missing_ok=True)


def test_a_namenode_in_safe_mode_makes_it_read_only(
    howdah_cluster: MiniCluster, fs: HdfsFileSystem, mount: Mount
) -> None:
    fs.set_safe_mode("enter")
    try:
        said = mount.run("mkdir", "in-safe-mode", check=False).stderr
    finally:
        fs.set_safe_mode("leave")
    assert b"Read-only file system" in said
    with pytest.raises(errors.PathNotFound):
        fs.get_file_status(f"{ROOT}/in-safe-mode")


def test_a_directory_takes_the_place_of_an_empty_one_alone(mount: Mount) -> None:
    for name in ("moved", "full/below", "empty"):
        (mount.directory / "over" / name).mkdir(parents=True)
    over = mount.directory / "over"
    with pytest.raises(OSError, match="Directory not empty"):
        os.rename(over / "moved", over / "full")
    os.rename(over / "moved", over / "empty")
    assert sorted(os.listdir(over)) == ["empty", "full"]


@pytest.fixture(scope="module")
def anns(
    howdah_cluster: MiniCluster, fs: HdfsFileSystem, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mount]:
    """A mount of a user who is no superuser, in a directory of hers."""
    need_fuse()
    root = f"{ROOT}/of-ann"
    fs.mkdirs(root)
    fs.set_owner(root, "ann", None)
    directory = tmp_path_factory.mktemp("anns") / "hdfs"
    with mounted(f"{howdah_cluster.uri}{root}", directory, user="ann") as found:
        yield found


def test_times_come_with_files_that_are_read_only(anns: Mount, tmp_path: Path) -> None:
    """POSIX lets an owner set them in any case, HDFS whoever may write."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "f").write_bytes(b"x")
    (source / "f").chmod(0o444)
    for path in (source / "f", source):
        os.utime(path, (1_600_000_000, 1_500_000_000))
    anns.run("cp", "--preserve=mode,timestamps", source / "f", "copied")
    anns.shell(f"tar -C {tmp_path} -c source | tar -x --no-same-owner")
    for name, mode in (("copied", 0o444), ("source/f", 0o444), ("source", 0o755)):
        found = os.stat(anns.directory / name)
        assert (found.st_mtime, found.st_mode & 0o777) == (1_500_000_000, mode), name
    anns.run("touch", "-d", "@1400000000", "copied")
    found = os.stat(anns.directory / "copied")
    assert (found.st_mtime, found.st_mode & 0o777) == (1_400_000_000, 0o444)


def test_files_open_for_those_who_may_read_and_write(anns: Mount, fs: HdfsFileSystem) -> None:
    (anns.directory / "own").write_bytes(b"content")
    (anns.directory / "own").chmod(0o200)
    for flags in (os.O_RDONLY, os.O_RDWR | os.O_APPEND, os.O_RDONLY | os.O_TRUNC):
        with pytest.raises(PermissionError):
            os.open(anns.directory / "own", flags)
    fs.write_bytes(f"{ROOT}/of-ann/other", b"content")
    for flags in (os.O_WRONLY, os.O_RDONLY | os.O_TRUNC):
        with pytest.raises(PermissionError):
            os.open(anns.directory / "other", flags)
    with pytest.raises(PermissionError):
        os.truncate(anns.directory / "other", 100)
    assert (anns.directory / "other").read_bytes() == b"content"
    (anns.directory / "own").chmod(0o600)
    assert (anns.directory / "own").read_bytes() == b"content"
    os.close(os.open(anns.directory / "own", os.O_RDONLY | os.O_TRUNC))
    assert (anns.directory / "own").read_bytes() == b""


def waits(pid: int, program: str) -> bool:
    """Whether a process runs this program, and waits for something."""
    name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
    return name == program and rest.split()[0] in "SD"


def test_who_waits_for_a_server_that_hangs_can_be_ended(tmp_path: Path) -> None:
    """Also by kill -9, which the kernel lets wait for an answer."""
    need_fuse()
    with MiniCluster(datanodes=1) as cluster, mounted(cluster.uri, tmp_path / "hdfs") as mount:
        cluster.pause("namenode")
        for number in (signal.SIGINT, signal.SIGKILL):
            for command in (
                ["ls", "-l", f"{mount.directory}/missing"],
                ["ls", str(mount.directory)],
            ):
                process = subprocess.Popen(command)
                wait_until(partial(waits, process.pid, "ls"), TIMEOUT_S)
                process.send_signal(number)
                assert process.wait(TIMEOUT_S) != 0
        cluster.resume("namenode")
        assert mount.shell("ls") == ""
