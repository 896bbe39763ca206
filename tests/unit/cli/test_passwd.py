"""`howdah passwd`."""

from __future__ import annotations

import getpass
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from howdah.cli.main import main
from howdah.formats.passwords import Cost, PasswordRecord, record_of
from howdah.security.password_file import read_passwords

Run = Callable[..., int]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "passwords"


@pytest.fixture
def run(path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command with a password on stdin, at a cost for tests."""

    def cheap(user: str, password: str, salt: bytes) -> PasswordRecord:
        return record_of(user, password, salt, Cost(1, 1, 1))

    monkeypatch.setattr("howdah.cli.passwd.record_of", cheap)

    def run(*words: str, password: str = "") -> int:
        monkeypatch.setattr(sys, "stdin", io.StringIO(password))
        return main(["passwd", "--file", str(path), "--stdin", *words])

    return run


def test_users_are_added_changed_verified_listed_and_deleted(
    run: Run, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("add", "bob", password="bob's password\n") == 0
    assert run("add", "alice", password="correct horse\r\n") == 0
    assert path.stat().st_mode & 0o777 == 0o600
    assert run("verify", "alice", password="correct horse") == 0
    assert run("change", "alice", password="battery staple") == 0
    assert run("verify", "alice", password="correct horse") == 1
    assert run("verify", "alice", password="battery staple") == 0
    assert run("verify", "carol", password="battery staple") == 1
    capsys.readouterr()
    assert run("list") == 0
    assert capsys.readouterr().out == "alice\nbob\n"
    assert run("delete", "bob") == 0
    assert set(read_passwords(path)) == {"alice"}
    for text in ("correct horse", "battery staple"):
        assert text not in path.read_text()


@pytest.mark.parametrize(
    ("words", "password", "said"),
    [
        (("add", "alice"), "a planted one", r"is in .* already"),
        (("change", "bob"), "a planted one", "bob is not in"),
        (("delete", "bob"), "", "bob is not in"),
        (("change", "alice"), "short", "8 to 1024 characters"),
        (("add", "bob"), "", "8 to 1024 characters"),
        (("add", "b:b"), "a planted one", "is no name for a login"),
    ],
)
def test_what_cannot_be_done_changes_nothing(
    run: Run,
    path: Path,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    password: str,
    said: str,
) -> None:
    assert run("add", "alice", password="correct horse") == 0
    before = path.read_bytes()
    assert run(*words, password=password) == 1
    assert path.read_bytes() == before
    error = capsys.readouterr().err
    assert re.search(said, error)
    assert "planted" not in error


def test_a_password_is_typed_twice_and_never_an_argument(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = iter(["one password", "another password"])
    monkeypatch.setattr(getpass, "getpass", lambda prompt: next(typed))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert main(["passwd", "--file", str(path), "add", "alice"]) == 1
    assert "two different passwords" in capsys.readouterr().err
    assert not path.exists()
    assert main(["passwd", "--file", str(path), "add", "alice", "my password"]) == 255


def test_without_a_terminal_it_says_how_to_give_the_password(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert main(["passwd", "--file", str(path), "add", "alice"]) == 1
    assert "use --stdin" in capsys.readouterr().err


def test_the_configuration_names_the_file(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    path.write_text(record_of("alice", "a password", b"0123456789abcdef", Cost(1, 1, 1)).line)
    path.chmod(0o600)
    assert main(["passwd", "-D", f"howdah.http.authentication.file={path}", "list"]) == 0
    assert capsys.readouterr().out == "alice\n"
    assert main(["passwd", "list"]) == 1
    assert "say --file FILE" in capsys.readouterr().err
