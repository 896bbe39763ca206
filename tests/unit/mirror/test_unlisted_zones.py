"""Encrypted files stay encrypted, also where nobody may list the encryption zones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.copy.common.failures import CopyFailed
from howdah.copy.counters import Counters
from howdah.copy.options import Options
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.status import FileStatus
from howdah.mirror.copying import Copying
from howdah.mirror.rounds import Mirror
from howdah.mirror.settings import Settings
from howdah.sync.job import TooMuch
from tests.support.mirrors import MemoryHdfs
from tests.unit.mirror.test_kills import TOP, Bench


def refused(*_: Any) -> Any:
    raise errors.AccessDenied("only a superuser may list zones")


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """A mirror whose source has a zone that the user may read, and not list."""
    listed = HdfsFileSystem.list_status_iter

    def with_zone(fs: MemoryHdfs, path: Any) -> Iterator[FileStatus]:
        for status in listed(fs, path):
            yield replace(status, is_encrypted="/zone" in status.path)

    monkeypatch.setattr(MemoryHdfs, "list_status_iter", with_zone)
    monkeypatch.setattr(MemoryHdfs, "list_encryption_zones", refused)
    bench = Bench()
    with bench.world.entered():
        bench.source.write_bytes(f"{TOP}/zone/a", b"1")
        yield bench


def test_they_do_not_become_plain_unless_that_is_said(bench: Bench) -> None:
    with pytest.raises(CopyFailed, match=r"/zone/a is encrypted, .* say --decrypt"):
        bench.run()
    assert not bench.target.exists(f"{TOP}/zone/a")
    settings = Settings(decrypts=True, begins_processes=False)
    Mirror(bench.directory("a"), bench.directory("b"), settings, Configuration()).run()
    assert bench.target.read_bytes(f"{TOP}/zone/a") == b"1"


def test_spark_does_not_make_plain_files_of_them_either(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is too much for this machine is too much to be listed here, too."""
    given: list[Options] = []

    def by_spark(self: Copying, source: str, options: Options, replaces_kinds: bool) -> Counters:
        given.append(options)
        raise CopyFailed("there is no Spark")

    def too_much(*_: Any, **__: Any) -> Any:
        raise TooMuch("more than 2,000,000 entries")

    monkeypatch.setattr(Copying, "_by_spark", by_spark)
    monkeypatch.setattr("howdah.mirror.copying.sync", too_much)
    for decrypts in (False, True):
        settings = Settings(decrypts=decrypts, master="local", most_files=1)
        mirror = Mirror(bench.directory("a"), bench.directory("b"), settings, Configuration())
        with pytest.raises(CopyFailed, match="there is no Spark"):
            mirror.run()
    assert [options.refuses_encrypted for options in given] == [True, False]
