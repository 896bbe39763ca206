"""A copy that fails on its way to a bucket leaves what was there before, and nothing of its own,
also where it goes to the final name at once."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fsspec.callbacks import Callback

from howdah.cli.main import main
from howdah.config import Configuration
from howdah.copy.common.failures import CopyFailed
from howdah.copy.options import Options
from howdah.fs.objects.filesystem import S3FileSystem
from howdah.fsspec import HowdahS3FileSystem
from howdah.sync import sync
from howdah.testing.waiting import wait_until
from tests.support.objects.store import StoreServer
from tests.support.objects.trouble import Proxy

Capture = pytest.CaptureFixture[str]
SIZE = 11 << 20
"""Two parts, and a piece."""
OLD = b"what was there"


@pytest.fixture
def source(store: StoreServer, proxy: Proxy) -> Iterator[str]:
    """A bucket with a file that breaks off in its middle, each time it is read."""
    bucket = store.new_bucket()
    with store.connect(bucket) as fs, fs.create("/file") as out:
        out.write(bytes(SIZE))
    proxy.plan(always="object cut")
    yield bucket
    proxy.plan()


def keys(store: StoreServer, proxy: Proxy, source: str) -> dict[str, str]:
    """The source is behind the proxy, other buckets are not."""
    more = {
        f"fs.s3a.bucket.{source}.endpoint": store.behind(proxy.port).endpoint,
        f"fs.s3a.bucket.{source}.retry.limit": "0",
        "fs.s3a.multipart.size": "5M",
    }
    return store.keys() | more


def left(fs: S3FileSystem) -> dict[str, bytes]:
    """All files of a bucket, and an empty one for each upload that nobody ended."""
    files = [each.path for _, _, names in fs.walk("/") for each in names]
    unfinished = {f"unfinished {each.path}": b"" for each in fs.unfinished_uploads()}
    return {path: fs.read_bytes(path) for path in files} | unfinished


@pytest.mark.req("FS-188", "OS-182")
@pytest.mark.parametrize("words", [[], ["-d"], ["-f"], ["-f", "-d"]], ids=" ".join)
def test_a_copy_of_the_shell_whose_source_fails_leaves_what_was_there(
    store: StoreServer, proxy: Proxy, source: str, fs: S3FileSystem, words: list[str]
) -> None:
    if "-f" in words:
        fs.write_bytes("/file", OLD)
    before = left(fs)
    options = [f"-D{name}={value}" for name, value in keys(store, proxy, source).items()]
    copy = ["-cp", *words, f"s3://{source}/file", f"{fs.uri}/file"]
    assert main(["dfs", *options, *copy]) == 1
    assert left(fs) == before


@pytest.mark.req("FS-188", "OS-182")
@pytest.mark.parametrize("is_there", [False, True], ids=["new", "there"])
def test_a_put_that_is_interrupted_leaves_what_was_there(
    store: StoreServer, fs: S3FileSystem, is_there: bool
) -> None:
    if is_there:
        fs.write_bytes("/file", OLD)
    before = left(fs)
    options = [f"-D{name}={value}" for name, value in store.keys(multipart_size="5M").items()]
    put = ["-put", "-f", "-d", "-", f"{fs.uri}/file"]
    with subprocess.Popen(
        [sys.executable, "-m", "howdah", "dfs", *options, *put],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(bytes(SIZE))
        process.stdin.flush()
        # Standard input stays open: the copy waits for more.
        wait_until(lambda: bool(fs.unfinished_uploads()), 60, "an upload of the command's")
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told == b"put: Interrupted\n"
    assert left(fs) == before


@pytest.mark.req("FS-188", "OS-182")
@pytest.mark.parametrize("direct", [False, True])
def test_a_mirror_whose_source_fails_leaves_what_was_there(
    store: StoreServer, proxy: Proxy, source: str, fs: S3FileSystem, direct: bool
) -> None:
    fs.write_bytes("/t/file", OLD)
    conf = Configuration(keys(store, proxy, source))
    options = Options(overwrite=True, direct=direct)
    with pytest.raises(CopyFailed, match=f"s3://{source}/file"):
        sync(f"s3://{source}/", f"{fs.uri}/t", processes=1, conf=conf, options=options)
    assert left(fs) == {"/t/file": OLD}


class Failing(Callback):  # type: ignore[misc]  # fsspec has no types
    """Fails when something has been copied, as the local disk may."""

    def relative_update(self, inc: int = 1) -> None:
        raise OSError("no more of it")


@pytest.mark.req("FS-188", "OS-182")
def test_a_copy_of_fsspec_whose_source_fails_leaves_what_was_there(
    store: StoreServer, bucket: str, fs: S3FileSystem, tmp_path: Path
) -> None:
    fs.write_bytes("/file", OLD)
    (tmp_path / "file").write_bytes(bytes(SIZE))
    ours = HowdahS3FileSystem(host=bucket, conf=store.keys(multipart_size="5M"))
    with pytest.raises(OSError, match="no more of it"):
        ours.put_file(str(tmp_path / "file"), "/file", callback=Failing())
    with pytest.raises(OSError, match="no more of it"), ours.transaction:
        ours.put_file(str(tmp_path / "file"), "/file", callback=Failing())
    assert left(fs) == {"/file": OLD}
