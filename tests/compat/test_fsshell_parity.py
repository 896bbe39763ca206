"""`howdah dfs` beside Hadoop's own FsShell: the same command lines, the same cluster.

Each scene is a list of command lines that both shells run, each in a directory of
its own. After every line exit code, stdout and stderr must be equal, but for what
has to differ: the directory's name, times, and how the program calls itself.
FsShell runs in one JVM for all scenes, through the gateway that PySpark ships.

The scenes, and how a line is written, stand in fsshell_scenes.txt.
"""

from __future__ import annotations

import bz2
import gzip
import io
import re
import shlex
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from howdah.cli.dfs import main
from howdah.cli.main import main as howdah_main
from howdah.config import Configuration
from howdah.fs.registry import connect
from howdah.java import NoJava, find_java_home
from howdah.testing import MiniCluster
from howdah.testing.spark import JAVA_OPTIONS, class_path

JAVAS = "/parity-j"
OURS = "/parity-o"


def scenes() -> dict[str, list[str]]:
    """The command lines of each scene."""
    found: dict[str, list[str]] = {}
    heading = None
    for line in Path(__file__).with_name("fsshell_scenes.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            heading = line.strip("[]")
            found[heading] = []
        elif line and heading is not None:
            found[heading].append(line)
    return found


SCENES = scenes()


@dataclass(frozen=True, slots=True)
class Line:
    """A command line, taken apart."""

    arguments: list[str]
    user: str | None = None
    settings: dict[str, str] = field(default_factory=dict)
    stdin: bytes = b""


def parse(text: str) -> Line:
    """Read a line of a scene."""
    command, _, stdin = text.partition(" <")
    words = shlex.split(command)
    user = words.pop(0)[1:] if words[0].startswith("@") else None
    settings = {}
    while "=" in words[0] and not words[0].startswith("-"):
        name, _, value = words.pop(0).partition("=")
        settings[name] = value
    return Line(words, user, settings, stdin.encode())


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a shell did."""

    code: int
    out: str
    err: str


Shell = Callable[[Line, list[str]], Outcome]


class FsShell:
    """Hadoop's FsShell in a JVM that stays."""

    def __init__(self, conf_dir: Path, scratch: Path) -> None:
        from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

        logging = scratch / "quiet.properties"
        logging.write_text("status = off\nrootLogger.level = off\n")
        port = launch_gateway(
            classpath=class_path(conf_dir),
            javaopts=[*JAVA_OPTIONS, f"-Dlog4j2.configurationFile={logging.as_uri()}"],
            java_path=str(find_java_home() / "bin" / "java"),
            die_on_exit=True,
        )
        self._gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
        self._jvm: Any = self._gateway.jvm

    def __call__(self, line: Line, arguments: list[str]) -> Outcome:
        jvm, system = self._jvm, self._jvm.java.lang.System
        self._log_in(line.user)
        conf = jvm.org.apache.hadoop.conf.Configuration()
        # One that is used again would remember whether the last command wrote checksums.
        conf.setBoolean("fs.file.impl.disable.cache", True)
        for name, value in line.settings.items():
            conf.set(name, value)
        out, err = jvm.java.io.ByteArrayOutputStream(), jvm.java.io.ByteArrayOutputStream()
        before = system.out, system.err, getattr(system, "in")
        system.setOut(jvm.java.io.PrintStream(out, True, "UTF-8"))
        system.setErr(jvm.java.io.PrintStream(err, True, "UTF-8"))
        system.setIn(jvm.java.io.ByteArrayInputStream(line.stdin))
        try:
            shell = jvm.org.apache.hadoop.fs.FsShell()
            shell.setConf(conf)
            words = self._gateway.new_array(jvm.java.lang.String, len(arguments))
            for place, word in enumerate(arguments):
                words[place] = word
            code = jvm.org.apache.hadoop.util.ToolRunner.run(shell, words)
        finally:
            system.setOut(before[0])
            system.setErr(before[1])
            system.setIn(before[2])
            self._log_in(None)
        texts = [bytes(stream.toByteArray()).decode() for stream in (out, err)]
        return Outcome(code % 256, *texts)

    def _log_in(self, user: str | None) -> None:
        system = self._jvm.java.lang.System
        if system.getProperty("HADOOP_USER_NAME") == user:
            return
        if user is None:
            system.clearProperty("HADOOP_USER_NAME")
        else:
            system.setProperty("HADOOP_USER_NAME", user)
        self._jvm.org.apache.hadoop.fs.FileSystem.closeAll()
        self._jvm.org.apache.hadoop.security.UserGroupInformation.reset()

    def close(self) -> None:
        self._gateway.shutdown()


class OurShell:
    """`howdah dfs` in this process."""

    def __init__(self, conf: Configuration) -> None:
        self._conf = conf

    def __call__(self, line: Line, arguments: list[str]) -> Outcome:
        out, err = io.BytesIO(), io.BytesIO()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line.stdin)))
            patch.setattr(sys, "stdout", io.TextIOWrapper(out, "utf-8", write_through=True))
            patch.setattr(sys, "stderr", io.TextIOWrapper(err, "utf-8", write_through=True))
            if line.user is not None:
                patch.setenv("HADOOP_USER_NAME", line.user)
            code = main(arguments, self._conf.with_values(line.settings))
            return Outcome(code, out.getvalue().decode(), err.getvalue().decode())


