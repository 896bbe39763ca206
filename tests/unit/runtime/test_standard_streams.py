"""Programs that are started with a standard stream closed."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

CLOSED = ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"]
PYTHON = shlex.quote(sys.executable)
HOWDAH = f"{PYTHON} -P -m howdah"


def run(words: str, closed: str, home: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        ["sh", "-c", f"{words} {closed}"],
        capture_output=True,
        text=True,
        cwd=home,
        env={"PATH": "/usr/bin:/bin", "HOME": str(home), "PYTHONPATH": ":".join(sys.path[1:])},
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("closed", CLOSED)
def test_what_prints_nothing_works(closed: str, tmp_path: Path) -> None:
    made = tmp_path / "made"
    assert run(f"{HOWDAH} dfs -mkdir file://{made}", closed, tmp_path)[0] == 0
    assert made.is_dir()


@pytest.mark.parametrize(
    "words", ["version", "getconf -confKey dfs.blocksize", "help", "dfs -ls ."]
)
def test_output_that_cannot_be_written_is_a_failure_with_a_word(words: str, tmp_path: Path) -> None:
    words = words.replace("-ls .", f"-ls file://{tmp_path}/..")
    code, _, told = run(f"{HOWDAH} {words}", ">&-", tmp_path)
    assert code == 1
    assert "Bad file descriptor" in told
    code, _, told = run(f"{HOWDAH} {words}", ">/dev/full", tmp_path)
    assert code == 1
    assert "No space left" in told


def test_output_is_there_without_standard_error(tmp_path: Path) -> None:
    assert run(f"{HOWDAH} version", "2>&-", tmp_path)[:2] == (
        0,
        run(f"{HOWDAH} version", "", tmp_path)[1],
    )
    code, out, _ = run(f"{HOWDAH} dfs -ls file://{tmp_path}/nothing", "2>&-", tmp_path)
    assert (code, out) == (1, "")


def test_an_input_that_is_closed_is_no_empty_one(tmp_path: Path) -> None:
    target = tmp_path / "target"
    code, _, told = run(f"{HOWDAH} dfs -put - file://{target}", "<&-", tmp_path)
    assert code == 1
    assert "Bad file descriptor" in told
    assert not target.exists()


@pytest.mark.parametrize("closed", CLOSED)
def test_no_file_takes_the_place_of_a_standard_stream(closed: str, tmp_path: Path) -> None:
    """What is opened next, a socket say, is none of 0, 1 and 2; and children get them, too."""
    seen = tmp_path / "seen"
    program = (
        "import os, subprocess, sys\n"
        "from howdah.runtime import standard_streams\n"
        "standard_streams.fill()\n"
        "opened = os.open('/', os.O_RDONLY)\n"
        "child = subprocess.run([sys.executable, '-c', "
        "'import os; [os.fstat(each) for each in range(3)]'])\n"
        f"open({str(seen)!r}, 'w').write(f'{{opened > 2}} {{child.returncode}}')\n"
    )
    (tmp_path / "program.py").write_text(program)
    run(f"{PYTHON} program.py", closed, tmp_path)
    assert seen.read_text() == "True 0"


@pytest.mark.parametrize("closed", CLOSED)
def test_a_server_starts_and_ends_without_them(closed: str, tmp_path: Path) -> None:
    """One that ends by itself: it formats."""
    words = f"namenode -D dfs.namenode.name.dir={tmp_path}/name -D fs.defaultFS=hdfs://127.0.0.1:1"
    assert run(f"{HOWDAH} {words} -format", closed, tmp_path)[0] == 0
    assert (tmp_path / "name" / "current" / "VERSION").exists()
