"""A file that can't be closed is not taken for one that was written, in any job."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import howdah
from howdah import errors
from howdah.cli.usage_page import PageNotWritten, write_page
from howdah.copy.commit_tasks import TrackTask
from howdah.copy.common.task_progress import Gauge
from howdah.copy.options import Options
from howdah.copy.tasks import TaskLog
from howdah.fs.api import FileSystem
from howdah.spark.compaction.concat import join

pytestmark = pytest.mark.req("OS-061", "OS-065")

FULL = "the disks are full"


class Unclosable:
    """A filesystem whose new files can't be closed."""

    def __init__(self, fs: FileSystem) -> None:
        self._fs = fs
        self.closed: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fs, name)

    def create(self, path: str, **options: Any) -> Any:
        out = self._fs.create(path, **options)
        whole: Callable[[], None] = out.close

        def close() -> None:
            if path not in self.closed:
                self.closed.append(path)
                whole()
                raise errors.PipelineFailed(FULL)

        out.close = close  # type: ignore[method-assign]
        return out


@pytest.fixture
def fs() -> Iterator[Unclosable]:
    with howdah.connect("mem://closing/") as fs:
        fs.mkdirs("/in")
        fs.mkdirs("/out")
        yield Unclosable(fs)
        for path in ("/in", "/out"):
            fs.delete(path, recursive=True)


def share(suffix: str) -> dict[str, Any]:
    where = {"directory": "/in", "building": "/out", "suffix": suffix, "run": "run"}
    return {**where, "number": 0, "shares": 1}


@pytest.mark.parametrize(
    ("suffix", "content"), [(".txt", b"a\n"), (".txt.gz", gzip.compress(b"a\n", mtime=0))]
)
def test_files_are_not_joined_where_the_new_one_cannot_be_closed(
    fs: Unclosable, suffix: str, content: bytes
) -> None:
    with fs._fs.create(f"/in/a{suffix}") as out:
        out.write(content)
    with pytest.raises(errors.PipelineFailed, match=FULL):
        join(cast(FileSystem, fs), share(suffix), has_headers=False)


def test_task_whose_log_cannot_be_closed_has_failed(fs: Unclosable) -> None:
    place: Any = SimpleNamespace(connect=lambda: fs)
    report = TaskLog.of(place, Options(log_path="/out"), Gauge(None, "", ""), 0, 0, "run")
    with pytest.raises(errors.PipelineFailed, match=FULL), report:
        report.failed("/a", "gone")


def test_task_whose_list_of_what_is_missing_cannot_be_closed_has_failed(fs: Unclosable) -> None:
    place: Any = SimpleNamespace(connect=lambda: fs)
    (batch,) = TrackTask(place, "/target", place, "/out")([])
    (row,) = batch.to_pylist()
    assert (row["error"], row["message"]) == ("PipelineFailed", FULL)


def test_page_on_a_full_disk_is_an_error_that_names_it() -> None:
    # Nothing fails before the file is closed.
    with pytest.raises(PageNotWritten, match="cannot write /dev/full: No space left on device"):
        write_page("/dev/full", "<svg>")


def test_page_in_a_directory_that_is_not_there_is_refused_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from howdah.cli.main import main

    page = tmp_path / "nowhere" / "page.html"
    assert main(["namespace", "--html", str(page), "/"]) == 255
    assert f"there is no directory for {page}" in capsys.readouterr().err
