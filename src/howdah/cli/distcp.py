"""`howdah distcp`: copy trees in parallel, on Spark.

The arguments are those of `hadoop distcp`, and a few more; the work is that of
`howdah.spark.distcp`. Exit codes are Hadoop's: 0, or one of -1, -2, -3, -4 and -999,
which a shell shows as 255, 254, 253, 252 and 25.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

from howdah.cli.spark_options import check_default, session_of
from howdah.config import Configuration
from howdah.config.keys.names.secret import is_secret
from howdah.config.site_files import site_file
from howdah.copy.arguments import Arguments, parse, usage
from howdah.copy.options import InvalidOptions
from howdah.errors import HowdahError
from howdah.runtime.units import byte_text

if TYPE_CHECKING:
    from howdah.copy.outcome import Outcome

EXIT_INVALID = 255


def main(argv: list[str], conf: Configuration) -> int:
    """Copy; the exit code."""
    if not argv or argv[0] in ("-help", "--help", "-h"):
        print(usage(), file=sys.stderr)
        return 0 if argv else EXIT_INVALID
    try:
        arguments = parse(argv)
    except InvalidOptions as error:
        print(f"Invalid arguments: {error}\n{usage()}", file=sys.stderr)
        return EXIT_INVALID
    for note in arguments.notes:
        print(f"howdah distcp: {note}", file=sys.stderr)
    if arguments.runs_in_background:
        return _run_in_background(argv, conf)
    from howdah.copy.outcome import exit_code

    try:
        outcome = _copy(arguments, conf)
    except HowdahError as error:
        print(f"howdah distcp: {error}", file=sys.stderr)
        return exit_code(error) & 0xFF
    _print_outcome(outcome, arguments)
    return 0


def _run_in_background(argv: list[str], conf: Configuration) -> int:
    """The same command in a process of its own, whose output goes to a file (`-async`)."""
    # A path may be called `async`.
    words = [word for word in argv if word not in ("-async", "--async")]
    settings = [f"-D{name}={value}" for name, value in conf.items() if not is_secret(name)]
    secrets = {name: value for name, value in conf.items() if is_secret(name)}
    with (
        tempfile.NamedTemporaryFile(
            "wb", prefix="howdah-distcp-", suffix=".log", delete=False
        ) as log,
        # Everybody on this machine sees the words of a command, and nobody this file: it has no
        # name.
        tempfile.TemporaryFile() as hidden,
    ):
        hidden.write(site_file(secrets).encode())
        hidden.seek(0)
        given = ["-conf", f"/dev/fd/{hidden.fileno()}"] if secrets else []
        process = subprocess.Popen(
            [sys.executable, "-m", "howdah", "distcp", *given, *settings, *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=[hidden.fileno()] if secrets else [],
        )
    print(f"DistCp runs as process {process.pid}, and says how it goes in {log.name}")
    return 0


def _copy(arguments: Arguments, conf: Configuration) -> Outcome:
    from howdah.spark.copy_job.job import distcp

    listing = arguments.options.source_listing
    check_default([*arguments.sources, arguments.target, listing], conf)
    with session_of(arguments.master, arguments.remote) as spark:
        return distcp(
            spark,
            arguments.sources,
            arguments.target,
            options=arguments.options,
            conf=conf,
            shows_progress=sys.stderr.isatty(),
        )


def _print_outcome(outcome: Outcome, arguments: Arguments) -> None:
    if arguments.as_json:
        print(outcome.to_json())
        return
    for line in outcome.counters.lines():
        print(line)
    if sys.stderr.isatty() and not arguments.options.dry_run:
        done = outcome.counters
        copied = f"{done.files_copied} files, {byte_text(done.bytes_copied)}"
        print(f"{copied} in {outcome.seconds:.1f} s", file=sys.stderr)
    for note in outcome.notes:
        print(note)
