"""argparse, as servers, tools and commands of our own use it."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from howdah.cli.arguments.usage import UsageError
from howdah.config.value_types import parse_decimal, parse_real


class Arguments(argparse.ArgumentParser):
    """argparse, but wrong usage raises `UsageError` and so exits as all commands do, and `-help`
    is understood, which argparse takes for `-h` with a value. Numbers are of ASCII digits alone."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        # Instead of Python's own, wherever an option says `type=int` or `type=float`.
        self.register("type", int, parse_decimal)
        self.register("type", float, parse_real)
        self.add_argument("-help", action="help", help=argparse.SUPPRESS)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)
