"""`-get` (`-copyToLocal`): from the cluster to local files.

`-crc` leaves a checksum file beside each copy, as Hadoop's local filesystem does for
whatever it writes; without it there is none.
"""

from __future__ import annotations

from howdah.cli.dfs.options import Parsed
from howdah.cli.dfs.transfer import CopyCommand
from howdah.fs.local.filesystem import LocalFileSystem


class Get(CopyCommand):
    FLAGS = ("f", "p", "crc", "ignoreCrc")

    def prepare(self, parsed: Parsed) -> list[str]:
        arguments = super().prepare(parsed)
        self.take_destination(arguments, local=True)
        fs = self.destination.fs
        if isinstance(fs, LocalFileSystem):
            fs.set_write_checksum("crc" in parsed)
            # What lies here may be copied as well.
            fs.set_verify_checksum("ignoreCrc" not in parsed)
        return arguments
