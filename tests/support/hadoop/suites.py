"""Hadoop's own JUnit suites, run against a cluster of ours.

Hadoop's tests start a `MiniDFSCluster`. A stand-in of that name, compiled from
source and put before Hadoop's on the class path, has one of ours started by
`tests.support.hadoop.clusters`. So the tests are Hadoop's own, byte for byte,
bindings included.

All suites of a run share one Java process. Where no Java has a compiler
`NoCompiler` says so.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from howdah.errors import HowdahError
from howdah.java import find_java_home
from howdah.testing.spark import JAVA_OPTIONS

_COMPILER = "jdk.compiler/com.sun.tools.javac.Main"
_LAUNCHER = "org.junit.platform.console.ConsoleLauncher"
_REPORT = "TEST-junit-jupiter.xml"
# Of what is Java's own, tests stand in for this, which Java 17 has shut away.
_OPENED = (
    "--add-opens=java.base/sun.net.www.protocol.http=ALL-UNNAMED",
    "--add-exports=java.base/sun.net.www.protocol.http=ALL-UNNAMED",
)
_HEAP = "-Xmx1g"
"""Some write from ten threads, each with a buffer of the file's size."""
_COMPILE_TIMEOUT_S = 120
_TAIL_CHARS = 3000
_NOISE = re.compile(
    r"\s*at (java\.base|jdk\.proxy|org\.junit)"
    r"|\s*at org\.apache\.hadoop\.(ipc|io\.retry|hdfs\.protocolPB)\."
)

_LOGGING = """\
log4j.rootLogger = ERROR, err
log4j.appender.err = org.apache.log4j.ConsoleAppender
log4j.appender.err.target = System.err
log4j.appender.err.layout = org.apache.log4j.PatternLayout
log4j.appender.err.layout.ConversionPattern = %d{HH:mm:ss} %p %c: %m%n
"""


class NoCompiler(HowdahError, RuntimeError):
    """The Java that is there can run programs, and not compile them."""


class SuitesFailed(HowdahError, RuntimeError):
    """The suites ended without a report; the message has what they said last."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one test method went. `why` is empty where it passed."""

    test: str
    kind: str  # passed, skipped or failed
    why: str = ""


def compiled(sources: Sequence[Path], class_path: str, cache: Path) -> Path:
    """The directory of the classes of Java `sources`. They are compiled once for one Java, these
    sources and these jars; `cache` keeps them."""
    digest = hashlib.sha256(str(find_java_home()).encode())
    for source in sources:
        digest.update(f"\0{source.name}\0".encode() + source.read_bytes())
    for jar in _without_wildcards(class_path).split(os.pathsep):
        status = Path(jar).stat()
        digest.update(f"\0{jar} {status.st_size} {status.st_mtime_ns}".encode())
    into = cache / f"classes-{digest.hexdigest()[:12]}"
    cache.mkdir(parents=True, exist_ok=True)
    with into.with_suffix(".lock").open("w") as lock:
        # Processes that test beside each other compile once.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not into.is_dir():
            partial = into.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            compile_java(sources, class_path, partial)
            partial.rename(into)
    return into


def compile_java(sources: Sequence[Path], class_path: str, into: Path) -> None:
    """Compile Java `sources` into the directory `into`."""
    java = str(find_java_home() / "bin" / "java")
    command = [java, "-m", _COMPILER, "-nowarn", "-proc:none", "-implicit:none"]
    command += ["-d", str(into), "-cp", _without_wildcards(class_path), *map(str, sources)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=_COMPILE_TIMEOUT_S,
        check=False,
    )
    if "Module jdk.compiler not found" in done.stdout + done.stderr:
        raise NoCompiler(f"{java} has no compiler: a JDK is needed, set JAVA_HOME to one")
    if done.returncode:
        raise SuitesFailed(f"javac: {(done.stdout + done.stderr)[-_TAIL_CHARS:]}")


