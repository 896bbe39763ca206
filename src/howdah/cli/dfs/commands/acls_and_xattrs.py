"""`-getfacl`, `-setfacl`, `-getfattr`, `-setfattr`: ACLs and extended attributes."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Final

from howdah.cli.arguments import command_format as options
from howdah.cli.arguments.command_format import Parsed
from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfs.commands import modes
from howdah.cli.dfs.shell.command import Command
from howdah.cli.dfs.shell.error_text import CommandProblem
from howdah.cli.dfs.shell.path_args import Item
from howdah.errors import IllegalArgument
from howdah.fs.acl import AclEntry, AclStatus, parse_acl
from howdah.fs.attributes import xattr_parts

ENCODINGS: Final = ("text", "hex", "base64")


def _one_path(arguments: Sequence[str], end: str = "") -> list[str]:
    """The attributes' complaints end with a full stop, those of ACLs without."""
    if not arguments:
        raise UsageError(f"<path> is missing{end}")
    if len(arguments) > 1:
        raise UsageError(f"Too many arguments{end}")
    return list(arguments)


class GetFacl(Command):
    """Prints ACLs, with the effective permissions of entries that the mask restricts."""

    FLAGS = ("R",)
    LEAST = 0

    def prepare(self, parsed: Parsed) -> list[str]:
        self.recursive = "R" in parsed
        return _one_path(parsed.arguments)

    def process_path(self, item: Item) -> None:
        status = item.require_status()
        self.out.line(f"# file: {item.name}")
        self.out.line(f"# owner: {status.owner}")
        self.out.line(f"# group: {status.group}")
        if status.permission & modes.STICKY:
            self.out.line(f"# flags: --{'t' if status.permission & 1 else 'T'}")
        if status.has_acl:
            acl = item.fs.get_acl_status(item.path)
        else:
            acl = AclStatus(status.owner, status.group, False, status.permission, ())
        entries = acl.all_entries()
        self._print([entry for entry in entries if not entry.default])
        self._print([entry for entry in entries if entry.default])
        self.out.line()

    def _print(self, entries: list[AclEntry]) -> None:
        mask = next((entry.permission for entry in entries if entry.kind == "mask"), 7)
        for entry in entries:
            text = str(entry)
            if entry.name is not None or entry.kind == "group":
                effective = AclEntry(entry.kind, None, entry.permission & mask)
                if effective.permission != entry.permission:
                    text += f"\t#effective:{str(effective)[-3:]}"
            self.out.line(text)


class SetFacl(Command):
    """Changes ACLs; of a tree, files get the access entries only."""

    FLAGS = ("b", "k", "R", "m", "x", "-set")
    LEAST = 0

    def prepare(self, parsed: Parsed) -> list[str]:
        self.recursive = "R" in parsed
        given = [flag for flag in self.FLAGS if flag != "R" and flag in parsed]
        if len(given) > 1:
            raise UsageError("Specified flags contains both remove and modify flags")
        self._action = given[0] if given else ""
        arguments = list(parsed.arguments)
        self._entries: list[AclEntry] = []
        if self._action in ("m", "x", "-set"):
            if not arguments:
                raise UsageError("Missing arguments: <acl_spec> <path>")
            if len(arguments) < 2:
                raise UsageError("Missing either <acl_spec> or <path>")
            try:
                self._entries = parse_acl(arguments.pop(0), with_permissions=self._action != "x")
            except IllegalArgument as error:
                raise UsageError(error.message) from error
            if not self._entries:
                raise UsageError("Missing <acl_spec> entry")
        paths = _one_path(arguments)
        if not self._action:
            raise UsageError("Expected one of -b, -k, -m, -x or --set options")
        return paths

    def process_path(self, item: Item) -> None:
        fs, path = item.fs, item.path
        if self._action == "b":
            fs.remove_acl(path)
        elif self._action == "k":
            fs.remove_default_acl(path)
        entries = self._entries
        if self.recursive and not item.is_directory:
            entries = [entry for entry in entries if not entry.default]
        if not entries:
            return
        if self._action == "m":
            fs.modify_acl_entries(path, entries)
        elif self._action == "x":
            fs.remove_acl_entries(path, entries)
        else:
            fs.set_acl(path, entries)


