"""The tokens of a job: got once, renewed, cancelled, and carried by places alone."""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import threading
import time
from typing import Any

import pytest

from howdah import errors
from howdah.copy.common import filesystems
from howdah.copy.common.filesystems import Place
from howdah.copy.common.job_tokens import begin_job, carrying_tokens, end_with
from howdah.formats.tokens.credentials import Credentials
from howdah.formats.tokens.token import HDFS_DELEGATION, KMS_DELEGATION, Token
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.security.login import LoginSource
from howdah.security.settings import SecuritySettings
from howdah.security.users import Identity, SecuredUser
from howdah.testing.waiting import wait_until


def user_with(*, login: bool = True, secured: bool = True, file: str | None = None) -> SecuredUser:
    settings = SecuritySettings(is_enabled=secured)
    user = SecuredUser("alice", Identity(settings, LoginSource(), file, login), "alice@R")
    if login:
        user._login = _Login()  # type: ignore[assignment]
    return user


class _Login:
    def get(self) -> _Login:
        return self


class Namenode(HdfsFileSystem):
    """Issues tokens that are good for a time."""

    def __init__(self, lasts_ms: int = 86_400_000) -> None:
        self._authority = "nn"
        self.lasts_ms = lasts_ms
        self.issued: list[Token] = []
        self.renewals = 0
        self.cancelled: list[Token] = []
        self.fails = False
        self.of_keys: Token | errors.HowdahError | None = None
        """What key servers have to say."""

    def get_key_server_token(self, renewer: str) -> Token | None:
        assert renewer == "alice"
        if isinstance(self.of_keys, errors.HowdahError):
            raise self.of_keys
        if self.of_keys is not None:
            self.issued.append(self.of_keys)
        return self.of_keys

    def get_delegation_token(self, renewer: str) -> Token | None:
        assert renewer == "alice"
        number = str(len(self.issued)).encode()
        self.issued.append(Token(number, b"secret", HDFS_DELEGATION, "10.0.0.1:8020"))
        return self.issued[-1]

    def renew_delegation_token(self, token: Token) -> int:
        assert token in self.issued
        if self.fails:
            raise errors.StandbyError("not now")
        self.renewals += 1
        return int(time.time() * 1000) + self.lasts_ms

    def cancel_delegation_token(self, token: Token) -> None:
        if self.fails:
            raise errors.Unreachable("gone")
        self.cancelled.append(token)

    def close(self) -> None:
        pass


def carried(fs: HdfsFileSystem, user: SecuredUser) -> tuple[Any, ...]:
    found = carrying_tokens(fs, user)
    assert isinstance(found, SecuredUser)
    return found.carried


def test_a_job_has_one_token_for_a_filesystem_and_cancels_it() -> None:
    fs, user = Namenode(), user_with()
    end = begin_job()
    assert carried(fs, user) == carried(fs, user) == (fs.issued[0],)
    nested = begin_job()
    assert carried(fs, user) == (fs.issued[0],)
    nested()
    nested()
    assert fs.cancelled == []
    end()
    assert fs.cancelled == fs.issued
    assert len(fs.issued) == 1
    # The next one has another.
    end = begin_job()
    assert carried(fs, user) == (fs.issued[1],)
    end()
    assert fs.cancelled == fs.issued


def test_a_job_has_a_token_of_the_key_servers_as_well() -> None:
    fs, user = Namenode(), user_with()
    fs.of_keys = Token(b"k", b"secret", KMS_DELEGATION, "kms://http@h:9600/kms")
    end = begin_job()
    assert carried(fs, user) == (fs.issued[0], fs.of_keys)
    assert fs.renewals == 2
    end()
    assert fs.cancelled == fs.issued == [fs.issued[0], fs.of_keys]


def test_a_job_goes_on_without_key_servers_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    fs, user = Namenode(), user_with()
    fs.of_keys = errors.Unreachable("the key server http://h:9600 cannot be reached")
    end = begin_job()
    with caplog.at_level(logging.WARNING):
        assert carried(fs, user) == (fs.issued[0],)
    end()
    assert "cannot open files in encryption zones: the key server http://h:9600" in caplog.text


@pytest.mark.parametrize("begins", [False, True])
def test_without_a_job_or_security_nothing_is_carried(begins: bool) -> None:
    fs = Namenode()
    user = user_with(secured=not begins)
    end = begin_job() if begins else lambda: None
    assert carrying_tokens(fs, user) is user
    assert carrying_tokens(fs, "alice") == "alice"
    end()
    assert fs.issued == []


def test_who_has_tokens_alone_passes_them_on(tmp_path: Any) -> None:
    path = tmp_path / "tokens"
    token = Token(b"i", b"p", HDFS_DELEGATION, "ha-hdfs:ns")
    path.write_bytes(Credentials({"a": token}).encode())
    fs = Namenode()
    end = begin_job()
    assert carried(fs, user_with(login=False, file=str(path))) == (token,)
    end()
    assert (fs.issued, fs.cancelled) == ([], [])


