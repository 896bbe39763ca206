"""`howdah oiv`: a namespace image for people, and back (shell).

Mirrors `hdfs oiv`: options, processors, output to the byte, exit codes. An image of
any size is read inode by inode.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from howdah import __version__, errors
from howdah.cli.arguments.output_file import check_output
from howdah.cli.arguments.parser import Arguments
from howdah.cli.arguments.usage import EXIT_FAILURE, EXIT_USAGE
from howdah.formats.image.fsimage import ImageReader
from howdah.formats.viewers.check import problems
from howdah.formats.viewers.image_lines import Columns, Places, PlacesInMemory, listing
from howdah.formats.viewers.sizes import distribution
from howdah.formats.viewers.web import PREFIX, ImageTree, answer
from howdah.formats.viewers.xml import as_xml
from howdah.formats.viewers.xml_to_image import image_from_xml
from howdah.runtime.atomic_files import replace_file, replacing
from howdah.storage.image_files import md5_path
from howdah.storage.parent_index import PlacesOnDisk
from howdah.web import http
from howdah.web.server import HttpServer

if TYPE_CHECKING:
    from argparse import Namespace

    from howdah.config import Configuration

DEFAULT_ADDRESS: Final = "localhost:5978"
_PROCESSORS: Final = (
    "XML",
    "FileDistribution",
    "ReverseXML",
    "Web",
    "Delimited",
    "DetectCorruption",
)
_SAY_EVERY_BYTES: Final = 4 << 20
_BUFFER_BYTES: Final = 1 << 18
_STDOUT: Final = "-"
_CLIENT_TIMEOUT_S: Final = 60.0


def main(argv: list[str], conf: Configuration) -> int:
    """Process one file."""
    parser = _arguments()
    if not argv:
        parser.print_help()
        return 0
    options = parser.parse_args(argv)
    processor = {name.upper(): name for name in _PROCESSORS}.get(options.processor.upper())
    if processor is None:
        print(f"Invalid processor specified : {options.processor}", file=sys.stderr)
        return EXIT_USAGE
    try:
        if options.output != _STDOUT:
            check_output(options.input, options.output)
        _PROCESS[processor](options)
    except (errors.HowdahError, OSError) as error:
        if processor == "ReverseXML":
            print(f"OfflineImageReconstructor failed: {error}", file=sys.stderr)
            return EXIT_FAILURE
        print(f"Encountered exception.  Exiting: {error}", file=sys.stderr)
        return EXIT_USAGE
    return 0


def _arguments() -> Arguments:
    parser = Arguments(
        prog="howdah oiv",
        description="Show a namespace image, or make one from XML.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "-i",
        "--inputFile",
        dest="input",
        required=True,
        metavar="FILE",
        help="an image; for ReverseXML what the processor XML made of one",
    )
    add(
        "-o",
        "--outputFile",
        dest="output",
        default=_STDOUT,
        metavar="FILE",
        help="written over if it is there (default: the screen)",
    )
    add(
        "-p",
        "--processor",
        default="Web",
        metavar="PROCESSOR",
        help=f"what to make of it: {', '.join(_PROCESSORS)} (default: Web)",
    )
    add(
        "-addr",
        default=DEFAULT_ADDRESS,
        metavar="HOST:PORT",
        help=f"where Web listens (default: {DEFAULT_ADDRESS})",
    )
    add(
        "-maxSize",
        dest="largest_bytes",
        type=int,
        default=0,
        metavar="BYTES",
        help="FileDistribution: files above it are counted together (default: 128 GiB)",
    )
    add(
        "-step",
        dest="step_bytes",
        type=int,
        default=0,
        metavar="BYTES",
        help="FileDistribution: how far sizes are apart (default: 2 MiB)",
    )
    add(
        "-format",
        dest="for_people",
        action="store_true",
        help="FileDistribution: show sizes with units",
    )
    add("-delimiter", default="\t", metavar="TEXT", help="between columns (default: tab)")
    add("-sp", dest="storage_policy", action="store_true", help="Delimited: a column more")
    add("-ec", dest="erasure_coding", action="store_true", help="Delimited: a column more")
    add(
        "-t",
        "--temp",
        metavar="DIRECTORY",
        help="keep where inodes are there, not in memory; must not exist",
    )
    add(
        "-m",
        "--multiThread",
        dest="threads",
        type=int,
        default=1,
        metavar="NUMBER",
        help="Delimited: taken for compatibility; the output is the same",
    )
    return parser


# Processors.


def _xml(options: Namespace) -> None:
    with _image(options, passes=1) as reader:
        _write(options, as_xml(reader, f"howdah-{__version__}"))


def _file_distribution(options: Namespace) -> None:
    with _image(options, passes=1) as reader:
        lines = distribution(
            reader, options.largest_bytes, options.step_bytes, for_people=options.for_people
        )
        _write(options, lines)


def _delimited(options: Namespace) -> None:
    columns = Columns(
        _TimeTexts().text, options.delimiter, options.storage_policy, options.erasure_coding
    )
    with _parent_index(options) as places, _image(options, passes=2) as reader:
        _write(options, listing(reader, places, columns))


def _detect_corruption(options: Namespace) -> None:
    with _parent_index(options) as places, _image(options, passes=2) as reader:
        _write(options, problems(reader, places, options.delimiter))


@contextlib.contextmanager
def _parent_index(options: Namespace) -> Iterator[Places]:
    if not options.temp:
        yield PlacesInMemory()
        return
    with PlacesOnDisk(Path(options.temp)) as places:
        yield places


def _reverse_xml(options: Namespace) -> None:
    if options.output == _STDOUT:
        raise errors.IllegalArgument("an image and its sum need a file: name one with -o")
    target = Path(options.output)
    md5_path(target).unlink(missing_ok=True)
    with _source(options.input, passes=1) as source, replacing(target) as file:
        sink = _Summed(file)
        image_from_xml(source, options.input, sink)
    replace_file(md5_path(target), f"{sink.md5.hexdigest()} *{target.name}\n".encode())


def _web(options: Namespace) -> None:
    host, colon, port = options.addr.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()):
        raise errors.IllegalArgument(f"{options.addr!r} is not HOST:PORT")
    with _image(options, passes=1) as reader:
        tree = ImageTree(reader)

    def listening(bound: int) -> None:
        where = f"http://{host}:{bound}{PREFIX}"
        print(f"{options.input} can be looked at as {where}; Ctrl+C ends it", flush=True)

    asyncio.run(serve(tree, host, int(port), listening))


_PROCESS: Final[dict[str, Callable[[Namespace], None]]] = {
    "XML": _xml,
    "FileDistribution": _file_distribution,
    "Delimited": _delimited,
    "DetectCorruption": _detect_corruption,
    "ReverseXML": _reverse_xml,
    "Web": _web,
}


async def serve(tree: ImageTree, host: str, port: int, listening: Callable[[int], None]) -> None:
    """Answer requests about an image until cancelled; call `listening` with the port.

    Raises OSError if the address cannot be used.
    """
    # Of a name the IPv4 address: where it has another one, that may not be usable.
    addresses = socket.getaddrinfo(
        host or None, port, socket.AF_INET, socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    server = HttpServer(
        lambda request: _answer(tree, request),
        timeout_s=_CLIENT_TIMEOUT_S,
    )
    try:
        listening(server.start(str(addresses[0][4][0]), port))
        await asyncio.Event().wait()
    finally:
        server.stop()


def _answer(tree: ImageTree, request: http.Request) -> http.Response:
    reply = answer(tree, request.method, request.target)
    if sys.stderr.isatty():
        print(f"{request.peer} {request.method} {request.target} {reply.status}", file=sys.stderr)
    return http.answer(reply.status, reply.body.encode(), "application/json; charset=utf-8")


# Files.


class _Summed:
    """A file, and the sum of what is written to it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.md5 = hashlib.md5(usedforsecurity=False)

    def write(self, data: bytes, /) -> object:
        self.md5.update(data)
        return self._file.write(data)


