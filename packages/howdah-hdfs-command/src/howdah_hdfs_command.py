"""The command `hdfs`: see `howdah.cli.installing.hdfs`."""

from howdah.cli.installing.hdfs import main

__all__ = ["main"]
