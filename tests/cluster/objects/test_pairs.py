"""Mirrors between any two kinds of object stores, by their own names, and how each file of one was
verified."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from howdah.config import Configuration
from howdah.copy.options import Options
from howdah.fs.registry import connect
from howdah.sync import sync
from howdah.testing.trees import read_tree
from tests.support.objects.azurite import ACCOUNT, Azurite
from tests.support.objects.google import GoogleServer
from tests.support.objects.store import StoreServer

TREE = {
    "a": b"one",
    "d": None,
    "d/e": None,
    "d/b": bytes(range(256)) * 4000,
    "d/e/\xe9 %41+": b"named",
    "d/none": None,
}
SCHEMES = ["s3", "abfs", "gs"]


def bucket_of(request: pytest.FixtureRequest, scheme: str) -> tuple[str, dict[str, str]]:
    """The URI of an empty bucket, and how to reach it."""
    if scheme == "s3":
        store: StoreServer = request.getfixturevalue("store")
        return f"s3://{store.new_bucket()}", store.keys()
    if scheme == "gs":
        google: GoogleServer = request.getfixturevalue("google")
        return f"gs://{google.new_bucket()}", google.keys()
    azurite: Azurite = request.getfixturevalue("azurite")
    container = azurite.new_bucket().partition("@")[0]
    return f"abfs://{container}@{ACCOUNT}.dfs.core.windows.net", azurite.keys()


@pytest.fixture(params=list(permutations(SCHEMES, 2)), ids="-".join)
def pair(request: pytest.FixtureRequest) -> tuple[str, str, Configuration]:
    (here, its), (there, others) = (bucket_of(request, scheme) for scheme in request.param)
    return here, there, Configuration({**its, **others})


@pytest.mark.req("FS-194", "FS-187", "FS-195", "FS-197")
def test_a_mirror_between_two_stores_is_verified_by_checksums_and_says_so_of_each_file(
    pair: tuple[str, str, Configuration], tmp_path: Path
) -> None:
    here, there, conf = pair
    with connect(here, conf=conf) as fs:
        for name, data in TREE.items():
            if data is None:
                fs.mkdirs(f"/t/{name}")
            else:
                fs.write_bytes(f"/t/{name}", data)
    options = Options(update=True, delete=True, log_path=tmp_path.as_uri() + "/log", verbose=True)
    made = sync(f"{here}/t", f"{there}/t", processes=1, conf=conf, options=options)
    assert made.counters.verified_by_checksum == 3
    assert made.counters.verified_by_length == 0
    with connect(there, conf=conf) as fs:
        assert read_tree(fs, "/t") == TREE
    lines = "".join(part.read_text() for part in (tmp_path / "log").glob("part-m-*")).splitlines()
    copied = [line for line in lines if line.startswith("FILE_COPIED: ")]
    assert len(copied) == 3
    for line in copied:
        assert f"source={here}/t/" in line
        assert f"target={there}/t/" in line
        assert "; verified by COMPOSITE-CRC32C)" in line
    again = sync(f"{here}/t", f"{there}/t", processes=1, conf=conf, options=Options(update=True))
    assert again.counters.files_copied == 0
    assert again.counters.skipped_by_checksum == 3
