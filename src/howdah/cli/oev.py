"""`howdah oev`: an edit log for people, and back (shell).

Mirrors `hdfs oev`: options, the three processors, output to the byte, exit codes.
A log of any length is read record by record.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from howdah import errors
from howdah.cli.arguments.output_file import check_output
from howdah.cli.arguments.parser import Arguments
from howdah.cli.arguments.usage import EXIT_USAGE
from howdah.formats.edits.codec import LAYOUT_VERSION, encode_record
from howdah.formats.edits.edits import LoggedEdit, Opcode
from howdah.formats.edits.segment_scan import encode_header
from howdah.formats.viewers import edit_xml
from howdah.formats.viewers.edits import Log, read_binary, read_xml

if TYPE_CHECKING:
    from howdah.config import Configuration

PROGRESS_EVERY: Final = 20_000
_NAME_WIDTH: Final = 30


def main(argv: list[str], conf: Configuration) -> int:
    """Process one file."""
    parser = _arguments()
    if not argv:
        parser.print_help()
        return 0
    options = parser.parse_args(argv)
    is_xml = options.input.lower().endswith(".xml")
    if options.processor.lower() == ("xml" if is_xml else "binary"):
        kind = "XML" if is_xml else "Binary"
        print(
            f"{kind} format input file is not allowed to be processed by {kind} processor.",
            file=sys.stderr,
        )
        return EXIT_USAGE
    if options.verbose:
        print(f"input  [{options.input}]")
        print(f"output [{options.output}]", flush=True)
    try:
        check_output(options.input, options.output)
        with open(options.input, "rb") as source, open(options.output, "wb") as output:
            log = (
                read_xml(source, options.input)
                if is_xml
                else read_binary(
                    source, options.input, on_damage=_warn if options.recover else None
                )
            )
            log.edits = _watched(log.edits, source)
            if options.fix_txids:
                log.edits = _renumbered(log.edits)
            for piece in _processed(options.processor.lower(), log):
                output.write(piece)
                if options.verbose:
                    sys.stdout.buffer.write(piece)
    except (errors.HowdahError, OSError) as error:
        print(f"Encountered exception. Exiting: {error}", file=sys.stderr)
        return EXIT_USAGE
    return 0


def _arguments() -> Arguments:
    parser = Arguments(
        prog="howdah oev", description="Show an edit log as XML, count it, or make one from XML."
    )
    parser.add_argument(
        "-i",
        "--inputFilename",
        dest="input",
        required=True,
        metavar="FILE",
        help="an edit log; with the suffix .xml (in any case) one that was shown as XML",
    )
    parser.add_argument(
        "-o",
        "--outputFilename",
        dest="output",
        required=True,
        metavar="FILE",
        help="written over if it is there",
    )
    parser.add_argument(
        "-p",
        "--processor",
        default="xml",
        choices=("binary", "xml", "stats"),
        type=str.lower,
        help="what to make of it: xml (the default), binary (from XML), or stats, which counts",
    )
    parser.add_argument(
        "-f",
        "--fix-txids",
        action="store_true",
        help="number the transactions anew, without gaps",
    )
    parser.add_argument(
        "-r",
        "--recover",
        action="store_true",
        help="pass over damaged parts of a binary log, and say where they are",
    )
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="name both files, and write the output to the screen too",
    )
    return parser


def _warn(damage: str) -> None:
    print(f"howdah oev: {damage}; going on behind it", file=sys.stderr)


def _watched(edits: Iterator[LoggedEdit], source: BinaryIO) -> Iterator[LoggedEdit]:
    """The same edits; somebody at a terminal sees how far they are."""
    if not sys.stderr.isatty():
        yield from edits
        return
    size = Path(source.name).stat().st_size
    count = 0
    try:
        for count, edit in enumerate(edits, 1):
            if count % PROGRESS_EVERY == 0:
                share = source.tell() / size
                print(f"\r{count:,} transactions, {share:.0%}", end="", file=sys.stderr)
            yield edit
    finally:
        if count >= PROGRESS_EVERY:
            print(f"\r{count:,} transactions.      ", file=sys.stderr)


def _renumbered(edits: Iterator[LoggedEdit]) -> Iterator[LoggedEdit]:
    txid = 0
    for logged in edits:
        txid = txid + 1 if txid else max(logged.txid, 1)
        yield replace(logged, txid=txid)


def _processed(processor: str, log: Log) -> Iterator[bytes]:
    if processor == "xml":
        return _as_xml(log)
    return _as_binary(log) if processor == "binary" else _as_statistics(log)


def _as_xml(log: Log) -> Iterator[bytes]:
    yield edit_xml.HEAD.encode()
    yield edit_xml.version_line(log.layout_version).encode()
    for logged in log.edits:
        yield edit_xml.write_record(logged).encode()
    yield edit_xml.TAIL.encode()


def _as_binary(log: Log) -> Iterator[bytes]:
    if log.layout_version != LAYOUT_VERSION:
        raise errors.IncorrectVersion(
            f"only logs of layout version {LAYOUT_VERSION} can be written, not {log.layout_version}"
        )
    yield encode_header(log.layout_version)
    for logged in log.edits:
        yield encode_record(logged.txid, logged.edit)


def _as_statistics(log: Log) -> Iterator[bytes]:
    """How many there are of each operation; what is counted up to an error is shown."""
    counts: Counter[Opcode] = Counter()
    try:
        for logged in log.edits:
            counts[logged.edit.opcode] += 1
    except errors.HowdahError as error:
        yield f"{_table(log, counts)}EXITING ON ERROR: {error}\n".encode()
        raise
    yield _table(log, counts).encode()


def _table(log: Log, counts: Counter[Opcode]) -> str:
    lines = [f"    {'VERSION':{_NAME_WIDTH}}      : {log.layout_version}\n"]
    for opcode in Opcode:
        number = -1 if opcode is Opcode.OP_INVALID else int(opcode)
        name = opcode.name[:_NAME_WIDTH]
        lines.append(f"    {name:{_NAME_WIDTH}} ({number:3}): {counts[opcode]}\n")
    return "".join(lines)
