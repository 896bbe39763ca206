"""Every block of code of the guides runs as it stands there (docs/spark.md: tests/spark).

Only addresses and waits are exchanged, and paths go below a directory of the test. Blocks
of a page share their names. A server that a block of shell runs in the foreground goes to
the background once it serves, as with a terminal for each.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

import howdah
from howdah.cli.main import COMMANDS, main
from howdah.config import Configuration, keys
from howdah.config.journal_uri import JournalUri
from howdah.config.nameservices import datanode_nameservices, namenode_ids
from howdah.errors import AuthorizationFailed
from howdah.fs.api import FileSystem
from howdah.gateway.httpfs import HttpFs
from howdah.local.kdc import NoKdc, check_available
from howdah.namenode.server.process.admin_tasks import read_hosts
from howdah.namenode.service.audit.line_format import LineFormat, Record, Shown
from howdah.namenode.state.blocks.datanodes import DatanodeIdentity
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc.call import Caller
from howdah.runtime.users.current import current_user
from howdah.runtime.users.impersonation import read_rules
from howdah.runtime.users.service_authorization import read_policy
from howdah.runtime.users.service_policy import Speaker
from howdah.testing import MiniCluster
from howdah.web.server import HttpServer
from tests.support.routers import Routers

HERE = Path(__file__).parents[2]
BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES: Final = ("README.md", "docs/python.md", "docs/operating.md", "docs/testing.md",
                "docs/command-line.md")  # fmt: skip


@dataclass(frozen=True)
class Block:
    """A block of code, and the line of its page that it begins in."""

    page: str
    language: str
    code: str
    line: int

    def run(self, names: dict[str, Any]) -> None:
        exec(compile("\n" * (self.line - 1) + self.code, str(HERE / self.page), "exec"), names)

    def settled(self, **exchanged: str) -> Block:
        """With other text for some of it; what is to be exchanged must be there."""
        code = self.code
        for old, new in exchanged.items():
            code = re.sub(old, new, code)
        return Block(self.page, self.language, code, self.line)


def blocks_of(page: str, *languages: str) -> list[Block]:
    text = (HERE / page).read_text("utf-8")
    found = [
        Block(page, each[1], each[2], text.count("\n", 0, each.start(2)) + 1)
        for each in BLOCK.finditer(text)
    ]
    return [block for block in found if not languages or block.language in languages]


@pytest.fixture
def root(request: pytest.FixtureRequest) -> str:
    return "/guides/" + re.sub(r"\W", "_", request.node.name)


@pytest.fixture
def fs(howdah_cluster: MiniCluster, root: str) -> Iterator[FileSystem]:
    """A cluster that has what the guides read."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    with howdah_cluster.connect() as own:
        for name in ("data/t.parquet", "data/flights.parquet"):
            with own.create(f"{root}/{name}") as out:
                parquet.write_table(pyarrow.table({"x": range(5)}), out)
        own.write_bytes(f"{root}/logs/today", b"a line\n")
        yield own
        for directory in own.list_snapshottable_directories():
            if directory.path.startswith(root):
                own.delete_snapshot(directory.path, "monday")
                own.disallow_snapshot(directory.path)
        own.delete(root, recursive=True)


def below(block: Block, cluster: MiniCluster, root: str) -> Block:
    """A block about this cluster, with its paths below `root`."""
    place = cluster.uri.removeprefix("hdfs://")
    settled = block.settled(
        **{r"(?<=://)(127\.0\.0\.1|host):8020": place, r"timeout_s=60": "timeout_s=0.1"}
    )
    return settled.settled(
        **{rf"""(?<=["'])/(?=(a|data|logs|tmp)\b)|(?<={place})/(?=(a|data)/)""": f"{root}/"}
    )


def test_every_block_of_the_guides_has_a_test() -> None:
    """A new kind of block, or a page with more of them, wants one below."""
    kinds = {page: [block.language for block in blocks_of(page)] for page in PAGES}
    assert kinds["docs/command-line.md"] == []
    assert kinds["README.md"] == ["sh", "python", "python", "sh"]
    assert kinds["docs/operating.md"] == [
        *("sh", "sh", "xml", "json", "sh", "sh", "sh", "xml", "sh", "sh"),
        *("xml", "sh", "xml", "xml", "sh", "sh", "", "xml"),
    ]
    assert set(kinds["docs/testing.md"]) == {"python"}
    # py: a part of a web application, which test_aio.py has.
    assert set(kinds["docs/python.md"]) == {"python", "py", "xml"}


