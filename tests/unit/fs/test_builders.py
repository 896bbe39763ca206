"""Opening files with options."""

from __future__ import annotations

from typing import Any, cast

import pytest

from howdah import errors
from howdah.fs.api import FileSystem
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
    return CreateFileBuilder(cast(FileSystem, Recorder()), "/f")


def open_() -> OpenFileBuilder:
    return OpenFileBuilder(cast(FileSystem, Recorder()), "/f")


def told(builder: CreateFileBuilder | OpenFileBuilder) -> tuple[Any, ...]:
    """What the recorder says of the call."""
    return cast(tuple[Any, ...], builder.build())


@pytest.mark.req("OS-001")
def test_a_builder_overwrites_and_makes_no_parents_by_default() -> None:
    assert told(create()) == ("create", "/f", {"overwrite": True, "create_parent": False})


def test_every_setting_reaches_create() -> None:
    def progress() -> None: ...

    built = told(
        create()
        .overwrite(False)
        .recursive()
        .replication(2)
        .block_size(1024)
        .permission(0o600)
        .buffer_size(5)
        .progress(progress)
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
    assert told(create().append())[0] == "append"


@pytest.mark.req("OS-153")
def test_what_places_and_syncs_blocks_reaches_create_as_flags() -> None:
    built = told(create().sync_block().no_local_write().lazy_persist().replicate())
    assert built[2]["flags"] == (
        CreateFlag.SYNC_BLOCK
        | CreateFlag.NO_LOCAL_WRITE
        | CreateFlag.LAZY_PERSIST
        | CreateFlag.SHOULD_REPLICATE
    )


def test_flags_may_say_what_methods_say() -> None:
    flags = CreateFlag.CREATE | CreateFlag.OVERWRITE
    built = told(create().overwrite(False).create_flag(flags))
    assert built[2] == {"overwrite": True, "create_parent": False}
    assert told(create().create_flag(CreateFlag.APPEND))[0] == "append"


def test_an_append_may_begin_a_new_block() -> None:
    built = told(create().append().new_block().sync_block())
    assert (built[2]["new_block"], built[2]["sync_block"]) == (True, True)


def test_a_new_block_is_for_append_only() -> None:
    with pytest.raises(errors.IllegalArgument, match="for append"):
        create().new_block().build()


def test_an_unknown_option_is_ignored_when_it_may_be() -> None:
    assert told(create().opt("fs.x.y", 1))[0] == "create"


def test_an_unknown_option_is_refused_by_name_when_it_must_be() -> None:
    for builder in (create(), open_()):
        with pytest.raises(errors.IllegalArgument, match=r"fs\.x\.y"):
            builder.must("fs.x.y", 1).build()


def test_the_last_word_on_an_option_counts() -> None:
    assert told(create().must("fs.x.y", 1).opt("fs.x.y", 2))[0] == "create"


def test_a_buffer_size_reaches_open() -> None:
    assert told(open_().must(BUFFER_SIZE, "4096")) == ("open", "/f", 4096)
    assert told(open_()) == ("open", "/f", None)


def test_a_standard_hint_may_be_mandatory() -> None:
    assert told(open_().must("fs.option.openfile.read.policy", "random"))[0] == "open"


def test_a_status_of_another_file_is_refused() -> None:
    status = FileStatus("/g", 0, False, 1, 1, 0, 0, 0, "", "")
    with pytest.raises(errors.IllegalArgument, match="/g"):
        open_().with_file_status(status)
