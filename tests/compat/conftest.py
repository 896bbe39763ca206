"""What the tests against strangers share: Hadoop's own jars.

Where they cannot be had (see `tests.support.hadoop.jars`), or there is no Java, the
tests that need them are skipped and say why.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.hadoop.class_archive import make_class_archive
from tests.support.hadoop.jars import NoHadoop, hadoop_class_path, hadoop_kms_class_path
from tests.support.hadoop.java import hadoop_java
from tests.support.hadoop.programs import hadoop_program
from tests.support.security.fixtures import (  # noqa: F401 - fixtures
    hadoop,
    hadoop_encrypted,
    hadoop_pair,
    httpfs,
    kdc,
    kerberos_environment,
)

_CACHE = Path(__file__).parents[2] / ".cache"
_RUN_TIMEOUT_S = 100
_FIRST_TIMEOUT_S = 400


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test of Hadoop's fetches it, and makes an archive of its classes, once."""
    for item in items:
        needs_hadoop = "hadoop_classpath" in getattr(item, "fixturenames", ())
        if needs_hadoop and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_FIRST_TIMEOUT_S))


@pytest.fixture(scope="session")
def hadoop_classpath() -> str:
    """The class path of Hadoop's servers and tools, as `java -cp` takes it."""
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    try:
        jars = hadoop_class_path(_CACHE)
    except NoHadoop as error:
        pytest.skip(error.message)
    make_class_archive(jars)
    return jars


@pytest.fixture(scope="session")
def hadoop_kms_classpath() -> str:
    """The class path of Hadoop's key server, to run it by itself."""
    try:
        return hadoop_kms_class_path(_CACHE)
    except NoHadoop as error:
        pytest.skip(error.message)


@pytest.fixture(scope="session")
def hadoop_run(hadoop_classpath: str) -> Callable[..., str]:
    """Runs a main class, or the program of a source, with Hadoop's jars; checks that it succeeds,
    and gives back what it printed. `directories` come after the jars."""

    def run(
        main: str | Path,
        *arguments: str | Path,
        cwd: Path | None = None,
        directories: Sequence[Path] = (),
        options: Sequence[str] = (),
    ) -> str:
        if isinstance(main, Path):
            command = hadoop_program(main, hadoop_classpath, *directories, options=options)
        else:
            java = hadoop_java(hadoop_classpath, *directories, options=options)
            command = [*java, main]
        done = subprocess.run(
            [*command, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=_RUN_TIMEOUT_S,
            cwd=cwd,
            check=False,
        )
        assert done.returncode == 0, f"{main} failed:\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run


class HadoopTools:
    """Hadoop's viewers and its namenode, in one JVM that is told what to do."""

    def __init__(self, classpath: str, scratch: Path) -> None:
        # A namenode's web server looks for its pages, and starts if there are none.
        for pages in ("hdfs", "datanode"):
            (scratch / "webapps" / pages).mkdir(parents=True)
        self._log = scratch / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                hadoop_program(
                    Path(__file__).with_name("HadoopTools.java"),
                    classpath,
                    scratch,
                    memory="384m",
                ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=scratch,
            )

    def __call__(self, *words: str | Path) -> None:
        """Do one thing; see the program for what there is."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = "\t".join(map(str, words))
        assert "\n" not in line
        # Whatever is wrong then, the answer is missing.
        timer = threading.Timer(_RUN_TIMEOUT_S, self._process.kill)
        timer.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(line.encode() + b"\n")
                self._process.stdin.flush()
            answer = self._process.stdout.readline().decode().strip()
        finally:
            timer.cancel()
        if answer != "ok":
            log = self._log.read_text(errors="replace")
            raise AssertionError(f"{line}: {answer or 'no answer'}\n{log[-5000:]}")

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="session")
def hadoop_tools(
    hadoop_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HadoopTools]:
    modules = subprocess.run(["java", "--list-modules"], capture_output=True, text=True, check=True)
    if "jdk.compiler" not in modules.stdout:
        pytest.skip("this Java cannot run a program from its source")
    tools = HadoopTools(hadoop_classpath, tmp_path_factory.mktemp("tools"))
    yield tools
    tools.close()
