"""A view of namespaces that stand for themselves."""

from __future__ import annotations

import re
import socket

import pytest

import howdah
from howdah import errors
from howdah.cli.main import main
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


@pytest.mark.req("FS-037", "FS-047")
def test_commands_for_administrators_go_past_a_table_that_is_laid_over(
    howdah_cluster: MiniCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """To the namenode of `fs.defaultFS`, or to that which its path leads to."""
    root, target = "/administered", howdah_cluster.uri
    host = target.removeprefix("hdfs://").partition(":")[0]
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        nobody = f"hdfs://{host}:{held.getsockname()[1]}"

        def run(*words: str, default: str = target) -> tuple[int, str]:
            values = {
                "fs.defaultFS": default,
                "fs.hdfs.impl": "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme",
                f"fs.viewfs.mounttable.{host}.link./data": f"{target}{root}",
                f"fs.viewfs.mounttable.{host}.link./down": f"{nobody}/",
                "ipc.client.connect.max.retries": "0",
            }
            settings = [word for key, value in values.items() for word in ("-D", f"{key}={value}")]
            capsys.readouterr()
            code = main([words[0], "--conf", str(howdah_cluster.conf_dir), *settings, *words[1:]])
            said = capsys.readouterr()
            return code, said.out + said.err

        with howdah_cluster.connect() as fs:
            fs.mkdirs(f"{root}/table")
        pool = "laid-over"
        assert run("cacheadmin", "-addPool", pool)[0] == 0
        add = ("cacheadmin", "-addDirective", "-pool", pool, "-path")
        assert run(*add, f"{target}{root}/table")[0] == 0
        # As Hadoop's: the path is the namenode's own, not one of the view.
        assert run(*add, f"{root}/table")[0] == 0
        listed = run("cacheadmin", "-listDirectives", default=f"{target}/data")
        assert listed[0] == 0
        assert listed[1].count(f"{root}/table") == 2
        for words in (("dfsadmin", "-report"), ("cacheadmin", "-listPools")):
            assert run(*words, default=f"{nobody}/data")[0] == 0, words
            code, said = run(*words, default=f"{target}/down")
            assert code != 0, words
            assert nobody.removeprefix("hdfs://") in said
            code, said = run(*words, default=f"{target}/nowhere")
            assert code != 0, words
            assert "/nowhere" in said
        assert run("cacheadmin", "-removePool", pool)[0] == 0
        # Policies are those of the view's targets, and paths are the view's.
        name = ("-path", "/data/table")
        assert run("storagepolicies", "-setStoragePolicy", *name, "-policy", "COLD")[0] == 0
        assert "BlockStoragePolicy{COLD:2" in run("storagepolicies", "-getStoragePolicy", *name)[1]
        assert run("storagepolicies", "-satisfyStoragePolicy", *name)[0] in (0, 2)
        assert run("storagepolicies", "-unsetStoragePolicy", *name)[0] == 0
        assert "is unspecified" in run("storagepolicies", "-getStoragePolicy", *name)[1]
        # The list is of all targets, as Hadoop's, and one of them is down.
        assert run("storagepolicies", "-listPolicies")[0] == 2
        with howdah_cluster.connect() as fs:
            fs.delete(root, recursive=True)
