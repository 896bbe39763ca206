"""`howdah s3 keys`, and a gateway that cannot start."""

from __future__ import annotations

import io
import stat
from pathlib import Path

import pytest

from howdah.cli.main import main
from howdah.gateway.s3.access_keys import read_access_keys
from howdah.security.sealing import is_sealed


def keys(path: Path, *words: str) -> int:
    return main(["s3", "keys", "--file", str(path), *words])


def test_a_key_is_made_listed_and_deleted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "keys"
    assert keys(path, "add", "ann") == 0
    told = dict(line.split("=") for line in capsys.readouterr().out.splitlines())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (made,) = read_access_keys(path).values()
    assert (made.user, made.access_key, made.secret_key) == (
        "ann",
        told["AWS_ACCESS_KEY_ID"],
        told["AWS_SECRET_ACCESS_KEY"],
    )
    assert (len(made.access_key), len(made.secret_key)) == (20, 40)
    assert keys(path, "add", "bob") == 0
    capsys.readouterr()
    assert keys(path, "list", "ann") == 0
    assert capsys.readouterr().out == f"{made.access_key} ann\n"
    assert keys(path, "list") == 0
    listed = capsys.readouterr().out
    assert listed.count("\n") == 2
    assert made.secret_key not in listed
    assert keys(path, "delete", made.access_key) == 0
    assert [key.user for key in read_access_keys(path).values()] == ["bob"]


def test_a_secret_may_be_brought_along(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "keys"
    monkeypatch.setattr("sys.stdin", io.StringIO("a secret/of+mine\n"))
    assert keys(path, "--stdin", "--access-key", "MINE", "add", "ann") == 1
    monkeypatch.setattr("sys.stdin", io.StringIO("secret/of+mine\n"))
    assert keys(path, "--stdin", "--access-key", "MINE", "add", "ann") == 0
    assert capsys.readouterr().out == "AWS_ACCESS_KEY_ID=MINE\n"
    assert read_access_keys(path)["MINE"].secret_key == "secret/of+mine"
    assert keys(path, "--access-key", "MINE", "add", "bob") == 1
    assert read_access_keys(path)["MINE"].user == "ann"


def test_the_file_is_encrypted_by_a_passphrase(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, secret = tmp_path / "keys", tmp_path / "passphrase"
    secret.write_text("correct horse battery\nand more\n")
    secret.chmod(0o600)
    by = ("--passphrase-file", str(secret))
    assert keys(path, "add", "ann") == 0
    assert keys(path, *by, "encrypt") == 0
    assert "ann" not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    capsys.readouterr()
    assert keys(path, "list") == 1
    assert "is encrypted" in capsys.readouterr().err
    assert keys(path, *by, "add", "bob") == 0
    assert is_sealed(path.read_text()), "it stays so"
    capsys.readouterr()
    assert keys(path, *by, "list", "bob") == 0
    assert capsys.readouterr().out.endswith(" bob\n")
    other = tmp_path / "other"
    other.write_text("another passphrase\n")
    other.chmod(0o600)
    assert keys(path, "--passphrase-file", str(other), "list") == 1
    assert "not its passphrase" in capsys.readouterr().err
    other.chmod(0o644)
    assert keys(path, "--passphrase-file", str(other), "list") == 1
    assert "can be read by others" in capsys.readouterr().err
    assert keys(path, *by, "decrypt") == 0
    assert [key.user for key in read_access_keys(path).values()].count("ann") == 1
    assert keys(path, "encrypt") == 1
    assert "is not set" in capsys.readouterr().err
    new = tmp_path / "new"
    assert keys(new, *by, "add", "ann") == 0
    assert is_sealed(new.read_text())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("delete", "NOBODY"), "there is no file"),
        (("list",), "cannot be read"),
        (("add",), "which user?"),
        (("delete",), "which key?"),
        (("add", "ann/host@REALM"), "is no name for a login"),
    ],
)
def test_what_cannot_be_done_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert keys(tmp_path / "keys", *words) != 0
    assert said in capsys.readouterr().err


def test_a_file_has_to_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["s3", "keys", "list"]) == 1
    assert "howdah.s3.keys.file is not set" in capsys.readouterr().err


def test_secrets_that_others_can_read_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "keys"
    assert keys(path, "add", "ann") == 0
    path.chmod(0o640)
    assert keys(path, "list") == 1
    assert "chmod 600" in capsys.readouterr().err


def test_a_gateway_without_keys_does_not_start(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["s3", "-D", "fs.defaultFS=mem://s3-cli"]) == 1
    assert "howdah s3 keys add USER makes the file" in capfd.readouterr().err
