"""Copies from bucket to bucket of one store are the store's; between two stores they are not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.copy.options import Options, attributes
from howdah.fs.api import FileSystem
from howdah.fs.objects.filesystem import ObjectFileSystem, S3AFileSystem, S3FileSystem
from howdah.fs.objects.store import ObjectInfo, Part
from howdah.options import CopyCheck
from howdah.sync import sync
from howdah.sync.outcome import Synced
from tests.support.objects.clouds import CloudServer
from tests.support.objects.google import GoogleServer
from tests.support.objects.store import SECRET_KEY, StoreServer, store_server
from tests.support.objects.trouble import Answer, Proxy

SMALL = b"small"
LARGE = bytes(range(256)) * (6 << 12)
"""More than is copied in one request."""
FILES = {"small": SMALL, "d/large": LARGE, "d/é %41+ #?": b"named", "d/none": b""}
PARTS = {"multipart_size": "5M", "multipart_threshold": "5M"}
_COPIES = "x-amz-copy-source"
DENIED = Answer(403, "AccessDenied", "not to be copied")


@pytest.fixture
def keys(store: StoreServer, proxy: Proxy) -> dict[str, str]:
    return store.behind(proxy.port).keys(**PARTS)


@pytest.fixture
def source(bucket: str, keys: dict[str, str], proxy: Proxy) -> Iterator[S3AFileSystem]:
    """A bucket by Hadoop's name of the scheme, with a tree at /src."""
    with S3AFileSystem(bucket, Configuration(keys)) as made:
        for name, data in FILES.items():
            made.write_bytes(f"/src/{name}", data)
        proxy.plan()
        yield made
        proxy.plan()


@pytest.fixture
def target(store: StoreServer, keys: dict[str, str]) -> Iterator[S3FileSystem]:
    with S3FileSystem(store.new_bucket(), Configuration(keys)) as made:
        yield made


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[StoreServer]:
    with store_server() as started:
        yield started


def found(fs: FileSystem, root: str) -> dict[str, bytes]:
    names = [each.path for _, _, files in fs.walk(root) for each in files]
    return {name[len(root) + 1 :]: fs.read_bytes(name) for name in names}


def bytes_came_by(proxy: Proxy) -> bool:
    """Whether an object was read or written, other than markers of directories."""
    sent = zip(proxy.seen, proxy.headers, strict=True)
    return any(
        (request.startswith("GET") and "list-type" not in request)
        or (request.startswith("PUT") and not request.endswith("/") and _COPIES not in headers)
        for request, headers in sent
    )


def copied(proxy: Proxy) -> int:
    return sum(_COPIES in each for each in proxy.headers)


# --- one file -------------------------------------------------------------------------------


@pytest.mark.req("FS-190", "FS-194")
@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_bucket_is_copied_and_verified_by_what_the_store_tells(
    source: S3AFileSystem, target: S3FileSystem, proxy: Proxy, name: str
) -> None:
    assert target.server_copies(source).are_offered
    assert target.has_path_capability("/", "fs.s3.server.copies")
    made = target.copy_from(source, f"/src/{name}", f"/to/{name}")
    assert made.verified_by == "COMPOSITE-CRC32C"
    assert made.source == source.get_file_status(f"/src/{name}")
    assert not bytes_came_by(proxy)
    assert target.read_bytes(f"/to/{name}") == FILES[name]
    assert target.get_file_checksum(f"/to/{name}") == source.get_file_checksum(f"/src/{name}")
    assert target.unfinished_uploads() == []


@pytest.mark.req("FS-190")
def test_a_bucket_is_the_same_by_both_names_of_the_scheme(
    source: S3AFileSystem, bucket: str, keys: dict[str, str]
) -> None:
    with S3FileSystem(bucket, Configuration(keys)) as fs:
        assert fs.server_copies(source).is_same_place
        fs.copy_from(source, "/src/small", "/there")
        assert fs.read_bytes("/there") == SMALL
        with pytest.raises(errors.NotCopiedByServer, match="is the source itself"):
            fs.copy_from(source, "/src/small", "/src/small", overwrite=True)


