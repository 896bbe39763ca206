"""Which servers of a local cluster run, and the cluster that clients mean by default.

DIR/conf/                 core-site.xml and hdfs-site.xml for clients
DIR/run/processes.json    {server: [process number, start time]} of those that were started
"""

from __future__ import annotations

import json
from pathlib import Path

from howdah.config import Configuration
from howdah.errors import InvalidConfiguration
from howdah.local.processes import start_time


def default_dir() -> Path:
    """Where `howdah up` has its cluster by default."""
    return Path.home() / ".howdah" / "default"


def processes_path(base: Path) -> Path:
    """The file that says which servers of the cluster in `base` were started."""
    return base / "run" / "processes.json"


def running_servers(base: Path) -> dict[str, int]:
    """The servers that were started for the cluster in `base` and still run, by name.

    Raises InvalidConfiguration where the file that names them is damaged.
    """
    path = processes_path(base)
    try:
        facts = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise InvalidConfiguration(f"{path} is damaged: {error}") from error
    return {
        name: pid
        for name, (pid, since) in facts.items()
        if since is not None and start_time(pid) == since
    }


def default_cluster_conf() -> Configuration | None:
    """What a client of the cluster in `default_dir` needs; None unless a namenode of it runs."""
    base = default_dir()
    if not any(name.startswith("namenode") for name in running_servers(base)):
        return None
    return Configuration.load(base / "conf")
