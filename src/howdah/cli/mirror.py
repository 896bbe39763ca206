"""`howdah mirror`: keeps a directory the mirror of another one.

`status` says how far it is, `promote` makes the target the source, `verify` compares the two.
"""

from __future__ import annotations

import json
import logging
import sys
from argparse import ArgumentTypeError
from dataclasses import asdict
from typing import TYPE_CHECKING

from howdah.cli.arguments.parser import Arguments
from howdah.cli.arguments.usage import UsageError
from howdah.cli.servers import begin, check_configuration, server_arguments
from howdah.cli.spark_options import add_options, check_default
from howdah.config.value_types import parse_address, parse_decimal, parse_real
from howdah.copy.options import InvalidOptions, attributes
from howdah.errors import HowdahError
from howdah.runtime.units import byte_text

if TYPE_CHECKING:
    from argparse import Namespace

    from howdah.config import Configuration
    from howdah.copy.common.task_progress import Amount
    from howdah.copy.counters import Counters
    from howdah.mirror.rounds import Round
    from howdah.mirror.settings import Settings

_log = logging.getLogger(__name__)

EXIT_FAILED = 1
SUB_COMMANDS = ("status", "promote", "verify")
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def main(argv: list[str], conf: Configuration) -> int:
    """Mirror; the exit code."""
    named = dict(zip(SUB_COMMANDS, (_status, _promote, _verify), strict=True))
    run = named.get(argv[0] if argv else "")
    try:
        return _mirror(argv, conf) if run is None else run(argv[1:], conf)
    except InvalidOptions as error:
        raise UsageError(str(error)) from error
    except HowdahError as error:
        print(f"howdah mirror: {error}", file=sys.stderr)
        return EXIT_FAILED


def arguments() -> Arguments:
    """The arguments of a mirror."""
    parser = server_arguments("mirror")
    parser.description = "keep TARGET what SOURCE was a short while ago, by snapshots of SOURCE"
    parser.add_argument("source", metavar="SOURCE", help="a directory of an HDFS")
    parser.add_argument("target", metavar="TARGET", help="a directory of any filesystem")
    parser.add_argument("--once", action="store_true", help="make one round, and end")
    parser.add_argument(
        "--dry-run", action="store_true", help="change nothing, print what a round would do"
    )
    parser.add_argument("--json", action="store_true", help="print each round as JSON")
    parser.add_argument(
        "--interval",
        type=_positive,
        default=60.0,
        metavar="S",
        help="seconds from the beginning of a round to that of the next one (60)",
    )
    parser.add_argument(
        "--bandwidth", type=_positive, metavar="MB", help="at most so many MiB a second"
    )
    parser.add_argument(
        "--keep",
        type=_count,
        default=3,
        metavar="N",
        help="snapshots that stay on each side (3)",
    )
    parser.add_argument(
        "-p",
        metavar="LETTERS",
        help="the attributes to preserve, as distcp has them: rbugpcaxte (all that both have)",
    )
    parser.add_argument(
        "-m", type=_count, metavar="N", help="so many processes copy (one for each processor)"
    )
    parser.add_argument(
        "--adopt",
        action="store_true",
        help="let a target that has files become a mirror: what SOURCE does not have is deleted",
    )
    parser.add_argument(
        "--revert",
        action="store_true",
        help="undo what others changed at the target; it stays in a snapshot",
    )
    parser.add_argument(
        "--decrypt",
        action="store_true",
        help="let files of encryption zones become plain files at the target",
    )
    parser.add_argument(
        "--spark-above",
        type=_size,
        metavar="BYTES",
        help="a round that copies more is copied by Spark (10g; needs --master or --remote)",
    )
    parser.add_argument(
        "--http",
        type=_address,
        default=("127.0.0.1", 0),
        metavar="HOST:PORT",
        help="where the page, /prom and /ready are (a free port of 127.0.0.1)",
    )
    add_options(parser)
    return parser


