"""Which Spark a command gets, and whether its executors are sent howdah."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from howdah.cli.main import main
from howdah.cli.spark_options import session_of
from howdah.copy.common.failures import from_spark
from howdah.spark import sessions


@pytest.mark.parametrize(
    ("master", "remote", "is_sent"),
    [
        (None, None, False),
        ("local[4]", None, False),
        (None, "local[2]", False),
        ("spark://host:7077", None, True),
        (None, "sc://host:15002", True),
    ],
)
def test_howdah_is_sent_to_executors_on_other_machines(
    master: str | None, remote: str | None, is_sent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str | None, str | None]] = []
    sent: list[object] = []
    spark = object()

    @contextmanager
    def session(*which: str | None) -> Iterator[object]:
        asked.append((which[0], which[1]))
        yield spark

    monkeypatch.setenv("JAVA_HOME", "/java")
    monkeypatch.setattr("howdah.java.find_java_home", lambda: Path("/java"))
    monkeypatch.setenv("PYSPARK_PYTHON", "python")
    monkeypatch.setattr(sessions, "session", session)
    monkeypatch.setattr(sessions, "ship", sent.append)
    with session_of(master, remote) as given:
        assert given is spark
    assert asked == [(master, remote)]
    assert sent == ([spark] if is_sent else [])


class Spark:
    """Something that can be told to end what it does."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()

    def interruptAll(self) -> None:
        self.cancelled.set()


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Spark:
    """The Spark that a command is given."""
    spark = Spark()

    @contextmanager
    def session(*_: object) -> Iterator[Spark]:
        yield spark

    monkeypatch.setattr("howdah.java.find_java_home", lambda: Path("/java"))
    monkeypatch.setenv("JAVA_HOME", "/java")
    monkeypatch.setenv("PYSPARK_PYTHON", "python")
    monkeypatch.setattr(sessions, "session", session)
    return spark


@pytest.mark.parametrize(
    ("number", "raised", "code"),
    [(signal.SIGINT, KeyboardInterrupt, None), (signal.SIGTERM, SystemExit, 143)],
)
def test_signal_ends_the_tasks_before_the_command_tidies_up(
    running: Spark, number: int, raised: type[BaseException], code: int | None
) -> None:
    before = signal.getsignal(number)
    tidied_after_tasks: list[bool] = []
    with pytest.raises(raised) as error, session_of(None, None):  # noqa: PT012
        try:
            os.kill(os.getpid(), number)
            running.cancelled.wait(30)
        finally:
            tidied_after_tasks.append(running.cancelled.is_set())
    assert tidied_after_tasks == [True]
    assert code is None or getattr(error.value, "code", None) == code
    assert signal.getsignal(number) is before


def test_what_py4j_logs_of_an_interruption_is_not_shown(
    running: Spark, caplog: pytest.LogCaptureFixture
) -> None:
    record = logging.LogRecord("root", logging.ERROR, "/x/py4j/java.py", 1, "torn", (), None)
    with session_of(None, None):
        logging.getLogger().handle(record)
        logging.getLogger().error("ours")
    assert [each.message for each in caplog.records] == ["ours"]


def test_interruption_that_py4j_makes_an_error_of_is_one_all_the_same() -> None:
    def shut_down() -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise OSError("Answer from Java side is empty")  # noqa: B904

    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        try:
            shut_down()
        except OSError as error:
            raise from_spark(error) from error


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("verify hdfs://a:1/x", 1),
        ("namespace hdfs://a:1/x", 1),
        ("compact hdfs://a:1/x", 1),
        ("distcp hdfs://a:1/x hdfs://a:1/y", 25),
    ],
)
@pytest.mark.parametrize("package", ["pyspark", "pandas", "pyarrow"])
def test_command_without_spark_says_what_to_install(
    words: str,
    code: int,
    package: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sessions, "find_spec", lambda name: None if name == package else object())
    assert main(words.split()) == code
    command = words.split()[0]
    told = f"howdah {command}: {package} is not installed: pip install 'howdah[spark]'\n"
    assert capsys.readouterr().err == told


def test_command_without_java_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("howdah.java._candidates", lambda: iter([Path("/no/java")]))
    assert main(["compact", "hdfs://a:1/x"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("howdah compact: Java 17 or newer is needed: set JAVA_HOME, or `pip")
    assert "/no/java (no Java)" in told


def test_spark_connect_server_that_nobody_runs_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pyspark.sql import SparkSession

    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    assert main(["compact", "--remote", "sc://127.0.0.1:1", "hdfs://a:1/x"]) == 1
    told = capsys.readouterr().err
    assert "there is no Spark at sc://127.0.0.1:1: [Errno 111]" in told


@pytest.mark.parametrize("command", ["compact", "namespace", "verify"])
@pytest.mark.parametrize("count", ["0", "-1", "many"])
def test_number_of_tasks_is_above_0(
    command: str, count: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, f"-m={count}", "/x"]) == 255
    assert "is no number above 0" in capsys.readouterr().err


@pytest.mark.parametrize("master", ["local[*]", "local[2]", "spark://host:7077"])
def test_spark_in_this_process_waits_for_no_host(master: str) -> None:
    waits = sessions._settings(master).get("spark.locality.wait")
    assert waits == ("0s" if master.startswith("local") else None)


def test_of_an_error_of_java_one_line_is_told() -> None:
    class Builder:
        def config(self, *_: str) -> Builder:
            return self

        def master(self, _: str) -> Builder:
            return self

        def getOrCreate(self) -> None:
            raise RuntimeError(
                "An error occurred while calling None.org.x.JavaSparkContext.\n"
                ": org.apache.spark.SparkException: Could not parse Master URL: 'what'\n"
                "\tat org.apache.spark.SparkContext$.createTaskScheduler(SparkContext.scala)\n"
            )

    with pytest.raises(sessions.NoSpark) as raised:
        sessions._start(Builder(), "what", None)
    assert str(raised.value) == "there is no Spark at what: Could not parse Master URL: 'what'"


def test_nothing_is_told_of_how_py4j_was_interrupted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It logs a traceback by a logger of its own when a connection breaks as it is closed."""

    @contextmanager
    def session(*_: str | None) -> Iterator[object]:
        yield Spark()

    def complain() -> None:
        try:
            raise BrokenPipeError
        except BrokenPipeError:
            logging.getLogger("py4j.clientserver").exception("while shutting down connection")

    monkeypatch.setattr("howdah.java.find_java_home", lambda: Path("/java"))
    monkeypatch.setenv("PYSPARK_PYTHON", "python")
    monkeypatch.setattr(sessions, "session", session)
    # What it logs by the root, which is told to nobody, leaves that with such a handler.
    monkeypatch.setattr(logging.getLogger(), "handlers", [logging.StreamHandler(sys.stderr)])
    with session_of(None, None):
        complain()
    assert capsys.readouterr().err == ""
    complain()
    assert "Traceback" in capsys.readouterr().err, "it is quiet for the command only"
