"""What is done to a tree while a proxy makes trouble, and how the trouble is planned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from howdah import errors
from howdah.fs.objects.filesystem import ObjectFileSystem
from tests.support.objects.trouble import TROUBLES

NAMES = ["1", "2/3", "4"]

FAILING = [each for each in TROUBLES if each != "slow"]


def content(name: str) -> bytes:
    """Of the second name one part and a piece, of the others less."""
    return name.encode() * 9000


def held(fs: ObjectFileSystem, top: str) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for name in NAMES:
        with suppress(errors.PathNotFound):
            found[name] = fs.read_bytes(f"{top}/{name}")
    return found


WHOLE = {name: content(name) for name in NAMES}


def plans(
    count: int, troubles: Sequence[str], *, all_of_them: bool
) -> Iterator[tuple[str, dict[int, str]]]:
    """Each request with each trouble, one in a run; or several in a run, so that each request
    has some trouble, and each trouble some requests."""
    for index, trouble in enumerate(troubles):
        numbers = range(1, count + 1)
        if all_of_them:
            for number in numbers:
                yield trouble, {number: trouble}
        else:
            yield trouble, dict.fromkeys(numbers[index % 3 :: 3], trouble)


def bulk(fs: ObjectFileSystem, top: str) -> None:
    assert fs.bulk_delete(top).delete([f"{top}/1", f"{top}/2/3", f"{top}/4"]) == []
    assert held(fs, top) == {}


def listing(fs: ObjectFileSystem, top: str) -> None:
    assert [each.name for each in fs.list_status(top)] == ["1", "2", "4"]
    found = [file.path for _, _, files in fs.walk(top) for file in files]
    assert sorted(found) == [f"{top}/{name}" for name in NAMES]
    assert fs.content_summary(top).length == sum(map(len, WHOLE.values()))


def directories(fs: ObjectFileSystem, top: str) -> None:
    assert fs.mkdirs(f"{top}/new/one")
    assert fs.is_directory(f"{top}/new/one")
    assert held(fs, top) == WHOLE


def removal(fs: ObjectFileSystem, top: str) -> None:
    assert fs.delete(top, recursive=True)
    assert not fs.exists(top)


def copy(fs: ObjectFileSystem, top: str) -> None:
    fs.rename(f"{top}/2/3", f"{top}/copy")
    assert fs.read_bytes(f"{top}/copy") == content("2/3")
    assert fs.list_status(f"{top}/2") == []


CHANGES: dict[str, Callable[[ObjectFileSystem, str], None]] = {
    each.__name__: each for each in (bulk, listing, directories, removal, copy)
}
