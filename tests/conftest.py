"""What all tests share."""

from __future__ import annotations

import gc
import logging
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Generator, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import engine, providers
from hypothesis.internal.constants_ast import Constants
from sortedcontainers import SortedSet

from howdah.java import NoJava, find_java_home
from howdah.rpc import wait_notices
from howdah.testing import MiniCluster
from howdah.testing.spark import NoSpark
from tests.support.child_signals import hear_signals
from tests.support.examples import set_examples
from tests.support.memory_directory import MEMORY, MemoryDirectory, has_room
from tests.support.requirements.distribution import lower_priority, make_scheduler, send_less
from tests.support.requirements.marks import is_worker
from tests.support.spark_archive import TRUSTING, archive_path, make_spark_archive, quick_start

pytest_plugins = ["pytester"]

# For two cores: more than half of its time a worker waits, for servers, JVMs and time-outs. With
# three of them a fifth of both cores was idle in a whole run.
# One more takes unit tests beside them (`distribution`).
WORKERS = 4
# Long tests compute and write more, and need none for unit tests.
LONG_WORKERS = 3
HERE = Path(__file__).parent
DISK = Path("/var/tmp")
CACHE = HERE.parent / ".cache"
ARCHIVE_TIMEOUT_S = 500

# A checkpoint is made by a fork, here of this process, that closes all descriptors. gRPC, which
# comes with Spark Connect's client, would start its threads anew there, miss them, and abort.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

# Processes that tests start import `tests.support`, too.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, (str(HERE.parent), os.environ.get("PYTHONPATH")))
)

hear_signals()

_NO_CONSTANTS = Constants(
    integers=SortedSet(), floats=SortedSet(), bytes=SortedSet(), strings=SortedSet()
)

# The machine is shared, with the servers under test for a start: a slow example is
# no bug. Examples are the same in every run, so that a failure can be had again.
settings.register_profile("howdah", deadline=None, derandomize=True)
settings.load_profile("howdah")

# Hypothesis takes constants for its examples from all modules of ours that happen to be loaded:
# which ones, and so which examples, would depend on the tests that came before. It has no option
# for it. To parse them all costs each worker seven seconds, too.
assert callable(providers._get_local_constants)
providers._get_local_constants = lambda: _NO_CONSTANTS

# Hypothesis makes a failing example smaller for five minutes, each kind of failure anew, and takes
# the end of a test's time for one more kind: a failure was known after eight minutes.
assert engine.MAX_SHRINKING_SECONDS
engine.MAX_SHRINKING_SECONDS = 30

# Python's collector runs for each 700 new objects, most of which are in use still.
YOUNG_OBJECTS = 10_000

_directories = count()
_memory_directory: pytest.StashKey[MemoryDirectory] = pytest.StashKey()
_has_failed: pytest.StashKey[bool] = pytest.StashKey()
_passed: pytest.StashKey[bool] = pytest.StashKey()
_test_directory: pytest.StashKey[Path] = pytest.StashKey()
_NOTHING_TO_SEE = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Keep temporary files in memory, where there is room and nobody asks for another place.
    Workers and all that a run starts inherit it."""
    send_less(config)
    if is_worker(config) or config.option.basetemp or "TMPDIR" in os.environ or not has_room():
        return
    directory = MemoryDirectory.make(MEMORY)
    config.stash[_memory_directory] = directory
    os.environ["TMPDIR"] = str(directory.path)
    tempfile.tempdir = None
    config.option.basetemp = str(directory.path / "t")


def pytest_unconfigure(config: pytest.Config) -> None:
    directory = config.stash.get(_memory_directory, None)
    if directory is not None:
        del os.environ["TMPDIR"]
        tempfile.tempdir = None
        directory.close(keep=config.stash.get(_has_failed, True))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, object, object]:
    """Other plugins may change the outcome: what failed may pass alone."""
    result = yield
    session.config.stash[_has_failed] = session.exitstatus not in _NOTHING_TO_SEE
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    yield
    item.stash[_passed] = True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """The directory of a test that passed goes: it may be in memory, and long runs leave ten
    gigabytes. Behind all fixtures, as some have put other functions in the place of the system's
    until then."""
    yield
    if item.stash.get(_passed, False) and _test_directory in item.stash:
        shutil.rmtree(item.stash[_test_directory], ignore_errors=True)


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As pytest's, which looks through all that it has made for the next number of a name: after
    4,000 directories that takes 3 ms a test."""
    # No longer than pytest's with all digits: sockets are made there.
    name = re.sub(r"\W", "_", request.node.name)[:26]
    path = tmp_path_factory.mktemp(f"{name}{next(_directories)}", numbered=False)
    request.node.stash[_test_directory] = path
    return path


