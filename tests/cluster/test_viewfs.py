"""A view of namespaces that stand for themselves."""

from __future__ import annotations

import re
import socket

import pytest

import howdah
from howdah import errors
from howdah.testing import MiniCluster


@pytest.mark.req("FS-047")
def test_a_namenode_that_is_down_leaves_other_mount_points_usable(
    howdah_cluster: MiniCluster, request: pytest.FixtureRequest
) -> None:
    root = "/" + re.sub(r"\W", "_", request.node.name)
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound and not listening: nobody answers, now or later
        nobody = f"hdfs://127.0.0.1:{held.getsockname()[1]}"
        conf = howdah_cluster.conf.with_values(
            {
                "fs.viewfs.mounttable.c.link./up": howdah_cluster.uri + root,
                "fs.viewfs.mounttable.c.link./down": f"{nobody}/",
                "ipc.client.connect.max.retries": "0",
            }
        )
        with howdah_cluster.connect() as plain, howdah.connect("viewfs://c/", conf=conf) as fs:
            plain.mkdirs(root)
            with pytest.raises(errors.Unreachable, match=re.escape(nobody[len("hdfs://") :])):
                fs.get_file_status("/down/a")
            fs.write_bytes("/up/a", b"written")
            assert fs.read_bytes("/up/a") == b"written"
            assert [each.path for each in fs.list_status("/")] == ["/down", "/up"]
            fs.rename("/up/a", "/up/b")
            assert plain.exists(f"{root}/b")
            with pytest.raises(errors.Unreachable):
                fs.write_bytes("/down/a", b"lost")
            assert fs.delete("/up/b")
            plain.delete(root, recursive=True)


def test_a_forked_process_has_connections_of_its_own(howdah_cluster: MiniCluster) -> None:
    import multiprocessing

    root = "/forked-view"
    conf = howdah_cluster.conf.with_values(
        {"fs.viewfs.mounttable.c.link./a": howdah_cluster.uri + root}
    )
    with howdah_cluster.connect() as plain, howdah.connect("viewfs://c/", conf=conf) as fs:
        plain.mkdirs(root)
        fs.write_bytes("/a/before", b"1")
        child = multiprocessing.get_context("fork").Process(
            target=fs.write_bytes, args=("/a/child", b"2")
        )
        child.start()
        child.join(60)
        assert child.exitcode == 0
        assert fs.read_bytes("/a/child") == b"2"
        plain.delete(root, recursive=True)
