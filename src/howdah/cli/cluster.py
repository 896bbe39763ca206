"""`howdah up`, `howdah status`, `howdah down`: a cluster on this machine that stays.

Real server processes, one cluster a directory. What the cluster is (ports, racks,
values of -D) is kept in DIR/cluster.json, what runs of it in DIR/run; so `up` on a
directory that was used before starts the same cluster with the same data, and
`down` leaves the data alone.

The directory is ~/.howdah/default unless --dir says otherwise: so `status` and `down`
find the cluster from any working directory.

The installation's own configuration (HADOOP_CONF_DIR) is not read: a cluster on this
machine must not take the address of a production cluster. What is given on the command
line counts, files included.

With --secure it is secured by Kerberos, in a realm of its own (`howdah.local.kdc`), which is kept
with the cluster too: keys and users are the same after a restart.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from howdah.cli.arguments.parser import Arguments
from howdah.cli.arguments.usage import EXIT_FAILURE
from howdah.config import Configuration
from howdah.errors import HowdahError, InvalidConfiguration
from howdah.fs.registry import connect
from howdah.local import kdc
from howdah.local.cluster import ACTIVE, READY_TIMEOUT_S, LocalCluster
from howdah.local.layout import Layout
from howdah.local.nameservice import parse_nameservices
from howdah.local.servers import Detached
from howdah.native import loader
from howdah.runtime.process_identity import AskedToEnd, start_time
from howdah.runtime.running_cluster import default_dir, processes_path, running_servers

DEFAULT_DATANODES = 3
WATCH_INTERVAL_S = 0.25


# -- the commands ----------------------------------------------------------------------


def up(argv: list[str], conf: Configuration) -> int:
    """Start a cluster, or what is missing of it; return when it can serve."""
    parser = _arguments("up")
    parser.add_argument("--datanodes", type=int, metavar="N", help="how many (default: 3)")
    parser.add_argument("--racks", metavar="R1,R2,…", help="assigned to the datanodes in turn")
    parser.add_argument("--volumes", metavar="N", help="data directories of each datanode")
    parser.add_argument(
        "--namenodes", type=int, metavar="N", help="several take over from each other (default: 1)"
    )
    parser.add_argument(
        "--nameservices",
        metavar="N",
        help="several namespaces over the same datanodes: how many (ns1, ns2, …), or A,B,… by name",
    )
    parser.add_argument(
        "--zookeeper", action="store_true", help="namenodes hold elections in a ZooKeeper"
    )
    parser.add_argument(
        "--https", action="store_true", help="HTTP over TLS too, with certificates of its own"
    )
    parser.add_argument(
        "--secure",
        action="store_true",
        help="Kerberos, with a KDC of its own; calls and data are encrypted",
    )
    parser.add_argument(
        "--user",
        action="append",
        default=[],
        metavar="NAME",
        help="give the realm this user, beside who runs this (with --secure; again for more)",
    )
    parser.add_argument(
        "--foreground", action="store_true", help="stay, and stop the cluster at Ctrl-C"
    )
    parser.add_argument(
        "--timeout", type=float, default=READY_TIMEOUT_S, metavar="S", help="seconds to wait"
    )
    options = parser.parse_args(argv)
    if options.secure:
        kdc.check_available()
    base = _dir(options.dir)
    with _only_one(base):
        layout = _layout(base, dict(conf.items()), options)
        layout.save()
        cluster = _cluster(layout)
        _start(cluster, options.timeout)
    if slow := loader.warning():
        print(f"howdah up: {slow}", file=sys.stderr)
    # Whoever reads the report may end us at once.
    asked = _end_asked_for() if options.foreground else None
    _report(cluster, options.json)
    return _stay(cluster, asked) if asked else 0


def status(argv: list[str], conf: Configuration) -> int:
    """Say what runs; exit with 0 only if all of it does."""
    options = _arguments("status").parse_args(argv)
    base = _dir(options.dir)
    layout = Layout.load(base)
    if layout is None:
        if options.json:
            print(json.dumps({"uri": None, "http": None, "dir": str(base), "processes": []}))
        else:
            print(f"There is no cluster in {base}", file=sys.stderr)
        return EXIT_FAILURE
    cluster = _cluster(layout)
    _report(cluster, options.json)
    return 0 if all(map(cluster.is_ready, layout.names)) else EXIT_FAILURE


def down(argv: list[str], conf: Configuration) -> int:
    """Stop the cluster; its data stays."""
    options = _arguments("down").parse_args(argv)
    base = _dir(options.dir)
    layout = Layout.load(base)
    if layout is None:
        print(f"There is no cluster in {base}", file=sys.stderr)
        return EXIT_FAILURE
    with _only_one(base):
        cluster = _cluster(layout)
        stopped = list(cluster.pids)
        killed = cluster.stop(stopped)
        _remember(cluster)
    if options.json:
        print(json.dumps({"dir": str(base), "stopped": stopped, "killed": killed}))
        return 0
    for name in killed:
        print(f"{name} did not stop when asked and was killed", file=sys.stderr)
    print(f"{base}: stopped {', '.join(stopped)}" if stopped else f"{base}: nothing was running")
    return 0


# -- their parts -----------------------------------------------------------------------


def _arguments(name: str) -> Arguments:
    parser = Arguments(prog=f"howdah {name}", allow_abbrev=False)
    parser.add_argument(
        "--dir", type=Path, metavar="DIR", help="the cluster's directory (~/.howdah/default)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _cluster(layout: Layout) -> LocalCluster:
    """The cluster of a layout, with what runs of it."""
    if layout.realm is not None:
        kdc.enter(layout.kerberos_dir, layout.realm)
    return LocalCluster(layout, Detached(), running_servers(layout.dir))


def _dir(given: Path | None) -> Path:
    return (given or default_dir()).expanduser().absolute()


def _layout(base: Path, values: dict[str, str], options: argparse.Namespace) -> Layout:
    racks: str | None = options.racks
    volumes: str | None = options.volumes
    wanted_racks = [rack.strip() for rack in racks.split(",")] if racks else None
    nameservices = parse_nameservices(options.nameservices) if options.nameservices else None
    layout = Layout.load(base)
    if layout is None:
        return Layout.plan(
            base,
            datanodes=DEFAULT_DATANODES if options.datanodes is None else options.datanodes,
            namenodes=1 if options.namenodes is None else options.namenodes,
            nameservices=nameservices,
            zookeeper=options.zookeeper,
            racks=wanted_racks,
            volumes=_volumes(volumes),
            values=values,
            https=options.https,
            users=_users(options),
        )
    if options.https and not layout.https:
        raise InvalidConfiguration(
            f"the cluster in {base} has no HTTPS; another cluster takes another directory"
        )
    layout.check_secured(wanted=options.secure or bool(options.user))
    layout = layout.with_values(values)
    if options.user:
        layout = layout.with_users(options.user)
    layout.check_same(
        datanodes=options.datanodes,
        namenodes=options.namenodes,
        nameservices=nameservices,
        zookeeper=options.zookeeper,
    )
    if racks or volumes:
        wanted = Layout.plan(
            base,
            datanodes=len(layout.datanodes),
            racks=wanted_racks,
            volumes=_volumes(volumes),
        )
        for here, there in zip(layout.datanodes, wanted.datanodes, strict=True):
            if (racks and here.rack != there.rack) or (volumes and here.volumes != there.volumes):
                raise InvalidConfiguration(
                    f"the cluster in {base} has {here.name} in rack {here.rack} with volumes "
                    f"{','.join(here.volumes)}; take another --dir for another cluster"
                )
    return layout


def _users(options: argparse.Namespace) -> list[str] | None:
    """Those of a new realm; None where none is wanted."""
    users: list[str] = options.user
    if users and not options.secure:
        raise InvalidConfiguration("--user gives a realm a user, and wants --secure")
    return users if options.secure else None


def _volumes(text: str | None) -> int | Sequence[str]:
    if text is None:
        return 1
    if text.isascii() and text.isdigit():
        return int(text)
    return [kind.strip() for kind in text.split(",")]


def _start(cluster: LocalCluster, timeout_s: float) -> None:
    names = cluster.layout.names
    fresh = [name for name in names if not cluster.is_running(name)]
    try:
        cluster.start_all(fresh, timeout_s)
        _remember(cluster)
        cluster.wait_ready(names, timeout_s)
        _make_homes(cluster)
    except BaseException:
        # What was up before stays up, what we brought goes.
        cluster.stop([name for name in fresh if name in cluster.pids])
        _remember(cluster)
        raise


def _make_homes(cluster: LocalCluster) -> None:
    """Make the home directory of the user who started the cluster, for relative paths; on a secured
    one those of all its users."""
    layout = cluster.layout
    if layout.realm is not None:
        try:
            cluster.make_homes(layout.realm.users)
        except HowdahError as error:
            print(f"howdah up: not all homes are made: {error}", file=sys.stderr)
        return
    conf = Configuration.load(layout.conf_dir)
    for uri in layout.uris:
        with connect(uri, conf=conf) as fs:
            home = fs.home_directory()
            if fs.exists(home):
                continue
            try:
                fs.mkdirs(home)
            except HowdahError as error:
                # In safe mode, say, or HADOOP_USER_NAME is somebody else: the cluster serves
                # anyway.
                print(f"howdah up: {home} is not made in {uri}: {error}", file=sys.stderr)


def _end_asked_for() -> threading.Event:
    """Set by Ctrl-C or SIGTERM from now on."""
    asked = AskedToEnd()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked.set())
    return asked


def _stay(cluster: LocalCluster, asked: threading.Event) -> int:
    """Wait until the end is asked for, or too many servers ended; then stop everything.

    With several namenodes the cluster goes on while one of them runs.
    """
    ended: list[str] = []
    while not asked.wait(WATCH_INTERVAL_S):
        running = {name for name in cluster.layout.names if cluster.is_running(name)}
        for name in cluster.layout.names:
            if name not in running and name not in ended:
                print(f"{name} has ended, see {cluster.layout.log_path(name)}", file=sys.stderr)
        ended = [name for name in cluster.layout.names if name not in running]
        survives = len(cluster.layout.namenodes) > 1 and any(
            node.name in running for node in cluster.layout.namenodes
        )
        if ended and not survives:
            break
    with _only_one(cluster.layout.dir):
        cluster.stop(list(cluster.pids))
        _remember(cluster)
    return EXIT_FAILURE if ended else 0


def _report(cluster: LocalCluster, as_json: bool) -> None:
    layout = cluster.layout
    servers = [cluster.server(name) for name in layout.names]
    states = cluster.ha_states() if layout.has_roles else {}
    several = len(layout.nameservices) > 1
    nameservices = {
        node.name: nameservice.name
        for nameservice in layout.nameservices
        for node in nameservice.namenodes
        if several
    }
    if as_json:
        first = next((n for n in layout.namenodes if states.get(n.name) == ACTIVE), None)
        facts: dict[str, Any] = {
            "uri": layout.uri,
            "uris": list(layout.uris),
            "http": layout.web_url(first or layout.namenodes[0]),
            "dir": str(layout.dir),
            "conf_dir": str(layout.conf_dir),
            "kerberos": _kerberos(layout),
            "processes": [
                {
                    **asdict(server),
                    "log": str(server.log),
                    "ha_state": states.get(server.name),
                    "nameservice": nameservices.get(server.name),
                }
                for server in servers
            ],
        }
        print(json.dumps(facts), flush=True)
        return
    print(f"{'  '.join(layout.uris)}  in {layout.dir}")
    print(f"export HADOOP_CONF_DIR={layout.conf_dir}")
    if layout.realm is not None:
        _print_realm(layout, layout.realm)
    for server in servers:
        of = f"of {nameservices[server.name]}" if server.name in nameservices else ""
        if server.pid is None:
            print(f"  {server.name:12} not running{of and f' ({of})'}, see {server.log}")
        else:
            facts_of = [f"{kind} {address}" for kind, address in server.addresses.items()]
            if of:
                facts_of.append(of)
            if server.name in states:
                facts_of.append(states[server.name])
            print(f"  {server.name:12} pid {server.pid}  {'  '.join(facts_of) or 'not ready yet'}")
    sys.stdout.flush()


def _kerberos(layout: Layout) -> dict[str, Any] | None:
    """What a program is told of the realm, where there is one."""
    if layout.realm is None:
        return None
    directory = layout.kerberos_dir
    return {
        "realm": layout.realm.name,
        "krb5_conf": str(kdc.configuration_path(directory)),
        "keytabs": {user: str(kdc.user_keytab(directory, user)) for user in layout.realm.users},
    }


def _print_realm(layout: Layout, realm: kdc.Realm) -> None:
    """What to set in a shell to become a user."""
    for name, value in kdc.client_environment(layout.kerberos_dir, None).items():
        if name != kdc.TICKET_CACHE:
            print(f"export {name}={shlex.quote(value)}")
    print(f"To be a user of the realm {realm.name}, after that:")
    for user in realm.users:
        keytab = shlex.quote(str(kdc.user_keytab(layout.kerberos_dir, user)))
        superuser = "   # the superuser" if user == realm.superuser else ""
        print(f"  kinit -k -t {keytab} {user}{superuser}")


# -- what runs, between one command and the next ------------------------------------------


def _remember(cluster: LocalCluster) -> None:
    """Note who runs, and since when: a number alone may be another process tomorrow."""
    path = processes_path(cluster.layout.dir)
    facts = {name: [pid, start_time(pid)] for name, pid in cluster.pids.items()}
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(facts))
    os.replace(fresh, path)


@contextmanager
def _only_one(base: Path) -> Iterator[None]:
    """Keep a second `up` or `down` on the same directory waiting."""
    base.mkdir(parents=True, exist_ok=True)
    with (base / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