class GetFattr(Command):
    """Prints one attribute, or all of them."""

    FLAGS = ("d", "R")
    LEAST = 0

    def read_options(self, arguments: list[str]) -> Parsed:
        """-n and -e with their values may stand anywhere."""
        rest = list(arguments)
        self._name = _pop_option(rest, "-n")
        encoding = _pop_option(rest, "-e") or ENCODINGS[0]
        self._encoding = encoding.lower()
        if self._encoding not in ENCODINGS:
            raise UsageError(f"Invalid/unsupported encoding option specified: {encoding}")
        return options.parse(rest, flags=self.FLAGS)

    def prepare(self, parsed: Parsed) -> list[str]:
        self.recursive = "R" in parsed
        self._all = "d" in parsed
        if not self._all and self._name is None:
            raise UsageError("Must specify '-n name' or '-d' option.")
        return _one_path(parsed.arguments, ".")

    def process_path(self, item: Item) -> None:
        self.out.line(f"# file: {item.name}")
        if self._all:
            for name, value in item.fs.get_xattrs(item.path).items():
                self.out.line(name + _encoded(value, self._encoding))
        else:
            assert self._name is not None, "prepare saw to it"
            _check_name(self._name)
            value = item.fs.get_xattr(item.path, self._name)
            self.out.line(self._name + _encoded(value, self._encoding))


class SetFattr(Command):
    """Sets an attribute, or takes one away."""

    LEAST = 0

    def read_options(self, arguments: list[str]) -> Parsed:
        rest = list(arguments)
        self._name = _pop_option(rest, "-n")
        value = _pop_option(rest, "-v")
        self._value = None if value is None else _decoded(value)
        self._unwanted = _pop_option(rest, "-x")
        return Parsed(frozenset(), {}, tuple(rest))

    def prepare(self, parsed: Parsed) -> list[str]:
        if self._name is not None and self._unwanted is not None:
            raise UsageError("Can not specify both '-n name' and '-x name' option.")
        if self._name is None and self._unwanted is None:
            raise UsageError("Must specify '-n name' or '-x name' option.")
        return _one_path(parsed.arguments, ".")

    def process_path(self, item: Item) -> None:
        name = self._name if self._unwanted is None else self._unwanted
        assert name is not None, "prepare saw to it"
        _check_name(name)
        if self._unwanted is None:
            item.fs.set_xattr(item.path, name, self._value)
        else:
            item.fs.remove_xattr(item.path, name)


def _check_name(name: str) -> None:
    """A name that cannot be is a mistake in the call, not a failure of the filesystem."""
    try:
        xattr_parts(name)
    except IllegalArgument as error:
        raise UsageError(error.message) from error


def _pop_option(arguments: list[str], name: str) -> str | None:
    """Take an option and its value out of the arguments, up to a `--`."""
    for place, word in enumerate(arguments):
        if word == "--":
            return None
        if word == name:
            if place + 1 == len(arguments):
                raise UsageError(f"option {name} requires 1 argument.")
            del arguments[place]
            return arguments.pop(place)
    return None


def _encoded(value: bytes, encoding: str) -> str:
    if not value:
        return ""
    if encoding == "hex":
        return "=0x" + value.hex()
    if encoding == "base64":
        return "=0s" + base64.b64encode(value).decode()
    return f'="{value.decode("utf-8", "replace")}"'


def _decoded(text: str) -> bytes:
    """The value that `-v` means: quoted text, 0x…, 0s…, or the text as it is."""
    prefix = text[:2].lower()
    if len(text) >= 2 and text.startswith('"') and text.endswith('"'):
        return text[1:-1].encode()
    if prefix == "0x":
        try:
            return binascii.unhexlify(text[2:])
        except ValueError as error:
            problem = f"{text} is not hexadecimal: two digits for each byte"
            raise CommandProblem(problem) from error
    if prefix == "0s":
        try:
            return base64.b64decode(text[2:])
        except ValueError as error:
            raise CommandProblem(f"{text} is not base64: {error}") from error
    return text.encode()