@pytest.fixture(scope="session")
def disk_directory() -> Iterator[Path]:
    """A directory that is on a disk wherever there is one."""
    with tempfile.TemporaryDirectory(prefix="howdah-", dir=DISK) as path:
        yield Path(path)


@pytest.fixture(autouse=True)
def _no_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests know no Hadoop installation, whatever the developer has."""
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("HADOOP_USER_NAME", raising=False)
    monkeypatch.delenv("HADOOP_PROXY_USER", raising=False)


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """A server that is run in this process logs to a stream that is gone with its test, and
    leaves out the words to those who wait, which tests of clients expect."""
    root, words = logging.getLogger(), logging.getLogger(wait_notices.__name__)
    handlers, levels = root.handlers[:], (root.level, words.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    words.setLevel(levels[1])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Workers for `-n auto`; none where few tests are named: they would cost more than
    they save."""
    names_files = config.args_source is pytest.Config.ArgsSource.ARGS
    if names_files and not any(Path(argument).is_dir() for argument in config.args):
        return 0
    return LONG_WORKERS if config.option.markexpr == "torture" else WORKERS + 1


# Modules that share what takes long to start, by the directory they are in and the words in
# which they ask for it. One worker gets all of a group; the groups come first, in this order,
# the longest one before all: a run is never shorter than it. So Spark's modules, which take
# longer than a third of all, are two groups, with a JVM each.
_SPARK = r"\b(spark|bench): Any|\brun_cli: "
GROUPS = {
    "spark": ("spark", re.compile(_SPARK)),
    "spark elsewhere": ("", re.compile(_SPARK)),
    "hadoop's tools": ("", re.compile(r"\bhadoop_tools: ")),
    "secured hadoop": (
        "compat",
        re.compile(r"\bhadoop(_encrypted)?: SecuredHadoop|\bhadoop_pair: SecuredPair"),
    ),
    "object store": ("", re.compile(r"\bstore: StoreServer")),
    "spark cluster": ("", re.compile(r"\bspark_cluster: SparkCluster")),
}


# The other modules come by their directories. Those that start JVMs and those that compute for a
# minute are the longest, and one that began last would keep the whole run waiting.
DIRECTORIES = ("spark", "compat", "model", "crash", "browser", "cluster", "unit")


@cache
def place_of(module: Path) -> tuple[int, int]:
    """When the turn of a module comes: its group's place, then its directory's."""
    groups = [*GROUPS, None]
    return groups.index(group_of(module)), DIRECTORIES.index(module.relative_to(HERE).parts[0])


@cache
def group_of(module: Path) -> str | None:
    """The group of a module of tests, as far as can be told without loading it."""
    text = module.read_text(encoding="utf-8")
    for name, (directory, words) in GROUPS.items():
        if module.is_relative_to(HERE / directory) and words.search(text):
            return name
    return None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """One worker gets a module as a whole, for its fixtures, and one all modules of a group,
    so that there is one JVM for them."""
    return make_scheduler(config, log, WORKERS, lambda scope: group_of(config.rootpath / scope))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end of the run, half a gigabyte of it: Python's garbage
    collector looks at it neither meanwhile nor afterwards."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(YOUNG_OBJECTS)
        gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    """The collector visits what a module leaves, such as imported modules and caches, once: a
    worker gathers more than a gigabyte, and tests of what is dropped collect all garbage."""
    result = yield
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()
    return result