def _mirror(argv: list[str], conf: Configuration) -> int:
    options = arguments().parse_args(argv)
    check_default([options.source, options.target], conf)
    settings = settings_of(options)
    if options.dry_run:
        return _rehearse(options, settings, conf)
    if options.once:
        return _once(options, settings, conf)
    begin(options)
    check_configuration(conf, lambda _: None)
    from howdah.mirror.server import run

    def print_round(done: Round) -> None:
        if options.json:
            print(_as_json(done), flush=True)
        elif not done.is_current:
            _log.info("%s", _line(done))

    return run(
        options.source,
        options.target,
        settings,
        conf,
        options.http,
        print_round,
        options.ready_file,
    )


def _target_arguments(name: str, description: str) -> Arguments:
    parser = Arguments(prog=f"howdah mirror {name}", description=description, allow_abbrev=False)
    parser.add_argument("target", metavar="TARGET", help="the target of the mirror")
    parser.add_argument("--json", action="store_true", help="print a JSON object")
    return parser


def _status(argv: list[str], conf: Configuration) -> int:
    parser = _target_arguments("status", "say how far a mirror is")
    parser.add_argument("--source", metavar="URI", help="the source, if it has another address now")
    options = parser.parse_args(argv)
    check_default([options.target], conf)
    from howdah.mirror.status import status

    found = status(options.target, options.source, conf=conf)
    if options.json:
        print(json.dumps(found.as_dict()))
        return 0
    record = found.record
    print(f"{record.source} --> {record.target}")
    if record.role.value == "source":
        print(f"the target was promoted (epoch {record.epoch}): it is a source")
    print(f"the target is {found.complete or 'no point in time yet: the first copy is not whole'}")
    if found.goal:
        print(f"a round was begun, to {found.goal}")
    if found.source_trouble:
        print(f"the source does not answer: {found.source_trouble}")
    if found.lag_s is not None:
        print(f"lag: {found.lag_s:.0f} s{_waiting(found.waiting)}")
    print(
        f"the last round copied {record.copied_files} files "
        f"({byte_text(record.copied_bytes)}) in {record.seconds:.1f} s"
    )
    print(found.holder or "no mirror runs")
    return 0


def _waiting(amount: Amount | None) -> str:
    if amount is None:
        return ""
    return f", {amount.files} files ({byte_text(amount.bytes)}) to copy"


def _promote(argv: list[str], conf: Configuration) -> int:
    parser = _target_arguments(
        "promote", "make the target of a mirror a source: what it has is what clients go on with"
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="also a target without snapshots that is between two points in time",
    )
    options = parser.parse_args(argv)
    check_default([options.target], conf)
    from howdah.mirror.promotion import promote

    done = promote(options.target, conf=conf, force=options.force, tell=_print_line)
    if options.json:
        print(json.dumps(asdict(done)))
        return 0
    if done.was_source:
        print(f"{done.uri} is a source already, since it was {done.complete}")
        return 0
    print(f"{done.uri} is a source now, and was {done.complete} of {done.old_source}")
    if done.was_reverted:
        print("what was there besides has been undone")
    print(f"to mirror it back: howdah mirror --revert {done.uri} {done.old_source}")
    return 0


def _verify(argv: list[str], conf: Configuration) -> int:
    parser = _target_arguments("verify", "compare source and target by checksums of all bytes")
    parser.add_argument("--source", metavar="URI", help="the source, if it has another address now")
    parser.add_argument(
        "--rate", type=_positive, metavar="MB", help="at most so many MiB of files a second"
    )
    parser.add_argument(
        "--snapshot", metavar="NAME", help="the point in time (the newest common snapshot)"
    )
    options = parser.parse_args(argv)
    check_default([options.target], conf)
    from howdah.mirror.verification import verify

    done = verify(
        options.target,
        options.source,
        rate_mb=options.rate,
        snapshot=options.snapshot,
        conf=conf,
        found=(lambda _: None) if options.json else print,
    )
    if options.json:
        differences = [
            {"path": one.path, "verdict": one.verdict.name.lower(), "detail": one.detail}
            for one in done.differences
        ]
        print(
            json.dumps(
                {
                    "snapshot": done.snapshot,
                    "files": done.files,
                    "directories": done.directories,
                    "bytes": done.bytes,
                    "by_length": done.by_length,
                    "differences": differences,
                }
            )
        )
    else:
        print(
            f"{done.snapshot}: {done.files} files ({byte_text(done.bytes)}) and "
            f"{done.directories} directories compared, {done.by_length} files by their lengths "
            f"alone; {len(done.differences)} differ"
        )
    return 0 if done.is_equal else EXIT_FAILED


