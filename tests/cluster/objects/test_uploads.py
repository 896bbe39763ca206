"""What a killed writer leaves at a store is found and removed, by the API and by the shell."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import pytest

from howdah.cli.main import main
from howdah.config import Configuration
from howdah.copy.options import Options
from howdah.fs.objects.filesystem import S3FileSystem
from howdah.sync import sync
from tests.support.objects.store import StoreServer

Capture = pytest.CaptureFixture[str]


def write_and_die(store: StoreServer, bucket: str, path: str) -> None:
    """A process that is killed in the middle of an upload, when two parts are at the store."""
    code = f"""
        import os, signal
        from tests.support.objects.store import StoreServer
        fs = StoreServer({store.port}).connect({bucket!r}, part_bytes=16 << 10)
        out = fs.create({path!r})
        out.write(bytes(51200))
        while out.statistics().parts_uploaded < 2: pass
        os.kill(os.getpid(), signal.SIGKILL)
    """
    died = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], timeout=100, check=False)
    assert died.returncode == -9


@pytest.mark.req("FS-191")
def test_uploads_of_a_killed_writer_are_found_by_their_age_and_removed(
    store: StoreServer, bucket: str, fs: S3FileSystem
) -> None:
    write_and_die(store, bucket, "/d/killed")
    assert [each.path for each in fs.unfinished_uploads("/d")] == ["/d/killed"]
    assert fs.unfinished_uploads("/d/kil") == []
    assert not fs.exists("/d/killed")
    began_ms = fs.unfinished_uploads()[0].started_ms
    assert fs.abort_uploads(older_than_ms=1000, now_ms=began_ms) == []
    # The clock of a store may be ahead; what is of any age goes all the same.
    assert [each.path for each in fs.abort_uploads(older_than_ms=0, now_ms=began_ms - 1)] == [
        "/d/killed"
    ]
    assert fs.unfinished_uploads() == []


@pytest.mark.req("FS-191")
def test_the_shell_removes_what_a_killed_writer_left(
    store: StoreServer, bucket: str, fs: S3FileSystem, capsys: Capture
) -> None:
    def run(*words: str) -> str:
        options = [f"-D{name}={value}" for name, value in store.keys().items()]
        assert main(["dfs", *options, "-abortUploads", *words]) == 0
        return capsys.readouterr().out

    root = f"s3://{bucket}"
    write_and_die(store, bucket, "/d/killed [1]*")
    (left,) = fs.unfinished_uploads()
    assert run(f"{root}/other") == ""
    # moto says of each upload that it began in 2010.
    said = run("-age", "36500d", f"{root}/")
    assert said.startswith(f"Left the upload of {root}/d/killed [1]*, younger than 36500d (begun ")
    assert said.endswith(f" UTC, {left.upload_id})\n")
    assert run("-list", "-age", "0", f"{root}/").startswith(f"Upload of {root}/d/killed [1]* (")
    record = {
        "path": f"{root}/d/killed [1]*",
        "upload_id": left.upload_id,
        "started_ms": left.started_ms,
    }
    assert json.loads(run("--json", "-list", f"{root}/d")) == [record | {"aborted": False}]
    # Of one file, by its own name; a day is what an upload is left.
    assert json.loads(run("--json", f"{root}/d/killed [1]*")) == [record | {"aborted": True}]
    assert fs.unfinished_uploads() == []
    assert json.loads(run("--json", "-age", "0", f"{root}/")) == []


@pytest.mark.req("FS-191", "FS-194")
def test_a_copy_whose_program_is_killed_before_it_was_compared_is_no_file_for_the_next_run(
    store: StoreServer, bucket: str, fs: S3FileSystem
) -> None:
    client, source = store.client(), store.new_bucket()
    client.put_object(Bucket=source, Key="src/plain", Body=b"plain", ChecksumAlgorithm="SHA256")
    code = f"""
        import os, signal
        from tests.support.objects.store import StoreServer
        store = StoreServer({store.port})
        here, there = store.connect({source!r}), store.connect({bucket!r})
        copy_part = there._store.copy_part
        def copy_and_die(*args):
            copy_part(*args)
            os.kill(os.getpid(), signal.SIGKILL)
        there._store.copy_part = copy_and_die
        there.copy_from(here, "/src/plain", "/to/plain")
    """
    died = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], timeout=100, check=False)
    assert died.returncode == -9
    assert not fs.exists("/to/plain")
    assert [each.path for each in fs.unfinished_uploads()] == ["/to/plain"]
    made = sync(
        f"s3://{source}/src",
        f"{fs.uri}/to",
        processes=1,
        conf=Configuration(store.keys()),
        options=Options(update=True),
    )
    assert (made.counters.files_copied, made.counters.verified_by_etag) == (1, 1)
    assert fs.read_bytes("/to/plain") == b"plain"


def test_an_upload_that_was_removed_is_no_file_of_its_writer(
    store: StoreServer, bucket: str, capsys: Capture
) -> None:
    options = [f"-D{name}={value}" for name, value in store.keys().items()]
    with store.connect(bucket, part_bytes=16 << 10) as fs:
        out = fs.create("/slow")
        out.write(bytes(51200))
        assert main(["dfs", *options, "-abortUploads", "-age", "0", f"s3://{bucket}/slow"]) == 0
        assert capsys.readouterr().out.startswith(f"Aborted the upload of s3://{bucket}/slow (")
        with pytest.raises(OSError, match="/slow"):
            out.close()
        assert not fs.exists("/slow")