@pytest.mark.req("FS-190", "FS-194")
def test_without_a_checksum_the_etag_says_that_the_bytes_are_the_same(
    store: StoreServer, source: S3AFileSystem, target: S3FileSystem, proxy: Proxy
) -> None:
    """In one request, however large the object is: a copy in parts has an ETag of its own."""
    client = store.client()
    bucket = source._store.bucket
    client.put_object(Bucket=bucket, Key="plain", Body=LARGE, ChecksumAlgorithm="SHA256")
    proxy.plan()
    assert target.copy_from(source, "/plain", "/to").verified_by == "ETag"
    assert copied(proxy) == 1
    assert target.read_bytes("/to") == LARGE


@pytest.mark.req("FS-190", "FS-194")
def test_what_the_store_has_no_sum_of_is_not_copied_by_it_unless_the_length_is_enough(
    store: StoreServer, source: S3AFileSystem, target: S3FileSystem, proxy: Proxy
) -> None:
    # In other parts than a copy would have, which makes another ETag.
    keys = store.keys(create_checksum_algorithm="NONE", **PARTS | {"multipart_size": "5632K"})
    with S3FileSystem(source._store.bucket, Configuration(keys)) as plain:
        plain.write_bytes("/parts", LARGE)
    proxy.plan()
    with pytest.raises(errors.NotCopiedByServer, match="/parts that its copy has"):
        target.copy_from(source, "/parts", "/to")
    assert copied(proxy) == 0
    made = target.copy_from(source, "/parts", "/to", check=CopyCheck.LENGTH)
    assert made.verified_by == "length"
    assert target.read_bytes("/to") == LARGE


@pytest.mark.req("FS-190", "FS-194")
def test_a_copy_that_turns_out_to_have_no_sum_is_not_left_for_a_verified_one(
    store: StoreServer, source: S3AFileSystem, target: S3FileSystem
) -> None:
    """As where a store encrypts with keys of its own: then its ETags are no sums."""
    client = store.client()
    bucket = source._store.bucket
    client.put_object(Bucket=bucket, Key="plain", Body=SMALL, ChecksumAlgorithm="SHA256")
    copy_part = target._store.copy_part

    def copy_encrypted(*args: Any) -> Part:
        return replace(copy_part(*args), etag="own")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(target._store, "copy_part", copy_encrypted)
        with pytest.raises(errors.NotCopiedByServer, match="an ETag of its own"):
            target.copy_from(source, "/plain", "/to")
    assert not target.exists("/to")
    assert target.unfinished_uploads() == []


@pytest.mark.req("FS-190", "FS-194")
def test_a_bucket_whose_files_get_no_checksum_is_known_before_anything_is_copied(
    store: StoreServer, source: S3AFileSystem, keys: dict[str, str], proxy: Proxy
) -> None:
    """The source's checksum could be compared with nothing, but a single part has an ETag."""
    none = Configuration({**keys, "fs.s3a.create.checksum.algorithm": "NONE"})
    with S3FileSystem(store.new_bucket(), none) as target:
        assert target.copy_from(source, "/src/small", "/to/small").verified_by == "ETag"
        proxy.plan()
        with pytest.raises(errors.NotCopiedByServer, match="/src/d/large that its copy has"):
            target.copy_from(source, "/src/d/large", "/to/large")
        assert copied(proxy) == 0
        assert found(target, "/to") == {"small": SMALL}


@pytest.mark.req("FS-190", "FS-194")
def test_a_copy_that_is_put_together_of_parts_is_described_as_its_source(
    store: StoreServer, source: S3AFileSystem, target: S3FileSystem
) -> None:
    client = store.client()
    own, other = source._store.bucket, target._store.bucket
    client.put_object(
        Bucket=own,
        Key="plain",
        Body=SMALL,
        ChecksumAlgorithm="SHA256",
        ContentType="text/x-own",
        Metadata={"a": "b"},
        Tagging="team=a%20b&c=",
    )
    assert target.copy_from(source, "/plain", "/to").verified_by == "ETag"
    told = client.head_object(Bucket=other, Key="to")
    assert told["ContentType"] == "text/x-own"
    assert told["Metadata"]["a"] == "b"
    tags = client.get_object_tagging(Bucket=other, Key="to")["TagSet"]
    assert {each["Key"]: each["Value"] for each in tags} == {"team": "a b", "c": ""}


