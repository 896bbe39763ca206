"""A ZooKeeper server of its own for a local cluster, from the jars that PySpark has.

It is for trying things out: one server, without a quorum. A deployment has its own ensemble.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

from howdah.config.value_types import Address
from howdah.errors import HowdahError
from howdah.java import find_java_home
from howdah.runtime.atomic_files import replace_file

_MAIN = "org.apache.zookeeper.server.ZooKeeperServerMain"
_JARS = ("zookeeper-*", "slf4j-api-*", "log4j-*", "metrics-core-*", "snappy-java-*", "netty-*")
# It starts quickly, and has a handful of clients.
_JAVA_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx128m")
TICK_MS = 200
"""Sessions may be as short as two ticks."""
_POLL_S = 0.02
_ANSWER_TIMEOUT_S = 1.0
_SERVES = b"Zookeeper version: "
"""How a server that serves begins what it says of itself."""
_STATUS_OF_TERMINATED = 128 + signal.SIGTERM
_LOGGING = """\
status = error
appender.err.type = Console
appender.err.name = err
appender.err.target = SYSTEM_ERR
appender.err.layout.type = PatternLayout
appender.err.layout.pattern = %d{ISO8601} %p %c: %m%n
rootLogger.level = warn
rootLogger.appenderRef.err.ref = err
"""


class NoZooKeeper(HowdahError, RuntimeError):
    """There is no ZooKeeper to be run here; the message says what is missing."""


def zookeeper_command(directory: Path, address: Address) -> list[str]:
    """Return the command that runs a server with its data in `directory`, and make the
    directory."""
    spec = find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise NoZooKeeper("ZooKeeper comes with PySpark here: `pip install howdah[spark]`")
    jars = Path(spec.submodule_search_locations[0]) / "jars"
    class_path = [str(jar) for pattern in _JARS for jar in sorted(jars.glob(f"{pattern}.jar"))]
    if not any("zookeeper-" in jar for jar in class_path):
        raise NoZooKeeper(f"there is no ZooKeeper among the jars of PySpark in {jars}")
    directory.mkdir(parents=True, exist_ok=True)
    host, port = address
    settings = {
        "tickTime": TICK_MS,
        "dataDir": directory / "data",
        "clientPortAddress": host,
        "clientPort": port,
        "maxClientCnxns": 0,
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "srvr",
    }
    config = directory / "zoo.cfg"
    config.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    logging = directory / "log4j2.properties"
    logging.write_text(_LOGGING)
    return [
        str(find_java_home() / "bin" / "java"),
        *_JAVA_OPTIONS,
        f"-Dlog4j2.configurationFile={logging.as_uri()}",
        "-cp",
        os.pathsep.join(class_path),
        _MAIN,
        str(config),
    ]


def is_serving(address: Address) -> bool:
    """Whether a ZooKeeper at `address` says that it serves.

    It is asked for its facts (`srvr`), which it refuses until it serves. To `ruok` it says
    `imok` as soon as it listens, and a session that is asked for then is neither answered nor
    refused: ZooKeeper fails before it closes the connection.
    """
    try:
        with (
            socket.create_connection(address, _ANSWER_TIMEOUT_S) as connection,
            connection.makefile("rb") as answer,
        ):
            connection.sendall(b"srvr")
            return answer.read(len(_SERVES)) == _SERVES
    except OSError:
        return False


def run_zookeeper(directory: Path, address: Address, ready_file: Path | None) -> int:
    """Run a server until it ends or SIGTERM comes; its exit status.

    `ready_file` is written when it serves. The server belongs to our process group, so that
    who kills or stops the group kills or stops it too.
    """
    server = subprocess.Popen(zookeeper_command(directory, address))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.terminate())
    while server.poll() is None and not is_serving(address):
        time.sleep(_POLL_S)
    if server.poll() is None and ready_file is not None:
        facts = {"pid": os.getpid(), "role": "zookeeper", "rpc": f"{address[0]}:{address[1]}"}
        replace_file(ready_file, json.dumps(facts).encode())
    status = server.wait()
    # As a server of ours that was told to stop.
    return 0 if status == _STATUS_OF_TERMINATED else status
