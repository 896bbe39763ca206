"""Proxy users, held against Hadoop's rules, Java's clients, fsspec's and curl; and our clients
under Hadoop's namenode."""

from __future__ import annotations

import getpass
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.runtime.users.groups import groups_from
from howdah.runtime.users.impersonation import OnThread, read_rules
from howdah.runtime.users.names import display_name
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.hadoop.mixed import MixedCluster

OWNER = getpass.getuser()
PROXY = "hadoop.proxyuser."
RULES = {
    f"{PROXY}hive.groups": "staff",
    f"{PROXY}hive.hosts": "localhost",
    f"{PROXY}far.users": "*",
    f"{PROXY}far.hosts": "192.0.2.0/24",
    "hadoop.user.group.static.mapping.overrides": f"joe=staff;sue=admins;{OWNER}=",
}
NOT_FOR_SUE = "User: hive is not allowed to impersonate sue"
DATA = bytes(range(256)) * 2000

TABLE = {
    "groups": {"groups": " staff , other", "hosts": "*"},
    "users": {"users": "ann,bob", "hosts": "127.0.0.1, 10.0.0.0/8,localhost"},
    "star": {"users": " * ", "hosts": "10.1.2.3/16"},
    "starred": {"users": "a,*", "hosts": "*,"},
    "nowhere": {"users": "*"},
    "nobody": {"hosts": "*"},
    "empty": {"users": "", "hosts": "*"},
    "emptily": {"users": "*", "hosts": ""},
    "a.b": {"users": "*", "hosts": "*"},
    "v6": {"users": "*", "hosts": "::1,fe80::1"},
    "both": {"users": "ann", "groups": "*", "hosts": "*,1.2.3.4"},
    "named": {"users": "*", "hosts": "localhost,no.such.machine.invalid"},
}
"""Rules, whose verdicts are Hadoop's. Not in it: ranges of IPv6, which Hadoop has not, and an
address of IPv6 before a range, at which it fails."""
CASES = [
    *(("groups", user, "1.2.3.4") for user in ("joe", "sue", "stranger", "groups")),
    *(("users", user, "127.0.0.1") for user in ("ann", "bob", "joe", "users")),
    *(("users", "ann", address) for address in ("10.255.0.1", "11.0.0.1", "127.0.0.2")),
    *(("star", "x", address) for address in ("10.1.0.0", "10.1.255.255", "10.2.0.0")),
    *(("starred", user, "1.2.3.4") for user in ("a", "x", "*")),
    *((name, "x", "1.2.3.4") for name in ("nowhere", "nobody", "empty", "emptily", "a.b")),
    *(("v6", "x", address) for address in ("::1", "0:0:0:0:0:0:0:1", "fe80:0:0:0:0:0:0:1")),
    *(("both", user, "1.2.3.4") for user in ("ann", "zed")),
    ("both", "ann", "1.2.3.5"),
    *(("named", "x", address) for address in ("127.0.0.1", "127.0.0.2")),
    ("unknown", "x", "127.0.0.1"),
]


def table() -> Configuration:
    values = {
        f"{PROXY}{name}.{kind}": value
        for name, kinds in TABLE.items()
        for kind, value in kinds.items()
    }
    groups = {"hadoop.user.group.static.mapping.overrides": "joe=staff,x;sue=admins"}
    return Configuration({**values, **groups})


def verdict(rules: OnThread, real_user: str, user: str, address: str) -> str:
    try:
        rules.check(real_user, user, address)
    except errors.AuthorizationFailed as error:
        return error.message
    return f"ok {display_name(user, real_user)}"


def open_for_joe(cluster: MiniCluster) -> None:
    with cluster.connect(OWNER) as fs:
        assert isinstance(fs, HdfsFileSystem)
        wait_until(lambda: bool(fs.datanode_report("live")), timeout_s=60)
        fs.mkdirs("/joes")
        fs.set_owner("/joes", "joe", "staff")
        fs.set_permission("/joes", 0o700)


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=1, conf=RULES) as cluster:
        open_for_joe(cluster)
        yield cluster


@pytest.fixture(scope="module")
def javas(
    cluster: MiniCluster,
    hadoop_run: Callable[..., str],
    tmp_path_factory: pytest.TempPathFactory,
) -> list[str]:
    """What Java's classes said of the table, and did with our cluster."""
    scratch = tmp_path_factory.mktemp("proxies")
    (scratch / "rules.xml").write_text(table().to_xml())
    (scratch / "cases").write_text("".join("\t".join(case) + "\n" for case in CASES))
    web = "webhdfs://" + cluster.http.partition("//")[2].rstrip("/")
    program = Path(__file__).with_name("ActingForUsers.java")
    said = hadoop_run(program, scratch / "rules.xml", scratch / "cases", cluster.uri, web)
    return said.splitlines()


