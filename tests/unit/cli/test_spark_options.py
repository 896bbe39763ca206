"""Which Spark a command gets, and whether its executors are sent howdah."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from howdah.cli.spark_options import session_of
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
    monkeypatch.setenv("PYSPARK_PYTHON", "python")
    monkeypatch.setattr(sessions, "session", session)
    monkeypatch.setattr(sessions, "ship", sent.append)
    with session_of(master, remote) as given:
        assert given is spark
    assert asked == [(master, remote)]
    assert sent == ([spark] if is_sent else [])
