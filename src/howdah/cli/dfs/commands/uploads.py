"""`-abortUploads`: what a killed writer leaves at an object store.

Parts of a file that was never closed are in no listing, and are paid for until somebody
removes them. Hadoop's counterpart is `hadoop s3guard uploads`.
"""

from __future__ import annotations

import time
from typing import Final

from howdah.cli.arguments.command_format import Parsed
from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfs.shell.command import Command
from howdah.cli.dfs.shell.error_text import CommandProblem
from howdah.cli.dfs.shell.path_args import Item
from howdah.cli.dfs.shell.text import utc_second
from howdah.config.value_types import parse_duration
from howdah.fs.objects.multipart_cleanup import HasUploads, UnfinishedUpload

DEFAULT_AGE: Final = "1d"
"""As long as S3A lets an upload be (`fs.s3a.multipart.purge.age`)."""


class AbortUploads(Command):
    FLAGS = ("list",)
    VALUED = ("age",)

    def prepare(self, parsed: Parsed) -> list[str]:
        self._only_lists = "list" in parsed
        self._age_text = parsed.values.get("age", DEFAULT_AGE)
        try:
            self._age_ms = int(parse_duration(self._age_text, "s") * 1000)
        except ValueError as error:
            raise UsageError(f"-age {self._age_text}: {error}") from error
        if self._age_ms < 0:
            raise UsageError(f"-age {self._age_text}: an age is not negative")
        return list(parsed.arguments)

    def expand(self, argument: str) -> list[Item]:
        """Names are literal: the file of an upload is not there for a pattern to find."""
        return [self.shell.files.item(argument)]

    def process_item(self, item: Item) -> None:
        fs, path = item.fs.resolve_path(item.path)
        if not isinstance(fs, HasUploads):
            raise CommandProblem(
                f"`{item.name}': {fs.uri} has no uploads: only files of object stores are uploaded"
            )
        if not self._only_lists:
            now_ms = int(time.time() * 1000)
            for upload in fs.abort_uploads(path, older_than_ms=self._age_ms, now_ms=now_ms):
                self._print_upload(fs.uri, upload, is_aborted=True)
        for upload in fs.unfinished_uploads(path):
            self._print_upload(fs.uri, upload, is_aborted=False)

    def _print_upload(self, uri: str, upload: UnfinishedUpload, *, is_aborted: bool) -> None:
        name = f"{uri}{upload.path}"
        self.records.append(
            {
                "path": name,
                "upload_id": upload.upload_id,
                "started_ms": upload.started_ms,
                "aborted": is_aborted,
            }
        )
        if self.shell.json:
            return
        began = f"begun {utc_second(upload.started_ms)} UTC, {upload.upload_id}"
        if is_aborted:
            self.out.line(f"Aborted the upload of {name} ({began})")
        elif self._only_lists:
            self.out.line(f"Upload of {name} ({began})")
        else:
            self.out.line(f"Left the upload of {name}, younger than {self._age_text} ({began})")
