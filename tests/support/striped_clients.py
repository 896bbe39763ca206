"""Three clients of erasure-coded files: Hadoop's own, the Rust one (`hdfs-native`), and ours.

Each of them writes and reads whole files. A writer that is to be killed is a process of its own
for every client: it has opened a file, writes what comes on its standard input, and does not close
the file while that stays open.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Final, Protocol

from howdah.fs.api import FileSystem
from howdah.testing.minicluster import MiniCluster
from tests.support.hadoop.java import hadoop_java
from tests.support.hadoop.tools_gateway import HadoopCommands

FSSHELL: Final = "org.apache.hadoop.fs.FsShell"
JAVA, RUST, OURS = "java", "hdfs-native", "howdah"
CLIENTS: Final = (JAVA, RUST, OURS)
_PIECE_BYTES: Final = 1 << 18

_OUR_WRITER: Final = f"""\
import sys
from pathlib import Path
from howdah.config import Configuration
from howdah.fs.registry import connect
uri, conf_dir, path, block_bytes = sys.argv[1:]
with connect(uri, conf=Configuration.load(Path(conf_dir))) as fs:
    with fs.create(path, block_size=int(block_bytes)) as out:
        while data := sys.stdin.buffer.read1({_PIECE_BYTES}):
            out.write(data)
"""
_RUST_WRITER: Final = f"""\
import sys
from pathlib import Path
import hdfs_native
from howdah.config import Configuration
uri, conf_dir, path, block_bytes = sys.argv[1:]
client = hdfs_native.Client(uri, dict(Configuration.load(Path(conf_dir)).items()))
with client.create(path, hdfs_native.WriteOptions(block_size=int(block_bytes))) as out:
    while data := sys.stdin.buffer.read1({_PIECE_BYTES}):
        out.write(data)
"""


class StripedClient(Protocol):
    """What the tests want of a client. Any thread may call, one at a time."""

    def write(self, path: str, data: bytes, block_bytes: int) -> None:
        """Write a new file, and close it."""

    def read(self, path: str) -> bytes:
        """Read all of a file."""

    def read_range(self, path: str, start: int, length: int) -> bytes:
        """Read a range that is in the file."""

    def recover_lease(self, path: str) -> bool:
        """Return whether the file is closed."""

    def writer(self, path: str, block_bytes: int) -> list[str]:
        """Return the command that writes its standard input."""


class JavaClient:
    """Hadoop's, in a JVM that stays."""

    def __init__(
        self, commands: HadoopCommands, cluster: MiniCluster, jars: str, scratch: Path
    ) -> None:
        self._commands = commands
        self._cluster = cluster
        self._jars = jars
        self._scratch = scratch
        self._numbers = itertools.count()
        jvm = commands.jvm
        conf = jvm.org.apache.hadoop.hdfs.HdfsConfiguration()
        self._fs = jvm.org.apache.hadoop.fs.FileSystem.newInstance(
            jvm.java.net.URI(cluster.uri), conf
        )

    def _path(self, path: str) -> Any:
        return self._commands.jvm.org.apache.hadoop.fs.Path(path)

    def _local(self) -> Path:
        return self._scratch / f"{threading.get_ident()}-{next(self._numbers)}"

    def write(self, path: str, data: bytes, block_bytes: int) -> None:
        local = self._local()
        local.write_bytes(data)
        jvm = self._commands.jvm
        out = self._fs.create(self._path(path), False, 4096, 1, block_bytes)
        source = jvm.java.io.FileInputStream(str(local))
        try:
            # It closes both, and raises what the closing of the file does.
            jvm.org.apache.hadoop.io.IOUtils.copyBytes(source, out, _PIECE_BYTES, True)
        finally:
            local.unlink()

    def read(self, path: str) -> bytes:
        local = self._local()
        try:
            self._fs.copyToLocalFile(False, self._path(path), self._path(str(local)), True)
            return local.read_bytes()
        finally:
            local.unlink(missing_ok=True)

    def read_range(self, path: str, start: int, length: int) -> bytes:
        stream = self._fs.open(self._path(path))
        try:
            stream.seek(start)
            read = self._commands.jvm.org.apache.commons.io.IOUtils.toByteArray
            return bytes(read(stream, length))
        finally:
            stream.close()

    def recover_lease(self, path: str) -> bool:
        return bool(self._fs.recoverLease(self._path(path)))

    def writer(self, path: str, block_bytes: int) -> list[str]:
        java = hadoop_java(self._jars, self._cluster.conf_dir)
        words = ["-fs", self._cluster.uri, f"-Ddfs.blocksize={block_bytes}", "-put", "-d", "-"]
        return [*java, FSSHELL, *words, path]


class RustClient:
    """`hdfs-native`, in this process."""

    def __init__(self, cluster: MiniCluster) -> None:
        import hdfs_native

        self._module: Any = hdfs_native
        self._cluster = cluster
        self._client: Any = hdfs_native.Client(cluster.uri, dict(cluster.conf.items()))

    def write(self, path: str, data: bytes, block_bytes: int) -> None:
        options = self._module.WriteOptions(block_size=block_bytes)
        with self._client.create(path, options) as out:
            out.write(data)

    def read(self, path: str) -> bytes:
        with self._client.read(path) as stream:
            return bytes(stream.read())

    def read_range(self, path: str, start: int, length: int) -> bytes:
        with self._client.read(path) as stream:
            return bytes(stream.read_range(start, length))

    def recover_lease(self, path: str) -> bool:
        return bool(self._client.recover_lease(path))

    def writer(self, path: str, block_bytes: int) -> list[str]:
        return _python_writer(_RUST_WRITER, self._cluster, path, block_bytes)


class OurClient:
    """Ours, in this process."""

    def __init__(self, fs: FileSystem, cluster: MiniCluster) -> None:
        self._fs = fs
        self._cluster = cluster

    def write(self, path: str, data: bytes, block_bytes: int) -> None:
        with self._fs.create(path, block_size=block_bytes) as out:
            out.write(data)

    def read(self, path: str) -> bytes:
        with self._fs.open(path) as stream:
            return bytes(stream.read())

    def read_range(self, path: str, start: int, length: int) -> bytes:
        with self._fs.open(path) as stream:
            return bytes(stream.pread(start, length))

    def recover_lease(self, path: str) -> bool:
        return self._fs.recover_lease(path)

    def writer(self, path: str, block_bytes: int) -> list[str]:
        return _python_writer(_OUR_WRITER, self._cluster, path, block_bytes)


def _python_writer(program: str, cluster: MiniCluster, path: str, block_bytes: int) -> list[str]:
    words = [cluster.uri, str(cluster.conf_dir), path, str(block_bytes)]
    return [sys.executable, "-c", program, *words]


def all_clients(
    commands: HadoopCommands, fs: FileSystem, cluster: MiniCluster, jars: str, scratch: Path
) -> dict[str, StripedClient]:
    """Return the clients by their names. `commands` are those of Hadoop's on the cluster."""
    return {
        JAVA: JavaClient(commands, cluster, jars, scratch),
        RUST: RustClient(cluster),
        OURS: OurClient(fs, cluster),
    }


class OpenWriter:
    """A process that writes a file and is killed, as a context manager."""

    def __init__(self, client: StripedClient, path: str, block_bytes: int) -> None:
        self._process = subprocess.Popen(client.writer(path, block_bytes), stdin=subprocess.PIPE)

    def write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def __enter__(self) -> OpenWriter:
        return self

    def __exit__(self, *_: object) -> None:
        """`kill -9`."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        # What it had no time to read is lost with it.
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            return
