"""Services act for their users: over RPC and over HTTP."""

from __future__ import annotations

import getpass
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import howdah
from howdah import errors
from howdah.cli.main import main
from howdah.cli.router import admin as routeradmin
from howdah.config import Configuration
from howdah.router.state.table.mount_table import Destination, MountEntry
from howdah.router.store.factory import store_at
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.routers import Routers
from tests.support.started import gateway

OWNER = getpass.getuser()
PROXY = "hadoop.proxyuser."
RULES = {
    f"{PROXY}hive.groups": "staff",
    f"{PROXY}hive.hosts": "localhost",
    # The user of the servers, and of a gateway beside them.
    f"{PROXY}{OWNER}.users": "joe,sue",
    f"{PROXY}{OWNER}.hosts": "127.0.0.1",
    f"{PROXY}far.users": "*",
    f"{PROXY}far.hosts": "192.0.2.0/24",
    "hadoop.user.group.static.mapping.overrides": f"joe=staff;sue=admins;{OWNER}=",
    "hadoop.security.auth_to_local": "RULE:[1:$1@$0](.*@REALM)s/@.*//\nDEFAULT",
}
UPLOAD_TYPE = "application/octet-stream"
DATA = bytes(range(256)) * 1000


class Scene:
    """A cluster whose audit log is read."""

    def __init__(self, cluster: MiniCluster, audit: Path) -> None:
        self.cluster = cluster
        self.audit = audit

    def ask(
        self, method: str, path: str, query: str, body: bytes | None = None, at: str = ""
    ) -> tuple[int, bytes, str]:
        """Of WebHDFS at the namenode, or at a gateway, and where that one sends: status, body,
        and the last query."""
        where, target = at or urlsplit(self.cluster.http).netloc, f"/webhdfs/v1{path}?{query}"
        sent: bytes | None = None
        while True:
            connection = http.client.HTTPConnection(where, timeout=60)
            headers = {"Content-Length": str(len(sent or b"")), "Content-Type": UPLOAD_TYPE}
            connection.request(method, target, sent, headers)
            answer = connection.getresponse()
            found = answer.status, answer.read(), urlsplit(target).query
            connection.close()
            if answer.status != 307:
                return found
            there = urlsplit(answer.headers["Location"])
            where, target, sent = there.netloc, f"{there.path}?{there.query}", body

    def callers_of(self, path: str, *wanted: str) -> list[str]:
        """Who did something with a path, in the order of the namenode's log; once that has all
        that is wanted, for its thread writes a little later."""

        def found() -> list[str]:
            lines = [line.split("\t") for line in self.audit.read_text().splitlines()]
            parts = [dict(part.partition("=")[::2] for part in line) for line in lines]
            return [
                f"{each['cmd']} {each['ugi']} {each['proto']}"
                for each in parts
                if each.get("src") == path
            ]

        wait_until(lambda: set(wanted) <= set(found()), timeout_s=20)
        return found()


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
    wanted = [f"create {joe} rpc", f"open {joe} rpc"]
    assert scene.callers_of("/joes/a", *wanted)[:2] == wanted


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


def test_a_principal_is_its_user_and_nobody_is_called_so(scene: Scene) -> None:
    """Hadoop's client that has fallen back from Kerberos comes as its principal."""
    with scene.cluster.connect("joe@REALM") as fs:
        with fs.create("/joes/by-principal") as out:
            out.write(DATA)
        assert fs.get_file_status("/joes/by-principal").owner == "joe"
    for user, real_user in (("bob/x", None), ("joe@ELSEWHERE", None), ("joe/x", "hive")):
        with (
            scene.cluster.connect(user, real_user=real_user) as fs,
            pytest.raises(errors.IllegalArgument, match=f"Illegal principal name {user}"),
        ):
            fs.list_status("/")
    for query in ("user.name=hive&doas=joe/x", "user.name=hive&doas=joe%40ELSEWHERE"):
        status, said, _ = scene.ask("GET", "/joes", f"op=LISTSTATUS&{query}")
        assert (status, b"Illegal principal name joe" in said) == (400, True)
    status, said, _ = scene.ask("GET", "/joes", "op=LISTSTATUS&user.name=hive&doas=joe%40REALM")
    assert status == 200, said
    connection = http.client.HTTPConnection(urlsplit(scene.cluster.http).netloc, timeout=60)
    connection.request("GET", "/fsck?ugi=hive&doas=joe/x&path=/joes")
    answer = connection.getresponse()
    assert (answer.status, b"Illegal principal name" in answer.read()) == (400, True)
    connection.close()


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


AS_JOE = "user.name=hive&doas=joe"


def message(body: bytes) -> str:
    found: str = json.loads(body)["RemoteException"]["message"]
    return found


