"""The file of access keys."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.formats.access_keys import AccessKey, parse, written
from howdah.formats.malformed import MalformedRecord


def test_what_is_written_is_read() -> None:
    keys = [AccessKey("BBB", "secret/+1", "bob"), AccessKey("AAA", "secret/+2", "ann")]
    assert parse(written(keys)) == {key.access_key: key for key in keys}
    assert "secret" not in repr(keys[0])


@pytest.mark.parametrize(
    "line",
    [
        "AAA secret/+1",
        "AAA secret/+1 ann more",
        "A secret/+1 ann",
        "AAA short ann",
        "AAA secret/+1 a/b",
        "AAA:x secret/+1 ann",
        "AAA secret/+1 ann\nAAA secret/+2 bob",
    ],
)
def test_what_is_no_key_is_named_by_its_line(line: str) -> None:
    with pytest.raises(MalformedRecord, match=r"^line \d") as refused:
        parse(f"# a comment\n\n{line}\n")
    assert "secret/" not in str(refused.value)


def test_a_key_is_made_of_what_fits_into_a_line() -> None:
    for words in (("A B", "12345678", "ann"), ("AAA", "1234 5678", "ann"), ("AAA", "12345678", "")):
        with pytest.raises(errors.IllegalArgument):
            AccessKey(*words)
