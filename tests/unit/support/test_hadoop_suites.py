"""What is made of JUnit's reports, and of a Java that cannot compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hadoop import suites as hadoop_tests
from tests.support.hadoop.suites import (
    NoCompiler,
    Outcome,
    SuitesFailed,
    compile_java,
    compiled,
    run_suites,
)

REPORT = b"""<testsuite>
<testcase name="testMoved(String, HandleOpt[], boolean)[3]" classname="a.TestA"/>
<testcase name="testOther()" classname="a.TestA"><skipped>Skipped: no links</skipped></testcase>
<testcase name="testBad()" classname="a.TestB"><error message="m">java.io.IOException: m
\tat org.apache.hadoop.ipc.Client.call(Client.java:1)
\tat a.TestB.testBad(B.java:7)
\tat org.junit.platform.Runner.run(Runner.java:1)
</error></testcase>
<testcase name="testWrong()" classname="a.TestB"><failure message="1 != 2"/></testcase>
</testsuite>"""


def fake_java(tmp_path: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    monkeypatch.setattr(hadoop_tests, "find_java_home", lambda: tmp_path / "home")


def test_a_report_says_of_each_test_how_it_went() -> None:
    assert hadoop_tests.read_report(REPORT) == {
        "a.TestA": [
            Outcome("testMoved[3]", "passed"),
            Outcome("testOther", "skipped", "Skipped: no links"),
        ],
        "a.TestB": [
            Outcome("testBad", "failed", "java.io.IOException: m\n\tat a.TestB.testBad(B.java:7)"),
            Outcome("testWrong", "failed", "1 != 2"),
        ],
    }


def test_a_java_without_a_compiler_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "java.lang.module.FindException: Module jdk.compiler not found"
    fake_java(tmp_path, f"echo '{said}' >&2; exit 1", monkeypatch)
    with pytest.raises(NoCompiler, match=r"home/bin/java has no compiler"):
        compile_java([], "", tmp_path)


def test_classes_are_compiled_once_for_the_same_sources_and_jars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = tmp_path / "calls"
    fake_java(
        tmp_path, f'echo >> {calls}; while [ $1 != -d ]; do shift; done; mkdir "$2"', monkeypatch
    )
    source, jar = tmp_path / "A.java", tmp_path / "a.jar"
    source.write_text("class A {}")
    jar.write_bytes(b"1")
    first = compiled([source], str(jar), tmp_path / "cache")
    assert first.is_dir()
    assert compiled([source], str(jar), tmp_path / "cache") == first
    assert calls.read_text().count("\n") == 1
    source.write_text("class A { int a; }")
    second = compiled([source], str(jar), tmp_path / "cache")
    jar.write_bytes(b"22")
    third = compiled([source], str(jar), tmp_path / "cache")
    assert len({first, second, third}) == 3
    assert calls.read_text().count("\n") == 3


def test_a_run_without_a_report_says_what_it_said_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_java(tmp_path, "echo out of memory; exit 3", monkeypatch)
    with pytest.raises(SuitesFailed, match="out of memory"):
        run_suites(["a.TestA"], "", tmp_path, resources={}, properties={}, timeout_s=60)
