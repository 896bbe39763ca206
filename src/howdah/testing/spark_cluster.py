"""`SparkCluster`: a standalone Spark cluster of real processes on this machine.

A master, and workers with a host name each; the executors of a job are started by the
workers, as processes of their own. So an executor or a worker can be killed in the
middle of a job, and Spark sees as many hosts as there are workers: give them the
addresses of a `MiniCluster`'s datanodes, and tasks have nodes to be local to.

There is one SparkContext in a process. So a job runs as a driver of its own, as a user
would start it:

    with SparkCluster(hosts=["127.0.0.11", "127.0.0.12"]) as spark:
        driver = spark.submit("distcp", "--master", spark.master, source, target)
        spark.kill_executor("127.0.0.11")
        assert driver.wait() == 0

Everything ends with the cluster, or with the process that made it, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from howdah.java import find_java_home
from howdah.local.processes import wait_until_ended
from howdah.local.servers import (
    ServerFailed,
    environment,
    tail,
)
from howdah.testing.orphan_killer import Guard
from howdah.testing.spark import JAVA_OPTIONS, pyspark_jars, spark_class_path
from howdah.testing.waiting import wait_until

START_TIMEOUT_S = 60.0
END_TIMEOUT_S = 20.0
MASTER: Final = "org.apache.spark.deploy.master.Master"
WORKER: Final = "org.apache.spark.deploy.worker.Worker"
EXECUTOR: Final = "CoarseGrainedExecutorBackend"

_LOGGING: Final = """\
rootLogger.level = info
rootLogger.appenderRef.err.ref = err
appender.err.type = Console
appender.err.name = err
appender.err.target = SYSTEM_ERR
appender.err.layout.type = PatternLayout
appender.err.layout.pattern = %d{HH:mm:ss.SSS} %p %c{1}: %m%n%ex
"""
# Small, and quick to start; a driver may say otherwise.
_JVM: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_DEFAULTS: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.master.rest.enabled": "false",
    "spark.ui.enabled": "false",
}
_MASTER_URL: Final = re.compile(r"Starting Spark master at (spark://\S+)")
_ELECTED: Final = "elected leader"
_REGISTERED: Final = "Successfully registered with master"
_HOST: Final = re.compile(r" --hostname (\S+)")
_APPLICATION: Final = re.compile(r" --app-id (\S+)")


@dataclass(frozen=True, slots=True)
class Executor:
    """One that runs: the process, the host that Spark knows it by, and whose it is."""

    pid: int
    host: str
    application: str


class SparkCluster:
    """A master and a worker for each of `hosts`, as a context manager.

    `hosts`: names or addresses of this machine; the same one twice are two workers on it.
    `cores`: of each worker; that many tasks run on it at a time.
    `settings`: of Spark, for the jobs that `submit` starts.
    `dir`: where logs and scratch are; without it a temporary directory, removed in the end.
    `java_options`: of all processes; an archive of classes, if there is one among them, is of
    `howdah.testing.spark.spark_class_path`.

    >>> with SparkCluster(["127.0.0.1"]) as spark:  # doctest: +SKIP
    ...     spark.submit("distcp", "--master", spark.master, source, target).wait()
    """

    def __init__(
        self,
        hosts: Sequence[str] = ("127.0.0.1", "127.0.0.1"),
        *,
        cores: int = 2,
        settings: Mapping[str, str] | None = None,
        dir: str | os.PathLike[str] | None = None,
        java_options: Sequence[str] = (),
    ) -> None:
        self._own_dir = dir is None
        self.dir = Path(tempfile.mkdtemp(prefix="howdah-spark-") if dir is None else dir)
        self.dir = self.dir.absolute()
        self.hosts = tuple(hosts)
        self._cores = cores
        self._java_home = find_java_home()
        self._home = pyspark_jars().parent
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._drivers: list[subprocess.Popen[bytes]] = []
        self._guard = Guard()
        # Also where close() is never called: at exit of Python, but not in a fork.
        own = self.dir if self._own_dir else None
        self._finalizer = weakref.finalize(self, _close, self._guard, own, os.getpid())
        self._java_options = tuple(java_options)
        self._write_settings({**self._defaults(), **(settings or {})})
        try:
            self.master = self._start_master()
            self._start_workers()
        except BaseException:
            self.close()
            raise

    # -- where it is ---------------------------------------------------------------------

    @property
    def environment(self) -> dict[str, str]:
        """For a driver: Java, Spark's settings, and the Python of its executors."""
        return {
            **environment(),
            "JAVA_HOME": str(self._java_home),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_CONF_DIR": str(self.dir / "conf"),
            "SPARK_HOME": str(self._home),
            "SPARK_LOCAL_DIRS": str(self.dir / "scratch"),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }

    def log(self, name: str) -> str:
        """What `master`, `worker0`, `driver0` … have said."""
        return self._log_path(name).read_text(errors="replace")

    def executor_logs(self) -> str:
        """What all executors so far have said."""
        logs = sorted((self.dir / "work").rglob("stderr"))
        return "\n".join(log.read_text(errors="replace") for log in logs)

    def executors(self, host: str | None = None) -> list[Executor]:
        """The executors that run, on all hosts or one."""
        # A worker leads a group, and what it starts is in it.
        workers = {process.pid for name, process in self._processes.items() if name != "master"}
        executors = []
        for pid, group, command in _running():
            if group in workers and pid != group and EXECUTOR in command:
                at, whose = _HOST.search(command), _APPLICATION.search(command)
                if at and whose and host in (None, at.group(1)):
                    executors.append(Executor(pid, at.group(1), whose.group(1)))
        return executors

    # -- what can be done with it ----------------------------------------------------------

    def submit(
        self, *arguments: str, settings: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start `howdah ARGUMENTS` as a driver, in a process group of its own.

        Its output is the log `driverN`. `settings` are variables of its environment.
        """
        command = [sys.executable, "-P", "-m", "howdah", *arguments]
        name = f"driver{len(self._drivers)}"
        driver = self._spawn(name, command, {**self.environment, **(settings or {})})
        self._drivers.append(driver)
        return driver

    def run(self, *arguments: str, settings: Mapping[str, str] | None = None) -> tuple[int, str]:
        """`submit`, and wait for the end: the exit code, and what it said."""
        driver = self.submit(*arguments, settings=settings)
        return driver.wait(), self.driver_log(driver)

    def driver_log(self, driver: subprocess.Popen[bytes]) -> str:
        """What a driver has said so far."""
        return self.log(f"driver{self._drivers.index(driver)}")

    def kill_executor(self, host: str | None = None) -> Executor:
        """`kill -9` an executor, when there is one; it is gone on return."""
        wait_until(lambda: self.executors(host), START_TIMEOUT_S, f"an executor on {host}")
        victim = self.executors(host)[0]
        _kill(victim.pid)
        return victim

    def kill_worker(self, number: int) -> None:
        """`kill -9` a worker with all its executors; they are gone on return."""
        worker = self._processes.pop(f"worker{number}")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()

    def kill_driver(self, driver: subprocess.Popen[bytes], *, with_java: bool = True) -> None:
        """`kill -9` a driver; it is gone on return. Without its Java, that finds out itself."""
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if with_java else os.kill)(driver.pid, signal.SIGKILL)
        driver.wait()

    def wait_idle(self) -> None:
        """Return when no executor runs: what a driver that was killed had is given up."""
        wait_until(lambda: not self.executors(), START_TIMEOUT_S, "executors end")

    def close(self) -> None:
        """Stop everything, and remove the directory if it was a temporary one."""
        self._finalizer()
        for process in (*self._processes.values(), *self._drivers):
            process.wait(END_TIMEOUT_S)
        self._processes.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<SparkCluster {getattr(self, 'master', '')} in {self.dir}>"

    # -- starting ---------------------------------------------------------------------------

    def _defaults(self) -> dict[str, str]:
        options = " ".join([*_JVM, *self._java_options])
        return {
            **_DEFAULTS,
            # Before the directory of settings, or it were another class path than an archive's.
            "spark.driver.extraClassPath": spark_class_path(),
            "spark.driver.extraJavaOptions": options,
            "spark.executor.extraJavaOptions": options,
        }

    def _write_settings(self, settings: Mapping[str, str]) -> None:
        for name in ("conf", "logs", "scratch", "work"):
            (self.dir / name).mkdir(parents=True, exist_ok=True)
        lines = [f"{name} {value}\n" for name, value in settings.items()]
        (self.dir / "conf" / "spark-defaults.conf").write_text("".join(lines))
        # Beside the settings, so that executors would take it as well if told so.
        (self.dir / "logs" / "log4j2.properties").write_text(_LOGGING)

    def _start_master(self) -> str:
        self._start("master", MASTER, "127.0.0.1", [])
        self._wait_for("master", _ELECTED)
        address = _MASTER_URL.search(self.log("master"))
        assert address is not None, "a master that was elected has an address"
        return address.group(1)

    def _start_workers(self) -> None:
        names = [f"worker{number}" for number in range(len(self.hosts))]
        sizes = ["--cores", str(self._cores), "--memory", "4g"]
        for name, host in zip(names, self.hosts, strict=True):
            where = ["--work-dir", str(self.dir / "work" / name), self.master]
            self._start(name, WORKER, host, [*sizes, *where])
        for name in names:
            self._wait_for(name, _REGISTERED)

    def _start(self, name: str, main_class: str, host: str, arguments: Sequence[str]) -> None:
        logging = (self.dir / "logs" / "log4j2.properties").as_uri()
        command = [
            str(self._java_home / "bin" / "java"),
            *JAVA_OPTIONS,
            *self._java_options,
            f"-Dlog4j2.configurationFile={logging}",
            "-cp",
            spark_class_path(),
            main_class,
            *("--host", host, "--port", "0", "--webui-port", "0"),
            *("--properties-file", str(self.dir / "conf" / "spark-defaults.conf")),
            *arguments,
        ]
        env = {**self.environment, "SPARK_LOCAL_IP": host}
        env["SPARK_SCALA_VERSION"] = _scala_version()
        # As on another machine: neither settings nor howdah come from here.
        for variable in ("SPARK_CONF_DIR", "PYTHONPATH"):
            env.pop(variable, None)
        self._processes[name] = self._spawn(name, command, env)

    def _spawn(
        self, name: str, command: Sequence[str], env: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        with self._log_path(name).open("wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=env,
                cwd=self.dir,
                start_new_session=True,
            )
        self._guard.watch(process.pid)
        return process

    def _wait_for(self, name: str, words: str) -> None:
        process = self._processes[name]

        def is_said() -> bool:
            if process.poll() is not None:
                raise ServerFailed(f"Spark's {name} has ended.\n{tail(self._log_path(name))}")
            return words in self.log(name)

        try:
            wait_until(is_said, START_TIMEOUT_S)
        except AssertionError:
            raise ServerFailed(
                f"Spark's {name} did not start within {START_TIMEOUT_S:g} s.\n"
                f"{tail(self._log_path(name))}"
            ) from None

    def _log_path(self, name: str) -> Path:
        return self.dir / "logs" / f"{name}.log"


def _scala_version() -> str:
    """What Spark's scripts have written in them, and a worker asks for."""
    core = next(pyspark_jars().glob("spark-core_*.jar"))
    return core.name.removeprefix("spark-core_").partition("-")[0]


def _running() -> list[tuple[int, int, str]]:
    """Process id, group and command of all processes of this machine."""
    listing = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=", "-o", "pgid=", "-o", "args="],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    rows = (line.split(None, 2) for line in listing.splitlines())
    return [(int(row[0]), int(row[1]), row[2]) for row in rows if len(row) == 3]


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    wait_until_ended([pid], END_TIMEOUT_S)


def _close(guard: Guard, own_dir: Path | None, owner: int) -> None:
    if os.getpid() != owner:
        return
    guard.close()
    if own_dir is not None:
        shutil.rmtree(own_dir, ignore_errors=True)
