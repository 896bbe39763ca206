"""The file of names and hashes of passwords."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.formats.malformed import MalformedRecord
from howdah.formats.passwords import (
    HEADER,
    Cost,
    PasswordRecord,
    check_user,
    parse,
    record_of,
    written,
)

CHEAP = Cost(1, 1, 1)
SALT = b"0123456789abcdef"
FIRST = string.ascii_letters + string.digits + "_"
NAMES = st.builds(str.__add__, st.sampled_from(FIRST), st.text(FIRST + "._+-", max_size=20))
COSTS = st.builds(Cost, st.integers(1, 15), st.integers(1, 8), st.integers(1, 3))
BYTES = st.binary(min_size=8, max_size=64)
RECORDS = st.builds(PasswordRecord, NAMES, COSTS, BYTES, BYTES)


@given(st.lists(RECORDS, unique_by=lambda record: record.user))
def test_what_is_written_is_read_again(records: list[PasswordRecord]) -> None:
    text = written(records)
    assert parse(text) == {record.user: record for record in records}
    assert written(parse(text).values()) == text


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        records = parse(text)
    except MalformedRecord:
        return
    assert parse(written(records.values())) == records


@settings(max_examples=50)
@given(st.text(min_size=8, max_size=64), st.text(min_size=8, max_size=64))
def test_the_password_matches_and_no_other_one(password: str, other: str) -> None:
    record = record_of("alice", password, SALT, CHEAP)
    assert record.matches(password)
    assert record.matches(other) == (record == record_of("alice", other, SALT, CHEAP))


def test_a_line_is_one_that_passlib_writes_and_reads() -> None:
    """By passlib 1.7.4: scrypt.using(salt=b"NaCl" * 4, rounds=4, block_size=8,
    parallelism=1).hash("password")."""
    record = record_of("alice", "password", b"NaCl" * 4, Cost(4, 8, 1))
    assert record.line == (
        "alice:$scrypt$ln=4,r=8,p=1$TmFDbE5hQ2xOYUNsTmFDbA$"
        "nqYBpKya9pCCSv93AYhF78iwU8Qr/qDZGbuqYZoP3jk\n"
    )


def test_the_key_is_that_of_the_standard() -> None:
    """RFC 7914, 12: scrypt("pleaseletmein", "SodiumChloride", N=16384, r=8, p=1)."""
    key = bytes.fromhex(
        "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
        "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887"
    )
    assert PasswordRecord("u", Cost(14, 8, 1), b"SodiumChloride", key).matches("pleaseletmein")


@pytest.mark.parametrize(
    "line",
    [
        "alice",
        "alice:secret",
        "alice:$scrypt$ln=15,r=8,p=3$MDEyMzQ1Njc4OWFiY2RlZg",
        "alice:$scrypt$ln=15,r=8,p=3$MDEyMzQ1Njc4OWFiY2RlZg==$MDEyMzQ1Njc4OWFiY2RlZg",
        "alice:$scrypt$ln=15,r=8,p=3$MDEy$MDEyMzQ1Njc4OWFiY2RlZg",
        "alice:$scrypt$ln=15,r=8,p=3$MDEyMzQ1Njc4OWFiY2RlZh$MDEyMzQ1Njc4OWFiY2RlZg",
        "alice:$scrypt$ln=0,r=8,p=3$MDEyMzQ1Njc4OWFiY2RlZg$MDEyMzQ1Njc4OWFiY2RlZg",
        "alice:$scrypt$ln=24,r=8,p=1$MDEyMzQ1Njc4OWFiY2RlZg$MDEyMzQ1Njc4OWFiY2RlZg",
        "alice:$scrypt$ln=15,r=0,p=3$MDEyMzQ1Njc4OWFiY2RlZg$MDEyMzQ1Njc4OWFiY2RlZg",
        "al ice:$scrypt$ln=15,r=8,p=3$MDEyMzQ1Njc4OWFiY2RlZg$MDEyMzQ1Njc4OWFiY2RlZg",
        ":$scrypt$ln=15,r=8,p=3$MDEyMzQ1Njc4OWFiY2RlZg$MDEyMzQ1Njc4OWFiY2RlZg",
        "alice:$2b$12$abcdefghijklmnopqrstuu1111111111111111111111111111111",
    ],
)
def test_a_line_that_is_none_is_named_and_not_shown(line: str) -> None:
    with pytest.raises(MalformedRecord, match=r"^line 2: ") as caught:
        parse(f"{HEADER}{line}\n")
    assert "MDEy" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_name_that_stands_twice_is_refused() -> None:
    line = record_of("alice", "password", SALT, CHEAP).line
    with pytest.raises(MalformedRecord, match="line 2: alice has a line already"):
        parse(line + line)


@pytest.mark.parametrize("password", ["", "short", "x" * 1025])
def test_a_password_that_is_too_short_or_too_long_is_not_set(password: str) -> None:
    with pytest.raises(errors.IllegalArgument, match="8 to 1024 characters"):
        record_of("alice", password, SALT, CHEAP)


@pytest.mark.parametrize("name", ["alice@EXAMPLE.COM", "alice/admin", "alice/admin@EXAMPLE.COM"])
def test_a_principal_is_no_name_of_a_login_and_the_refusal_says_why(name: str) -> None:
    with pytest.raises(errors.IllegalArgument, match="auth_to_local"):
        check_user(name)
    line = record_of("alice", "password", SALT, CHEAP).line
    with pytest.raises(MalformedRecord, match=r"line 1: .*auth_to_local"):
        parse(line.replace("alice", name, 1))


@pytest.mark.parametrize("name", ["", "a b", "a:b", "a#b", "a\n", ".a", "ä", "x" * 256])
def test_a_name_that_fits_nowhere_is_refused(name: str) -> None:
    with pytest.raises(errors.IllegalArgument, match="is no name for a login"):
        check_user(name)


def test_composed_and_decomposed_characters_are_one_password() -> None:
    record = record_of("alice", "pa\u0308sswo\u0308rd", SALT, CHEAP)
    assert record.matches("p\u00e4ssw\u00f6rd")


def test_a_stamp_is_of_one_password_and_one_salt() -> None:
    stamps = {
        record_of("alice", password, salt, CHEAP).stamp
        for password in ("password", "Password")
        for salt in (SALT, SALT[::-1])
    }
    assert len(stamps) == 4


def test_no_secret_is_shown() -> None:
    record = record_of("alice", "password", SALT, CHEAP)
    assert "0123456789" not in repr(record)
    assert repr(record.key)[2:8] not in repr(record)
