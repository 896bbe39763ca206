"""The kinds of configuration values, and `Key`, which ties a name to one of them (pure).

Mirrors how Hadoop's configuration reads text: durations and sizes with
suffixes, Java's float literals, `file://` directories, `[SSD]` prefixes. Each
kind is a function from text to a Python value that raises `ValueError` with the
reason alone; `howdah.config` knows the key and the file and puts them in front.

Rules:
* A default is text too, in the form an administrator would write it, so that
  `${hadoop.tmp.dir}` works there and `getconf` can print it.
* A kind whose name begins with `optional_` has no default: unset or empty is `None`.
* Durations become seconds, sizes become bytes, whatever the key's unit on disk.

It must not know where values come from; it reads no file and no environment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar
from urllib.parse import unquote, urlsplit

T = TypeVar("T")

Address = tuple[str, int]
StorageDir = tuple[str, Path]

STORAGE_TYPES = ("RAM_DISK", "SSD", "DISK", "ARCHIVE", "PROVIDED", "NVDIMM")

_NANOSECONDS_PER_UNIT = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60 * 1_000_000_000,
    "h": 3600 * 1_000_000_000,
    "d": 86400 * 1_000_000_000,
}
_SIZE_SHIFT = {"k": 10, "m": 20, "g": 30, "t": 40, "p": 50, "e": 60}
_DURATION = re.compile(r"([+-]?[0-9]+(?:\.[0-9]+)?)\s*(ns|us|ms|s|m|h|d)?")
_SIZE = re.compile(r"([+-]?[0-9]+)\s*([kmgtpe]?)")
_DECIMAL = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEXADECIMAL = re.compile(r"[+-]?0[xX][0-9a-fA-F]+")
_STORAGE_DIR = re.compile(r"\[\s*(\w*)\s*\](.+)")


@dataclass(frozen=True, slots=True)
class Key(Generic[T]):
    """One known configuration key.

    `default` is text, or None where the key has no default; `parse` turns text
    into the typed value; `kind` says in one word what is expected.
    """

    name: str
    kind: str
    default: str | None
    doc: str
    parse: Callable[[str], T]
    unset: Callable[[], T] | None = None


# -- parsers ------------------------------------------------------------------


def parse_decimal(text: str) -> int:
    """A whole number of ASCII digits, from a command line, a URL or a file.

    Python's `int` would take `1_000`, blanks, and the digits of other scripts."""
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"{text!r} is no whole number")
    return int(text)


def parse_real(text: str) -> float:
    """A number of ASCII digits with a point and an exponent, if need be; neither `nan` nor
    `inf`, which Python's `float` takes."""
    if not _REAL.fullmatch(text):
        raise ValueError(f"{text!r} is no number")
    return float(text)


def parse_default_filesystem(text: str) -> str:
    """A URI; or as old files and `-fs` have it, and Hadoop still takes it: `HOST:PORT`, which is an
    HDFS, and `local`.

    >>> parse_default_filesystem("nn:8020"), parse_default_filesystem("local")
    ('hdfs://nn:8020', 'file:///')
    """
    text = text.strip()
    if text == "local":
        return "file:///"
    return text if "/" in text or not text else f"hdfs://{text}"


def parse_int(text: str) -> int:
    text = text.strip()
    if _HEXADECIMAL.fullmatch(text):
        return int(text, 16)
    try:
        return parse_decimal(text)
    except ValueError:
        raise ValueError("expected a whole number") from None


def parse_float(text: str) -> float:
    text = text.strip()
    # Java's literals end in f or d now and then: hdfs-default.xml has 0.999f.
    if len(text) > 1 and text[-1] in "fFdD":
        text = text[:-1]
    try:
        return parse_real(text)
    except ValueError:
        raise ValueError("expected a number") from None


def parse_bool(text: str) -> bool:
    match text.strip().lower():
        case "true":
            return True
        case "false":
            return False
    raise ValueError("expected true or false")


