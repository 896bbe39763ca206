"""`howdah mount` and pjdfstest, the suite by which filesystems show that they are POSIX's.

It is in no registry. `HOWDAH_PJDFSTEST` names a checkout (github.com/pjd/pjdfstest) with its
program compiled. It acts as users 65531 to 65534, who need names on this machine: HDFS knows users
by names only. What HDFS cannot do fails, and stands in `pjdfstest_differences.txt`, by file and
number: no links, special files, holes and set-user-id bits, and no groups of a user but those that
the namenode finds (docs/mount.md).
"""

from __future__ import annotations

import os
import pwd
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.testing import MiniCluster
from tests.support.mounts import Mount, mounted, need_fuse

pytestmark = [pytest.mark.timeout(1200), pytest.mark.torture]

CHECKOUT = os.environ.get("HOWDAH_PJDFSTEST")
USERS = range(65531, 65535)
DIFFERENCES = Path(__file__).with_name("pjdfstest_differences.txt")
GROUPS = (
    *("mkdir", "rmdir", "open", "unlink", "rename", "chmod", "chown"),
    *("truncate", "ftruncate", "utimensat"),
)
LIMIT_S = 300.0
_LINE = re.compile(r"(not )?ok (\d+)")


def ranges(text: str) -> set[int]:
    """`3 7-9` is 3, 7, 8 and 9."""
    numbers: set[int] = set()
    for word in text.split():
        first, _, last = word.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers


def differences() -> dict[str, set[int]]:
    """The numbers that fail, by file."""
    lines = DIFFERENCES.read_text().splitlines()
    return {
        name: ranges(numbers)
        for name, _, numbers in (line.partition(":") for line in lines if not line.startswith("#"))
    }


@pytest.fixture(scope="module")
def mount(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mount]:
    if CHECKOUT is None:
        pytest.skip("HOWDAH_PJDFSTEST does not name a checkout of pjdfstest")
    need_fuse()
    if os.geteuid() != 0:
        pytest.skip("pjdfstest acts as several users, for which it has to be root")
    known = {entry.pw_uid for entry in pwd.getpwall()}
    if not known.issuperset(USERS):
        pytest.skip(f"users {USERS[0]} to {USERS[-1]} have no names on this machine")
    directory = tmp_path_factory.mktemp("pjdfstest")
    for above in (directory, *directory.parents):
        if not above.stat().st_mode & 0o001:
            above.chmod(above.stat().st_mode | 0o011)
    conf: dict[str, str | int] = {"dfs.namenode.accesstime.precision": 1}
    with MiniCluster(datanodes=1, conf=conf) as cluster:
        with mounted(f"{cluster.uri}/", directory / "hdfs", "--allow-other") as found:
            yield found


@pytest.mark.parametrize("group", GROUPS)
def test_what_fails_is_what_hdfs_cannot_do(mount: Mount, group: str) -> None:
    assert CHECKOUT is not None
    expected = differences()
    failed: dict[str, set[int]] = {}
    wanted: dict[str, set[int]] = {}
    for script in sorted((Path(CHECKOUT) / "tests" / group).glob("*.t")):
        name = f"{group}/{script.stem}"
        directory = mount.directory / name.replace("/", "-")
        mount.run("mkdir", directory)
        done = subprocess.run(
            ["sh", script],
            cwd=directory,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        seen = [_LINE.match(line) for line in done.stdout.splitlines()]
        assert any(seen), f"{name} did nothing: {done.stderr}"
        failed[name] = {int(match[2]) for match in seen if match is not None and match[1]}
        wanted[name] = expected.get(name, set())
    assert failed == wanted
