"""`howdah fetchdt` and `howdah dtutil`, on files."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from howdah import errors
from howdah.cli.arguments.usage import UsageError
from howdah.cli.tokens import dtutil, fetchdt
from howdah.cli.tokens.issuers import uri_of, web_uri
from howdah.config import Configuration
from howdah.formats.tokens.credentials import PROTOBUF, Credentials
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.formats.tokens.token import HDFS_DELEGATION, Token

CONF = Configuration({})
IDENTIFIER = DelegationTokenIdentifier("alice@R", "yarn", "", 1795829571483, 1796434371483, 3, 8)
TOKEN = Token(IDENTIFIER.encode(), b"s3cr3t", HDFS_DELEGATION, "127.0.0.1:8020")
OTHER = Token(b"id", b"pw", "YARN_AM_RM_TOKEN", "rm:8030")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "tokens"
    path.write_bytes(Credentials({"127.0.0.1:8020": TOKEN}, {"s": b"x"}).encode())
    return path


def read(path: Path) -> Credentials:
    return Credentials.decode(path.read_bytes())


def test_a_token_is_shown_without_its_secret(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fetchdt.main(["--print", str(path)], CONF) == 0
    shown = capsys.readouterr().out
    assert shown == f"Token ({IDENTIFIER}) for 127.0.0.1:8020\n"
    assert TOKEN.url_string not in shown
    fetchdt.main(["--print", "--verbose", str(path)], CONF)
    assert TOKEN.url_string in capsys.readouterr().out


def test_two_things_at_once_are_refused(path: Path) -> None:
    with pytest.raises(UsageError, match="Only specify"):
        fetchdt.main(["--print", "--renew", str(path)], CONF)


def test_a_file_that_is_none_of_tokens_is_named(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"<html>")
    with pytest.raises(errors.IllegalArgument, match=r"/x: .*HDTS"):
        fetchdt.main(["--print", str(tmp_path / "x")], CONF)
    with pytest.raises(errors.IllegalArgument, match="No such file"):
        fetchdt.main(["--print", str(tmp_path / "y")], CONF)


def test_tokens_are_listed(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dtutil.main(["print", str(path)], CONF) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split("  ")[0] == "Token kind"
    assert lines[3].split() == [
        *("HDFS_DELEGATION_TOKEN", "127.0.0.1:8020", "yarn", "2026-12-05", TOKEN.url_string),
    ]


@pytest.mark.parametrize("date_ms", [253_402_300_800_000, (1 << 63) - 1, -(1 << 63)])
def test_a_token_whose_end_is_far_away_is_listed_with_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], date_ms: int
) -> None:
    far = DelegationTokenIdentifier("alice@R", "yarn", "", 1, date_ms, 3, 8)
    token = Token(far.encode(), b"s3cr3t", HDFS_DELEGATION, "127.0.0.1:8020")
    (tmp_path / "far").write_bytes(Credentials({"a": token, "b": OTHER}, {}).encode())
    assert dtutil.main(["print", str(tmp_path / "far")], CONF) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5


def test_files_are_put_together_and_tokens_taken_out(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    dtutil.main(["import", OTHER.url_string, "-alias", "rm", str(other)], CONF)
    assert read(other).tokens == {"rm": OTHER}
    assert stat.S_IMODE(other.stat().st_mode) == 0o600
    dtutil.main(["append", "-format", "protobuf", str(path), str(other)], CONF)
    assert read(other) == Credentials({"rm": OTHER, "127.0.0.1:8020": TOKEN}, {"s": b"x"})
    assert other.read_bytes()[4] == PROTOBUF
    dtutil.main(["edit", "-service", "rm:8030", "-alias", "k2", str(other)], CONF)
    dtutil.main(["remove", "-alias", "127.0.0.1:8020", str(other)], CONF)
    assert read(other).tokens == {"k2": OTHER}
    assert sorted(each.name for each in tmp_path.iterdir()) == ["other", "tokens"]


@pytest.mark.parametrize(
    "words",
    [["remove", "FILE"], ["edit", "-alias", "a", "FILE"], ["import", "FILE"], ["nothing"]],
)
def test_what_lacks_a_word_is_refused(path: Path, words: list[str]) -> None:
    with pytest.raises(UsageError):
        dtutil.main([str(path) if word == "FILE" else word for word in words], CONF)


def test_an_alias_that_is_not_there_is_named(path: Path) -> None:
    with pytest.raises(errors.IllegalArgument, match="no token with the alias nobody"):
        dtutil.main(["remove", "-alias", "nobody", str(path)], CONF)
    with pytest.raises(errors.IllegalArgument, match="no token with the alias nobody"):
        dtutil.main(["renew", "-alias", "nobody", str(path)], CONF)


def test_a_text_that_is_no_token_is_not_repeated(path: Path) -> None:
    with pytest.raises(errors.IllegalArgument) as caught:
        dtutil.main(["import", "s3cr3t", str(path)], CONF)
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "service", "uri"),
    [
        (HDFS_DELEGATION, "127.0.0.1:8020", "hdfs://localhost:8020"),
        (HDFS_DELEGATION, "127.0.0.1:8021", "hdfs://127.0.0.1:8021"),
        (HDFS_DELEGATION, "ha-hdfs:ns", "hdfs://ns"),
        ("WEBHDFS delegation", "127.0.0.1:9870", "webhdfs://127.0.0.1:9870"),
        ("SWEBHDFS delegation", "ha-swebhdfs:ns", "swebhdfs://ns"),
    ],
)
def test_a_token_leads_to_the_filesystem_that_it_is_of(kind: str, service: str, uri: str) -> None:
    conf = Configuration({"fs.defaultFS": "hdfs://localhost:8020"})
    assert uri_of(Token(b"", b"", kind, service), conf) == uri


def test_a_web_service_is_a_filesystem() -> None:
    assert web_uri("http://nn:9870") == "webhdfs://nn:9870"
    assert web_uri("https://nn:9871/") == "swebhdfs://nn:9871"
    for wrong in ("nn:9870", "ftp://nn", "http://"):
        with pytest.raises(errors.IllegalArgument, match="no web service"):
            web_uri(wrong)


def test_tokens_of_other_services_have_no_filesystem(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    dtutil.main(["import", OTHER.url_string, "-alias", "rm", str(other)], CONF)
    with pytest.raises(errors.IllegalArgument, match="YARN_AM_RM_TOKEN, which is of no filesystem"):
        dtutil.main(["renew", "-alias", "rm", str(other)], CONF)
    with pytest.raises(errors.IllegalArgument, match="has no delegation token of HDFS"):
        fetchdt.main(["--cancel", str(other)], CONF)
