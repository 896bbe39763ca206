"""argparse, as servers, tools and commands of our own use it."""

from __future__ import annotations

import argparse
from typing import NoReturn

from howdah.cli.arguments.usage import UsageError


class Arguments(argparse.ArgumentParser):
    """argparse, but wrong usage raises `UsageError` and so exits as all commands do."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)