def test_verdicts_are_hadoops(javas: list[str]) -> None:
    rules = OnThread(read_rules(table()), groups_from(table()))
    ours = [verdict(rules, *case) for case in CASES]
    hadoops = javas[: len(CASES)]
    assert [
        (case, said, theirs)
        for case, said, theirs in zip(CASES, ours, hadoops, strict=True)
        if said != theirs
    ] == []


@pytest.mark.parametrize(("number", "scheme"), [(0, "hdfs"), (1, "webhdfs")])
def test_javas_clients_act_for_users(javas: list[str], number: int, scheme: str) -> None:
    """`UserGroupInformation.createProxyUser`."""
    begin = len(CASES) + 3 * number
    joes, sues, from_afar = javas[begin : begin + 3]
    assert joes == "300000 bytes of joe, who lives in /user/joe"
    assert sues == NOT_FOR_SUE
    assert from_afar == "Unauthorized connection for super-user: far from IP /127.0.0.1"


def test_javas_dfsadmin_has_the_rules_read_anew(javas: list[str]) -> None:
    assert javas[-1] == "Refresh super user groups configuration successful"


def test_fsspecs_webhdfs_acts_for_users(cluster: MiniCluster) -> None:
    pytest.importorskip("requests")
    implementation = pytest.importorskip("fsspec.implementations.webhdfs")
    host, port = cluster.http.partition("//")[2].rstrip("/").split(":")
    web = partial(implementation.WebHDFS, host=host, port=int(port), user="hive")
    joes = web(proxy_to="joe")
    with joes.open("/joes/fsspec", "wb", block_size=1 << 20) as out:
        out.write(DATA)
    assert joes.cat("/joes/fsspec") == DATA
    assert joes.info("/joes/fsspec")["owner"] == "joe"
    assert joes.home_directory() == "/user/joe"
    # The class of Hadoop's exception is none that fsspec knows.
    with pytest.raises(RuntimeError, match=NOT_FOR_SUE):
        web(proxy_to="sue").ls("/")


def test_curl_acts_for_users(cluster: MiniCluster, tmp_path: Path) -> None:
    """The examples of Hadoop's page on WebHDFS, with `doas`."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    (tmp_path / "data").write_bytes(DATA)
    place = f"{cluster.http.rstrip('/')}/webhdfs/v1/joes/curl"

    def curl(*words: str) -> bytes:
        command = ["curl", "-s", "-L", *words]
        return subprocess.run(command, capture_output=True, check=True, timeout=60).stdout

    as_joe = "user.name=hive&doas=joe"
    assert curl("-X", "PUT", "-T", str(tmp_path / "data"), f"{place}?op=CREATE&{as_joe}") == b""
    assert curl(f"{place}?op=OPEN&{as_joe}") == DATA
    refused = json.loads(curl(f"{place}?op=OPEN&user.name=hive&doas=sue"))["RemoteException"]
    assert refused == {
        "exception": "AuthorizationException",
        "javaClassName": "org.apache.hadoop.security.authorize.AuthorizationException",
        "message": NOT_FOR_SUE,
    }


@pytest.mark.timeout(400)
def test_our_clients_act_for_users_under_hadoops_namenode(
    hadoop_classpath: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with MixedCluster(hadoop_classpath, ["namenode"], namenodes=1, conf=RULES) as cluster:
        with cluster.connect(OWNER) as fs:
            # The directory of Hadoop's namenode was formatted by ours.
            fs.set_owner("/", OWNER, "supergroup")
        open_for_joe(cluster)
        web = "webhdfs://" + cluster.http.partition("//")[2].rstrip("/")
        for uri in (cluster.uri, web):
            connect = partial(howdah.connect, uri, conf=cluster.conf, real_user="hive")
            path = f"/joes/{uri.partition(':')[0]}"
            with connect(user="joe") as fs:
                fs.write_bytes(path, DATA)
                assert fs.read_bytes(path) == DATA
                assert fs.get_file_status(path).owner == "joe"
            with (
                connect(user="sue") as fs,
                pytest.raises(errors.AuthorizationFailed, match=NOT_FOR_SUE),
            ):
                fs.list_status("/")
        monkeypatch.setenv("HADOOP_USER_NAME", "hive")
        monkeypatch.setenv("HADOOP_PROXY_USER", "joe")
        conf = ["--conf", str(cluster.conf_dir)]
        assert main(["dfs", *conf, "-ls", "/joes"]) == 0
        assert main(["fsck", *conf, "/joes"]) == 0
        joe = display_name("joe", "hive")
        assert f"FSCK started by {joe} from /127.0.0.1 for path /joes" in capsys.readouterr().out
        monkeypatch.delenv("HADOOP_PROXY_USER")
        cluster.configure({f"{PROXY}hive.groups": "admins"})
        assert main(["dfsadmin", *conf, "-refreshSuperUserGroupsConfiguration"]) == 0
        with cluster.connect("sue", real_user="hive") as fs:
            fs.list_status("/")
