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
import json
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


# -- files that -text decodes -------------------------------------------------------------

AVRO_SCHEMA = """{"type": "record", "name": "r", "namespace": "a.b", "fields": [
    {"name": "long", "type": "long"}, {"name": "int", "type": "int"},
    {"name": "text", "type": "string"}, {"name": "bytes", "type": "bytes"},
    {"name": "yes", "type": "boolean"}, {"name": "none", "type": "null"},
    {"name": "float", "type": "float"}, {"name": "double", "type": "double"},
    {"name": "suit", "type": {"type": "enum", "name": "suit", "symbols": ["S", "H"]}},
    {"name": "two", "type": {"type": "fixed", "name": "two", "size": 2}},
    {"name": "list", "type": {"type": "array", "items": "int"}},
    {"name": "map", "type": {"type": "map", "values": "long"}},
    {"name": "any", "type": ["null", "string", "two", {"type": "array", "items": "string"}]},
    {"name": "when", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "next", "type": ["null", "r"]}]}"""
REALS = ("0.1", "1.0E10", "-1.5E-7", "123456.789", "1.0E7", "0.001", "9999999.0", "0.0", "-0.0",
         "3.0E38", "1.0E-40", "16777216", "4.35", "2.0E-3")  # fmt: skip


def _avro_row(number: int) -> str:
    real = REALS[number % len(REALS)]
    keys = [f"key{n}" for n in range(number)] + ["é", "a\n"]
    named = ", ".join(f"{json.dumps(key)}: {n}" for n, key in enumerate(keys))
    branches = ("null", '{"string": "s\\"\\\\"}', '{"a.b.two": "ab"}', '{"array": ["x", "y"]}')
    row = (
        f'{{"long": {number - 2**62}, "int": {-number}, "text": "grü\\u0001/\\ud83d\\ude00\\n", '
        f'"bytes": "\\u0000\\u00ff\\u007fA", "yes": {str(number % 2 == 0).lower()}, "none": null, '
        f'"float": {real}, "double": {real}, "suit": "H", "two": "\\u00e9\\u0000", '
        f'"list": {list(range(number % 3))}, "map": {{{named}}}, '
        f'"any": {branches[number % 4]}, "when": 5, "next": null}}'
    )
    return row if number % 2 else row[:-6] + f'{{"a.b.r": {row}}}}}'


def _write_avro(jvm: Any, path: Path, codec: str, rows: int) -> None:
    avro = jvm.org.apache.avro
    schema = avro.Schema.Parser().parse(AVRO_SCHEMA)
    reader = avro.generic.GenericDatumReader(schema)
    out = avro.file.DataFileWriter(avro.generic.GenericDatumWriter(schema))
    out.setCodec(avro.file.CodecFactory.fromString(codec))
    out.create(schema, jvm.java.io.File(str(path)))
    for number in range(rows):
        decoder = avro.io.DecoderFactory.get().jsonDecoder(schema, _avro_row(number))
        out.append(reader.read(None, decoder))
    out.close()


def _writables(jvm: Any) -> dict[str, list[Any]]:
    io_ = jvm.org.apache.hadoop.io
    reals = [float(text) for text in REALS]
    return {
        "Text": [io_.Text(text) for text in ("", "a\tb", "grüße 😀", "x" * 300)],
        "IntWritable": [io_.IntWritable(n) for n in (0, -1, 2**31 - 1)],
        "LongWritable": [io_.LongWritable(n) for n in (0, -(2**62), 2**62)],
        "VIntWritable": [io_.VIntWritable(n) for n in (0, -113, -112, 127, 128, -(2**31))],
        "VLongWritable": [io_.VLongWritable(n) for n in (0, 2**40, -(2**40))],
        "DoubleWritable": [io_.DoubleWritable(real) for real in reals],
        "BooleanWritable": [io_.BooleanWritable(True), io_.BooleanWritable(False)],
        "NullWritable": [io_.NullWritable.get()] * 2,
        "BytesWritable": [io_.BytesWritable(data) for data in (b"", b"\x00\xffabc")],
        "MD5Hash": [io_.MD5Hash.digest("x")],
    }


