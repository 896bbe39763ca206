"""`howdah mirror`: keeps a directory the mirror of another one; `status` says how far it is."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentTypeError
from typing import TYPE_CHECKING

from howdah.cli.servers import begin, server_arguments
from howdah.cli.spark_options import add_options, check_default
from howdah.config.value_types import parse_decimal, parse_real
from howdah.copy.options import InvalidOptions, attributes
from howdah.errors import HowdahError
from howdah.runtime.units import byte_text

if TYPE_CHECKING:
    from argparse import Namespace

    from howdah.config import Configuration
    from howdah.copy.counters import Counters
    from howdah.mirror.rounds import Round
    from howdah.mirror.settings import Settings

EXIT_FAILED = 1
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def main(argv: list[str], conf: Configuration) -> int:
    """Mirror; the exit code."""
    return _mirror(argv, conf)


def _mirror(argv: list[str], conf: Configuration) -> int:
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
    add_options(parser)
    options = parser.parse_args(argv)
    check_default([options.source, options.target], conf)
    if not (options.once or options.dry_run):
        begin(options)
    try:
        settings = _settings(options)
        if options.dry_run:
            return _rehearse(options, settings, conf)
        return _once(options, settings, conf)
    except (HowdahError, InvalidOptions) as error:
        print(f"howdah mirror: {error}", file=sys.stderr)
        return EXIT_FAILED


def _settings(options: Namespace) -> Settings:
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

    watcher = Watcher(tell=_tell, shows_progress=sys.stderr.isatty())
    done = mirror_once(options.source, options.target, settings, conf=conf, watcher=watcher)
    print(_as_json(done) if options.json else _line(done))
    for note in done.notes:
        _tell(note)
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


def _tell(text: str) -> None:
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
