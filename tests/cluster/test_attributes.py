"""ACLs, attributes and storage policies of a running cluster."""

from __future__ import annotations

import pytest

import howdah
from howdah.cli.main import main
from howdah.errors import NamespaceQuotaExceeded
from howdah.fs.acl import parse_acl
from howdah.testing import MiniCluster


def test_policies_are_listed_set_and_taken_away(
    howdah_cluster: MiniCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*words: str) -> str:
        assert main(["storagepolicies", "-fs", howdah_cluster.uri, *words]) == 0
        return capsys.readouterr().out

    with howdah.connect(howdah_cluster.uri) as fs:
        fs.mkdirs("/cold")
    hot = "HOT:7, storageTypes=[DISK], creationFallbacks=[], replicationFallbacks=[ARCHIVE]"
    assert f"\tBlockStoragePolicy{{{hot}}}\n" in run("-listPolicies")
    assert run("-getStoragePolicy", "-path", "/cold") == (
        "The storage policy of /cold is unspecified\n"
    )
    assert run("-setStoragePolicy", "-path", "/cold", "-policy", "COLD") == (
        "Set storage policy COLD on /cold\n"
    )
    assert "BlockStoragePolicy{COLD:2, " in run("-getStoragePolicy", "-path", "/cold")
    assert run("-unsetStoragePolicy", "-path", "/cold") == "Unset storage policy from /cold\n"
    words = [
        "storagepolicies",
        "-fs",
        howdah_cluster.uri,
        "-satisfyStoragePolicy",
        "-path",
        "/cold",
    ]
    assert main(words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "storage policy satisfier feature has been disabled by admin" in said.err
    assert "or use Mover tool." in said.err


def test_lists_and_attributes_survive_a_restart() -> None:
    with MiniCluster(datanodes=1) as cluster, howdah.connect(cluster.uri) as fs:
        fs.mkdirs("/kept", 0o750)
        fs.modify_acl_entries("/kept", parse_acl("user:bob:r-x,default:user:bob:rwx"))
        fs.set_xattr("/kept", "user.mark", b"\0")
        before = fs.get_acl_status("/kept")
        cluster.restart("namenode")
        assert fs.get_acl_status("/kept") == before
        assert fs.get_xattrs("/kept") == {"user.mark": b"\0"}
        assert fs.get_file_status("/kept").permission_string.endswith("+")


def test_quotas_are_set_and_shown_from_the_command_line(
    howdah_cluster: MiniCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*words: str) -> int:
        return main([words[0], "-fs", howdah_cluster.uri, *words[1:]])

    with howdah.connect(howdah_cluster.uri) as fs:
        fs.mkdirs("/bounded")
        assert run("dfsadmin", "-setQuota", "2", "/bounded") == 0
        assert run("dfsadmin", "-setSpaceQuota", "1k", "/bounded") == 0
        fs.create("/bounded/f").close()
        with pytest.raises(NamespaceQuotaExceeded):
            fs.create("/bounded/g")
        capsys.readouterr()
        assert run("dfs", "-count", "-q", "/bounded") == 0
        assert capsys.readouterr().out.split()[:4] == ["2", "0", "1024", "1024"]
        assert run("dfsadmin", "-clrQuota", "/bounded") == 0
        assert run("dfsadmin", "-clrSpaceQuota", "/bounded") == 0
        fs.create("/bounded/g").close()
    assert run("dfsadmin", "-setQuota", "0", "/bounded") == 255
    assert run("dfsadmin", "-setSpaceQuota", "1x", "/bounded") == 255
    assert "is not a valid value for a quota" in capsys.readouterr().err
