"""moto's S3 as a process: prints its port, and ends when its standard input does."""

from __future__ import annotations

import logging
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import google_crc32c


def _lend_crc32c() -> None:
    """moto takes CRC32 for CRC32C where a package of that name is not installed."""
    lent = ModuleType("crc32c")
    lent.__spec__ = ModuleSpec("crc32c", None)
    vars(lent)["crc32c"] = google_crc32c.value
    sys.modules.setdefault("crc32c", lent)


def main() -> None:
    _lend_crc32c()
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    print(server.get_host_and_port()[1], flush=True)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()