def test_the_rules_of_proxy_users_are_rules() -> None:
    *_, block, _, _ = blocks_of("docs/operating.md", "xml")
    text = f"<configuration>{block.code}</configuration>".encode()
    rules = read_rules(Configuration().with_site_file(text, source="docs/operating.md"))
    assert rules.needs_groups("hive", "joe")
    rules.check_groups("hive", "joe", ["analysts"])
    assert rules.names_to_look_up("hive", "10.1.2.3") == ()
    assert rules.names_to_look_up("hive", "10.9.9.9") == ("hive1",)


def test_the_access_lists_of_protocols_say_who_may_and_from_where(tmp_path: Path) -> None:
    *_, block, _ = blocks_of("docs/operating.md", "xml")
    (tmp_path / "hadoop-policy.xml").write_text(f"<configuration>{block.code}</configuration>")
    policy = read_policy(Configuration.load(tmp_path))
    protocol = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
    assert list(policy.judge(Speaker(protocol, "hdfs", "hdfs", "10.1.2.3"))) == []
    with pytest.raises(AuthorizationFailed, match=r"Host 10\.1\.9\.1 is not authorized"):
        list(policy.judge(Speaker(protocol, "hdfs", "hdfs", "10.1.9.1")))


def test_line_of_the_audit_log_is_one() -> None:
    (block,) = (each for each in blocks_of("docs/operating.md") if not each.language)
    stamp, _, rest = block.code.partition(" INFO ")
    said = dict(part.split("=", 1) for part in rest.partition(": ")[2].rstrip("\n").split("\t"))
    request = pb.MkdirsRequestProto(src=said["src"])
    caller = Caller("ann", b"", 0, 0, said["ip"].removeprefix("/"))
    shown = Shown("ann", "staff", 0o755)
    record = Record(0, True, said["cmd"], request, None, caller, shown)
    assert LineFormat().line(record, stamp) == block.code


# --- Python -----------------------------------------------------------------------------------


def test_the_keys_of_object_stores_are_a_site_file() -> None:
    (block,) = blocks_of("docs/python.md", "xml")
    text = f"<configuration>{block.code}</configuration>".encode()
    conf = Configuration().with_site_file(text, source="docs/python.md")
    assert conf.get(keys.FS_S3A_ENDPOINT) == "http://minio:9000"
    assert conf.get(keys.FS_S3A_PATH_STYLE_ACCESS)


def test_the_guide_to_python(
    howdah_cluster: MiniCluster,
    fs: FileSystem,
    root: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("fsspec")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)  # for files of this machine
    # install() is for the rest of the process: what was there comes back.
    registry = sys.modules["fsspec.registry"]
    monkeypatch.setitem(registry._registry, "hdfs", None)
    names: dict[str, Any] = {}
    for block in blocks_of("docs/python.md", "python"):
        if "FileRange(" in block.code:
            fs.write_bytes(f"{root}/a/b", bytes(2 << 20))
        below(block, howdah_cluster, root).run(names)
        if names["fs"].scheme == "hdfs":
            fs.unset_storage_policy(f"{root}/data")
    names["alices"].close()


