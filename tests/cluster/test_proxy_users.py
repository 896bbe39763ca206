"""Services act for their users: at a namenode, over RPC."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.testing import MiniCluster

OWNER = getpass.getuser()
PROXY = "hadoop.proxyuser."
RULES = {
    f"{PROXY}hive.groups": "staff",
    f"{PROXY}hive.hosts": "localhost",
    f"{PROXY}far.users": "*",
    f"{PROXY}far.hosts": "192.0.2.0/24",
    "hadoop.user.group.static.mapping.overrides": f"joe=staff;sue=admins;{OWNER}=",
}
DATA = bytes(range(256)) * 1000


class Scene:
    """A cluster whose audit log is read."""

    def __init__(self, cluster: MiniCluster, audit: Path) -> None:
        self.cluster = cluster
        self.audit = audit

    def callers_of(self, path: str) -> list[str]:
        """Who did something with a path, in the order of the namenode's log."""
        found = []
        for line in self.audit.read_text().splitlines():
            parts = dict(part.partition("=")[::2] for part in line.split("\t"))
            if parts["src"] == path:
                found.append(f"{parts['cmd']} {parts['ugi']} {parts['proto']}")
        return found


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    audit = tmp_path_factory.mktemp("audit") / "audit.log"
    conf = {**RULES, "howdah.namenode.audit.log.file": str(audit)}
    with MiniCluster(datanodes=1, conf=conf) as cluster:
        with cluster.connect() as fs:
            fs.mkdirs("/joes")
            fs.set_owner("/joes", "joe", "staff")
            fs.set_permission("/joes", 0o700)
        yield Scene(cluster, audit)


def test_the_rights_are_those_of_the_user_who_is_acted_for(scene: Scene) -> None:
    with scene.cluster.connect("joe", real_user="hive") as fs:
        with fs.create("/joes/a") as out:
            out.write(DATA)
            out.hflush()
            with fs.open("/joes/a") as source:
                assert source.read() == DATA
        assert fs.get_file_status("/joes/a").owner == "joe"
    with scene.cluster.connect("hive") as fs, pytest.raises(errors.AccessDenied, match="hive"):
        fs.list_status("/joes")
    joe = "joe (auth:PROXY) via hive (auth:SIMPLE)"
    assert scene.callers_of("/joes/a")[:2] == [f"create {joe} rpc", f"open {joe} rpc"]


@pytest.mark.parametrize(
    ("real_user", "user", "said"),
    [
        ("hive", "sue", "User: hive is not allowed to impersonate sue"),
        ("hive", "hive", "User: hive is not allowed to impersonate hive"),
        ("joe", OWNER, f"User: joe is not allowed to impersonate {OWNER}"),
        ("far", "joe", "Unauthorized connection for super-user: far from IP /127.0.0.1"),
    ],
)
def test_who_may_not_act_for_the_user_is_refused(
    scene: Scene, real_user: str, user: str, said: str
) -> None:
    with (
        scene.cluster.connect(user, real_user=real_user) as fs,
        pytest.raises(errors.AuthorizationFailed) as caught,
    ):
        fs.list_status("/")
    assert str(caught.value) == said


def test_the_environment_names_the_user_to_act_for(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HADOOP_USER_NAME", "hive")
    monkeypatch.setenv("HADOOP_PROXY_USER", "joe")
    conf = str(scene.cluster.conf_dir)
    assert main(["dfs", "--conf", conf, "-mkdir", "/joes/by-hive"]) == 0
    monkeypatch.setenv("HADOOP_PROXY_USER", "sue")
    assert main(["dfs", "--conf", conf, "-ls", "/"]) == 1
    assert "User: hive is not allowed to impersonate sue" in capsys.readouterr().err
    with scene.cluster.connect(OWNER) as fs:
        assert fs.get_file_status("/joes/by-hive").owner == "joe"


def test_rules_change_while_the_namenode_runs(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster, command = scene.cluster, "-refreshSuperUserGroupsConfiguration"
    conf = ["--conf", str(cluster.conf_dir), command]
    connected = cluster.connect("joe", real_user="hive")
    connected.list_status("/joes")
    try:
        cluster.configure({f"{PROXY}hive.groups": "admins"})
        assert main(["dfsadmin", *conf]) == 0
        assert "Refresh super user groups configuration successful" in capsys.readouterr().out
        with cluster.connect("sue", real_user="hive") as fs:
            fs.list_status("/")
        with (
            cluster.connect("joe", real_user="hive") as fs,
            pytest.raises(errors.AuthorizationFailed),
        ):
            fs.list_status("/")
        # As in Hadoop who is connected stays so.
        connected.list_status("/joes")
        cluster.configure({f"{PROXY}hive.hosts": "10.0.0.0/99"})
        assert main(["dfsadmin", *conf]) != 0
        assert f"{PROXY}hive.hosts" in capsys.readouterr().err
        with cluster.connect("sue", real_user="hive") as fs:
            fs.list_status("/")
    finally:
        connected.close()
        cluster.configure(RULES)
        main(["dfsadmin", *conf])
    capsys.readouterr()
