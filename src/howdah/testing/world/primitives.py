"""Which modules a simulated process may see, and which functions of the simulated ones.

Nothing escapes to the real machine: a module that is on no list here cannot be imported by code of
a simulated process, and a function that a simulated module does not have raises `NotSimulated`
when it is called. Both name what is missing. Whoever adds a module to a list has looked at what it
touches.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any, Final, NoReturn

SIMULATED: Final = frozenset(
    {
        *("_socket", "_thread", "atexit", "ctypes", "fcntl", "gc", "getpass", "grp", "importlib"),
        *("io", "mmap", "posix", "pwd", "resource", "select", "signal", "ssl", "subprocess"),
        *("sys", "time", "uvloop"),
    }
)
"""C modules, and few others, of which each process has a simulation of its own."""

HIDDEN: Final = frozenset(
    {"_asyncio", "_datetime", "_queue", "_uuid", "org.python.core", "readline"}
)
"""Accelerators. Without them Python's own code above the simulated modules is used."""

PRIVATE: Final = frozenset(
    {
        *("_weakrefset", "asyncio", "concurrent", "datetime", "email.utils", "fnmatch"),
        *("genericpath", "glob", "http", "logging", "os", "pathlib", "pickle"),
        *("posixpath", "queue", "random", "sched", "secrets", "selectors", "shutil", "socket"),
        *("socketserver", "tempfile", "threading", "urllib.request", "uuid", "weakref"),
    }
)
"""Pure Python that keeps state or stands on simulated modules: each process runs its own copy of
these and of what lies below them, as of `howdah` itself."""

SHARED_OF_HOWDAH: Final = ("howdah.proto", "howdah.native._kernel")
"""Protobuf registers each message once."""

SHARED: Final = frozenset(
    {
        # The language.
        *("__future__", "abc", "ast", "builtins", "codecs", "collections", "contextlib"),
        *("contextvars", "copy", "copyreg", "dataclasses", "dis", "enum", "errno", "functools"),
        *("gettext", "inspect", "itertools", "keyword", "linecache", "locale"),
        *("operator", "opcode", "pprint", "re", "reprlib", "sre_compile", "stat", "string"),
        *("struct", "textwrap", "token", "tokenize", "traceback", "types", "typing"),
        *("warnings", "zipimport", "_abc", "_collections", "_collections_abc", "_functools"),
        *("_io", "_operator", "_stat", "_struct", "_sre", "_string", "_weakref", "_warnings"),
        *("_codecs", "_bisect", "_heapq", "_pickle", "_random", "_imp"),
        *("encodings", "_locale", "_compat_pickle", "typing_extensions"),
        *("mypy_extensions", "ntpath", "nturl2path", "platform"),
        # Values.
        *("argparse", "array", "base64", "binascii", "bisect", "calendar", "colorsys", "csv"),
        *("configparser", "decimal", "difflib", "email", "fractions", "graphlib"),
        *("heapq", "html", "ipaddress", "json", "math", "mimetypes", "numbers", "plistlib"),
        *("quopri", "shlex", "statistics", "stringprep", "unicodedata", "uu", "zoneinfo"),
        *("cmath", "_decimal", "_json", "_csv", "_statistics", "_strptime", "urllib"),
        *("xml", "pyexpat", "optparse", "getopt", "idna"),
        # Sums and compression of bytes.
        *("bz2", "hashlib", "hmac", "lzma", "zlib", "zipfile", "_bz2", "_hashlib"),
        *("_lzma", "_sha1", "_sha256", "_sha512", "_sha3", "_md5", "_blake2", "_compression"),
        *("crypt", "google_crc32c"),
        # Others' code that does no input and output: it keeps counters, turns bytes into messages,
        # or enciphers them.
        *("cryptography", "google", "h11", "prometheus_client"),
    }
)
"""What all processes, and the scenario, have in common: it touches nothing of the machine."""


class NotSimulated(NotImplementedError):
    """Says that code of a simulated process asks for what is not simulated."""


def check_listed(name: str, importer: str) -> None:
    """Raise NotSimulated unless `name` is a shared module."""
    top = name.partition(".")[0]
    if top not in SHARED:
        raise NotSimulated(
            f"{importer} imports {name}, which is on no list of howdah.testing.world.primitives: "
            "look at what it touches of the machine, then share it, copy it or simulate it"
        )


def simulated_module(
    name: str,
    real: types.ModuleType,
    functions: dict[str, Any],
    *,
    real_names: Iterable[str] = (),
) -> Any:
    """Make a module with the constants, exceptions and structures of the real one, and these
    functions. Every other callable of the real module raises `NotSimulated`."""
    module: Any = types.ModuleType(name)
    kept = frozenset(real_names)
    for key, value in vars(real).items():
        if key.startswith("__"):
            continue
        if key in kept or not callable(value) or _is_passive(value):
            setattr(module, key, value)
        elif isinstance(value, type):
            setattr(module, key, type(key, (), {"__init__": _refusal(name, key)}))
        else:
            setattr(module, key, _refusal(name, key))
    for key, value in functions.items():
        # As functions of C, they are no methods where a class has them as attributes.
        is_function = isinstance(value, types.FunctionType)
        setattr(module, key, staticmethod(value) if is_function else value)
    return module


def _is_passive(value: object) -> bool:
    """Tell whether it is an exception, a number or a tuple with names."""
    return isinstance(value, type) and issubclass(value, BaseException | tuple | int)


def _refusal(module: str, name: str) -> Callable[..., NoReturn]:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise NotSimulated(f"{module}.{name} is not simulated")

    refuse.__name__ = refuse.__qualname__ = name
    return refuse