@pytest.fixture(scope="module")
def shells(
    howdah_cluster: MiniCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Shell]]:
    """Both shells, by the directory that each works in."""
    pytest.importorskip("py4j", reason="PySpark is not installed")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("LC_ALL", "C.UTF-8")
        for name in ("HADOOP_CONF_DIR", "HADOOP_USER_NAME"):
            environment.delenv(name, raising=False)
        try:
            java = FsShell(howdah_cluster.conf_dir, tmp_path_factory.mktemp("fsshell"))
        except NoJava as error:
            pytest.skip(str(error))
        yield {JAVAS: java, OURS: OurShell(Configuration.load(howdah_cluster.conf_dir))}
        java.close()


@pytest.fixture
def local(tmp_path: Path) -> dict[str, Path]:
    """A directory with the same files for each shell."""
    directories = {}
    for root in (JAVAS, OURS):
        base = directories[root] = tmp_path / root[-1]
        (base / "tree" / "sub").mkdir(parents=True)
        (base / "a.txt").write_text("hello\n")
        (base / "big").write_bytes(b"0123456789abcdef" * 20_000)
        (base / "tree" / "b.txt").write_text("bye\n")
        (base / "tree" / "sub" / "c.txt").write_text("deep\n")
        (base / "odd").mkdir()
        for name in ("st*r", "br[x]", "q?m", "p%20c", "b c", "back\\slash", "new\nline"):
            (base / "odd" / name).write_text(f"in {name}\n")
        (base / "a.gz").write_bytes(gzip.compress(b"zipped\n", mtime=0))
        (base / "a.deflate").write_bytes(zlib.compress(b"deflated\n"))
        (base / "a.bz2").write_bytes(bz2.compress(b"bzipped\n"))
    return directories


# What Hadoop logs; the shell's own lines never begin with a time.
_LOG_LINE = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} \w+ \S+: .*\n", re.MULTILINE)
_GENERIC = re.compile(
    r"\n\nGeneric options(?: supported are:[\s\S]*?\[commandOptions\]|, before[\s\S]*?file)\n"
)
# Hadoop's shell prints the usage of all commands behind every mistake, ours where it is
# asked for; ours has reasons below its errors, indented.
_OVERVIEW = re.compile(r"Usage: hadoop fs \[generic options\]\n(?:\t\[.*\n)+<generic options>\n\n?")
_REASON = re.compile(r"^  .*\n", re.MULTILINE)
_TIMES = [
    # A dot for each look at the replicas, and how many looks it takes is chance.
    (re.compile(r"(?<=^Waiting for )(\S+) \.+(?= done$)", re.MULTILINE), r"\1 ..."),
    (re.compile(r"\b20[2-9]\d-\d\d-\d\d \d\d:\d\d(:\d\d)?"), "<time>"),
    (re.compile(r"(?<=/\.Trash/)\d{12}(-\d+)?"), "<checkpoint>"),
    (re.compile(r"(?<=\D)1[7-9]\d{11}\b"), "<ms>"),
    # Hadoop's views show paths in several ways, and no reason.
    (re.compile(r"(?<=not permitted on path )\S+"), "<path>"),
    (re.compile(r"(?<=Renames across Mount points not supported): .*"), ""),
]