def test_who_has_a_token_beside_a_ticket_passes_it_on(tmp_path: Any) -> None:
    class Refusing(Namenode):
        def get_delegation_token(self, renewer: str) -> Token | None:
            raise errors.RemoteError("Delegation Token can be issued only with kerberos")

    path = tmp_path / "tokens"
    token = Token(b"i", b"p", HDFS_DELEGATION, "10.0.0.1:8020")
    of_keys = Token(b"i", b"p", KMS_DELEGATION, "kms:9600")
    other = Token(b"i", b"p", "YARN_AM_RM_TOKEN", "rm:8030")
    path.write_bytes(Credentials({"a": token, "b": of_keys, "c": other}).encode())
    end = begin_job()
    assert carried(Refusing(), user_with(file=str(path))) == (token, of_keys)
    with pytest.raises(errors.RemoteError, match="only with kerberos"):
        carrying_tokens(Refusing(), user_with())
    end()


def test_the_tokens_of_who_acts_for_another_are_not_passed_on(tmp_path: Any) -> None:
    path = tmp_path / "tokens"
    path.write_bytes(Credentials({"a": Token(b"i", b"p", HDFS_DELEGATION, "h:1")}).encode())
    settings = SecuritySettings(is_enabled=True)
    acting = SecuredUser("bob", Identity(settings, LoginSource(), str(path), False), "o@R", "o@R")
    end = begin_job()
    assert carrying_tokens(Namenode(), acting) is acting
    end()


def test_a_token_that_cannot_be_renewed_is_used_as_it_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fs, user = Namenode(), user_with()
    fs.fails = True
    end = begin_job()
    with caplog.at_level(logging.WARNING):
        assert carried(fs, user) == (fs.issued[0],)
    assert "cannot be renewed: not now" in caplog.text
    fs.fails = False
    end()
    assert fs.cancelled == fs.issued


def test_a_token_is_renewed_while_the_job_runs() -> None:
    fs, user = Namenode(lasts_ms=1), user_with()
    end = begin_job()
    carried(fs, user)
    wait_until(lambda: fs.renewals > 2)
    end()
    assert not [t for t in threading.enumerate() if t.name == "job-tokens" and _still(t)]


def _still(thread: threading.Thread) -> bool:
    thread.join(5)
    return thread.is_alive()


def test_what_fails_is_logged_without_the_token(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fs, user = Namenode(lasts_ms=1), user_with()
    end = begin_job()
    with caplog.at_level(logging.WARNING):
        carried(fs, user)
        fs.fails = True
        wait_until(lambda: "was not renewed: not now" in caplog.text)
        end()
    assert "was not cancelled: gone" in caplog.text
    assert "10.0.0.1:8020" in caplog.text
    assert "secret" not in caplog.text
    assert fs.issued[0].url_string not in caplog.text


def test_a_result_keeps_its_job() -> None:
    class Frame:
        pass

    fs, user = Namenode(), user_with()
    end, frame = begin_job(), Frame()
    carried(fs, user)
    end_with(frame, end)
    assert fs.cancelled == []
    del frame
    wait_until(lambda: fs.cancelled == fs.issued)


def test_a_place_takes_tokens_to_other_processes_and_shows_none() -> None:
    token = Token(b"i", b"secret", HDFS_DELEGATION, "127.0.0.1:8020")
    user = user_with()
    assert b"secret" not in pickle.dumps(user)
    place = Place("hdfs://nn", user.carrying([token]))
    assert "secret" not in repr(place)
    there = pickle.loads(pickle.dumps(place)).user
    assert isinstance(there, SecuredUser)
    assert there.carried == (token,)
    assert there.login is None
    assert there.delegation_token(("127.0.0.1", 8020)) == token
    assert there.proves_itself_at(("127.0.0.1", 8020))


def test_a_process_that_is_used_again_takes_the_tokens_of_the_next_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[str | None] = []

    def connect(uri: str, *, conf: object, user: str | None) -> object:
        opened.append(user)
        return object()

    monkeypatch.setattr(filesystems, "connect", connect)
    monkeypatch.setattr(filesystems, "_open", {})
    places = [
        Place("hdfs://nn", user_with().carrying([Token(name, b"p", HDFS_DELEGATION)]))
        for name in (b"1", b"1", b"2")
    ]
    first, same, other = (place.connect() for place in places)
    assert first is same
    assert other is not first
    assert len(opened) == 2


def test_a_forked_child_has_no_jobs_and_ends_none() -> None:
    fs, user = Namenode(), user_with()
    end = begin_job()
    carried(fs, user)

    def child() -> None:
        end()
        os._exit(0 if carrying_tokens(fs, user) is user and not fs.cancelled else 1)

    forked = multiprocessing.get_context("fork").Process(target=child)
    forked.start()
    forked.join(30)
    end()
    assert forked.exitcode == 0
    assert fs.cancelled == fs.issued