def parse_size(text: str) -> int:
    """Parse bytes: a whole number with an optional binary suffix, `64m` is 67108864."""
    match = _SIZE.fullmatch(text.strip().lower())
    if match is None:
        raise ValueError("expected bytes, as in 4096, 64k, 128m, 1g (k m g t p e)")
    number, suffix = match.groups()
    return int(number) << _SIZE_SHIFT.get(suffix, 0)


def parse_duration(text: str, bare_unit: str) -> float:
    """Parse a duration, in seconds; a number without a suffix is in `bare_unit`."""
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None:
        raise ValueError("expected a duration, as in 500ms, 30s, 10m, 1h (ns us ms s m h d)")
    number, suffix = match.groups()
    return float(number) * _NANOSECONDS_PER_UNIT[suffix or bare_unit] / 1e9


def parse_list(text: str) -> list[str]:
    return [part for part in (piece.strip() for piece in text.split(",")) if part]


def parse_address(text: str, default_port: int | None = None) -> Address:
    """`host:port`, `[v6]:port` or a URI with an authority; the port may have a default."""
    text = text.strip()
    authority = urlsplit(text).netloc if "://" in text else text
    host, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        host, port = authority, ""
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError("expected host:port, with an IPv6 address in brackets")
    if not host:
        raise ValueError("expected host:port, the host is missing")
    if not port:
        if default_port is None:
            raise ValueError("expected host:port, the port is missing")
        return host, default_port
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"expected host:port, {port!r} is not a port")
    return host, int(port)


def parse_dir(text: str) -> Path:
    """A directory as a plain path or as a `file:` URI (whose %XX are decoded)."""
    text = text.strip()
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", text):
        if not text:
            raise ValueError("expected a directory")
        return Path(text)
    parts = urlsplit(text)
    if parts.scheme.lower() != "file":
        raise ValueError(f"expected a local directory, {text!r} is not a file: URI")
    if parts.netloc not in ("", "localhost"):
        raise ValueError(f"expected a local directory, {text!r} names host {parts.netloc!r}")
    if not parts.path.startswith("/"):
        raise ValueError(f"expected an absolute path in {text!r}")
    return Path(unquote(parts.path))


def parse_dirs(text: str) -> list[Path]:
    return [parse_dir(piece) for piece in parse_list(text)]


def parse_storage_dirs(text: str) -> list[StorageDir]:
    """Parse directories with an optional storage type in front: `[SSD]/a,/b` (DISK where
    unsaid)."""
    dirs: list[StorageDir] = []
    for piece in parse_list(text):
        match = _STORAGE_DIR.fullmatch(piece)
        kind, path = match.groups() if match else ("", piece)
        kind = kind.upper() or "DISK"
        if kind not in STORAGE_TYPES:
            raise ValueError(f"{kind!r} is not a storage type ({', '.join(STORAGE_TYPES)})")
        dirs.append((kind, parse_dir(path)))
    return dirs


# -- declarations -------------------------------------------------------------


def _decimal_digits(number: float) -> str:
    """All digits of a whole number, as nobody sets a size in powers of ten."""
    return str(int(number)) if number == int(number) else f"{number:g}"


def _bounded(
    parse: Callable[[str], T], minimum: float | None, maximum: float | None
) -> Callable[[str], T]:
    if minimum is None and maximum is None:
        return parse

    def checked(text: str) -> T:
        value = parse(text)
        number = value if isinstance(value, int | float) else 0
        if minimum is not None and number < minimum:
            raise ValueError(f"must be at least {_decimal_digits(minimum)}")
        if maximum is not None and number > maximum:
            raise ValueError(f"must be at most {_decimal_digits(maximum)}")
        return value

    return checked


def _none() -> None:
    return None


def string(name: str, default: str, doc: str) -> Key[str]:
    return Key(name, "string", default, doc, str.strip)


def default_filesystem(name: str, default: str, doc: str) -> Key[str]:
    return Key(name, "string", default, doc, parse_default_filesystem)


def verbatim(name: str, default: str, doc: str) -> Key[str]:
    """Text whose blanks at the ends mean something."""
    return Key(name, "string", default, doc, str)


def optional_string(name: str, doc: str) -> Key[str | None]:
    return Key(name, "string", None, doc, str.strip, _none)