def run_suites(
    suites: Sequence[str],
    class_path: str,
    scratch: Path,
    *,
    resources: Mapping[str, Mapping[str, str]],
    properties: Mapping[str, str],
    timeout_s: float,
    left_out: Sequence[str] = (),
    excluded: Sequence[str] = (),
    test_timeout_s: int | None = None,
) -> dict[str, list[Outcome]]:
    """Run test classes one after the other, and say of each how its tests went.

    `class_path` begins with the stand-ins. `resources` are Hadoop configurations by
    the name that the tests load them by, `properties` Java's system properties.
    `scratch` is a new directory. Methods that are `left_out` are not run, nor are those of
    which a pattern that is `excluded` describes `CLASS#METHOD`. A test that takes longer than
    `test_timeout_s` fails. Raises SuitesFailed where there is no report.
    """
    (scratch / "resources").mkdir(parents=True)
    for name, values in resources.items():
        target = scratch / "resources" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(_configuration(values))
    (scratch / "resources" / "log4j.properties").write_text(_LOGGING)
    said = scratch / "said.txt"
    command = [str(find_java_home() / "bin" / "java"), *JAVA_OPTIONS, _HEAP, *_OPENED]
    # What the tests write of local files goes below here.
    command += [f"-Dtest.build.data={scratch / 'data'}", f"-Djava.io.tmpdir={scratch}"]
    command += [f"-D{name}={value}" for name, value in properties.items()]
    command += ["-cp", os.pathsep.join([str(scratch / "resources"), class_path]), _LAUNCHER]
    command += ["execute", "--disable-banner", "--disable-ansi-colors", "--details=none"]
    command += [f"--reports-dir={scratch / 'reports'}"]
    command += [f"--select-class={suite}" for suite in suites]
    command += [f"--exclude-methodname=.*[.#]{method}" for method in left_out]
    command += [f"--exclude-methodname={each}" for each in excluded]
    if test_timeout_s is not None:
        timeout = "--config=junit.jupiter.execution.timeout."
        command += [f"{timeout}default={test_timeout_s}s"]
        # Each in a thread of its own: what a client leaves in a thread is not the next one's.
        command += [f"{timeout}thread.mode.default=SEPARATE_THREAD"]
    with said.open("wb") as output:
        try:
            subprocess.run(
                command,
                stdout=output,
                stderr=output,
                cwd=scratch,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise SuitesFailed(f"no end after {timeout_s} s:\n{_tail(said)}") from None
    report = scratch / "reports" / _REPORT
    if not report.exists():
        raise SuitesFailed(f"there is no report:\n{_tail(said)}")
    return read_report(report.read_bytes())


def read_report(report: bytes) -> dict[str, list[Outcome]]:
    """The outcomes of each test class of a JUnit report, in order."""
    outcomes: dict[str, list[Outcome]] = {}
    for case in ET.fromstring(report).iter("testcase"):
        outcomes.setdefault(case.attrib["classname"], []).append(_outcome(case))
    return outcomes


def _outcome(case: ET.Element) -> Outcome:
    # The parameter types of a method say nothing: testMoved(String, boolean)[3].
    test = re.sub(r"\(.*\)", "", case.attrib["name"])
    for tag, kind in (("failure", "failed"), ("error", "failed"), ("skipped", "skipped")):
        found = case.find(tag)
        if found is not None:
            return Outcome(test, kind, _first(found.text or found.get("message") or kind))
    return Outcome(test, "passed")


def _first(trace: str) -> str:
    """A stack trace without the frames of runner, proxies and RPC, and not without an end."""
    kept = [line for line in trace.strip().splitlines() if not _NOISE.match(line)]
    return "\n".join(kept)[:_TAIL_CHARS]


def _without_wildcards(class_path: str) -> str:
    """`dir/*` is for the `java` command alone; the compiler wants the jars by name."""
    entries: list[Path] = []
    for entry in map(Path, class_path.split(os.pathsep)):
        entries += sorted(entry.parent.glob("*.jar")) if entry.name == "*" else [entry]
    return os.pathsep.join(map(str, entries))


def _configuration(values: Mapping[str, str]) -> bytes:
    root = ET.Element("configuration")
    for name, value in values.items():
        entry = ET.SubElement(root, "property")
        ET.SubElement(entry, "name").text = name
        ET.SubElement(entry, "value").text = value
    return ET.tostring(root)


def _tail(path: Path) -> str:
    return path.read_text(errors="replace")[-_TAIL_CHARS:]
