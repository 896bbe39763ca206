"""A namenode whose log can't grow any more: it ends, and has promised nothing it can't keep."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.namenode.server.process.format import format_namenode
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.rpc.client import RpcClient
from howdah.runtime.users.current import process_user
from howdah.testing.waiting import wait_until

PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
# The log is allocated in steps of 1 MiB: the second one fails.
LARGEST_FILE_BYTES = 1_500_000
NAME_BYTES = 200


class Namenode:
    """A process on a directory, with a limit on what it may write."""

    def __init__(self, root: Path, largest_file_bytes: int | None) -> None:
        self._ready = root.parent / "ready.json"
        self._ready.unlink(missing_ok=True)
        self._log = open(root.parent / "log", "a+")  # noqa: SIM115 - closed by stop()

        def limit() -> None:
            if largest_file_bytes is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file_bytes, -1))

        self.process = subprocess.Popen(
            [
                sys.executable,
                *("-m", "howdah", "namenode"),
                *("-D", f"dfs.namenode.name.dir={root.as_uri()}"),
                *("-D", "fs.defaultFS=hdfs://127.0.0.1:0"),
                *("-D", "dfs.namenode.http-address=127.0.0.1:0"),
                *("--ready-file", str(self._ready)),
            ],
            stderr=self._log,
            env={**os.environ, "HADOOP_CONF_DIR": str(root.parent)},
            preexec_fn=limit,
        )
        wait_until(self._ready.exists, timeout_s=30)
        host, _, port = json.loads(self._ready.read_text())["rpc"].rpartition(":")
        self.client = RpcClient((host, int(port)), PROTOCOL, user=process_user())

    def log(self) -> str:
        self._log.seek(0)
        return self._log.read()

    def stop(self) -> None:
        self.client.close()
        self.process.kill()
        self.process.wait()
        self._log.close()

    def mkdir(self, path: str) -> None:
        self.client.call(
            "mkdirs",
            pb.MkdirsRequestProto(
                src=path,
                masked=types_pb2.FsPermissionProto(perm=0o755),
                createParent=True,
            ),
            pb.MkdirsResponseProto,
            timeout_s=60,
        )

    def exists(self, path: str) -> bool:
        request = pb.GetFileInfoRequestProto(src=path)
        return self.client.call("getFileInfo", request, pb.GetFileInfoResponseProto).HasField("fs")


def fill(namenode: Namenode) -> int:
    """Make directories until it can't be done any more; how many were acknowledged."""
    for number in range(2 * LARGEST_FILE_BYTES // NAME_BYTES):
        try:
            namenode.mkdir(f"/{number:0{NAME_BYTES}}")
        except errors.HowdahError:
            return number
    raise AssertionError("the limit does not bite")


@pytest.mark.req("FS-023")
def test_namenode_that_cannot_log_ends_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    root = tmp_path / "name"
    format_namenode(Configuration({"dfs.namenode.name.dir": root.as_uri()}))
    namenode = Namenode(root, LARGEST_FILE_BYTES)
    try:
        acknowledged = fill(namenode)
        assert namenode.process.wait(timeout=60) == 1
        assert "no edits directory is left that can be written" in namenode.log()
    finally:
        namenode.stop()
    assert acknowledged > 1000
    again = Namenode(root, None)
    try:
        assert again.exists(f"/{acknowledged - 1:0{NAME_BYTES}}")
        assert again.exists(f"/{0:0{NAME_BYTES}}")
        again.mkdir("/on")
    finally:
        again.stop()