def test_the_first_steps_in_python(
    howdah_cluster: MiniCluster,
    fs: FileSystem,
    root: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("pandas")
    (tmp_path / "core-site.xml").write_text(howdah_cluster.conf.to_xml())
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    connects, spark = blocks_of("README.md", "python")
    below(connects, howdah_cluster, root).settled(**{"howdah:///": f"howdah://{root}/"}).run({})
    assert f"{root}/tmp/hello 4" in capsys.readouterr().out
    read: list[str] = []
    session = SimpleNamespace(read=SimpleNamespace(parquet=read.append))  # no JVM for a line
    spark.run({"spark": session})
    assert read[0].endswith("/data")


def test_the_guide_to_testing_with_kerberos() -> None:
    """That of the secured cluster, which wants programs that are not everywhere."""
    secured = blocks_of("docs/testing.md")[5]
    assert "secure=True" in secured.code
    try:
        check_available()
    except NoKdc as missing:
        pytest.skip(missing.message)
    names: dict[str, Any] = {}
    secured.run(names)
    assert names["read"] == b"hers"


def test_the_guide_to_testing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster, _, _, several, federated, _, contract, suite = blocks_of("docs/testing.md")
    names: dict[str, Any] = {}
    cluster.run(names)
    assert names["cluster"].names
    several.run(names)
    assert names["new"] != names["old"]
    federated.run(names)
    with howdah.connect("mem://guides/") as memory:
        contract.settled(
            **{r"check_filesystem\(fs,": 'check_filesystem(fs, only=["closing"],'}
        ).run({"fs": memory})
    assert "passed" in capsys.readouterr().out
    (tmp_path / "test_contract.py").write_text(suite.code)
    (tmp_path / "conftest.py").write_text(
        "import howdah, pytest\n"
        "@pytest.fixture\n"
        "def fs():\n"
        "    with howdah.connect('mem://guide/') as found:\n"
        "        yield found\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-k", "closing", "-p", "no:cacheprovider", tmp_path],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout


def test_the_guide_to_fixtures(tmp_path: Path) -> None:
    _, fixtures, unittests, *_ = blocks_of("docs/testing.md")
    (tmp_path / "test_fixtures.py").write_text(fixtures.code)
    (tmp_path / "test_unittest.py").write_text(unittests.code)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert "2 passed" in done.stdout, done.stdout


# --- shells -----------------------------------------------------------------------------------

# A path after #! may have no blank in it: a shell begins, and Python takes its line for a string.
FOREGROUND: Final = """\
#!/bin/sh
'''exec' {python} "$0" "$@"
' '''
import os, subprocess, sys, time
words = sys.argv[1:]
runs = [sys.executable, "-m", "howdah", *words]
if words not in (["namenode"], ["datanode"], ["secondarynamenode"],
                 ["namenode", "-importCheckpoint"]) and "-importImage" not in words:
    os.execv(sys.executable, runs)
with open({log!r}, "a") as log:
    server = subprocess.Popen(runs, stdout=log, stderr=log, start_new_session=True)
with open({pids!r}, "a") as pids:
    print(server.pid, file=pids)
import socket
port = {{"namenode": {rpc}, "datanode": {data}}}.get(words[0])
until = time.monotonic() + 60
while port and server.poll() is None and time.monotonic() < until:
    with socket.socket() as probe:
        if not probe.connect_ex(("127.0.0.1", port)):
            sys.exit(0)
    time.sleep(0.05)
if words == ["secondarynamenode"]:  # "until SIGTERM": then it is one's turn to go on
    while server.poll() is None and not os.path.exists({lock!r}):
        time.sleep(0.05)
    server.terminate()
    sys.exit(server.wait() not in (0, -15))  # it may not be listening to that yet
sys.exit(server.returncode or 1)
"""


@dataclass
class Terminal:
    """A shell with a `howdah` that leaves servers in the background, and its configuration."""

    top: Path
    conf: Path

    def run(self, code: str, **environment: str) -> str:
        done = subprocess.run(
            ["sh", "-eu", "-c", code],
            cwd=HERE,
            env=os.environ
            | {"PATH": f"{self.top / 'bin'}:{os.environ['PATH']}", "HOME": str(self.top)}
            | environment,
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode == 0, done.stdout + done.stderr + self.log()
        return done.stdout

    def log(self) -> str:
        log = self.top / "log"
        return log.read_text() if log.exists() else ""

    def end(self) -> None:
        """SIGTERM to the servers, as one who looked at them would do."""
        pids = self.top / "pids"
        for pid in map(int, pids.read_text().split()) if pids.exists() else ():
            try:
                os.kill(pid, signal.SIGTERM)
                while True:
                    os.kill(pid, 0)
                    with open(f"/proc/{pid}/stat") as stat:
                        if stat.read().rpartition(")")[2].split()[0] == "Z":
                            break
            except (ProcessLookupError, FileNotFoundError):
                continue
        pids.unlink(missing_ok=True)


def free_ports(count: int) -> list[int]:
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    rpc, http, data, ipc = free_ports(4)
    conf = tmp_path / "conf"
    conf.mkdir()
    values = {
        "fs.defaultFS": f"hdfs://127.0.0.1:{rpc}",
        "dfs.namenode.http-address": f"127.0.0.1:{http}",
        "dfs.namenode.name.dir": str(tmp_path / "name"),
        "dfs.namenode.checkpoint.dir": str(tmp_path / "checkpoint"),
        "dfs.namenode.secondary.http-address": "127.0.0.1:0",
        "dfs.datanode.data.dir": str(tmp_path / "data"),
        "dfs.datanode.address": f"127.0.0.1:{data}",
        "dfs.datanode.ipc.address": f"127.0.0.1:{ipc}",
        "dfs.datanode.http.address": "127.0.0.1:0",
        "dfs.datanode.hostname": "localhost",
        "dfs.replication": "1",
    }
    properties = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in values.items()
    )
    for name in ("core-site.xml", "hdfs-site.xml"):
        (conf / name).write_text(f"<configuration>{properties}</configuration>")
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "howdah"
    program.write_text(
        FOREGROUND.format(
            python=shlex.quote(sys.executable),
            log=str(tmp_path / "log"),
            pids=str(tmp_path / "pids"),
            lock=str(tmp_path / "checkpoint" / "in_use.lock"),
            rpc=rpc,
            data=data,
        )
    )
    program.chmod(0o755)
    made = Terminal(tmp_path, conf)
    yield made
    made.end()


def test_the_first_steps_in_a_shell(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    users, developers = blocks_of("README.md", "sh")
    known = terminal.run("./dev help")
    for command in re.findall(r"^\./dev (\w+)", developers.code, re.MULTILINE):
        assert f"\n  {command} " in known
    pip = terminal.top / "bin" / "pip"
    pip.write_text("#!/bin/sh\n")
    pip.chmod(0o755)
    try:
        out = terminal.run(users.code)
    finally:
        terminal.run("howdah down || true")
    assert "/tmp/a/README.md" in out


def test_the_guide_to_operating(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    servers, leaving, restoring, importing, secondary, journals, controllers, _, web, front = (
        blocks_of("docs/operating.md", "sh")
    )
    several = journals.code + controllers.code
    assert set(re.findall(r"^howdah (\w+)", several, re.MULTILINE)) <= set(COMMANDS)
    here = {"HADOOP_CONF_DIR": str(terminal.conf)}
    terminal.run(servers.code.replace("/etc/howdah", str(terminal.conf)))
    conf = Configuration.load(terminal.conf)
    with howdah.connect(conf=conf) as fs:
        fs.mkdirs("/a")
    assert "Live datanodes (1):" in terminal.run(leaving.code, **here)
    if shutil.which("curl"):
        host, port = conf.get(keys.DFS_NAMENODE_HTTP_ADDRESS)
        at = web.code.replace("127.0.0.1:9870", f"{host}:{port}")
        found = terminal.run(at, USER=current_user())
        assert "HTTP/1.1 201 Created" in found, found
        assert (HERE / "README.md").read_text() in found
        assert '"pathSuffix":"a"' in found
        gateway = HttpFs(conf)
        server = HttpServer(gateway.answer, timeout_s=60)
        port = server.start("127.0.0.1", 0)
        try:
            at = front.code.replace("127.0.0.1:14000", f"127.0.0.1:{port}")
            found = terminal.run(at, USER=current_user())
        finally:
            server.stop()
            gateway.close()
        assert "HTTP/1.1 201 Created" in found, found
        assert (HERE / "README.md").read_text() in found
    assert re.search(r"\d", terminal.run(secondary.code, **here))
    terminal.end()
    for name in (terminal.top / "name").rglob("*"):
        if name.is_file():
            name.unlink()
    (terminal.top / "name").rename(terminal.top / "lost")
    terminal.run(importing.code, **here)
    with howdah.connect(conf=conf) as fs:
        assert fs.exists("/a")
    backup = terminal.top / "backup"
    backup.mkdir()
    fetch, restore = restoring.code.replace("/backup", str(backup)).splitlines()
    terminal.run(fetch, **here)
    terminal.end()
    shutil.rmtree(terminal.top / "name")
    terminal.run(restore, **here)
    with howdah.connect(conf=conf) as fs:
        assert fs.exists("/a")


def test_the_guide_to_a_router(
    howdah_cluster: MiniCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    *_, block, _, _ = blocks_of("docs/operating.md", "sh")
    foreground, *lines = [shlex.split(line, comments=True) for line in block.code.splitlines()]
    assert foreground == ["howdah", "router"]
    with Routers(tmp_path, {"users": howdah_cluster, "logs": howdah_cluster}) as routers:
        routers.start()
        options = [f"-D{key}={value}" for key, value in routers.admin_conf().items()]
        for _, command, *words in lines:
            here = [word.replace("hdfs://127.0.0.1:8888", routers.uri()) for word in words]
            assert main([command, *options, *here]) == 0, capsys.readouterr().err
        said = capsys.readouterr().out
    assert "Successfully added mount point /both" in said
    assert "users->/both,logs->/both" in said
    assert "Successfully removed mount point /logs" in said


def test_the_settings_of_the_guide_are_known(tmp_path: Path) -> None:
    *_, xml = blocks_of("docs/operating.md", "xml")
    (tmp_path / "hdfs-site.xml").write_text(f"<configuration>{xml.code}</configuration>")
    conf = Configuration.load(tmp_path)
    assert conf.get(keys.DFS_CLIENT_READ_SHORTCIRCUIT)
    socket_path = conf.get(keys.DFS_DOMAIN_SOCKET_PATH)
    assert socket_path is not None
    assert socket_path.endswith("_PORT")


def test_the_settings_of_the_guide_make_a_nameservice(tmp_path: Path) -> None:
    _, several, *_ = blocks_of("docs/operating.md", "xml")
    (tmp_path / "hdfs-site.xml").write_text(f"<configuration>{several.code}</configuration>")
    conf = Configuration.load(tmp_path)
    assert list(conf.misspelt()) == []
    assert namenode_ids(conf, "prod") == ("nn1", "nn2", "nn3")
    journal = JournalUri.parse(conf.get(keys.DFS_NAMENODE_SHARED_EDITS_DIR)[0])
    assert (len(journal.nodes), journal.journal_id) == (3, "prod")
    assert conf.get(keys.DFS_HA_TAIL_EDITS_IN_PROGRESS)


def test_the_settings_of_the_guide_make_several_nameservices(tmp_path: Path) -> None:
    _, _, federated, *_ = blocks_of("docs/operating.md", "xml")
    (tmp_path / "hdfs-site.xml").write_text(f"<configuration>{federated.code}</configuration>")
    conf = Configuration.load(tmp_path)
    assert list(conf.misspelt()) == []
    found = datanode_nameservices(conf)
    assert found == {
        "users": (("nn1.example.com", 8020),),
        "logs": (("nn2.example.com", 8020),),
    }


def test_the_hosts_of_the_guide_rest_and_leave(tmp_path: Path) -> None:
    xml, *_ = blocks_of("docs/operating.md", "xml")
    (hosts,) = blocks_of("docs/operating.md", "json")
    file = tmp_path / "datanodes.json"
    for number in range(1, 5):  # Names need an address.
        hosts = hosts.settled(**{f"worker{number}": f"127.0.0.{number}"})
    file.write_text(hosts.code)
    site = xml.code.replace("/etc/howdah/datanodes.json", str(file))
    (tmp_path / "hdfs-site.xml").write_text(f"<configuration>{site}</configuration>")
    found = read_hosts(Configuration.load(tmp_path))
    assert [str(entry) for entry in found.named][3] == "127.0.0.4:9866"
    assert [str(entry) for entry in found.excluded] == ["127.0.0.3"]
    resting = DatanodeIdentity("u", "127.0.0.2", "worker2", 9866, 9864, 9867)
    assert found.maintenance_until_ms(resting) == 1893456000000
