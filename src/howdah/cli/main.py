"""`howdah COMMAND …`: finds the command and its configuration, and runs it.

A table says which module a command is in, and nothing is imported but that
module: `howdah dfs -ls /` has to feel instant.

Options that every command knows, before the command or right after it:
    --conf DIR        the directory with core-site.xml and hdfs-site.xml
    -conf FILE        one more configuration file
    -D key=value      one value
    -fs URI           the filesystem, short for -D fs.defaultFS=URI

A command is a function `(argv, conf) -> exit code`. Exit codes are those that
Hadoop's users know: 0, 1 for what failed, 255 (Hadoop's -1) for what could not
even be understood.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from howdah.cli.arguments.generic import GenericOptions
from howdah.cli.arguments.usage import (
    EXIT_BROKEN_PIPE,
    EXIT_FAILURE,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    UsageError,
)
from howdah.runtime import standard_streams

if TYPE_CHECKING:
    from howdah.config import Configuration

Run = Callable[[list[str], "Configuration"], int]


class Command(NamedTuple):
    """Where a command is; no target means that howdah doesn't have it yet.

    `dfs` has options of its own that may look like the common ones, so those
    stop at its first other argument, as in Hadoop; elsewhere they may stand
    anywhere. A cluster on this machine must not take the address of a production
    cluster, so its commands don't read HADOOP_CONF_DIR.

    Clients find the cluster of `howdah up` while it runs (`howdah.runtime.running_cluster`); a
    server is never made part of it.
    """

    help: str
    target: str | None
    options_anywhere: bool = True
    reads_environment: bool = True


COMMANDS: dict[str, Command] = {
    "up": Command(
        "start a cluster on this machine", "howdah.cli.cluster:up", reads_environment=False
    ),
    "status": Command(
        "show the state of that cluster", "howdah.cli.cluster:status", reads_environment=False
    ),
    "down": Command("stop that cluster", "howdah.cli.cluster:down", reads_environment=False),
    "init": Command(
        "write a configuration for a set of machines",
        "howdah.cli.setup.init:main",
        reads_environment=False,
    ),
    "dfs": Command("work with files", "howdah.cli.dfs:main", False),
    "fs": Command("the same as dfs", "howdah.cli.dfs:main", False),
    "getconf": Command("print configuration values", "howdah.cli.getconf:main"),
    "mirror": Command("keep a directory the mirror of another", "howdah.cli.mirror:main"),
    "mount": Command("mount a filesystem as a directory", "howdah.cli.mount:main"),
    "umount": Command("end such a mount", "howdah.cli.mount:unmount"),
    "namenode": Command("run a namenode, or -format one", "howdah.cli.namenode:main"),
    "datanode": Command("run a datanode", "howdah.cli.servers:datanode"),
    "dfsadmin": Command("administer the cluster", "howdah.cli.dfsadmin:main"),
    "storagepolicies": Command(
        "show and set the storage policies of paths", "howdah.cli.storagepolicies:main"
    ),
    "balancer": Command("even out the datanodes", "howdah.cli.balancer:main"),
    "diskbalancer": Command("even out the volumes of a datanode", "howdah.cli.diskbalancer:main"),
    "mover": Command(
        "move replicas to the storages of their policies", "howdah.cli.balancer.mover:main"
    ),
    "sps": Command(
        "move replicas of marked paths to the storages of their policies, as a server",
        "howdah.cli.balancer.sps:main",
    ),
    "cacheadmin": Command("manage the block cache", "howdah.cli.cacheadmin:main"),
    "classpath": Command(
        "print what Java clients need on their class path", "howdah.cli.info.classpath:main"
    ),
    "compact": Command("merge small files into larger ones", "howdah.cli.compact:main"),
    "completion": Command("print a completion script for a shell", "howdah.cli.completion:main"),
    "crypto": Command("manage encryption zones", "howdah.cli.crypto:main"),
    "debug": Command("look into block files, recover leases", "howdah.cli.debug:main"),
    "distcp": Command("copy in parallel, on Spark", "howdah.cli.distcp:main"),
    "doctor": Command("diagnose an installation", "howdah.cli.setup.doctor:main"),
    "dtutil": Command("work on files of delegation tokens", "howdah.cli.tokens.dtutil:main"),
    "fetchdt": Command("fetch a delegation token", "howdah.cli.tokens.fetchdt:main"),
    "ec": Command("manage erasure coding policies", "howdah.cli.erasurecoding:main"),
    "fsck": Command("check files and their blocks", "howdah.cli.fsck:main"),
    "groups": Command("print the groups of users", "howdah.cli.info.groups:main"),
    "haadmin": Command("administer high availability", "howdah.cli.haadmin:main"),
    "httpfs": Command("run a gateway over HTTP", "howdah.cli.servers:httpfs"),
    "journalnode": Command("run a journal node", "howdah.cli.journalnode:main"),
    "key": Command("manage the keys of encryption zones", "howdah.cli.key:main"),
    "kms": Command("run a key server for encryption zones", "howdah.cli.servers:kms"),
    "lsSnapshot": Command("list the snapshots of a directory", "howdah.cli.snapshots:ls_snapshot"),
    "lsSnapshottableDir": Command(
        "list the directories that may have snapshots",
        "howdah.cli.snapshots:ls_snapshottable_dir",
    ),
    "snapshotDiff": Command(
        "show the differences between snapshots", "howdah.cli.snapshots:snapshot_diff"
    ),
    "oev": Command("show an edit log", "howdah.cli.oev:main"),
    "oiv": Command("show a namespace image", "howdah.cli.oiv:main"),
    "passwd": Command("manage the users who log in at web pages", "howdah.cli.passwd:main"),
    "router": Command("run a router over several nameservices", "howdah.cli.router.process:main"),
    "routeradmin": Command("manage the mount table of routers", "howdah.cli.router.admin:main"),
    "dfsrouter": Command("the same as router", "howdah.cli.router.process:main"),
    "dfsrouteradmin": Command("the same as routeradmin", "howdah.cli.router.admin:main"),
    "s3": Command("run a gateway for S3, and manage its access keys", "howdah.cli.s3:main"),
    "secondarynamenode": Command("run a secondary namenode", "howdah.cli.secondarynamenode:main"),
    "namespace": Command(
        "report the usage of a filesystem or an image", "howdah.cli.namespace:main"
    ),
    "report": Command("write a page about what takes the space", "howdah.cli.report:main"),
    "sync": Command("make one tree a mirror of another", "howdah.cli.sync:main"),
    "verify": Command("read and compare every replica", "howdah.cli.verify:main"),
    "kdc": Command("run the KDC of a local cluster", "howdah.cli.servers:kdc"),
    "zookeeper": Command("run a ZooKeeper for a local cluster", "howdah.cli.servers:zookeeper"),
    "zkfc": Command("run a failover controller", "howdah.cli.zkfc:main"),
    # Commands of `hdfs` that are missing here: a refusal by name is no typing error.
    "envvars": Command("print variables of the environment", None),
    "jmxget": Command("print values of JMX beans", None),
    "nfs3": Command("run an NFS gateway", None),
    "oiv_legacy": Command("show an image of Hadoop 2.3 or older", None),
    "portmap": Command("run a port mapper for NFS", None),
}

# They say themselves what is wrong with their configuration.
TELL_THEMSELVES = (
    "doctor",
    "namenode",
    "datanode",
    "journalnode",
    "router",
    "dfsrouter",
    "httpfs",
    "kms",
    "s3",
    "secondarynamenode",
    "sps",
    "zkfc",
)

SERVERS = (
    "namenode",
    "datanode",
    "journalnode",
    "kdc",
    "router",
    "dfsrouter",
    "secondarynamenode",
    "zkfc",
    "zookeeper",
)
"""They say by their configuration what they are."""

LISTENING = frozenset({*SERVERS, "httpfs", "kms", "s3", "sps"})
"""They serve, and print nothing."""

COMPILED = ("namenode",)
"""They run modules that were compiled, where there are such."""


def main(argv: Sequence[str] | None = None) -> int:
    """The program `howdah`; `argv` without the program's name."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    standard_streams.fill()
    try:
        return standard_streams.flushed(_dispatch(arguments), "howdah")
    except UsageError as error:
        print(f"howdah: {error}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader has gone, as in `howdah dfs -cat /big | head`.
        standard_streams.give_up_output()
        return EXIT_BROKEN_PIPE


def _dispatch(arguments: list[str]) -> int:
    options, rest = GenericOptions.take_leading(arguments)
    if not rest:
        print(usage(), file=sys.stderr)
        return EXIT_FAILURE
    name, *rest = rest
    if name in ("--help", "-help", "-h", "help"):
        print(usage())
        return 0
    if name in ("--version", "version"):
        print("\n".join(version(detailed="--verbose" in rest or "-v" in rest)))
        return 0
    command = COMMANDS.get(name)
    if command is None:
        argument = f"option {name}" if name.startswith("-") else f"command {name!r}"
        print(f"howdah: there is no {argument}{_hint(name)}", file=sys.stderr)
        return EXIT_FAILURE
    if command.target is None:
        print(f"howdah: {name} is not available yet", file=sys.stderr)
        return EXIT_USAGE
    take = GenericOptions.take_all if command.options_anywhere else GenericOptions.take_leading
    more, rest = take(rest)
    if name in LISTENING:
        standard_streams.open_for_server()
    if name in COMPILED:
        from howdah.native import compiled

        # Before anything of a server is imported.
        compiled.use()
    return _run(name, command, rest, options + more)


def _run(name: str, command: Command, arguments: list[str], options: GenericOptions) -> int:
    from howdah.errors import HowdahError
    from howdah.runtime.running_cluster import with_running_cluster

    assert command.target is not None
    module_name, _, function_name = command.target.partition(":")
    try:
        run: Run = getattr(import_module(module_name), function_name)
        conf = options.configuration(command.reads_environment)
        if command.reads_environment and name not in SERVERS:
            conf = with_running_cluster(conf)
        if name not in TELL_THEMSELVES:
            from howdah.config import warn_of_misspelt

            warn_of_misspelt(conf)
        from howdah.runtime.tracing.programs import run_traced

        return run_traced(name, conf, lambda: run(arguments, conf))
    except UsageError as error:
        print(f"howdah {name}: {error}", file=sys.stderr)
        return EXIT_USAGE
    except HowdahError as error:
        print(f"howdah {name}: {error}", file=sys.stderr)
        return EXIT_FAILURE
    except BrokenPipeError:
        raise
    except OSError as error:
        # This machine's system refused something: an unwritable directory, a full disk.
        where = f"{error.filename}: " if error.filename else ""
        print(f"howdah {name}: {where}{error.strerror or error}", file=sys.stderr)
        return EXIT_FAILURE


def _hint(name: str) -> str:
    """Return a line with the likely meaning of a word that is neither a command nor an option."""
    from difflib import get_close_matches

    from howdah.cli.dfs.shell import registry

    more = "\n`howdah help` lists all commands"
    bare = name.removeprefix("-")
    if name.startswith("-") and bare in registry.COMMANDS:
        return f": did you mean howdah dfs -{bare}?{more}"
    lower = {command.lower(): command for command in COMMANDS}
    options = {f"-{option}" for option in ("-conf", "conf", "D", "fs", "-version", "-help")}
    if name.startswith("-"):
        near = get_close_matches(name, options, 1, 0.6)
    else:
        near = [lower[match] for match in get_close_matches(bare.lower(), lower, 3, 0.6)]
    if not near and bare in registry.COMMANDS:
        near = [f"dfs -{bare}"]
    return (f": did you mean {' or '.join(near)}?" if near else "") + more


def version(*, detailed: bool) -> list[str]:
    """The lines of `howdah version`, or of `howdah version --verbose`: what runs here."""
    from howdah import __version__

    if not detailed:
        return [f"howdah {__version__}"]
    from howdah.doctor.build import build_here

    return build_here().lines()


def usage() -> str:
    """The commands that there are, and those that are still to come."""
    width = max(map(len, COMMANDS))
    lines = ["Usage: howdah [OPTION]… COMMAND [ARGUMENT]…", "", "Commands:"]
    lines += [f"  {name:{width}}  {c.help}" for name, c in COMMANDS.items() if c.target]
    missing = [name for name, command in COMMANDS.items() if not command.target]
    lines += [
        "",
        f"Not available yet: {', '.join(missing)}.",
        "",
        "Options, before the command or right after it:",
        "  --conf DIR    directory of core-site.xml and hdfs-site.xml (else HADOOP_CONF_DIR)",
        "  -conf FILE    one more configuration file",
        "  -D key=value  one configuration value",
        "  -fs URI       the filesystem to work with",
        "  --version     print the version; with --verbose, also which native parts run",
    ]
    return "\n".join(lines)
