"""`dfsadmin -fetchImage`: the namenode's newest image, over HTTP.

Into a directory come, beside the image, its sum, the VERSION of its namenode and a `seen_txid`: all
that `howdah namenode -importImage` or a namenode's `current` needs. Hadoop's program brings the
image alone, and so does this one where a file is named.
"""

from __future__ import annotations

import hashlib
import http.client
import re
import time
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.cli.dfsadmin.command import Cluster, Command
from howdah.formats.version import NamenodeVersion
from howdah.fs.hdfs.page_requests import PageRequests
from howdah.fs.hdfs.pages import pages_of_active, unreachable
from howdah.namenode.journal.checkpoints.primary import Primary
from howdah.runtime.atomic_files import replace_file, replacing
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.tls.http_policy import Place
from howdah.storage.image_files import md5_path
from howdah.storage.layout import SEEN_TXID_NAME, VERSION_NAME

_TARGET: Final = "/imagetransfer?getimage=1&txid=latest"
_NAME_HEADER: Final = "X-Image-Edits-Name"
_SUM_HEADER: Final = "X-MD5-Digest"
_READ_BYTES: Final = 1 << 20
_TIMEOUT_S: Final = 60.0
_IMAGE: Final = re.compile(r"fsimage_(?:rollback_)?\d{1,19}", re.ASCII)


def _fetch_image(words: list[str], cluster: Cluster) -> None:
    target = Path(words[0])
    if not (target.is_dir() or target.parent.is_dir()):
        raise errors.PathNotFound(f"{target.parent} is no directory of this machine")
    place = pages_of_active(cluster.authority, cluster.conf, cluster.fs.user)
    version = _version(cluster, place)
    if target.is_dir():
        _check_same(target, version)
    page = PageRequests(cluster.conf, cluster.fs.user).get(
        place, _TARGET, connect_timeout_s=_TIMEOUT_S, read_timeout_s=_TIMEOUT_S
    )
    try:
        with page as answer:
            if answer.status != 200:
                reason = answer.read(4096).decode("utf-8", "replace").strip()
                raise errors.RemoteError(f"{place}{_TARGET}: {answer.status} {reason}")
            image, md5 = _save(answer, target)
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, errors.HowdahError):
            raise
        hint = unreachable(place, cluster.conf)
        raise errors.Unreachable(f"{place}{_TARGET}: {error}{hint}") from error
    if target.is_dir():
        _accompany(image, md5, version)


def _version(cluster: Cluster, place: Place) -> NamenodeVersion:
    """Of which filesystem the active namenode is."""
    cluster.fs.client.namenode.get_fs_stats()  # until the active one is found
    address = cluster.fs.client.namenode.address
    primary = Primary(
        address,
        place,
        tls=ClientTls(cluster.conf),
        bytes_per_s=0,
        timeout_s=_TIMEOUT_S,
        go_on=lambda: None,
        user=cluster.fs.user,
    )
    try:
        return primary.version()
    finally:
        primary.close()


def _check_same(directory: Path, version: NamenodeVersion) -> None:
    """Check that the directory has only images of this filesystem."""
    path = directory / VERSION_NAME
    if not path.exists():
        return
    existing = NamenodeVersion.parse(path.read_text("latin-1"), str(path))
    if existing != version:
        raise errors.InconsistentStorage(
            f"{directory} has images of another filesystem ({existing.cluster_id}, "
            f"{existing.block_pool_id}): name a directory of its own for those of "
            f"{version.cluster_id}, {version.block_pool_id}"
        )


def _accompany(image: Path, md5: str, version: NamenodeVersion) -> None:
    storage = image.parent
    replace_file(md5_path(image), f"{md5} *{image.name}\n".encode())
    seen = storage / SEEN_TXID_NAME
    txid = int(image.name.rpartition("_")[2])
    if not seen.exists() or ((text := seen.read_bytes().strip()).isdigit() and int(text) < txid):
        replace_file(seen, b"%d\n" % txid)
    if not (storage / VERSION_NAME).exists():
        now_ms = time.time_ns() // 1_000_000
        replace_file(storage / VERSION_NAME, version.format(now_ms).encode("latin-1"))


def _save(answer: http.client.HTTPResponse, target: Path) -> tuple[Path, str]:
    """In the directory `target`, or as the file of that name. Its path and its MD5 sum."""
    name = answer.getheader(_NAME_HEADER, "")
    if _IMAGE.fullmatch(name) is None:
        raise errors.RemoteError(f"the namenode sends {name!r}, which is no image")
    expected_bytes = int(answer.getheader("Content-Length", "-1"))
    digest = hashlib.md5(usedforsecurity=False)
    count = 0
    path = target / name if target.is_dir() else target
    with replacing(path) as file:
        while data := answer.read(_READ_BYTES):
            file.write(data)
            digest.update(data)
            count += len(data)
        if count != expected_bytes:
            raise errors.RemoteError(f"{name}: {count} bytes came, of {expected_bytes}")
        if answer.getheader(_SUM_HEADER, digest.hexdigest()) != digest.hexdigest():
            raise errors.ChecksumMismatch(f"{name} is not what the namenode sent: its sum differs")
    return path, digest.hexdigest()


COMMANDS: Final = {
    "-fetchImage": Command(
        "<local directory>",
        "Copy the active namenode's newest image to a directory, or to a file that is named,\n"
        "from dfs.namenode.http-address, or https-address where dfs.http.policy is HTTPS_ONLY.\n"
        "A directory gets its sum, VERSION and seen_txid, too: 'howdah namenode -importImage'\n"
        "restores it.",
        _fetch_image,
        1,
        1,
    ),
}