def integer(
    name: str, default: int, doc: str, *, minimum: int | None = None, maximum: int | None = None
) -> Key[int]:
    return Key(name, "int", str(default), doc, _bounded(parse_int, minimum, maximum))


def optional_integer(name: str, doc: str, *, minimum: int | None = None) -> Key[int | None]:
    return Key(name, "int", None, doc, _bounded(parse_int, minimum, None), _none)


def decimal(
    name: str,
    default: str,
    doc: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
) -> Key[float]:
    return Key(name, "float", default, doc, _bounded(parse_float, minimum, maximum))


def optional_decimal(
    name: str, doc: str, *, minimum: float | None = None, maximum: float | None = None
) -> Key[float | None]:
    return Key(name, "float", None, doc, _bounded(parse_float, minimum, maximum), _none)


def boolean(name: str, default: bool, doc: str) -> Key[bool]:
    return Key(name, "bool", "true" if default else "false", doc, parse_bool)


def optional_boolean(name: str, doc: str) -> Key[bool | None]:
    return Key(name, "bool", None, doc, parse_bool, _none)


def size(
    name: str, default: str, doc: str, *, minimum: int | None = 0, maximum: int | None = None
) -> Key[int]:
    return Key(name, "size", default, doc, _bounded(parse_size, minimum, maximum))


def optional_size(name: str, doc: str, *, minimum: int | None = 0) -> Key[int | None]:
    return Key(name, "size", None, doc, _bounded(parse_size, minimum, None), _none)


def duration(
    name: str, default: str, bare_unit: str, doc: str, *, minimum_s: float | None = 0
) -> Key[float]:
    """A span of time; `bare_unit` is what a number without a suffix counts."""
    if bare_unit not in _NANOSECONDS_PER_UNIT:
        raise ValueError(f"{name}: {bare_unit!r} is not a unit of time")

    def parse(text: str) -> float:
        return parse_duration(text, bare_unit)

    return Key(name, f"duration ({bare_unit})", default, doc, _bounded(parse, minimum_s, None))


def listing(name: str, default: str, doc: str) -> Key[list[str]]:
    return Key(name, "list", default, doc, parse_list)


def numbers(name: str, default: str, doc: str, *, minimum: int) -> Key[list[int]]:
    """Return a key of at least one whole number, none below `minimum`."""
    parse_one = _bounded(parse_int, minimum, None)

    def parse(text: str) -> list[int]:
        parsed = [parse_one(piece) for piece in parse_list(text)]
        if not parsed:
            raise ValueError("expected whole numbers, as in 1,5,25")
        return parsed

    return Key(name, "numbers", default, doc, parse)


def ports(name: str, doc: str) -> Key[list[int]]:
    """Return a key of any number of ports, by default of none."""
    parse_one = _bounded(parse_int, 0, 65535)

    def parse(text: str) -> list[int]:
        return [parse_one(piece) for piece in parse_list(text)]

    return Key(name, "ports", "", doc, parse)


def choice(name: str, default: str, options: Iterable[str], doc: str) -> Key[str]:
    """Return a key of one of a few words, compared without regard to case, given back as
    declared."""
    by_folded = {option.lower(): option for option in options}

    def parse(text: str) -> str:
        option = by_folded.get(text.strip().lower())
        if option is None:
            raise ValueError(f"expected one of {', '.join(by_folded.values())}")
        return option

    return Key(name, "choice", default, doc, parse)


def address(name: str, default: str, doc: str) -> Key[Address]:
    default_port = parse_address(default)[1]
    return Key(name, "address", default, doc, lambda text: parse_address(text, default_port))


def optional_address(name: str, default_port: int, doc: str) -> Key[Address | None]:
    def parse(text: str) -> Address | None:
        return parse_address(text, default_port)

    return Key(name, "address", None, doc, parse, _none)


def dirs(name: str, default: str, doc: str) -> Key[list[Path]]:
    return Key(name, "dirs", default, doc, parse_dirs)


def storage_dirs(name: str, default: str, doc: str) -> Key[list[StorageDir]]:
    return Key(name, "storage dirs", default, doc, parse_storage_dirs)