@pytest.mark.req("FS-190", "LM-056")
@pytest.mark.parametrize("name", ["small", "d/large"])
def test_an_object_that_is_replaced_during_its_copy_is_not_copied(
    source: S3AFileSystem, target: S3FileSystem, proxy: Proxy, name: str
) -> None:
    """Each request to copy says which object it means."""
    target.write_bytes("/there", b"old")
    etag = source.get_file_status(f"/src/{name}").etag
    proxy.plan(first=("PUT", Answer(412, "PreconditionFailed")))
    with pytest.raises(errors.FileChanged, match=f"/src/{name} was replaced while"):
        target.copy_from(source, f"/src/{name}", "/there", overwrite=True)
    asked = [each["x-amz-copy-source-if-match"] for each in proxy.headers if _COPIES in each]
    assert asked
    assert set(asked) == {f'"{etag}"'}
    assert target.read_bytes("/there") == b"old"
    assert target.unfinished_uploads() == []


@pytest.mark.req("FS-188", "LM-056")
@pytest.mark.parametrize("name", ["small", "d/large"])
def test_a_store_that_copies_another_object_than_was_meant_is_found_out(
    store: StoreServer, source: S3AFileSystem, target: S3FileSystem, name: str
) -> None:
    """moto overlooks the condition. Nothing of the copy is left."""
    look = source._store.head

    def look_and_replace(key: str) -> ObjectInfo:
        seen = look(key)
        store.client().put_object(Bucket=source._store.bucket, Key=key, Body=b"another")
        return seen

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(source._store, "head", look_and_replace)
        with pytest.raises(errors.ChecksumMismatch, match="it is removed again"):
            target.copy_from(source, f"/src/{name}", "/there")
    assert not target.exists("/there")
    assert target.unfinished_uploads() == []


@pytest.mark.req("FS-190", "FS-188")
@pytest.mark.parametrize("name", ["small", "d/large"])
def test_a_copy_that_the_store_refuses_says_so_and_leaves_what_was_there(
    source: S3AFileSystem, target: S3FileSystem, proxy: Proxy, name: str
) -> None:
    target.write_bytes("/there", b"old")
    proxy.plan(first=("PUT", DENIED))
    with pytest.raises(errors.NotCopiedByServer, match="not to be copied"):
        target.copy_from(source, f"/src/{name}", "/there", overwrite=True)
    assert target.read_bytes("/there") == b"old"
    assert target.unfinished_uploads() == []


@pytest.mark.req("FS-190")
def test_two_stores_or_two_users_of_one_are_told_apart(
    store: StoreServer, elsewhere: StoreServer, source: S3AFileSystem, keys: dict[str, str]
) -> None:
    own = Configuration(keys)
    for conf, why in (
        (Configuration(elsewhere.keys()), f"{source.uri[6:]} is at http://127.0.0.1:"),
        (own.with_values({"fs.s3a.access.key": "other"}), "have other credentials"),
        (own.with_values({"fs.s3a.requester.pays.enabled": "true"}), "paid for in two ways"),
    ):
        with S3FileSystem("another", conf) as fs:
            offer = fs.server_copies(source)
            assert not offer.are_offered
            assert why in offer.why_not
            assert SECRET_KEY not in offer.why_not
            with pytest.raises(errors.NotCopiedByServer, match=why):
                fs.copy_from(source, "/src/small", "/there")


@pytest.mark.req("FS-190")
def test_kinds_of_stores_are_told_apart(
    google: GoogleServer, source: S3AFileSystem, target: S3FileSystem
) -> None:
    with google.connect(google.new_bucket()) as other:
        assert not other.server_copies(source).are_offered
        assert not target.server_copies(other).are_offered


