"""Errors travel: in other processes, threads and copies they say all that they said."""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
import multiprocessing
import pickle
import re
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import howdah
from howdah import errors
from howdah.runtime.tls.http_policy import Place
from howdah.web.connections import BrokenOff

WAYS: dict[str, Callable[[Any], Any]] = {
    "the oldest pickle": lambda error: pickle.loads(pickle.dumps(error, 0)),
    "a pickle": lambda error: pickle.loads(pickle.dumps(error)),
    "the newest pickle": lambda error: pickle.loads(pickle.dumps(error, -1)),
    "a copy": copy.copy,
    "a deep copy": copy.deepcopy,
}
PLACE = Place(False, "a-host", 80)


_DEFINES_ONE = re.compile(r"^class \w+\(.*(?:errors\.\w+|HowdahError)", re.MULTILINE)


@functools.cache
def classes() -> list[type[errors.HowdahError]]:
    """All that there are, wherever they stand."""
    root = Path(howdah.__file__).parent
    for path in root.rglob("*.py"):
        if "testing" not in path.parts and _DEFINES_ONE.search(path.read_text()):
            importlib.import_module(
                ".".join(("howdah", *path.relative_to(root).with_suffix("").parts))
            )
    found: set[type[errors.HowdahError]] = set()
    more = [errors.HowdahError]
    while more:
        found.update(more)
        more = [each for cls in more for each in cls.__subclasses__()]
    return sorted(
        (each for each in found if each.__module__.startswith("howdah.")),
        key=lambda each: f"{each.__module__}.{each.__qualname__}",
    )


def made(cls: type[errors.HowdahError]) -> errors.HowdahError:
    """One of the class, with something in everything that it may say."""
    values = {"str": "a word", "int": 7, "str | None": "a word"}
    given = {"place": PLACE, "cause": OSError(5, "EIO")}
    arguments = {
        each.name: given.get(each.name, values.get(str(each.annotation)))
        for each in inspect.signature(cls).parameters.values()
        if each.default is each.empty or each.name in given
    }
    if not arguments:
        arguments = {"message": "it is /f of blk_1"}
    make: Callable[..., errors.HowdahError] = cls
    error = make(**arguments)
    if isinstance(error, OSError):
        error.numbered_as(OSError(17, "as what caused it")).about("/a", "/b")
    error.remote_class = "org.example.Own"
    error.add_note("Raised by the server")
    error.own = ("a field", 1)  # type: ignore[attr-defined]
    return error


def fields(error: BaseException) -> dict[str, object]:
    found = {"class": type(error), "args": error.args, "str": str(error), **error.__dict__}
    if isinstance(error, OSError):
        found |= {
            name: getattr(error, name) for name in ("errno", "strerror", "filename", "filename2")
        }
    return found


@pytest.mark.parametrize("way", WAYS)
def test_every_error_is_the_same_when_it_has_travelled(way: str) -> None:
    found = classes()
    assert len(found) > 100
    for cls in found:
        error = made(cls)
        again = WAYS[way](error)
        assert again is not error
        assert fields(again) == fields(error), cls


def fails(kind: str) -> None:
    if kind == "path":
        raise errors.PathNotFound("File does not exist: /a").about("/a", "/b")
    raise BrokenOff(PLACE, "it ended", ConnectionResetError(104, "reset"))


@pytest.mark.parametrize("kind", ["path", "place"])
def test_an_error_comes_from_another_process_as_it_was_raised(kind: str) -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        found = pool.submit(fails, kind).exception(timeout=60)
    with pytest.raises(errors.HowdahError) as raised:
        fails(kind)
    assert found is not None
    known, expected = fields(found), fields(raised.value)
    known.pop("__notes__", None)
    assert known == expected


def test_an_error_that_is_given_a_path_keeps_what_else_it_says() -> None:
    error = errors.DiskBalancerError.of("A_WORD", "refused").numbered_as(OSError(13, "why"))
    error.add_note("Raised by the server")
    named = error.naming("/f")
    assert isinstance(named, errors.DiskBalancerError)
    assert (str(named), named.result, named.errno) == ("/f: refused", "A_WORD", 13)
    assert named.filename == "/f"
    assert named.__notes__ == ["Raised by the server"]
    assert (str(error), error.filename) == ("refused", None)


def test_an_error_of_any_constructor_can_be_given_a_path() -> None:
    error = BrokenOff(PLACE, "it ended")
    named = error.naming("/f")
    assert isinstance(named, BrokenOff)
    assert (str(named), named.host) == ("/f: it ended", "a-host")


@pytest.mark.parametrize(
    "message",
    [
        "File /a could only be written to 0 of the 1 minReplication nodes. There are 0 datanode(s)",
        "File /a could only be replicated to 0 nodes instead of minReplication (=1).",
    ],
)
def test_a_write_that_no_datanode_takes_has_a_class_of_its_own(message: str) -> None:
    error = errors.from_java("java.io.IOException", message)
    assert type(error) is errors.NoDatanodes
    assert isinstance(error, errors.RemoteError), "as before"
    assert type(errors.from_java("java.io.IOException", "something else")) is errors.RemoteError


class Strange(errors.RemoteError):
    """As a program may define one: with slots, and a `__new__` that needs arguments."""

    __slots__ = ("code",)

    def __new__(cls, *args: object, code: int) -> Strange:
        return super().__new__(cls, *args)

    def __init__(self, message: str, *, code: int) -> None:
        super().__init__(message)
        self.code = code


class StrangeWord(errors.HowdahError, LookupError):
    """No OSError."""

    def __new__(cls, word: str, place: int) -> StrangeWord:
        return super().__new__(cls, word, place)

    def __init__(self, word: str, place: int) -> None:
        super().__init__(f"{word} at {place}")
        self.place = place


@pytest.mark.parametrize("way", WAYS)
def test_errors_that_programs_define_travel_whole(way: str) -> None:
    strange = WAYS[way](Strange("it is so", code=7).about("/a"))
    assert type(strange) is Strange
    assert (str(strange), strange.code, strange.filename) == ("it is so", 7, "/a")
    word = WAYS[way](StrangeWord("a", 5))
    assert type(word) is StrangeWord
    assert (str(word), word.place) == ("a at 5", 5)
