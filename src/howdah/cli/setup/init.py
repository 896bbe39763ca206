"""`howdah init`: a sound configuration for so many machines.

Asks on a terminal, and takes everything from options as well. It writes `core-site.xml`,
`hdfs-site.xml` and what these name into a directory, and says what to do next. It starts nothing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from howdah.cli.arguments.parser import Arguments
from howdah.cli.arguments.usage import UsageError

if TYPE_CHECKING:
    import argparse

    from howdah.config import Configuration
    from howdah.config_generator.plan import Wish


def arguments() -> Arguments:
    """The options of `howdah init`."""
    from howdah.config_generator import plan

    parser = Arguments(
        prog="howdah init",
        description="Write core-site.xml and hdfs-site.xml for a cluster of so many machines.",
        epilog="With three machines or more there are several namenodes, journal nodes and "
        "failover controllers. -D key=value before the options adds a value, which wins.",
    )
    add = parser.add_argument
    add("--machines", metavar="HOST,…", help="the machines; the first ones get the namenodes")
    add("--to", metavar="DIR", help="where the files are written (default: ./conf)")
    add("--name", metavar="NAME", help=f"the nameservice's name (default: {plan.NAMESERVICE})")
    add(
        "--single",
        action="store_true",
        help="one namenode, whatever the number of machines",
    )
    add("--namenodes", type=int, metavar="N", help="how many (default: 1, or up to 3)")
    add(
        "--journal-nodes",
        type=int,
        default=plan.JOURNAL_NODES,
        metavar="N",
        help="an odd number (default: 3)",
    )
    add("--zookeeper", metavar="HOST:PORT,…", help="elect there, and not on the journal nodes")
    add(
        "--base",
        metavar="DIR",
        help=f"below it lies what is kept (default: {plan.DEFAULT_BASE})",
    )
    add("--name-dirs", metavar="DIR,…", help="of the namenodes (default: BASE/name)")
    add("--data-dirs", metavar="DIR,…", help="one for each disk (default: BASE/data)")
    add("--replication", type=int, metavar="N", help="replicas of a file (default: 3, or fewer)")
    add("--racks", metavar="HOST=/RACK,…", help="in which rack each machine is")
    add("--rack-script", action="store_true", help="a script that says so, beside the table")
    add(
        "--https",
        action="store_true",
        help="pages and WebHDFS over TLS alone, with certificates of your authority",
    )
    add(
        "--self-signed",
        action="store_true",
        help="the same, with certificates that are made here: for a try",
    )
    add(
        "--secure",
        action="store_true",
        help="Kerberos, encrypted calls and data, and TLS; with a list of principals to make",
    )
    add("--realm", metavar="REALM", help="of Kerberos (default: that of krb5.conf)")
    add(
        "--routers",
        metavar="HOST,…",
        help="machines of routers, with --secure: their principals, and that they act for users",
    )
    add(
        "--gateways",
        metavar="HOST,…",
        help="machines of HttpFS gateways, with --secure: the same, and httpfs-site.xml",
    )
    add(
        "--users-group",
        metavar="GROUP",
        help="for whose members routers and gateways act (default: users); not the administrator's",
    )
    add("--secondary", metavar="HOST", help="the machine of a secondary namenode")
    add("--hosts-files", action="store_true", help="lists of who may join and who is to leave")
    add(
        "--conf-dir",
        metavar="DIR",
        help="where the files will lie on the machines (default: where they are written)",
    )
    add("--force", action="store_true", help="replace files that are there")
    add("--json", action="store_true", help="print one object")
    return parser


def main(argv: list[str], conf: Configuration) -> int:
    """Write the files; the exit code."""
    from howdah.config_generator import plan, writing

    options = arguments().parse_args(argv)
    if options.machines is None:
        if not sys.stdin.isatty():
            raise UsageError("--machines HOST,… is wanted where nobody can be asked")
        _prompt(options)
    directory = Path(options.to or "conf").absolute()
    wish = _wish(options, directory, dict(conf.items()))
    files = plan.files(wish, writing.look_up(wish.racks))
    made: list[Path] = []
    if wish.self_signed:
        if not options.force:
            writing.check_absent([*files, plan.SSL_SERVER, plan.SSL_CLIENT], directory)
        made, described = _self_signed(wish, directory / plan.TLS_DIR)
        files |= described
    written = [*made, *writing.write(files, directory, replaces=options.force)]
    steps = plan.next_steps(wish)
    warnings = [plan.SELF_SIGNED_WARNING] if wish.self_signed else []
    if options.json:
        paths = [str(path) for path in written]
        print(json.dumps({"files": paths, "next": steps, "warnings": warnings}))
        return 0
    for path in written:
        print(f"wrote {path}")
    for warning in warnings:
        print(f"\nwarning: {warning}", file=sys.stderr)
    print("\nWhat comes next:")
    for number, step in enumerate(steps, 1):
        print(f"{number}. {step}")
    return 0


def _self_signed(wish: Wish, directory: Path) -> tuple[list[Path], dict[str, str]]:
    """Make an authority and what it signs; the files, and the text of those that describe them,
    which have a place beside the configuration."""
    from howdah.config_generator import plan
    from howdah.local import certificates

    described = (plan.SSL_SERVER, plan.SSL_CLIENT)
    for name in described:  # of an earlier time
        (directory / name).unlink(missing_ok=True)
    hosts = [host.strip("[]") for host in wish.hosts]
    certificates.make(directory, hosts, f"{wish.conf_dir}/{plan.TLS_DIR}")
    texts = {name: (directory / name).read_text() for name in described}
    for name in described:
        (directory / name).unlink()
    return sorted(directory.iterdir()), texts


def _wish(options: argparse.Namespace, directory: Path, values: dict[str, str]) -> Wish:
    from howdah.config_generator import kerberos, plan

    racks = {}
    for pair in _split_names(options.racks):
        host, equals, rack = pair.partition("=")
        if not equals:
            raise UsageError(f"--racks {pair}: HOST=/RACK is wanted")
        racks[host] = rack
    return plan.Wish(
        machines=_split_names(options.machines),
        name=options.name or plan.NAMESERVICE,
        highly_available=False if options.single else None,
        namenodes=options.namenodes,
        journal_nodes=options.journal_nodes,
        name_dirs=_split_names(options.name_dirs),
        data_dirs=_split_names(options.data_dirs),
        base=(options.base or plan.DEFAULT_BASE).rstrip("/"),
        conf_dir=(options.conf_dir or str(directory)).rstrip("/"),
        replication=options.replication,
        racks=racks,
        rack_script=options.rack_script,
        hosts_files=options.hosts_files,
        zookeeper=options.zookeeper,
        https=options.https or options.self_signed or options.secure,
        self_signed=options.self_signed,
        realm=_realm(options),
        routers=_split_names(options.routers),
        gateways=_split_names(options.gateways),
        users_group=options.users_group or kerberos.USERS,
        secondary=options.secondary,
        values=values,
    )


def _realm(options: argparse.Namespace) -> str | None:
    """That of the servers; None without Kerberos. Raises UsageError."""
    named: str | None = options.realm
    if not options.secure:
        if named:
            raise UsageError("--realm is of Kerberos, and wants --secure")
        return None
    if named:
        return named
    from howdah.errors import LoginFailed
    from howdah.security.login import default_realm

    try:
        found = default_realm()
    except LoginFailed:
        found = ""
    if not found:
        raise UsageError("--secure wants --realm REALM: krb5.conf names no default realm here")
    return found


def _split_names(text: str | None) -> tuple[str, ...]:
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


def _prompt(options: argparse.Namespace) -> None:
    """Ask for what matters most; what is given by options is not asked for."""
    from howdah.config_generator import plan

    options.machines = _answer("Machines, separated by commas", "127.0.0.1")
    if len(_split_names(options.machines)) >= plan.ENOUGH_FOR_TAKEOVERS and not options.single:
        answer = _answer("Several namenodes that take each other's place (yes or no)", "yes")
        options.single = answer.lower() in ("n", "no")
    if options.base is None:
        options.base = _answer("Directory for all that is kept", plan.DEFAULT_BASE)
    if options.data_dirs is None:
        options.data_dirs = _answer(
            "Directories for blocks, one for each disk", f"{options.base}/data"
        )
    if options.name_dirs is None:
        options.name_dirs = _answer(
            "Directories for the namespace, best on two disks", f"{options.base}/name"
        )
    if options.racks is None and len(_split_names(options.machines)) > 1:
        options.racks = _answer("Racks as HOST=/RACK,… (empty: all in one)", "")
    if not options.https and not options.self_signed and not options.secure:
        answer = _answer(
            "Pages and WebHDFS over TLS (no; yes, with certificates of your authority; or "
            "self-signed, for a try)",
            "no",
        ).lower()
        options.https = answer in ("y", "yes")
        options.self_signed = answer == "self-signed"
        if not (options.https or options.self_signed or answer in ("n", "no")):
            raise UsageError(f"{answer}: no, yes or self-signed is wanted")
    if options.to is None:
        options.to = _answer("Write the files to", "conf")


def _answer(question: str, default: str) -> str:
    """What is typed; the default for an empty line. The end of input is no answer to anything."""
    print(f"{question} [{default}]: " if default else f"{question}: ", end="", file=sys.stderr)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise UsageError("the input ended before all was answered")
    return line.strip() or default