def pytest_collection_finish(session: pytest.Session) -> None:
    lower_priority(session.config, WORKERS)


TORTURE_TIMEOUT_S = 1200
"""Of a long test that says no other limit: only for one that hangs, on whatever machine."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Among several workers what one of them has to do alone comes first, then what is long.
    Long tests have a limit of their own."""
    if is_worker(config):
        items.sort(key=lambda item: place_of(item.path))
    set_examples(items, TORTURE_TIMEOUT_S if config.option.markexpr == "torture" else None)
    for item in items:
        if item.get_closest_marker("torture") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TORTURE_TIMEOUT_S))
    try:
        has_archive = archive_path(CACHE).exists()
    except (NoJava, NoSpark):
        return
    for item in items:
        # Until there is one, whichever comes first makes it, and others wait for it.
        if not has_archive and "spark_archive" in getattr(item, "fixturenames", ()):
            given = item.get_closest_marker("timeout")
            limit_s = given.args[0] if given else float(config.getini("timeout"))
            item.add_marker(pytest.mark.timeout(limit_s + ARCHIVE_TIMEOUT_S), append=False)


@pytest.fixture(scope="session")
def spark_archive(howdah_cluster: MiniCluster) -> Path | None:
    """The archive of Spark's classes; the first who asks for it makes it."""
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    try:
        archive = make_spark_archive(CACHE, f"{howdah_cluster.uri}/spark_archive")
    except NoJava as error:
        pytest.skip(str(error))
    with howdah_cluster.connect() as fs:
        fs.delete("/spark_archive", recursive=True)
    return archive


@pytest.fixture(scope="session")
def spark(
    howdah_cluster: MiniCluster,
    spark_archive: Path | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Any]:
    """One Spark, and with it one JVM, for all tests; its default filesystem is the cluster's.

    Hadoop's client in it is the one that PySpark ships, configured by nothing but
    what a user would set.
    """
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    from pyspark.sql import SparkSession

    try:
        java_home = find_java_home()
    except NoJava as error:
        pytest.skip(str(error))
    scratch = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "768m",
        # The cluster has racks, so its datanodes have names, and none of them is the driver's.
        "spark.locality.wait": "0s",
        "spark.driver.extraJavaOptions": f"{quick_start(spark_archive)} {TRUSTING}",
        "spark.local.dir": str(scratch),
        "spark.python.daemon.module": "tests.support.spark_daemon",
        "spark.sql.shuffle.partitions": "2",
        # Small queries are interpreted: to generate, compile and plan each anew takes a fifth of
        # the tests' time. Programs that tests start (examples, clusters, local mode) have all on.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.warehouse.dir": f"{howdah_cluster.uri}/warehouse",
        "spark.sql.session.timeZone": "UTC",
        # Leave no Derby behind in the working directory.
        "spark.sql.catalogImplementation": "in-memory",
        # Sessions of Spark Connect may come to the same JVM.
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(_free_port()),
        **{f"spark.hadoop.{name}": value for name, value in howdah_cluster.conf.items()},
    }
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("JAVA_HOME", str(java_home))
        environment.setenv("PYSPARK_PYTHON", sys.executable)
        environment.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        for name in ("HADOOP_CONF_DIR", "HADOOP_USER_NAME", "HADOOP_PROXY_USER", "SPARK_HOME"):
            environment.delenv(name, raising=False)
        builder = SparkSession.builder.master("local[2]").appName("howdah")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()


@pytest.fixture
def spark_connect(spark_connect_session: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A session of Spark Connect, which has no SparkContext, on the JVM that is there."""
    # What PySpark sets for a program whose session is a remote one: its functions make
    # columns for that then, and none for the session in this process.
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    return spark_connect_session


@pytest.fixture(scope="session")
def spark_connect_session(spark: Any) -> Iterator[Any]:
    for package in ("grpc_status", "zstandard"):
        pytest.importorskip(package, reason="pyspark[connect] is not installed")
    from pyspark.sql.connect.session import SparkSession

    port = spark.conf.get("spark.connect.grpc.binding.port")
    session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
    yield session
    session.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