@pytest.mark.req("FS-190", "FS-194")
def test_every_store_copies_between_its_buckets(cloud: CloudServer) -> None:
    with cloud.connect(cloud.new_bucket()) as here, cloud.connect(cloud.new_bucket()) as there:
        here.write_bytes("/src/file", LARGE)
        how = {"gs": "COMPOSITE-CRC32C", "az": "MD5"}[here.scheme]
        assert there.copy_from(here, "/src/file", "/to").verified_by == how
        assert there.read_bytes("/to") == LARGE


# --- mirrors --------------------------------------------------------------------------------


def mirror(
    source: ObjectFileSystem, target: ObjectFileSystem, keys: dict[str, str], **options: Any
) -> Synced:
    return sync(
        f"{source.uri}/src",
        f"{target.uri}/to",
        processes=1,
        conf=Configuration(keys),
        options=Options(update=True, **options),
    )


def told(made: Synced) -> list[str]:
    """The notes on where bytes went."""
    return [note for note in made.notes if "came by here" in note]


def lines_of(directory: Path) -> list[str]:
    text = "".join(part.read_text() for part in directory.glob("part-m-*"))
    return [line for line in text.splitlines() if line.startswith("FILE_COPIED: ")]


@pytest.mark.req("FS-190", "FS-194", "FS-187")
def test_a_mirror_between_two_buckets_is_the_store_s_work_and_its_log_says_how_it_was_verified(
    source: S3AFileSystem,
    target: S3FileSystem,
    keys: dict[str, str],
    proxy: Proxy,
    tmp_path: Path,
) -> None:
    target.write_bytes("/to/extra", b"x")
    target.write_bytes("/to/small", b"old")
    filters = tmp_path / "filters"
    filters.write_text(".*/none\n")
    proxy.plan()
    made = mirror(
        source,
        target,
        keys,
        delete=True,
        filters_file=str(filters),
        log_path=f"{tmp_path.as_uri()}/log",
        verbose=True,
    )
    assert not bytes_came_by(proxy)
    # The large one in two parts, and nothing twice, as by way of a temporary name.
    assert copied(proxy) == 4
    assert found(target, "/to") == {name: FILES[name] for name in FILES if name != "d/none"}
    counted = made.counters
    assert (counted.files_copied, counted.copied_by_server, counted.entries_deleted) == (3, 3, 1)
    assert counted.verified_by_checksum == 3
    assert told(made) == []
    assert (
        "files copied were verified: 3 by a checksum of all bytes; their store copied 3 of them"
        in made.lines()
    )
    lines = lines_of(tmp_path / "log")
    assert len(lines) == 3
    for line in lines:
        assert "; copied by the store; length and COMPOSITE-CRC32C are the source's)" in line
    again = mirror(source, target, keys, filters_file=str(filters))
    assert (again.counters.files_copied, again.counters.skipped_by_checksum) == (0, 3)


@pytest.mark.req("FS-190", "FS-194")
def test_what_a_mirror_may_not_have_copied_goes_by_way_of_this_machine_and_it_says_so(
    store: StoreServer,
    source: S3AFileSystem,
    target: S3FileSystem,
    keys: dict[str, str],
    proxy: Proxy,
    tmp_path: Path,
) -> None:
    client = store.client()
    bucket = source._store.bucket
    client.put_object(Bucket=bucket, Key="src/plain", Body=b"plain", ChecksumAlgorithm="SHA256")
    proxy.plan(first=(f"PUT /{target._store.bucket}/to/small", DENIED))
    log = f"{tmp_path.as_uri()}/log"
    made = mirror(source, target, keys, log_path=log, verbose=True)
    assert found(target, "/to") == FILES | {"plain": b"plain"}
    counted = made.counters
    assert (counted.files_copied, counted.copied_by_server, counted.refused_by_server) == (5, 4, 1)
    assert (counted.verified_by_checksum, counted.verified_by_etag) == (4, 1)
    assert "1 files were not copied by" in told(made)[0]
    lines = {
        line.partition("source=")[2].partition(",")[0]: line for line in lines_of(tmp_path / "log")
    }
    refused = lines[f"{source.uri}/src/small"]
    assert "copied by way of this machine (the store refuses: " in refused
    assert "; verified by COMPOSITE-CRC32C)" in refused
    plain = lines[f"{source.uri}/src/plain"]
    assert "; copied by the store; length and ETag are the source's)" in plain
    assert target.unfinished_uploads() == []