def _write_sequence(
    jvm: Any, gateway: Any, path: Path, rows: list[Any], kind: str, codec: str
) -> None:
    hadoop = jvm.org.apache.hadoop
    writer = hadoop.io.SequenceFile.Writer
    compression = getattr(hadoop.io.SequenceFile.CompressionType, kind)
    conf = hadoop.conf.Configuration()
    name = f"org.apache.hadoop.io.compress.{codec}"
    made = hadoop.util.ReflectionUtils.newInstance(conf.getClassByName(name), conf)
    options = [
        writer.file(hadoop.fs.Path(path.as_uri())),
        writer.keyClass(hadoop.io.LongWritable(0).getClass()),
        writer.valueClass(rows[0].getClass()),
        writer.compression(compression, made),
    ]
    given = gateway.new_array(writer.Option, len(options))
    for place, option in enumerate(options):
        given[place] = option
    out = hadoop.io.SequenceFile.createWriter(conf, given)
    for number, row in enumerate(rows * 40):
        out.append(hadoop.io.LongWritable(number), row)
    out.close()


def _write_compressed(jvm: Any, path: Path, codec: str, data: bytes) -> None:
    hadoop = jvm.org.apache.hadoop
    conf = hadoop.conf.Configuration()
    name = f"org.apache.hadoop.io.compress.{codec}"
    made = hadoop.util.ReflectionUtils.newInstance(conf.getClassByName(name), conf)
    out = made.createOutputStream(jvm.java.io.FileOutputStream(str(path)))
    out.write(data)
    out.close()


def _write_encoded(jvm: Any, gateway: Any, base: Path) -> None:
    """Files of each encoding, in `base`."""
    for codec in ("null", "deflate", "bzip2", "snappy"):
        _write_avro(jvm, base / f"{codec}.avro", codec, 30)
    _write_avro(jvm, base / "empty.avro", "null", 0)
    for name, rows in _writables(jvm).items():
        _write_sequence(jvm, gateway, base / f"{name}.seq", rows, "NONE", "DefaultCodec")
    rows = _writables(jvm)["Text"]
    for codec in ("DefaultCodec", "BZip2Codec", "SnappyCodec", "Lz4Codec"):
        for kind in ("RECORD", "BLOCK"):
            _write_sequence(jvm, gateway, base / f"{codec}{kind}", rows, kind, codec)
    text = b"".join(b"line %d of many, %d\n" % (n, n * n) for n in range(30_000))
    for suffix, codec in {
        "snappy": "SnappyCodec", "lz4": "Lz4Codec", "bz2": "BZip2Codec", "deflate": "DefaultCodec",
        "gz": "GzipCodec",
    }.items():  # fmt: skip
        _write_compressed(jvm, base / f"text.{suffix}", codec, text)
        _write_compressed(jvm, base / f"none.{suffix}", codec, b"")
    packed = gzip.compress(b"one\n", mtime=0)
    (base / "padded.gz").write_bytes(packed + bytes(20))
    (base / "two.gz").write_bytes(packed + packed)
    (base / "no-suffix").write_bytes(packed)
    (base / "SE").write_bytes(b"SE and no SEQ\n")
    (base / "Ob").write_bytes(b"Ob and no Obj\n")
    (base / "short").write_bytes(b"S")
    twice = (base / "text.bz2").read_bytes()
    (base / "twice.bz2").write_bytes(twice + twice)


@pytest.mark.req("FS-077")
@pytest.mark.timeout(300)
def test_both_shells_show_encoded_files_alike(
    shells: dict[str, Shell], howdah_cluster: MiniCluster, tmp_path: Path
) -> None:
    java = shells[JAVAS]
    assert isinstance(java, FsShell)
    _write_encoded(java._jvm, java._gateway, tmp_path)
    _make_directories(java, "/encoded")
    line = Line(["-put", *map(str, sorted(tmp_path.iterdir())), "/encoded"])
    assert shells[OURS](line, line.arguments).code == 0
    different = []
    names = [path.name for path in sorted(tmp_path.iterdir()) if path.suffix != ".crc"]
    for name in names:
        line = Line(["-text", f"/encoded/{name}"])
        theirs, ours = (shell(line, line.arguments) for shell in shells.values())
        if (theirs.code, theirs.out) != (ours.code, ours.out):
            different.append(f"{name}:\n  Hadoop: {_cut(theirs)}\n  howdah: {_cut(ours)}")
    assert len(names) >= 40
    assert not different, "\n".join(different)


def _cut(outcome: Outcome) -> str:
    return f"{outcome.code} {outcome.out[:1500]!r} {outcome.err[:300]!r}"
