"""`howdah sync` to a cluster, killed while it copies: what is there is whole, and a second run
does what is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import howdah
from howdah.copy.options import Options, attributes
from howdah.sync import sync
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

FILES = 60
CONTENT = os.urandom(1 << 16)


def test_a_mirror_that_is_killed_is_finished_by_the_next(
    howdah_cluster: MiniCluster, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for number in range(FILES):
        (source / f"{number:03}").write_bytes(CONTENT + bytes([number]))
    target = f"{howdah_cluster.uri}/sync-kills"
    # Slowly, so that it is in the middle when it is killed.
    words = [sys.executable, "-m", "howdah", "sync", "-m", "2", "-bandwidth", "0.5", "--json"]
    first = subprocess.Popen(
        [*words, source.as_uri(), target],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    with howdah.connect(howdah_cluster.uri) as fs:

        def whole() -> list[str]:
            if not fs.exists("/sync-kills"):
                return []
            return [each.path for each in fs.list_status("/sync-kills") if each.is_file]

        wait_until(lambda: len(whole()) > 2, timeout_s=60)
        os.kill(first.pid, signal.SIGKILL)
        # Its processes hold the pipe, too, and end with it.
        first.communicate(timeout=60)
        kept = whole()
        for path in kept:
            with fs.open(path) as stream:
                assert stream.read() == CONTENT + bytes([int(path[-3:])])
        done = subprocess.run(
            [*words[:4], "-m", "2", "--json", source.as_uri(), target],
            capture_output=True,
            text=True,
            check=True,
            timeout=110,
        )
        counters = json.loads(done.stdout)["counters"]
        assert counters["files_copied"] + counters["files_skipped"] == FILES
        assert counters["files_skipped"] >= len(kept)
        assert len(whole()) == FILES
        left = [each.name for each in fs.list_status("/sync-kills") if each.is_directory]
        assert left == []


def test_a_tree_of_the_cluster_is_mirrored_with_its_attributes(
    howdah_cluster: MiniCluster, tmp_path: Path
) -> None:
    with howdah.connect(howdah_cluster.uri) as fs:
        with fs.create("/sync-tree/d/a") as out:
            out.write(b"content")
        fs.set_permission("/sync-tree/d/a", 0o640)
        fs.set_times("/sync-tree/d", mtime_ms=1_600_000_000_000, atime_ms=1_600_000_000_000)
    target = tmp_path / "target"
    done = sync(
        f"{howdah_cluster.uri}/sync-tree",
        target.as_uri(),
        options=Options(update=True, preserve=attributes("pt")),
        processes=1,
        conf=howdah_cluster.conf,
    )
    assert done.counters.files_copied == 1
    assert (target / "d" / "a").read_bytes() == b"content"
    assert (target / "d" / "a").stat().st_mode & 0o777 == 0o640
    assert (target / "d").stat().st_mtime == 1_600_000_000
