"""argparse, as servers, tools and commands of our own use it."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from howdah.cli.arguments.usage import UsageError


class Arguments(argparse.ArgumentParser):
    """argparse, but wrong usage raises `UsageError` and so exits as all commands do, and `-help`
    is understood, which argparse takes for `-h` with a value."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.add_argument("-help", action="help", help=argparse.SUPPRESS)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)
