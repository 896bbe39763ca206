"""The file of passwords: who may write it, and how it is changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from howdah import errors
from howdah.formats.passwords import Cost, PasswordRecord, record_of
from howdah.security.password_file import PasswordFile, change, read_passwords

SALT = b"0123456789abcdef"
CHEAP = Cost(1, 1, 1)


def entry(user: str, password: str = "password") -> Callable[[dict[str, PasswordRecord]], None]:
    def enter(records: dict[str, PasswordRecord]) -> None:
        records[user] = record_of(user, password, SALT, CHEAP)

    return enter


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "passwords"
    change(path, entry("alice"), creates=True)
    return path


def test_a_new_file_is_its_owners_alone(path: Path) -> None:
    assert path.stat().st_mode & 0o777 == 0o600
    assert set(read_passwords(path)) == {"alice"}


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_refused(path: Path, mode: int) -> None:
    path.chmod(mode)
    with pytest.raises(errors.InvalidConfiguration, match="can be written by others"):
        read_passwords(path)
    with pytest.raises(errors.InvalidConfiguration, match="can be written by others"):
        change(path, entry("bob"))


def test_a_directory_in_which_others_can_replace_it_is_refused(path: Path) -> None:
    path.parent.chmod(0o777)
    with pytest.raises(errors.InvalidConfiguration, match="others than its owner can replace"):
        read_passwords(path)
    path.parent.chmod(0o1777)  # As /tmp: each to his own.
    assert set(read_passwords(path)) == {"alice"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user_is_refused(path: Path) -> None:
    os.chown(path, 12345, -1)
    with pytest.raises(errors.InvalidConfiguration, match="belongs to user 12345"):
        read_passwords(path)


def test_a_file_that_others_can_read_is_warned_of(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.chmod(0o640)
    assert set(read_passwords(path)) == {"alice"}
    assert "can be read by others than its owner" in caplog.text


def test_a_change_keeps_the_mode_and_what_edit_refuses_changes_nothing(path: Path) -> None:
    path.chmod(0o640)
    before = path.read_bytes()

    def refuse(records: dict[str, PasswordRecord]) -> None:
        records.clear()
        raise errors.IllegalArgument("no")

    with pytest.raises(errors.IllegalArgument):
        change(path, refuse)
    assert path.read_bytes() == before
    change(path, entry("bob"))
    assert path.stat().st_mode & 0o777 == 0o640
    assert [child.name for child in path.parent.iterdir()] == [path.name]


def test_what_a_link_leads_to_is_changed(path: Path) -> None:
    link = path.with_name("link")
    link.symlink_to(path)
    change(link, entry("bob"))
    assert link.is_symlink()
    assert set(read_passwords(path)) == {"alice", "bob"}


def test_changes_at_the_same_time_are_all_kept(path: Path) -> None:
    names = [f"user{number}" for number in range(20)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: change(path, entry(name)), names))
    assert set(read_passwords(path)) == {"alice", *names}


def test_a_changed_file_is_read_anew_and_a_bad_one_lets_nobody_in(path: Path) -> None:
    passwords = PasswordFile(path)
    assert set(passwords.records()) == {"alice"}
    assert passwords.records() is passwords.records()
    change(path, entry("bob"))
    assert set(passwords.records()) == {"alice", "bob"}
    with path.open("a") as file:
        file.write("carol:secret\n")
    with pytest.raises(errors.InvalidConfiguration, match="line 4") as caught:
        passwords.records()
    assert "secret" not in str(caught.value)
    path.unlink()
    with pytest.raises(errors.InvalidConfiguration, match="cannot be read"):
        passwords.records()
    change(path, entry("dave"), creates=True)
    assert set(passwords.records()) == {"dave"}
    path.chmod(0o666)
    with pytest.raises(errors.InvalidConfiguration, match="can be written by others"):
        passwords.records()
