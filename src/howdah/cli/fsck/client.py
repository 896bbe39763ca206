"""The namenode's page, asked for and read as it comes (shell)."""

from __future__ import annotations

import codecs
import http.client
import sys
from typing import Final

from howdah import errors
from howdah.cli.fsck.args import Wanted
from howdah.config import Configuration, keys
from howdah.fs import paths
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.hdfs.page_requests import PageRequests
from howdah.fs.hdfs.pages import pages_of_active, unreachable

_PIECE_BYTES: Final = 1 << 16
_FILES_A_DOT: Final = 100


class Namenode:
    """The pages of the active namenode of a filesystem."""

    def __init__(self, fs: HdfsFileSystem, conf: Configuration) -> None:
        self._conf = conf
        self._pages = PageRequests(conf, fs.user)
        self._place = pages_of_active(paths.parse(fs.uri).authority, conf, fs.user)

    def url(self, wanted: Wanted, skip: int = 0) -> str:
        return f"{self._place}{wanted.target(self._pages.names, skip)}"

    def fetch(self, url: str, *, is_shown: bool) -> str:
        """The whole text. It is printed as it comes, or its progress is shown on a terminal.

        Raises RemoteError where the namenode refuses, AuthenticationFailed and LoginFailed where
        the user is not proven, Unreachable where it does not answer or breaks off, CallTimeout.
        """
        page = self._pages.get(
            self._place,
            url.removeprefix(str(self._place)),
            connect_timeout_s=self._conf.get(keys.DFS_CLIENT_FSCK_CONNECT_TIMEOUT) or None,
            read_timeout_s=self._conf.get(keys.DFS_CLIENT_FSCK_READ_TIMEOUT) or None,
        )
        try:
            with page as answer:
                if answer.status != 200:
                    reason = answer.read(4096).decode("utf-8", "replace").strip()
                    raise errors.RemoteError(f"{url}: {answer.status} {reason or answer.reason}")
                return _read(answer, is_shown=is_shown)
        except _OutputFailed as failed:
            raise failed.error from None
        except errors.HowdahError:
            raise
        except TimeoutError as error:
            hint = unreachable(self._place, self._conf)
            raise errors.CallTimeout(f"{url}: no answer in time{hint}") from error
        except (OSError, http.client.HTTPException) as error:
            hint = unreachable(self._place, self._conf)
            raise errors.Unreachable(f"{url}: {error or repr(error)}{hint}") from error


class _OutputFailed(Exception):
    """Standard output takes no more, which is no failure of the namenode."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


def _print(piece: str) -> None:
    try:
        print(piece, end="", flush=True)
    except OSError as error:
        raise _OutputFailed(error) from error


def _read(answer: http.client.HTTPResponse, *, is_shown: bool) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    pieces: list[str] = []
    progress = _Progress()
    while True:
        data = answer.read1(_PIECE_BYTES)
        piece = decoder.decode(data, final=not data)
        pieces.append(piece)
        if is_shown:
            _print(piece)
        else:
            progress.more(piece)
        if not data:
            break
    text = "".join(pieces)
    if is_shown and not text.endswith("\n"):
        print()
    progress.end()
    return text


class _Progress:
    """How many files were checked, on a terminal."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()
        self._files = 0

    def more(self, piece: str) -> None:
        if self._is_shown and set(piece) <= {".", "\n"} and "." in piece:
            self._files += _FILES_A_DOT * piece.count(".")
            print(f"\r{self._files} files checked", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._files:
            print(file=sys.stderr)
