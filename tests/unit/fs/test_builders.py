"""Opening files with options."""

from __future__ import annotations

from typing import Any

import pytest

from howdah import errors
from howdah.fs.builders import BUFFER_SIZE, CreateFileBuilder, OpenFileBuilder
from howdah.fs.status import FileStatus
from howdah.options import CreateFlag


class Recorder:
    """A filesystem that tells how it was called."""

    uri = "hdfs://nn"

    def create(self, path: str, **options: Any) -> Any:
        flags = options.pop("flags")
        said = {key: value for key, value in options.items() if value is not None}
        return ("create", path, said | ({"flags": flags} if flags else {}))

    def append(self, path: str, **options: Any) -> Any:
        return ("append", path, options)

    def open(self, path: str, buffer_size: int | None = None) -> Any:
        return ("open", path, buffer_size)

    def resolve(self, path: str) -> str:
        return path


def create() -> CreateFileBuilder:
    return CreateFileBuilder(Recorder(), "/f")


def open_() -> OpenFileBuilder:
    return OpenFileBuilder(Recorder(), "/f")


@pytest.mark.req("OS-001")
def test_a_builder_overwrites_and_makes_no_parents_by_default() -> None:
    assert create().build() == ("create", "/f", {"overwrite": True, "create_parent": False})


def test_every_setting_reaches_create() -> None:
    def progress() -> None: ...

    built = (
        create()
        .overwrite(False)
        .recursive()
        .replication(2)
        .block_size(1024)
        .permission(0o600)
        .buffer_size(5)
        .progress(progress)
        .build()
    )
    assert built[2] == {
        "overwrite": False,
        "create_parent": True,
        "replication": 2,
        "block_size": 1024,
        "permission": 0o600,
        "buffer_size": 5,
        "progress": progress,
    }


def test_append_appends() -> None:
    assert create().append().build()[0] == "append"


@pytest.mark.req("OS-153")
def test_what_places_and_syncs_blocks_reaches_create_as_flags() -> None:
    built = create().sync_block().no_local_write().lazy_persist().replicate().build()
    assert built[2]["flags"] == (
        CreateFlag.SYNC_BLOCK
        | CreateFlag.NO_LOCAL_WRITE
        | CreateFlag.LAZY_PERSIST
        | CreateFlag.SHOULD_REPLICATE
    )


def test_flags_may_say_what_methods_say() -> None:
    built = create().overwrite(False).create_flag(CreateFlag.CREATE | CreateFlag.OVERWRITE).build()
    assert built[2] == {"overwrite": True, "create_parent": False}
    assert create().create_flag(CreateFlag.APPEND).build()[0] == "append"


def test_an_append_may_begin_a_new_block() -> None:
    built = create().append().new_block().sync_block().build()
    assert (built[2]["new_block"], built[2]["sync_block"]) == (True, True)


def test_a_new_block_is_for_append_only() -> None:
    with pytest.raises(errors.IllegalArgument, match="for append"):
        create().new_block().build()


def test_an_unknown_option_is_ignored_when_it_may_be() -> None:
    assert create().opt("fs.x.y", 1).build()[0] == "create"


def test_an_unknown_option_is_refused_by_name_when_it_must_be() -> None:
    for builder in (create(), open_()):
        with pytest.raises(errors.IllegalArgument, match=r"fs\.x\.y"):
            builder.must("fs.x.y", 1).build()


def test_the_last_word_on_an_option_counts() -> None:
    assert create().must("fs.x.y", 1).opt("fs.x.y", 2).build()[0] == "create"


def test_a_buffer_size_reaches_open() -> None:
    assert open_().must(BUFFER_SIZE, "4096").build() == ("open", "/f", 4096)
    assert open_().build() == ("open", "/f", None)


def test_a_standard_hint_may_be_mandatory() -> None:
    assert open_().must("fs.option.openfile.read.policy", "random").build()[0] == "open"


def test_a_status_of_another_file_is_refused() -> None:
    status = FileStatus("/g", 0, False, 1, 1, 0, 0, 0, "", "")
    with pytest.raises(errors.IllegalArgument, match="/g"):
        open_().with_file_status(status)
