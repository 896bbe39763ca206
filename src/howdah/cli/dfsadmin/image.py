"""`dfsadmin -fetchImage`: the namenode's newest image, over HTTP."""

from __future__ import annotations

import hashlib
import http.client
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.cli.dfsadmin.command import Cluster, Command
from howdah.fs.hdfs.pages import pages_of_active
from howdah.storage.atomic import replacing
from howdah.tls.client import ClientTls

_TARGET: Final = "/imagetransfer?getimage=1&txid=latest"
_NAME_HEADER: Final = "X-Image-Edits-Name"
_SUM_HEADER: Final = "X-MD5-Digest"
_READ_BYTES: Final = 1 << 20
_TIMEOUT_S: Final = 60.0


def _fetch_image(words: list[str], cluster: Cluster) -> None:
    target = Path(words[0])
    if not (target.is_dir() or target.parent.is_dir()):
        raise errors.PathNotFound(f"{target.parent} is no directory of this machine")
    place = pages_of_active(cluster.authority, cluster.conf, cluster.fs.user)
    connection = ClientTls(cluster.conf).http(place, _TIMEOUT_S)
    try:
        connection.request("GET", _TARGET)
        answer = connection.getresponse()
        if answer.status != 200:
            reason = answer.read(4096).decode("utf-8", "replace").strip()
            raise errors.RemoteError(f"{place}{_TARGET}: {answer.status} {reason}")
        _save(answer, target)
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, errors.HowdahError):
            raise
        raise errors.Unreachable(f"{place}{_TARGET}: {error}") from error
    finally:
        connection.close()


def _save(answer: http.client.HTTPResponse, target: Path) -> None:
    """In the directory `target`, or as the file of that name."""
    name = answer.getheader(_NAME_HEADER, "")
    if not name.startswith("fsimage_") or "/" in name:
        raise errors.RemoteError(f"the namenode sends {name!r}, which is no image")
    expected_bytes = int(answer.getheader("Content-Length", "-1"))
    digest = hashlib.md5(usedforsecurity=False)
    count = 0
    with replacing(target / name if target.is_dir() else target) as file:
        while data := answer.read(_READ_BYTES):
            file.write(data)
            digest.update(data)
            count += len(data)
        if count != expected_bytes:
            raise errors.RemoteError(f"{name}: {count} bytes came, of {expected_bytes}")
        if answer.getheader(_SUM_HEADER, digest.hexdigest()) != digest.hexdigest():
            raise errors.ChecksumMismatch(f"{name} is not what the namenode sent: its sum differs")


COMMANDS: Final = {
    "-fetchImage": Command(
        "<local directory>",
        "Copy the active namenode's newest image to a directory, or to a file that is named,\n"
        "from dfs.namenode.http-address, or https-address where dfs.http.policy is HTTPS_ONLY.",
        _fetch_image,
        1,
        1,
    ),
}