@pytest.mark.req("FS-216", "FS-217", "FS-218")
def test_webhdfs_acts_for_users_at_the_namenode_and_at_datanodes(scene: Scene) -> None:
    assert scene.ask("PUT", "/joes/w", f"op=CREATE&{AS_JOE}", DATA)[0] == 201
    status, body, query = scene.ask("GET", "/joes/w", f"op=OPEN&{AS_JOE}")
    assert (status, body) == (200, DATA)
    assert query.startswith("op=OPEN&doas=joe&user.name=hive&namenoderpcaddress=")
    assert scene.ask("POST", "/joes/w", f"op=APPEND&{AS_JOE}", DATA)[0] == 200
    status, body, _ = scene.ask("GET", "/joes/w", f"op=GETFILESTATUS&{AS_JOE}")
    found = json.loads(body)["FileStatus"]
    assert (found["owner"], found["length"]) == ("joe", 2 * len(DATA))
    assert json.loads(scene.ask("GET", "/", f"op=GETHOMEDIRECTORY&{AS_JOE}")[1]) == {
        "Path": "/user/joe"
    }
    joe = "joe (auth:PROXY) via hive (auth:SIMPLE)"
    wanted = f"create {joe} rpc", f"append {joe} rpc", f"getfileinfo {joe} webhdfs"
    assert all(joe in each for each in scene.callers_of("/joes/w", *wanted))


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("user.name=hive&doas=sue", 403, "User: hive is not allowed to impersonate sue"),
        ("user.name=hive&doas=hive", 403, "Permission denied: user=hive"),
        ("doas=joe", 403, "User: dr.who is not allowed to impersonate joe"),
        ("user.name=far&doas=joe", 403, "Unauthorized connection for super-user: far from IP"),
        ("user.name=hive&doas=", 403, "Permission denied: user=hive"),
        ("user.name=hive&doas=joe%0A", 400, "is no name of a user"),
        ("user.name=hive&doas=%00", 400, "is no name of a user"),
        ("user.name=hive&doas=%FF", 400, "is not UTF-8"),
        (f"user.name=hive&doas={'j' * 2000}", 400, "a user name of 2000 characters"),
    ],
)
@pytest.mark.parametrize("operation", ["LISTSTATUS", "OPEN"])
def test_webhdfs_refuses_who_may_not_act_for_the_user(
    scene: Scene, operation: str, query: str, status: int, said: str
) -> None:
    path = "/joes" if operation == "LISTSTATUS" else "/joes/a"
    got, body, _ = scene.ask("GET", path, f"op={operation}&{query}")
    assert (got, said in message(body)) == (status, True), body


def test_a_datanode_that_is_asked_without_a_namenode_refuses_too(scene: Scene) -> None:
    """It asks the namenode, which knows the rules."""
    query = scene.ask("GET", "/joes/w", f"op=OPEN&{AS_JOE}")[2]
    place = scene.cluster.process("datanode0").addresses["http"]
    for user, said in (("sue", "User: hive is not allowed to impersonate sue"), ("joe", "")):
        connection = http.client.HTTPConnection(place, timeout=60)
        connection.request("GET", f"/webhdfs/v1/joes/w?{query.replace('doas=joe', f'doas={user}')}")
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        assert (answer.status, said in str(body)) == (403 if said else 200, True)


@pytest.mark.req("FS-250")
def test_our_client_of_webhdfs_acts_for_users(scene: Scene) -> None:
    uri = f"webhdfs://{urlsplit(scene.cluster.http).netloc}"
    with howdah.connect(uri, conf=scene.cluster.conf, user="joe", real_user="hive") as fs:
        with fs.create("/joes/ours") as out:
            out.write(DATA)
        with fs.open("/joes/ours") as source:
            assert source.read() == DATA
        assert fs.get_file_status("/joes/ours").owner == "joe"
    with (
        howdah.connect(uri, conf=scene.cluster.conf, user="sue", real_user="hive") as fs,
        pytest.raises(errors.AuthorizationFailed, match="hive is not allowed to impersonate sue"),
    ):
        fs.list_status("/")