class _Watched:
    """A file that is read; somebody at a terminal sees how far it is."""

    def __init__(self, file: BinaryIO, size_bytes: int) -> None:
        self._file = file
        self._size_bytes = size_bytes
        self._read_bytes = 0
        self._said_bytes = 0

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._file.seek(offset, whence)

    def read(self, count: int = -1, /) -> bytes:
        data = self._file.read(count)
        self._read_bytes += len(data)
        if self._read_bytes - self._said_bytes >= _SAY_EVERY_BYTES:
            self._said_bytes = self._read_bytes
            share = min(self._read_bytes / self._size_bytes, 1)
            print(f"\r{share:.0%}", end="", file=sys.stderr, flush=True)
        return data

    def done(self) -> None:
        if self._said_bytes:
            print("\r    \r", end="", file=sys.stderr, flush=True)


@contextlib.contextmanager
def _source(name: str, *, passes: int) -> Iterator[BinaryIO | _Watched]:
    """`passes` is how often it will be read, about."""
    with open(name, "rb", buffering=0) as file:
        if not sys.stderr.isatty():
            yield file
            return
        watched = _Watched(file, Path(name).stat().st_size * passes)
        try:
            yield watched
        finally:
            watched.done()


@contextlib.contextmanager
def _image(options: Namespace, *, passes: int) -> Iterator[ImageReader]:
    with _source(options.input, passes=passes) as source:
        yield ImageReader(source, options.input)


def _write(options: Namespace, pieces: Iterator[str]) -> None:
    to_screen = options.output == _STDOUT
    sys.stdout.flush()
    target = sys.stdout.fileno() if to_screen else options.output
    with open(target, "wb", buffering=_BUFFER_BYTES, closefd=not to_screen) as output:
        for piece in pieces:
            output.write(piece.encode())


class _TimeTexts:
    """Times as `2026-01-02 03:04` in the local zone; most are of few minutes."""

    _LIMIT: Final = 1 << 16

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def text(self, time_ms: int) -> str:
        minute = time_ms // 60_000
        known = self._known.get(minute)
        if known is None:
            if len(self._known) >= self._LIMIT:
                self._known.clear()
            known = self._known[minute] = _time_text(minute * 60)
        return known


def _time_text(time_s: int) -> str:
    try:
        when = time.localtime(time_s)
    except (OverflowError, OSError, ValueError) as error:
        raise errors.CorruptImage(f"a time of {time_s} seconds is in no year") from error
    return (
        f"{when.tm_year:04d}-{when.tm_mon:02d}-{when.tm_mday:02d} "
        f"{when.tm_hour:02d}:{when.tm_min:02d}"
    )
