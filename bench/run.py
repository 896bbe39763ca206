"""`./dev bench [NAME…]`: run the scripts of figures, print one table.

Each script runs as a process of its own, one after the other; one that fails
leaves its figures out, says so, and makes the exit code 1. `--json` prints an
object with the machine, then one for each result.

`--against hadoop` prints one table of ratios instead, of the figures that have a peer of
Hadoop's: subject and peer were run in turn, and each ratio has the spread of its rounds.
`--smoke` is that for a few rows, with little data, in two minutes of a quiet machine.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from harness import (
    ROOT,
    Figure,
    Skipped,
    against,
    arguments,
    from_json,
    progress,
    table,
    to_json,
)

from howdah.java import NoJava, find_java_home, java_version
from howdah.protocol.data_transfer.checksum import implementation

SCRIPTS = (
    "checksum",
    "startup",
    "calls",
    "namenode",
    "block_reports",
    "blocks",
    "transfer",
    "webhdfs",
    "objects",
    "s3",
    "mount",
    "sync",
    "recovery",
    "failover",
    "router",
    "short_circuit",
    "small_files",
    "caching",
    "scale",
    "groups",
    "many_files",
    "images",
    "pages",
    "hostile_http",
    "fsck",
    "balancer",
    "repair",
    "striping",
    "secured",
    "secured_servers",
    "zones",
    "distcp",
    "compaction",
    "listing",
    "live_listing",
    "tables",
    "mirror",
)

PEERS = {"hadoop": ("Hadoop", "Apache", "Java client")}
"""What is part of the names of peers that are meant."""
COMPARED = (
    "startup",
    "namenode",
    "block_reports",
    "transfer",
    "sync",
    "recovery",
    "failover",
    "router",
    "caching",
    "scale",
    "images",
    "balancer",
    "repair",
    "striping",
    "secured",
    "secured_servers",
    "zones",
    "distcp",
    "listing",
    "live_listing",
    "tables",
)
"""Those that measure a peer of Hadoop's."""
SMOKE = ("images", "startup")


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    try:
        java = f"Java {java_version(find_java_home())}"
    except NoJava:
        java = "no Java"
    return {
        "CPU": f"{_processor()}, {os.cpu_count()} cores",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') >> 30} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "Java": java,
        "checksum kernel": implementation(),
        "load before": " ".join(f"{load:.2f}" for load in os.getloadavg()),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except FileNotFoundError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def run(name: str, options: Sequence[str]) -> tuple[list[Figure | Skipped], bool]:
    """One script's results, and whether it ended well."""
    progress(f"{name}.py {shlex.join(options)}")
    script = Path(__file__).with_name(f"{name}.py")
    command = [sys.executable, str(script), "--json", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None, "it is a pipe"
        found = [from_json(line) for line in process.stdout]
    return found, process.returncode == 0


def main() -> int:
    parser = arguments("Measure howdah, and its peers in the same run.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SCRIPTS)}")
    parser.add_argument(
        "--against", choices=PEERS, help="one table of ratios to the peers of that kind"
    )
    parser.add_argument(
        "--smoke", action="store_true", help="a few of these rows, with little data"
    )
    asked = parser.parse_args()
    if asked.smoke:
        asked.against, asked.quick = asked.against or "hadoop", True
        asked.names = asked.names or SMOKE
    for name in asked.names:
        if name not in SCRIPTS:
            parser.error(f"there is no script {name!r}, only {', '.join(SCRIPTS)}")
    here = machine()
    if asked.json:
        print(json.dumps({"kind": "machine", **here}), flush=True)
    options = ["--dir", str(asked.dir), *(["--quick"] if asked.quick else [])]
    failed = []
    results: list[Figure | Skipped] = []
    for name in asked.names or (COMPARED if asked.against else SCRIPTS):
        found, well = run(name, options)
        if not well:
            failed.append(name)
        results += found
        if asked.json:
            for result in found:
                print(to_json(result), flush=True)
    if not asked.json:
        print("\n".join(f"{what}: {value}" for what, value in here.items()), end="\n\n")
        print(against(results, PEERS[asked.against]) if asked.against else table(results))
    for name in failed:
        print(f"{name}.py failed, its output is above", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
