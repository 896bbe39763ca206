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


def test_a_directory_in_which_others_can_lead_a_link_elsewhere_is_refused(
    path: Path, tmp_path: Path
) -> None:
    """To the file of yesterday, say, in which who was taken out since is still there."""
    links = [tmp_path / name / "passwords" for name in ("first", "second")]
    for link, target in zip(links, (path, links[0]), strict=True):
        link.parent.mkdir(mode=0o755)
        link.symlink_to(target)
    known = PasswordFile(links[1])
    assert set(known.records()) == {"alice"}
    for link in links:
        link.parent.chmod(0o777)
        for refused in (
            lambda: read_passwords(links[1]),
            known.records,
            lambda: change(links[1], entry("bob")),
        ):
            with pytest.raises(errors.InvalidConfiguration, match="others than its owner can"):
                refused()
        link.parent.chmod(0o1777)
        assert set(read_passwords(links[1])) == {"alice"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user_is_refused(path: Path) -> None:
    os.chown(path, 12345, -1)
    with pytest.raises(errors.InvalidConfiguration, match="belongs to user 12345"):
        read_passwords(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives directories away")
def test_a_directory_of_another_user_is_refused(path: Path) -> None:
    os.chown(path.parent, 12345, -1)
    for refused in (lambda: read_passwords(path), lambda: change(path, entry("bob"))):
        with pytest.raises(errors.InvalidConfiguration, match="belongs to user 12345"):
            refused()
    path.unlink()
    with pytest.raises(errors.InvalidConfiguration, match="belongs to user 12345"):
        change(path, entry("bob"), creates=True)
    assert not path.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_change_keeps_the_owner(path: Path) -> None:
    os.chown(path, 0, 12345)
    path.chmod(0o640)
    umask = os.umask(0o077)
    try:
        change(path, entry("bob"))
    finally:
        os.umask(umask)
    status = path.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (0, 12345, 0o640)


def test_a_link_that_was_planted_is_not_followed(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "of others"
    other.write_bytes(b"kept")
    other.chmod(0o644)
    path.with_name(f"{path.name}.tmp").symlink_to(other)
    change(path, entry("bob"))
    assert other.read_bytes() == b"kept"
    assert other.stat().st_mode & 0o777 == 0o644
    assert set(read_passwords(path)) == {"alice", "bob"}


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


def test_a_file_is_read_again_once_its_directory_is_mended(path: Path) -> None:
    passwords = PasswordFile(path)
    path.parent.chmod(0o777)
    with pytest.raises(errors.InvalidConfiguration, match="others than its owner can replace"):
        passwords.records()
    path.parent.chmod(0o755)
    assert set(passwords.records()) == {"alice"}


def test_a_directory_that_others_can_change_later_is_noticed(path: Path) -> None:
    passwords = PasswordFile(path)
    assert set(passwords.records()) == {"alice"}
    path.parent.chmod(0o777)
    with pytest.raises(errors.InvalidConfiguration, match="others than its owner can replace"):
        passwords.records()


def test_a_refused_file_is_read_again_once_a_second(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now_s, reads, is_mended = [100.0], [0], [False]

    def read(path: Path) -> dict[str, PasswordRecord]:
        reads[0] += 1
        if not is_mended[0]:
            raise errors.InvalidConfiguration("a fault that changes no signature")
        return read_passwords(path)

    monkeypatch.setattr("howdah.security.password_file.read_passwords", read)
    passwords = PasswordFile(path, lambda: now_s[0])
    for now, count in ((100.0, 1), (100.5, 1), (101.0, 2), (101.5, 2)):
        now_s[0] = now
        with pytest.raises(errors.InvalidConfiguration):
            passwords.records()
        assert reads[0] == count
    assert caplog.text.count("nobody can log in") == 1
    is_mended[0], now_s[0] = True, 102.0
    assert set(passwords.records()) == {"alice"}
    now_s[0] = 200.0
    passwords.records()
    assert reads[0] == 3
