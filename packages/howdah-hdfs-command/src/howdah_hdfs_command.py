"""The command `hdfs`: see `howdah.cli.setup.hdfs`."""

from howdah.cli.setup.hdfs import main

__all__ = ["main"]
