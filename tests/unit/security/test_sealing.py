"""Files that are encrypted by a passphrase."""

from __future__ import annotations

from pathlib import Path

import pytest

from howdah import errors
from howdah.formats.sealed_text import is_sealed
from howdah.security.sealing import passphrase_in, seal, unseal

PASSPHRASE = "correct horse battery"
TEXT = "AK1 secret-of-ann ann\n"


@pytest.fixture(scope="module")
def sealed() -> str:
    return seal(TEXT, PASSPHRASE)


def test_what_is_sealed_is_read_by_its_passphrase_alone(sealed: str) -> None:
    assert is_sealed(sealed)
    assert not is_sealed(TEXT)
    assert "ann" not in sealed
    assert unseal(sealed, PASSPHRASE) == TEXT
    with pytest.raises(errors.InvalidConfiguration, match="not its passphrase"):
        unseal(sealed, f"{PASSPHRASE}.")


def test_the_same_text_is_sealed_in_another_way_each_time(sealed: str) -> None:
    assert seal(TEXT, PASSPHRASE) != sealed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ln=15", "ln=14"),
        ("ln=15", "ln=30"),
        ("scrypt", "other"),
        ("aes-256-gcm ", "aes-256-gcm AAAA"),
        ("aes-256-gcm ", "aes-256-gcm !"),
        ("sealed 1\n", "sealed 1\n\n"),
        ("sealed 1", "sealed 2"),
    ],
)
def test_a_file_that_was_changed_is_refused(sealed: str, old: str, new: str) -> None:
    changed = sealed.replace(old, new)
    assert changed != sealed
    with pytest.raises(errors.InvalidConfiguration) as refused:
        unseal(changed, PASSPHRASE)
    assert "secret-of-ann" not in str(refused.value)


def test_a_byte_that_was_changed_is_refused(sealed: str) -> None:
    last = sealed.rstrip().splitlines()[-1]
    other = ("B" if last[0] == "A" else "A") + last[1:]
    with pytest.raises(errors.InvalidConfiguration, match="damaged"):
        unseal(sealed.replace(last, other), PASSPHRASE)


def test_a_short_passphrase_is_refused() -> None:
    with pytest.raises(errors.InvalidConfiguration, match="12 characters"):
        seal(TEXT, "short")


def test_a_passphrase_is_a_line_that_nobody_else_reads(tmp_path: Path) -> None:
    path = tmp_path / "passphrase"
    path.write_text(f"{PASSPHRASE}\r\nmore\n")
    path.chmod(0o600)
    assert passphrase_in(path) == PASSPHRASE
    path.chmod(0o640)
    with pytest.raises(errors.InvalidConfiguration, match="chmod 600"):
        passphrase_in(path)
    path.write_text("\n")
    path.chmod(0o600)
    with pytest.raises(errors.InvalidConfiguration, match="no passphrase"):
        passphrase_in(path)
