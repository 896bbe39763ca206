"""Typed writes, read and written again by Java: both sides have the same bytes."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from howdah.fs.streams import FSDataOutputStream
from howdah.java import NoJava, find_java_home

PROGRAM = Path(__file__).with_name("DataOutput.java")
TEXTS = [
    "",
    "plain",
    "a\0b",
    "grüße",
    "€uro",
    "\U0001f993 zebra",
    "\ud83e",
    "\udd93x",
    "\x7f\x80߿ࠀ",
]


def numbers(out: FSDataOutputStream, source: random.Random) -> None:
    out.write_boolean(source.random() < 0.5)
    out.write_byte(source.randrange(-128, 256))
    out.write_short(source.randrange(-(2**15), 2**16))
    out.write_char(source.randrange(2**16))
    out.write_int(source.randrange(-(2**31), 2**31))
    out.write_long(source.randrange(-(2**63), 2**63))
    out.write_float(source.uniform(-1e30, 1e30))
    out.write_double(source.uniform(-1e300, 1e300))


def run(*command: object) -> str:
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def java() -> Path:
    """A Java that compiles what it is given, as those of a JDK do."""
    try:
        java = find_java_home() / "bin" / "java"
    except NoJava as error:
        pytest.skip(str(error))
    if "jdk.compiler" not in run(java, "--list-modules"):
        pytest.skip(f"{java} has no compiler")
    return java


@pytest.mark.kind("wrapper")
@pytest.mark.req("OS-023")
def test_java_reads_what_was_written_and_writes_the_same(java: Path, tmp_path: Path) -> None:
    source = random.Random(1)
    texts = TEXTS + [
        "".join(
            chr(source.choice((source.randrange(0x80), source.randrange(0x11000))))
            for _ in range(40)
        )
        for _ in range(50)
    ]
    with FSDataOutputStream((tmp_path / "in").open("wb")) as out:
        for number, text in enumerate(texts):
            out.write_utf(text)
            numbers(out, random.Random(number))
    with FSDataOutputStream((tmp_path / "wanted").open("wb")) as out:
        for number, text in enumerate(texts):
            out.write_utf(text)
            out.write_chars(text)
            out.write_bytes(text)
            numbers(out, random.Random(number))
    run(java, "-Xmx64m", PROGRAM, tmp_path / "in", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == (tmp_path / "wanted").read_bytes()