def normal(text: str, root: str, local: Path) -> str:
    """The text without what must differ between the shells."""
    text = text.replace(str(local), "<local>").replace(root[1:], "<root>")
    text = text.replace(user_of(root), "<user>").replace("howdah dfs", "hadoop fs")
    text = _GENERIC.sub("\n<generic options>\n", _LOG_LINE.sub("", text))
    for pattern, name in _TIMES:
        text = pattern.sub(name, text)
    return text


def _administer(cluster: MiniCluster, words: list[str]) -> None:
    assert howdah_main([words[0], "-fs", cluster.uri, *words[1:]]) == 0


def _link(cluster: MiniCluster, words: list[str]) -> None:
    conf = cluster.conf.with_values({"howdah.client.symlinks.enabled": "true"})
    with connect(cluster.uri, conf=conf) as fs:
        fs.create_symlink(*words[1:])


PREPARATIONS: dict[str, Callable[[MiniCluster, list[str]], None]] = {
    "dfsadmin": _administer,
    "link": _link,
}

# These work in a home directory. Each shell has a user of its own for them.
IN_A_HOME = {"relative paths", "the trash"}


@pytest.mark.req("FS-077", "FS-079", "FS-084")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("scene", SCENES)
def test_both_shells_do_and_say_the_same(
    scene: str, shells: dict[str, Shell], local: dict[str, Path], howdah_cluster: MiniCluster
) -> None:
    different = []
    settings: list[str] = []
    for root, shell in shells.items():
        _make_directories(shell, root)
    for text in SCENES[scene]:
        if text.split()[0] in PREPARATIONS:
            for root in shells:
                words = [_filled(word, {"{r}": root}) for word in shlex.split(text)]
                PREPARATIONS[words[0]](howdah_cluster, words)
            continue
        if text.startswith("with "):
            settings = shlex.split(text)[1:]
            continue
        outcomes = []
        for root, shell in shells.items():
            line = parse(text)
            if scene in IN_A_HOME:
                line = replace(line, user=user_of(root))
            names = {
                "{r}": root,
                "{l}": str(local[root]),
                "{u}": howdah_cluster.uri,
                "{h}": home_of(root),
                "{w}": user_of(root),
            }
            filled = (_filled(each, names).partition("=") for each in settings)
            line = replace(line, settings={**{k: v for k, _, v in filled}, **line.settings})
            done = shell(line, [_filled(word, names) for word in line.arguments])
            out, err = (normal(told, root, local[root]) for told in (done.out, done.err))
            err = _REASON.sub("", _OVERVIEW.sub("", err))
            outcomes.append(Outcome(done.code, out, err))
        if outcomes[0] != outcomes[1]:
            different.append(f"$ {text}\n  Hadoop: {outcomes[0]}\n  howdah: {outcomes[1]}")
    assert not different, "\n".join(different)
    assert _tree(local[OURS]) == _tree(local[JAVAS])


def _tree(top: Path) -> dict[str, bytes | None]:
    """Everything below a local directory, checksum files too."""
    return {
        str(path.relative_to(top)): None if path.is_dir() else path.read_bytes()
        for path in top.rglob("*")
    }


def user_of(root: str) -> str:
    return f"worker-{root[-1]}"


def home_of(root: str) -> str:
    return f"/user/{user_of(root)}"


def _make_directories(shell: Shell, root: str) -> None:
    """Fresh ones, for root and for the shell's own user."""
    for words in (
        ["-rm", "-r", "-f", "-skipTrash", root, home_of(root)],
        ["-mkdir", "-p", root, home_of(root)],
        ["-chown", user_of(root), root, home_of(root)],
        # Whoever is the first to use the trash makes it for nobody but himself.
        ["-chmod", "755", "/user"],
    ):
        done = shell(Line(words), words)
        assert done.code == 0, done.err


def _filled(word: str, names: dict[str, str]) -> str:
    for name, value in names.items():
        word = word.replace(name, value)
    return word
