"""The staging directory of a copy: temporary names that a second run knows (pure).

1. No file has its final name before it is complete: it is written in the staging directory
   and renamed. The staging directory is in the target directory (or beside the target, if that
   is a file), so the rename stays within one filesystem and quota.
2. The directory's name is a hash of sources and target. So the same copy, started again after
   it was killed, finds what the first run left, and removes it.
3. Each run has a directory of its own in it, and each attempt at a task a name in that. Two
   attempts at the same file, as with speculative execution, never share a temporary file; the
   last rename wins, and both files have the same content.
4. Only the driver creates the directory of a run. An attempt that Spark gave up, and that is
   still running when the directory is removed, cannot write any more.
5. With `-atomic` the whole target is written to a directory beside it, by the same rules, and
   that directory is renamed (`copy_job.atomic`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from howdah.fs import paths

PREFIX: Final = ".distcp.tmp."
WORK_PREFIX: Final = "._WIP_"
MIRROR_PREFIX: Final = ".howdah.mirror"
_KEY_CHARS: Final = 16
_STAGING: Final = re.compile(re.escape(PREFIX) + f"[0-9a-f]{{{_KEY_CHARS}}}")


def key_of(sources: Sequence[str], target: str) -> str:
    """The key of a copy: equal for equal sources and target."""
    text = "\0".join([*sorted(sources), target])
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:_KEY_CHARS]


def is_staging(name: str) -> bool:
    """Whether a name is that of a staging directory, of any copy."""
    return _STAGING.fullmatch(name) is not None


def is_mirror_state(name: str) -> bool:
    """Whether a file of this name is the state of a mirror (`howdah.mirror`)."""
    return name == MIRROR_PREFIX or name.startswith(f"{MIRROR_PREFIX}.")


@dataclass(frozen=True, slots=True)
class Staging:
    """The staging directory of one run."""

    directory: str
    run: str

    @classmethod
    def of(cls, target_path: str, is_file: bool, key: str, run: str) -> Staging:
        home = (paths.parent_of(target_path) or "/") if is_file else target_path
        return cls(paths.join(home or "/", PREFIX + key), run)

    @property
    def own(self) -> str:
        """The directory of this run."""
        return f"{self.directory}/{self.run}"

    def file(self, partition: int, attempt: int, number: int) -> str:
        """The temporary name of the `number`th file that an attempt at a task copies."""
        return f"{self.own}/{partition:05}-{attempt}-{number}"

    def chunks(self, relative: bytes) -> str:
        """The directory for the parts of one file."""
        digest = hashlib.sha256(relative).hexdigest()[:32]
        return f"{self.own}/chunks-{digest}"

    @property
    def listing(self) -> str:
        """The directory for the rows of the listing."""
        return f"{self.own}/listing"

    @property
    def failed(self) -> str:
        """The path that exists once a task has failed."""
        return f"{self.own}/failed"

    @property
    def over(self) -> str:
        """The path that exists once the job may not go on: no file gets its name then."""
        return f"{self.own}/over"

    @property
    def progress(self) -> str:
        """The directory for the tasks' progress reports."""
        return f"{self.own}/progress"