def settings_of(options: Namespace) -> Settings:
    """The settings of a mirror that was given these options."""
    from howdah.mirror.settings import Settings
    from howdah.mirror.state.planner import Wanted

    above = options.spark_above
    return Settings(
        wanted=Wanted(options.keep, options.adopt, options.revert),
        preserve=None if options.p is None else attributes(options.p),
        bandwidth_mb=options.bandwidth,
        processes=options.m,
        interval_s=options.interval,
        decrypts=options.decrypt,
        most_bytes=10 * _UNITS["g"] if above is None else above,
        master=options.master,
        remote=options.remote,
    )


def _once(options: Namespace, settings: Settings, conf: Configuration) -> int:
    from howdah.mirror.copying import Watcher
    from howdah.mirror.rounds import mirror_once

    watcher = Watcher(tell=_print_line, shows_progress=sys.stderr.isatty())
    done = mirror_once(options.source, options.target, settings, conf=conf, watcher=watcher)
    print(_as_json(done) if options.json else _line(done))
    for note in done.notes:
        _print_line(note)
    return 0


def _rehearse(options: Namespace, settings: Settings, conf: Configuration) -> int:
    from howdah.mirror.rounds import Mirror
    from howdah.mirror.sides import Directory

    here = Directory.of(options.source, conf, None)
    there = Directory.of(options.target, conf, None)
    say = (lambda _: None) if options.json else print
    counters = Mirror(here, there, settings, conf).rehearse(say)
    if options.json:
        print(json.dumps({"counters": counters.as_dict()}))
    else:
        print(_cost(counters, settings.bandwidth_mb))
    return 0


def _print_line(text: str) -> None:
    print(f"howdah mirror: {text}", file=sys.stderr)


def _cost(counters: Counters, bandwidth_mb: float | None) -> str:
    text = (
        f"would copy {counters.files_copied} files ({byte_text(counters.bytes_copied)}), rename "
        f"{counters.entries_renamed} and delete {counters.entries_deleted} entries"
    )
    if bandwidth_mb is not None:
        seconds = counters.bytes_copied / (bandwidth_mb * _UNITS["m"])
        text += f", in {seconds:.0f} s at {bandwidth_mb:g} MiB a second"
    return text


def _line(done: Round) -> str:
    counters = done.counters
    said = [
        f"{counters.files_copied} files copied ({byte_text(counters.bytes_copied)})",
        f"{counters.entries_renamed} entries renamed, {counters.entries_deleted} deleted",
    ]
    if done.is_current:
        said.append("the source has not changed since")
    return f"the target is {done.common}: {', '.join(said)}; {done.seconds:.1f} s"


def _as_json(done: Round) -> str:
    return json.dumps(
        {
            "complete": done.common,
            "current": done.is_current,
            "lag_seconds": round(done.lag_s, 3),
            "seconds": round(done.seconds, 3),
            "counters": done.counters.as_dict(),
            "notes": list(done.notes),
        }
    )


def _positive(text: str) -> float:
    try:
        value = parse_real(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no number") from None
    if value <= 0:
        raise ArgumentTypeError(f"{text!r} is not above 0")
    return value


def _address(text: str) -> tuple[str, int]:
    try:
        host, port = parse_address(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r}: {error}") from None
    return host, port


def _count(text: str) -> int:
    try:
        value = parse_decimal(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no number") from None
    if value < 1:
        raise ArgumentTypeError(f"{text!r} is no number above 0")
    return value


def _size(text: str) -> int:
    unit = text[-1:].lower() if not text[-1:].isdigit() else ""
    try:
        return parse_decimal(text.removesuffix(text[-1:]) if unit else text) * _UNITS[unit]
    except (ValueError, KeyError):
        raise ArgumentTypeError(f"{text!r} is no size such as 500m or 10g") from None
