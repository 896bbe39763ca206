"""The client needs nothing that only Unix has: it works where all of that is hidden."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support import not_unix

CLIENT = (
    *("howdah.aio", "howdah.client.dfs", "howdah.fs.api", "howdah.fs.filesystem_path"),
    *("howdah.fs.hdfs.filesystem", "howdah.fs.memory.filesystem", "howdah.fs.objects.filesystem"),
    *("howdah.fs.viewfs.filesystem", "howdah.fs.webhdfs.filesystem", "howdah.fs.transfers"),
    *("howdah.fs.arrow_filesystem", "howdah.fsspec", "howdah.cli.main", "howdah.cli.dfs"),
)


def run(code: str, before: str = "") -> None:
    """In a process where it is hidden. What is imported `before` that is a library in its Unix
    form."""
    hidden = f"from tests.support import not_unix\n{before}\nnot_unix.hide()\n{code}"
    # Who one is, is asked of a module that Windows lacks, too, unless the environment says so.
    env = os.environ | {"HADOOP_USER_NAME": "ann", "HOWDAH_KERNEL": "off"}
    child = subprocess.run(
        [sys.executable, "-c", hidden], env=env, capture_output=True, text=True, check=False
    )
    assert child.returncode == 0, child.stderr


def test_the_modules_of_the_client_are_imported() -> None:
    pytest.importorskip("fsspec")
    pytest.importorskip("pyarrow")
    run("\n".join(f"import {module}" for module in CLIENT), before="import pyarrow.fs")


def test_what_is_hidden_is_not_there() -> None:
    checks = [f"assert not hasattr(not_unix.{m.__name__}, {n!r})" for m, names in
              not_unix.NAMES.items() for n in names]  # fmt: skip
    imports = [
        f"try:\n    import {name}\n    raise AssertionError({name!r})\nexcept ImportError: pass"
        for name in not_unix.MODULES
    ]
    run("\n".join([*checks, *imports]))


def test_files_in_memory_are_used() -> None:
    run("""
import howdah
path = howdah.Path("mem://not-unix/a/b")
path.parent.mkdir(parents=True)
path.write_text("x")
assert [each.name for each in path.parent.iterdir()] == ["b"]
with howdah.open(str(path)) as stream:
    assert stream.read() == "x"
assert path.owner() == "ann"
conf = howdah.Configuration({"fs.viewfs.mounttable.all.link./m": "mem://not-unix/"})
with howdah.connect("viewfs://all/", conf=conf) as view:
    assert view.read_text("/m/a/b") == "x"
    assert view.stat("/").group == "ann"      # no groups are known
""")
