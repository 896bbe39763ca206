"""`howdah dfs` on a bucket, command by command: what it prints, and its exit code.

Lines of a scene: `$ words` is a call, ROOT in it the bucket; `| text` is standard output, `! text`
standard error, `= 1` an exit code that is not 0. Times and owners are made the same.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from howdah.cli.main import main
from howdah.fs.objects.filesystem import S3FileSystem
from howdah.runtime.users.current import current_user
from tests.support.objects.store import StoreServer

SCENE = """
$ -mkdir -p ROOT/d/e
$ -mkdir ROOT/x/y
! mkdir: `ROOT/x': No such file or directory
= 1
$ -put LOCAL ROOT/d/f
$ -put LOCAL ROOT/d/f
! put: `ROOT/d/f': File exists
= 1
$ -put -f LOCAL ROOT/d/f
$ -touchz ROOT/d/empty
$ -touchz ROOT/d/f
! touchz: `ROOT/d/f': Not a zero-length file
= 1
$ -touch ROOT/d/new
$ -touch -t 20200101:000000 ROOT/d/new
! touch: ROOT does not offer set_times
= 1
$ -ls ROOT/d
| Found 4 items
| drwxrwxrwx   - USER USER          0 TIME ROOT/d/e
| -rw-rw-rw-   1 USER USER          0 TIME ROOT/d/empty
| -rw-rw-rw-   1 USER USER         11 TIME ROOT/d/f
| -rw-rw-rw-   1 USER USER          0 TIME ROOT/d/new
$ -ls -C -R ROOT/
| ROOT/d
| ROOT/d/e
| ROOT/d/empty
| ROOT/d/f
| ROOT/d/new
$ -ls -C -d ROOT/d
| ROOT/d
$ -ls -C ROOT/d/[ef]*
| ROOT/d/empty
| ROOT/d/f
$ -ls ROOT/none
! ls: `ROOT/none': No such file or directory
= 1
$ -cat ROOT/d/f
| 0123456789
$ -head ROOT/d/f
| 0123456789
$ -tail ROOT/d/f
| 0123456789
$ -text ROOT/d/f
| 0123456789
$ -du ROOT/d
| 0   0   ROOT/d/e
| 0   0   ROOT/d/empty
| 11  11  ROOT/d/f
| 0   0   ROOT/d/new
$ -du -s ROOT/d
| 11  11  ROOT/d
$ -count ROOT/d
|            2            3                 11 ROOT/d
$ -stat %n_%b_%r_%F_%o ROOT/d/f ROOT/d
| f_11_1_regular file_33554432
| d_0_0_directory_0
$ -checksum ROOT/d/f
| ROOT/d/f\tCOMPOSITE-CRC32C\t0767345f
$ -test -e ROOT/d/f
$ -test -d ROOT/d/f
= 1
$ -test -z ROOT/d/empty
$ -test -s ROOT/d/empty
= 1
$ -test -e ROOT/none
= 1
$ -find ROOT/ -name f
| ROOT/d/f
$ -cp ROOT/d/f ROOT/d/g
$ -cp ROOT/d ROOT/copy
$ -mv ROOT/d/g ROOT/d/h
$ -mv ROOT/d/h ROOT/d/e
$ -ls -C -R ROOT/copy
| ROOT/copy/e
| ROOT/copy/empty
| ROOT/copy/f
| ROOT/copy/g
| ROOT/copy/new
$ -ls -C ROOT/d/e
| ROOT/d/e/h
$ -rmdir ROOT/d/e
! rmdir: `ROOT/d/e': Directory is not empty
= 1
$ -rm ROOT/d
! rm: `ROOT/d': Is a directory
= 1
$ -rm ROOT/d/e/h
| Deleted ROOT/d/e/h
$ -rmdir ROOT/d/e
$ -get ROOT/d/f BACK
$ -get ROOT/none ELSEWHERE
! get: `ROOT/none': No such file or directory
= 1
$ -getmerge ROOT/d MERGED
$ -appendToFile LOCAL ROOT/d/f
! appendToFile: ROOT does not offer append
= 1
$ -truncate 0 ROOT/d/f
! truncate: ROOT does not offer truncate
= 1
$ -chmod 755 ROOT/d/f
! chmod: changing permissions of 'ROOT/d/f': ROOT does not offer set_permission
= 1
$ -setrep 2 ROOT/d/f
! setrep: ROOT does not offer set_replication
= 1
$ -createSnapshot ROOT/d
! createSnapshot: ROOT has no snapshots
= 1
$ -rm -r -f ROOT/none ROOT/copy
| Deleted ROOT/copy
$ -rm -r -skipTrash ROOT/
! rm: `ROOT/': Input/output error
!   the root of a filesystem is never removed
= 1
$ -rm -r -skipTrash ROOT/*
| Deleted ROOT/d
$ -ls ROOT/
"""


def calls_of(scene: str) -> list[tuple[str, str, str, int]]:
    """Words, standard output, standard error and exit code of each call."""
    found: list[tuple[str, str, str, int]] = []
    for part in scene.split("\n$ ")[1:]:
        words, *lines = part.rstrip("\n").split("\n")
        said = {
            mark: "".join(f"{line[2:]}\n" for line in lines if line[:2] == mark)
            for mark in ("| ", "! ")
        }
        code = next((int(line[2:]) for line in lines if line.startswith("= ")), 0)
        found.append((words, said["| "], said["! "], code))
    return found


@pytest.mark.req("FS-187", "FS-190", "FS-192")
@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_commands_on_a_bucket_say_what_they_say_on_hdfs(
    store: StoreServer,
    bucket: str,
    fs: S3FileSystem,
    scheme: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "local").write_bytes(b"0123456789\n")
    options = [f"-D{name}={value}" for name, value in store.keys().items()]
    root = f"{scheme}://{bucket}"
    places = {
        "ROOT": root,
        "LOCAL": str(tmp_path / "local"),
        "BACK": str(tmp_path / "back"),
        "MERGED": str(tmp_path / "merged"),
        "ELSEWHERE": str(tmp_path / "elsewhere"),
    }
    for line, out, err, code in calls_of(SCENE):
        words = line.split()
        for name, place in places.items():
            words = [word.replace(name, place) for word in words]
        found = main(["dfs", *options, *words])
        said = capsys.readouterr()
        shown = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "TIME", said.out.replace(root, "ROOT"))
        shown = shown.replace(f" {current_user()} {current_user()} ", " USER USER ")
        assert (line, shown, said.err.replace(root, "ROOT"), found) == (line, out, err, code)
    assert (tmp_path / "back").read_bytes() == b"0123456789\n"
    assert (tmp_path / "merged").read_bytes() == b"0123456789\n"
    assert fs.list_status("/") == []
    assert fs.unfinished_uploads() == []
