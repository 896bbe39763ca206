"""Where DistCp puts things."""

from __future__ import annotations

import pytest

from howdah.copy.layout import InvalidInput, Placed, Source, lay_out
from howdah.copy.listing.entries import Found
from howdah.copy.options import Options

DEFAULT = Options()
UPDATE = Options(update=True)
OVERWRITE = Options(overwrite=True)


def directory(path: str) -> Source:
    return Source(0, path, f"hdfs://a{path}", True)


def file(path: str) -> Source:
    return Source(0, path, f"hdfs://a{path}", False)


def placed(
    *sources: Source, target: Found = Found.ABSENT, options: Options = DEFAULT
) -> list[Placed]:
    return lay_out(sources, target, "hdfs://b/dir2", options)


def places(*sources: Source, target: Found = Found.ABSENT, options: Options = DEFAULT) -> list[str]:
    return [each.relative for each in placed(*sources, target=target, options=options)]


@pytest.mark.req("FS-159")
def test_file_gets_the_name_of_an_absent_target() -> None:
    assert places(file("/a/f")) == [""]


@pytest.mark.req("FS-159")
def test_file_replaces_a_file() -> None:
    assert places(file("/a/f"), target=Found.FILE) == [""]


@pytest.mark.parametrize("options", [DEFAULT, UPDATE, OVERWRITE])
def test_file_goes_into_a_directory_under_its_name(options: Options) -> None:
    assert places(file("/a/f"), target=Found.DIRECTORY, options=options) == ["/f"]


@pytest.mark.req("FS-160")
def test_directory_becomes_the_absent_target() -> None:
    assert places(directory("/dir1")) == [""]


@pytest.mark.req("FS-162")
def test_directory_goes_under_its_name_into_one_that_exists() -> None:
    assert places(directory("/x/dir1"), target=Found.DIRECTORY) == ["/dir1"]


@pytest.mark.req("FS-161")
@pytest.mark.parametrize("target", [Found.ABSENT, Found.DIRECTORY])
def test_several_sources_keep_their_names(target: Found) -> None:
    sources = directory("/x/d"), file("/y/f")
    assert places(*sources, target=target) == ["/d", "/f"]


@pytest.mark.req("FS-163", "FS-164")
@pytest.mark.parametrize("target", [Found.ABSENT, Found.DIRECTORY])
@pytest.mark.parametrize("options", [UPDATE, OVERWRITE])
def test_content_of_a_directory_goes_right_into_the_target(options: Options, target: Found) -> None:
    assert places(directory("/dir1"), target=target, options=options) == [""]


@pytest.mark.parametrize("options", [UPDATE, OVERWRITE])
def test_contents_of_several_directories_are_put_together(options: Options) -> None:
    sources = directory("/x"), directory("/y"), file("/z/f")
    assert places(*sources, target=Found.DIRECTORY, options=options) == ["", "", "/f"]


@pytest.mark.parametrize("options", [UPDATE, OVERWRITE])
def test_attributes_of_the_targets_own_directory_stay(options: Options) -> None:
    assert placed(directory("/dir1"), options=options)[0].skips_itself


def test_attributes_of_the_targets_own_directory_change_with_update_root() -> None:
    options = Options(update=True, update_root=True)
    assert not placed(directory("/dir1"), options=options)[0].skips_itself


def test_new_target_gets_the_attributes_of_the_source() -> None:
    assert not placed(directory("/dir1"))[0].skips_itself


def test_root_has_no_name_and_gives_its_content() -> None:
    assert places(directory("/"), target=Found.DIRECTORY) == [""]


def test_several_sources_do_not_fit_into_a_file() -> None:
    with pytest.raises(InvalidInput, match="Multiple source being copied to a file: hdfs://b/dir2"):
        placed(file("/a"), file("/b"), target=Found.FILE)


def test_directory_does_not_replace_a_file() -> None:
    with pytest.raises(InvalidInput, match="Cannot copy hdfs://a/d, which is not a file to"):
        placed(directory("/d"), target=Found.FILE)


def test_atomic_copy_wants_an_absent_target() -> None:
    with pytest.raises(InvalidInput, match="Target path for atomic-commit already exists"):
        placed(directory("/d"), target=Found.DIRECTORY, options=Options(atomic=True))
