"""What a user is told when Spark fails."""

from __future__ import annotations

import pytest

from howdah.copy.common.failures import MOST_CHARS, JobFailed, from_spark, reason

STACK = """
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2935)
\tat java.base/java.lang.Thread.run(Thread.java:840)
"""
LOST = (
    "An error occurred while calling o62.collectToPython.\n"
    ": org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 "
    "failed 4 times, most recent failure: Lost task 0.3 in stage 0.0 (TID 3) (10.0.0.7 executor "
    "0): ExecutorLostFailure (executor 0 exited) Reason: Command exited with code 137\n"
    "Driver stacktrace:" + STACK
)
MISSING = (
    "Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times, most recent failure: "
    "Lost task 0.3 in stage 0.0 (TID 3) (h executor 0): "
    "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
    '  File "worker.py", line 1, in main\n'
    "    import google.protobuf\n"
    "ModuleNotFoundError: No module named 'google.protobuf'\n" + STACK
)

# Of google.protobuf there is a directory, which another package has made.
LEFT_OVER = MISSING.replace(
    "import google.protobuf", "from google.protobuf import descriptor"
).replace(
    "ModuleNotFoundError: No module named 'google.protobuf'",
    "ImportError: cannot import name 'descriptor' from 'google.protobuf' (unknown location)",
)


def test_executor_that_was_lost_is_told_in_a_line() -> None:
    told = reason(LOST)
    assert told.startswith("Task 0 in stage 0.0 failed 4 times")
    assert told.endswith("Reason: Command exited with code 137")


@pytest.mark.parametrize("text", [MISSING, LEFT_OVER])
def test_package_that_executors_lack_is_named(text: str) -> None:
    told = reason(text)
    assert "no package protobuf (google.protobuf)" in told
    assert "PYSPARK_PYTHON" in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it doesn't say why"),
        ("plain words\nand more", "plain words"),
        ("x" * 2 * MOST_CHARS, "x" * MOST_CHARS),
        ("[A_CLASS] something. SQLSTATE: 1" + STACK, "[A_CLASS] something. SQLSTATE: 1"),
    ],
)
def test_other_texts_are_told_by_their_first_line(text: str, told: str) -> None:
    assert reason(text) == told


def test_no_stack_is_told() -> None:
    error = from_spark(RuntimeError(LOST))
    assert isinstance(error, JobFailed)
    assert "\n" not in str(error)
