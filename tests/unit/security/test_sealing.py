"""Files that are encrypted by a passphrase."""

from __future__ import annotations

from pathlib import Path

import pytest

from howdah import errors
from howdah.security.sealing import is_sealed, passphrase_in, seal, unseal

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


@pytest.mark.parametrize("part", range(5))
def test_a_file_that_was_changed_is_refused(sealed: str, part: int) -> None:
    parts = sealed.strip().split(".")
    for other in ("", parts[part][:-8], ("B" if parts[part][0] == "A" else "A") + parts[part][1:]):
        changed = ".".join([*parts[:part], other, *parts[part + 1 :]])
        with pytest.raises(errors.InvalidConfiguration, match="damaged") as refused:
            unseal(changed, PASSPHRASE)
        assert "secret-of-ann" not in str(refused.value)


@pytest.mark.parametrize("text", ["", TEXT, "eyJhbGciOiJub25lIn0....", "eyJ" * 1000, "a.b.c"])
def test_what_is_no_encrypted_file_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match="damaged"):
        unseal(text, PASSPHRASE)


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