@pytest.mark.req("FS-190", "FS-194")
def test_a_mirror_between_two_stores_goes_by_way_of_this_machine_and_says_so(
    elsewhere: StoreServer, source: S3AFileSystem, keys: dict[str, str], proxy: Proxy
) -> None:
    # A process gives no name to two buckets, whatever store they are in.
    bucket = elsewhere.new_bucket()
    own = {f"fs.s3a.bucket.{bucket}.endpoint": elsewhere.endpoint}
    with elsewhere.connect(bucket) as target:
        made = mirror(source, target, {**keys, **own})
        assert bytes_came_by(proxy)
        assert copied(proxy) == 0
        assert found(target, "/to") == FILES
        assert made.counters.copied_by_server == made.counters.refused_by_server == 0
        [note] = told(made)
        assert note.startswith(f"{target.uri} does not copy {source.uri}: ")
        assert note.endswith("; the bytes came by here")


@pytest.mark.req("FS-190")
def test_attributes_that_a_store_has_not_are_refused_with_nothing_at_the_target(
    source: S3AFileSystem, target: S3FileSystem, keys: dict[str, str]
) -> None:
    with pytest.raises(errors.HowdahError, match="set_times"):
        mirror(source, target, keys, preserve=attributes("t"))
    assert found(target, "/") == {}


# --- the shell ------------------------------------------------------------------------------


def options_of(keys: dict[str, str]) -> list[str]:
    return [f"-D{name}={value}" for name, value in keys.items()]


@pytest.mark.req("FS-190", "FS-194")
def test_the_shell_has_a_tree_copied_to_another_bucket(
    source: S3AFileSystem,
    target: S3FileSystem,
    keys: dict[str, str],
    proxy: Proxy,
    capfd: pytest.CaptureFixture[str],
) -> None:
    words = ["-cp", f"{source.uri}/src", f"{target.uri}/to"]
    assert main(["dfs", *options_of(keys), *words]) == 0
    assert capfd.readouterr().err == ""
    assert not bytes_came_by(proxy)
    assert found(target, "/to") == FILES


@pytest.mark.req("FS-190", "FS-194")
def test_the_shell_says_once_that_bytes_come_by(
    source: S3AFileSystem,
    target: S3FileSystem,
    keys: dict[str, str],
    proxy: Proxy,
    capfd: pytest.CaptureFixture[str],
) -> None:
    own = {f"fs.s3a.bucket.{target.uri[5:]}.access.key": "other"}
    words = ["-cp", f"{source.uri}/src", f"{target.uri}/to"]
    assert main(["dfs", *options_of({**keys, **own}), *words]) == 0
    [line] = capfd.readouterr().err.splitlines()
    assert line.startswith(f"cp: {target.uri} does not copy {source.uri}: ")
    assert line.endswith("have other credentials; the bytes come by way of this machine")
    assert found(target, "/to") == FILES


@pytest.mark.req("FS-190")
def test_the_shell_copies_by_itself_what_the_store_refuses(
    source: S3AFileSystem,
    target: S3FileSystem,
    keys: dict[str, str],
    proxy: Proxy,
    capfd: pytest.CaptureFixture[str],
) -> None:
    proxy.plan(first=("PUT", DENIED))
    words = ["-cp", f"{source.uri}/src/small", f"{target.uri}/small"]
    assert main(["dfs", *options_of(keys), *words]) == 0
    [line] = capfd.readouterr().err.splitlines()
    assert line.startswith(f"cp: {target.uri} does not copy {source.uri}/src/small: the store ref")
    assert target.read_bytes("/small") == SMALL


@pytest.mark.req("FS-190")
def test_a_directory_is_not_copied_into_itself_by_another_name_of_the_scheme(
    source: S3AFileSystem, keys: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    there = source.uri.replace("s3a://", "s3://")
    words = ["-cp", f"{source.uri}/src", f"{there}/src/below"]
    assert main(["dfs", *options_of(keys), *words]) == 1
    assert "is a subdirectory of itself" in capfd.readouterr().err
    assert found(source, "/src") == FILES