def test_fsck_acts_for_users(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HADOOP_USER_NAME", "hive")
    monkeypatch.setenv("HADOOP_PROXY_USER", "joe")
    conf = str(scene.cluster.conf_dir)
    assert main(["fsck", "--conf", conf, "/joes"]) == 0
    joe = "joe (auth:PROXY) via hive (auth:SIMPLE)"
    said = capsys.readouterr().out
    assert f"FSCK started by {joe} from /127.0.0.1 for path /joes at" in said
    assert "is HEALTHY" in said
    monkeypatch.setenv("HADOOP_PROXY_USER", "sue")
    assert main(["fsck", "--conf", conf, "/"]) != 0
    assert "User: hive is not allowed to impersonate sue" in capsys.readouterr().err
    scene.callers_of("/joes", f"fsck {joe} null")
    place = urlsplit(scene.cluster.http).netloc
    for query, status in (("ugi=hive&doas=sue", 403), ("doas=joe", 403), ("doas=%0A", 400)):
        connection = http.client.HTTPConnection(place, timeout=60)
        connection.request("GET", f"/fsck?path=%2F&{query}")
        answer = connection.getresponse()
        answer.read()
        connection.close()
        assert answer.status == status, query


@pytest.mark.req("FS-255")
@pytest.mark.parametrize("acts", ["by its rules", "by its key", "not"])
def test_a_gateway_acts_for_its_users_and_they_for_others(scene: Scene, acts: str) -> None:
    options = ["httpfs.proxyuser.hue.users=joe", "httpfs.proxyuser.hue.hosts=127.0.0.0/8"]
    if acts == "by its rules":
        options += [f"{key}={value}" for key, value in RULES.items() if OWNER in key]
    else:
        options.append(f"howdah.httpfs.impersonation={str(acts == 'by its key').lower()}")
    path = f"/joes/{acts.replace(' ', '-')}"
    with gateway(scene.cluster, *(word for one in options for word in ("-D", one))) as place:
        as_joe = "user.name=hue&doas=joe"
        status, _, query = scene.ask("PUT", path, f"op=CREATE&{as_joe}", DATA, place)
        assert status == 201
        assert "doas=joe" in query
        assert scene.ask("GET", path, f"op=OPEN&{as_joe}", at=place)[:2] == (200, DATA)
        assert scene.ask("GET", path, "op=OPEN&user.name=joe", at=place)[:2] == (200, DATA)
        # Not of what the namenode allows: the gateway has rules of its own.
        for query, status, said in (
            (AS_JOE, 403, "User: hive is not allowed to impersonate joe"),
            ("user.name=hue&doas=sue", 403, "User: hue is not allowed to impersonate sue"),
            ("user.name=hue&doas=%0A", 400, "is no name of a user"),
        ):
            got, body, _ = scene.ask("GET", path, f"op=GETFILESTATUS&{query}", at=place)
            assert (got, said in message(body)) == (status, True), body
        assert scene.ask("GET", path, "op=OPEN&doas=joe", at=place)[0] == 401
        status, body, _ = scene.ask("GET", "/", "op=LISTSTATUS&user.name=hue", at=place)
        if acts == "not":
            assert status == 200
        else:
            # The namenode lets the gateway act for others, but not for this one.
            said = f"User: {OWNER} is not allowed to impersonate hue"
            assert (status, message(body)) == (500, said)
    via = "" if acts == "not" else f" via {OWNER} (auth:SIMPLE)"
    how = "SIMPLE" if acts == "not" else "PROXY"
    wanted = {f"{cmd} joe (auth:{how}){via} rpc" for cmd in ("create", "open")}
    assert set(scene.callers_of(path, *wanted)) == wanted


def test_the_ipc_port_of_a_datanode_knows_the_rules(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = scene.cluster.process("datanode0").addresses["ipc"]
    command = ["dfsadmin", "--conf", str(scene.cluster.conf_dir), "-getDatanodeInfo", place]
    monkeypatch.setenv("HADOOP_USER_NAME", "hive")
    for user, said in (("joe", "Uptime"), ("sue", "User: hive is not allowed to impersonate sue")):
        monkeypatch.setenv("HADOOP_PROXY_USER", user)
        code = main(command)
        told = capsys.readouterr()
        assert ((code == 0), said in told.out + told.err) == (user == "joe", True)


def test_a_router_has_rules_and_the_namenode_judges_again(
    scene: Scene, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = {f"{PROXY}hive.users": "joe,bob", f"{PROXY}hive.hosts": "127.0.0.1"}
    with Routers(tmp_path, {"east": scene.cluster}) as routers:
        routers.conf_dir.mkdir()
        site = routers.conf_dir / "core-site.xml"
        site.write_text(Configuration(rules).to_xml())
        store = store_at(tmp_path / "store")
        store.prepare()
        store.add_mount(MountEntry("/mounted", (Destination("east", "/joes"),)))
        routers.start()
        with routers.connect(user="joe", real_user="hive") as fs:
            fs.mkdirs("/mounted/routed")
            assert fs.get_file_status("/mounted/routed").owner == "joe"
        joe = "joe (auth:PROXY) via hive (auth:SIMPLE)"
        assert all(joe in each for each in scene.callers_of("/joes/routed", f"mkdirs {joe} rpc"))
        for user, said in (
            ("sue", "User: hive is not allowed to impersonate sue"),
            # The router lets him, and the namenode does not.
            ("bob", "User: hive is not allowed to impersonate bob"),
        ):
            with (
                routers.connect(user=user, real_user="hive") as fs,
                pytest.raises(errors.AuthorizationFailed) as caught,
            ):
                fs.list_status("/mounted")
            assert str(caught.value) == said
        # The same name without anybody who acts for it has a connection of its own.
        with routers.connect(user="joe") as fs:
            fs.mkdirs("/mounted/joes-own")
        scene.callers_of("/joes/joes-own", "mkdirs joe (auth:SIMPLE) rpc")

        site.write_text(Configuration({**rules, f"{PROXY}hive.users": "nobody"}).to_xml())
        command = ["-refreshSuperUserGroupsConfiguration"]
        assert routeradmin.main(command, routers.admin_conf()) == 0
        with (
            routers.connect(user="joe", real_user="hive") as fs,
            pytest.raises(errors.AuthorizationFailed),
        ):
            fs.list_status("/mounted")
        site.write_text(Configuration({f"{PROXY}hive.hosts": "10.0.0.0/99"}).to_xml())
        assert routeradmin.main(command, routers.admin_conf()) != 0
        assert f"{PROXY}hive.hosts" in capsys.readouterr().err
