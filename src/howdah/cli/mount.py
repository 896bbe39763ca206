"""`howdah mount` and `howdah umount`; `mount.howdah`, which mount(8) and /etc/fstab call.

`howdah mount` returns when the directory can be used, and leaves a process behind that serves it,
as mount(8) does; with `--foreground` it is that process. The process is a new one, not a fork.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from howdah.cli.arguments.parser import Arguments
from howdah.cli.arguments.usage import EXIT_FAILURE, EXIT_USAGE, UsageError
from howdah.cli.servers import LOG_FORMS, LOG_LEVELS, begin

if TYPE_CHECKING:
    from howdah.config import Configuration

_START_TIMEOUT_S: Final = 120.0
_POLL_S: Final = 0.05
_LONGEST_TIMEOUT_S: Final = 86_400.0
_MOST_THREADS: Final = 256


def main(argv: list[str], conf: Configuration) -> int:
    """Mount a directory of a filesystem."""
    options = arguments().parse_args(argv)
    _apply(options)
    if not options.foreground:
        return _start(options)
    begin(options)
    from howdah.mount.mounted_tree import MountSettings
    from howdah.mount.server import Wanted, run

    settings = MountSettings(options.attr_timeout, options.entry_timeout, options.read_only)
    wanted = Wanted(options.uri, options.directory, settings, options.allow_other, options.threads)
    ready_file = options.ready_file
    return run(conf, wanted, ready_file.absolute() if ready_file else None)


def arguments() -> Arguments:
    """What `howdah mount` can be told."""
    parser = Arguments(
        prog="howdah mount",
        description="mount a directory of a filesystem, such as hdfs://namenode:8020/data",
        allow_abbrev=False,
    )
    parser.add_argument("uri", help="the filesystem, and the directory in it")
    parser.add_argument("directory", help="where to mount it: a directory of this machine")
    parser.add_argument("--read-only", action="store_true", help="refuse to change anything")
    parser.add_argument(
        "--allow-other",
        action="store_true",
        help="for all users of the machine, each with his own permissions; users other than root "
        "need user_allow_other in /etc/fuse.conf",
    )
    parser.add_argument(
        "--attr-timeout",
        type=float,
        default=1.0,
        metavar="SECONDS",
        help="how long the kernel remembers sizes, times and permissions (default: 1)",
    )
    parser.add_argument(
        "--entry-timeout",
        type=float,
        default=1.0,
        metavar="SECONDS",
        help="how long the kernel remembers names (default: 1)",
    )
    parser.add_argument(
        "--threads", type=int, default=16, help="how many requests are answered at once"
    )
    parser.add_argument(
        "-o",
        dest="options",
        action="append",
        default=[],
        metavar="OPTION,…",
        help="options as mount(8) has them: ro, allow_other, attr_timeout=SECONDS, "
        "entry_timeout=SECONDS",
    )
    parser.add_argument(
        "--foreground", action="store_true", help="serve in this process, until it is ended"
    )
    parser.add_argument(
        "--log-file", type=Path, metavar="FILE", help="where a process in the background logs to"
    )
    parser.add_argument(
        "--ready-file", type=Path, metavar="FILE", help="written when it is mounted"
    )
    parser.add_argument(
        "--log-level",
        choices=LOG_LEVELS,
        default=os.environ.get("HOWDAH_LOG_LEVEL", "INFO"),
        help="what is logged (default: HOWDAH_LOG_LEVEL, else INFO)",
    )
    parser.add_argument(
        "--log",
        choices=LOG_FORMS,
        default=os.environ.get("HOWDAH_LOG", "text"),
        help="a line of text for each record, or a JSON object (default: HOWDAH_LOG, else text)",
    )
    return parser


_IGNORED: Final = frozenset(
    (
        *("rw", "defaults", "auto", "noauto", "user", "nouser", "users", "nofail", "_netdev"),
        *("nosuid", "nodev", "exec", "async", "atime", "noatime", "relatime", "owner", "group"),
    )
)
"""Meant for mount(8), or true anyway."""


def _apply(options: Namespace) -> None:
    """What `-o` says, as if it had been said by options of our own. Raises UsageError."""
    for option in (each for group in options.options for each in group.split(",") if each):
        name, _, value = option.partition("=")
        if name in _IGNORED or name.startswith("x-"):
            continue
        match name:
            case "ro":
                options.read_only = True
            case "allow_other":
                options.allow_other = True
            case "attr_timeout" | "entry_timeout":
                try:
                    setattr(options, name, float(value))
                except ValueError as error:
                    raise UsageError(f"-o {option}: {value!r} is no number") from error
            case _:
                raise UsageError(f"-o {name}: there is no such option")
    for name in ("attr_timeout", "entry_timeout"):
        if not 0 <= getattr(options, name) <= _LONGEST_TIMEOUT_S:
            raise UsageError(f"--{name.replace('_', '-')} can be 0 to {_LONGEST_TIMEOUT_S:.0f}")
    if not 1 <= options.threads <= _MOST_THREADS:
        raise UsageError(f"--threads can be 1 to {_MOST_THREADS}")


def _start(options: Namespace) -> int:
    """Start the process that serves, by the words with which this one was, and wait until it
    does."""
    from howdah.local.servers import environment

    log_file = options.log_file or _log_file(options.directory)
    log_file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="howdah-mount-") as scratch:
        ready = options.ready_file or Path(scratch) / "ready"
        command = [sys.executable, "-P", "-m", "howdah", *sys.argv[1:]]
        command += ["--foreground", "--ready-file", str(ready)]
        with log_file.open("ab") as output:
            begins_at = output.tell()
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=os.environ | environment(),
                start_new_session=True,
            )
        give_up_at = time.monotonic() + _START_TIMEOUT_S
        while process.poll() is None and not ready.exists():
            if time.monotonic() > give_up_at:
                process.terminate()
                print(f"howdah mount: not mounted after {_START_TIMEOUT_S:.0f} s", file=sys.stderr)
                return EXIT_FAILURE
            time.sleep(_POLL_S)
        if process.poll() is not None:
            said = log_file.read_bytes()[begins_at:].decode(errors="replace")
            sys.stderr.write(said or f"howdah mount: the process ended with {process.returncode}\n")
            return EXIT_FAILURE
    # It goes on; else Python warns of a process that nobody waited for.
    process.returncode = 0
    print(f"{options.uri} is mounted at {options.directory}; its log is {log_file}")
    return 0


def _log_file(directory: str) -> Path:
    """Where a process in the background logs to that was told nothing else."""
    name = os.path.abspath(directory).strip("/").replace("/", "-") or "root"
    if os.geteuid() == 0:
        return Path("/var/log/howdah") / f"mount-{name}.log"
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "howdah" / f"mount-{name}.log"


def unmount(argv: list[str], conf: Configuration) -> int:
    """End a mount."""
    parser = Arguments(
        prog="howdah umount",
        description="end a mount of howdah mount, also one whose process has died",
        allow_abbrev=False,
    )
    parser.add_argument("directory", help="where it is mounted")
    parser.add_argument(
        "--lazy", action="store_true", help="also if it is in use: it ends with the last user"
    )
    options = parser.parse_args(argv)
    from howdah.mount import device

    directory = device.full_path(options.directory)
    mounted = device.mounted_at(directory)
    if mounted is None:
        print(f"howdah umount: nothing is mounted at {directory}", file=sys.stderr)
        return EXIT_FAILURE
    if mounted.kind != device.KIND:
        print(
            f"howdah umount: {directory} is a mount of {mounted.kind}, not of howdah's: use umount",
            file=sys.stderr,
        )
        return EXIT_FAILURE
    try:
        device.unmount(directory, lazy=options.lazy)
    except device.NotMounted as error:
        print(f"howdah umount: {error.strerror}", file=sys.stderr)
        return EXIT_FAILURE
    return 0


def helper() -> int:
    """`mount.howdah SOURCE DIRECTORY [-sfnv] [-o OPTION,…]`, as mount(8) calls it."""
    parser = Arguments(
        prog="mount.howdah", description="called by mount(8); see howdah mount", allow_abbrev=False
    )
    parser.add_argument("source")
    parser.add_argument("directory")
    parser.add_argument("-o", dest="options", action="append", default=[])
    parser.add_argument("-t", dest="kind")
    for letter, meaning in (
        ("s", "is lenient"),
        ("f", "mounts nothing"),
        ("n", "no table"),
        ("v", "says more"),
    ):
        parser.add_argument(f"-{letter}", action="store_true", help=meaning)
    try:
        options = parser.parse_args()
        values, rest = _configuration_options(options.options)
    except UsageError as error:
        print(f"mount.howdah: {error}", file=sys.stderr)
        return EXIT_USAGE
    if options.f:
        return 0
    words = [*values, "mount", options.source, options.directory]
    words += ["-o", ",".join(rest)] if rest else []
    os.execv(sys.executable, [sys.executable, "-P", "-m", "howdah", *words])


def _configuration_options(groups: list[str]) -> tuple[list[str], list[str]]:
    """`conf=DIR` and `log_file=FILE` of /etc/fstab, as options of the command; and the others."""
    words: list[str] = []
    rest: list[str] = []
    for option in (each for group in groups for each in group.split(",") if each):
        name, _, value = option.partition("=")
        if name == "conf":
            words += ["--conf", value]
        else:
            rest.append(option)
    return words, rest
