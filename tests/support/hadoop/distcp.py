"""Hadoop's DistCp in a Java process that stays, as the peer of ours.

It runs with Hadoop's local job runner; a small program of ours, from its source, takes
the arguments of one run after the other. A cluster of Hadoop's can run in the same
process: starting a Java costs more than starting a namenode in it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from howdah.config import Configuration
from howdah.errors import HowdahError
from howdah.java import find_java_home
from tests.support.hadoop.jars import hadoop_class_path, hadoop_distcp_class_path
from tests.support.hadoop.suites import compiled

_ANSWER: Final = "RESULT"
_CLUSTER: Final = "SERVERS"
_STRIPED: Final = "STRIPED"
_END_TIMEOUT_S: Final = 30.0
# A job that is done is noticed at once.
_SETTINGS: Final = {
    "mapreduce.framework.name": "local",
    "mapreduce.client.progressmonitor.pollinterval": "10",
    "mapreduce.client.completion.pollinterval": "10",
}


class HadoopEnded(HowdahError, RuntimeError):
    """The Java process has ended; what it said is in the file `said`."""


@dataclass(frozen=True, slots=True)
class HadoopRun:
    """What one run said."""

    exit_code: int
    files_copied: int
    files_skipped: int
    bytes_copied: int
    seconds: float


@dataclass(frozen=True, slots=True)
class HadoopCluster:
    """Where Hadoop's servers are that run beside its DistCp."""

    uri: str
    http_address: str
    dir: Path
    datanodes: int

    @property
    def conf(self) -> Configuration:
        return Configuration({"fs.defaultFS": self.uri})

    @property
    def names(self) -> list[str]:
        return ["namenode", *(f"datanode{number}" for number in range(self.datanodes))]

    def data_dirs(self, name: str) -> list[Path]:
        """The volumes of a datanode."""
        return [self.dir / name.replace("datanode", "data")]

    def image(self) -> Path:
        """The newest image that its namenode has saved."""
        images = (self.dir / "name" / "current").glob("fsimage_*")
        return max(path for path in images if path.suffix != ".md5")


class HadoopDistCp:
    """A Java process for runs of DistCp, as a context manager.

    `program` is the Java source, `conf_dir` the configuration of the cluster, `scratch`
    a new directory. Raises NoHadoop where the jars can't be had.
    """

    def __init__(
        self,
        program: Path,
        conf_dir: Path,
        cache: Path,
        scratch: Path,
        settings: Mapping[str, str] | None = None,
        memory: str = "384m",
        *,
        quick_start: bool = False,
    ) -> None:
        jars = f"{hadoop_distcp_class_path(cache)}:{hadoop_class_path(cache)}"
        values = {**_SETTINGS, "hadoop.tmp.dir": str(scratch), **(settings or {})}
        command = [str(find_java_home() / "bin" / "java"), f"-Xmx{memory}", "-XX:+UseSerialGC"]
        command += ["-XX:TieredStopAtLevel=1"] if quick_start else []
        # A server of Hadoop's doesn't start without its pages, which the jars don't have.
        for pages in ("hdfs", "datanode", "static"):
            (scratch / "webapps" / pages).mkdir(parents=True)
        classes = compiled([program], jars, cache)
        command += ["-cp", f"{scratch}:{conf_dir}:{classes}:{jars}", program.stem]
        command += [f"{name}={value}" for name, value in values.items()]
        self._said = (scratch / "said").open("wb")
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, text=True
        )

    def run(self, words: Sequence[str]) -> HadoopRun:
        """Run DistCp with these arguments, which may have no tabs or line ends."""
        *numbers, seconds = self._ask(words, _ANSWER)
        code, copied, skipped, size = map(int, numbers)
        return HadoopRun(code, copied, skipped, size, float(seconds))

    def start_cluster(self, directory: Path, datanodes: int = 2) -> HadoopCluster:
        """A cluster of Hadoop's servers, in this process, until it ends."""
        uri, address = self._ask([_CLUSTER, str(directory), str(datanodes)], _CLUSTER)
        return HadoopCluster(uri, address, directory, datanodes)

    def make_striped(self, path: str) -> None:
        """A directory on that cluster, the files of which are erasure coded."""
        self._ask([_STRIPED, path], _STRIPED)

    def _ask(self, words: Sequence[str], answer: str) -> list[str]:
        assert self._process.stdin is not None, "it is a pipe"
        assert self._process.stdout is not None, "it is a pipe"
        self._process.stdin.write("\t".join(words) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith(answer):
                return line.split()[1:]
        raise HadoopEnded("Hadoop's DistCp has ended")

    def close(self) -> None:
        assert self._process.stdin is not None, "it is a pipe"
        self._process.stdin.close()
        self._process.wait(_END_TIMEOUT_S)
        self._said.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
