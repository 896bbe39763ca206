"""`/imagetransfer` of the namenode: images and segments go out, images come in (shell).

What is asked for is looked up and moved on a thread, at the pace that is allowed. An
image that comes in is taken in these steps, and a crash in any leaves what was there:

1. the loop accepts it: it is newer than what there is, and no other one is under way
2. its bytes are written as `fsimage.ckpt_N` in every image directory, and synced
3. length and sum are as the other side says, and the image is of this filesystem and
   of transaction N; else it is removed again
4. it gets its sum and its name, and what it makes superfluous is removed

Refusals are those that Hadoop's secondary namenode understands: 403 for another
filesystem, 409 for an image that is not needed, 410 for all else. A standby, which makes its
images itself, answers 417, as Hadoop's does.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from howdah import errors
from howdah.formats.image.fsimage import ImageReader
from howdah.formats.image.sections import Sink
from howdah.namenode.journal.directories import Directories
from howdah.namenode.journal.manifest import find_finished
from howdah.runtime.byte_rate import Throttle
from howdah.storage.image_files import (
    WrittenImage,
    discard_unfinished,
    list_readable_images,
    read_sum,
    unfinished_name,
    write_unfinished,
)
from howdah.web.channel import Channel
from howdah.web.file_response import FileOut, OutgoingFile
from howdah.web.http import Request, Response, text_response
from howdah.web.image_transfer import (
    MD5_HEADER,
    EditsWanted,
    ImageOffered,
    ImageWanted,
    Patience,
    parse_transfer,
)
from howdah.web.server import Exchange

log = logging.getLogger(__name__)

Post = Callable[[Callable[[], None]], object]

FORBIDDEN: Final = 403
CONFLICT: Final = 409
GONE: Final = 410
EXPECTATION_FAILED: Final = 417


class ImageReceiver(Protocol):
    """The checkpoints of a namenode."""

    def accept(self, txid: int, *, rollback: bool = False) -> str | None: ...

    def image_stored(self, txid: int | None, *, rollback: bool = False) -> None: ...

    def finish(self, written: WrittenImage) -> object: ...


@dataclass(frozen=True, slots=True)
class TransferSettings:
    """How fast, and how long one side waits for the other; 0 is without a limit."""

    bytes_per_s: int
    to_standby_bytes_per_s: int
    timeout_s: float


class ImageServer:
    """Makes the exchanges of one namenode."""

    def __init__(
        self,
        storage_info: str,
        namespace_id: int,
        directories: Directories,
        taker: ImageReceiver,
        durable_txid: Callable[[], int],
        settings: TransferSettings,
        may_send: Callable[[str], bool] = lambda peer: True,
        makes_its_own: Callable[[], bool] = lambda: False,
        post: Post = lambda act: act(),
    ) -> None:
        """`may_send` says of an address whether images are taken from it; `makes_its_own`
        whether this namenode is a standby now. `post` calls back on the loop, from any thread."""
        self._post = post
        self._may_send = may_send
        self._makes_its_own = makes_its_own
        self._storage_info = storage_info
        self._namespace_id = namespace_id
        self._directories = directories
        self._taker = taker
        self._durable_txid = durable_txid
        self._settings = settings

    def __call__(self, request: Request) -> Response | Exchange:
        """On the loop."""
        if request.method not in ("GET", "PUT"):
            return text_response(405, "images are fetched with GET and sent with PUT")
        if request.method == "PUT" and not self._may_send(request.peer):
            why = (
                f"images are taken from this machine and from the hosts of configured namenodes, "
                f"and {request.peer} is none of them: see dfs.namenode.secondary.http-address"
            )
            log.warning("an image is refused: %s", why)
            return self._refused(request, FORBIDDEN, why)
        try:
            transfer = parse_transfer(request)
        except (errors.IllegalArgument, errors.UnsupportedOperation) as error:
            return self._refused(request, GONE, error.message)
        if transfer.storage_info not in (None, self._storage_info):
            log.warning("a transfer for %s is refused", transfer.storage_info)
            why = (
                f"This namenode has storage info {self._storage_info} but the secondary "
                f"expected {transfer.storage_info}"
            )
            return self._refused(request, FORBIDDEN, why)
        if isinstance(transfer, ImageOffered):
            if self._makes_its_own():
                why = "this namenode is a standby, and makes its images itself"
                return self._refused(request, EXPECTATION_FAILED, why)
            return self._receive(request, transfer)
        bytes_per_s = self._settings.bytes_per_s
        if isinstance(transfer, ImageWanted) and transfer.to_new_standby:
            bytes_per_s = self._settings.to_standby_bytes_per_s
        return FileOut(
            request,
            lambda: self._find(transfer),
            bytes_per_s,
            self._settings.timeout_s,
            missing_status=GONE,
        )

    def _refused(self, request: Request, status: int, why: str) -> Response | Exchange:
        """A body has to be read first: else the other side would not see the answer."""
        if request.method == "GET":
            return text_response(status, why)
        return Unwanted(text_response(status, why))

    def _find(self, wanted: ImageWanted | EditsWanted) -> OutgoingFile:
        path = self._path(wanted)
        return OutgoingFile(path, md5=read_sum(path))

    def _path(self, wanted: ImageWanted | EditsWanted) -> Path:
        """Raises PathNotFound."""
        if isinstance(wanted, EditsWanted):
            path = find_finished(self._directories.edits(), wanted.first_txid, wanted.last_txid)
            if path is None:
                raise errors.PathNotFound(
                    f"there is no segment of transactions {wanted.first_txid} to {wanted.last_txid}"
                )
            return path
        for image in list_readable_images(self._directories.images()):
            if wanted.txid in (None, image.txid):
                return image.path
        raise errors.PathNotFound(f"there is no image of transaction {wanted.txid}")

    def _receive(self, request: Request, offered: ImageOffered) -> Exchange:
        if offered.md5 is None:
            return Unwanted(text_response(GONE, f"an image comes with its {MD5_HEADER}"))
        if offered.txid > self._durable_txid():
            why = f"the log has not reached transaction {offered.txid}"
            return Unwanted(text_response(GONE, why))
        refusal = self._taker.accept(offered.txid, rollback=offered.rollback)
        if refusal is not None:
            log.info("an image of transaction %d is refused: %s", offered.txid, refusal)
            return Unwanted(text_response(CONFLICT, refusal))
        return ImageIn(
            offered,
            self._namespace_id,
            self._directories.images(),
            self._taker,
            self._settings,
            self._post,
        )


class Unwanted:
    """Reads a body to its end and then says why it is not taken."""

    def __init__(self, answer: Response) -> None:
        self._answer = answer

    def run(self, channel: Channel) -> None:
        while not channel.waits_to_send and channel.read():
            pass

    def done(self) -> Response:
        return self._answer


class ImageIn:
    """Receives an image that was accepted, checks it, and gives it its name."""

    def __init__(
        self,
        offered: ImageOffered,
        namespace_id: int,
        directories: Sequence[Path],
        taker: ImageReceiver,
        settings: TransferSettings,
        post: Post,
    ) -> None:
        """`post` calls back on the loop, from any thread."""
        self._post = post
        self._offered = offered
        self._namespace_id = namespace_id
        self._directories = directories
        self._taker = taker
        self._settings = settings
        self._failure: str | None = "the transfer was broken off"

    def run(self, channel: Channel) -> None:
        try:
            self._receive_image(channel)
        finally:
            # Posted, and not left to `done`: on a loop that did not turn for long nobody asks for
            # an answer any more, and no other image would ever be made or taken.
            txid = self._offered.txid if self._failure is None else None
            rollback = txid is not None and self._offered.rollback
            self._post(lambda: self._taker.image_stored(txid, rollback=rollback))

    def _receive_image(self, channel: Channel) -> None:
        offered = self._offered
        try:
            written = write_unfinished(
                self._directories,
                offered.txid,
                lambda sink: self._receive_all(channel, sink),
            )
            for directory, why in written.failed:
                log.error("no image in %s: %s", directory, why)
            try:
                self._check(written)
            except BaseException:
                discard_unfinished(written.directories, written.txid)
                raise
            self._taker.finish(replace(written, rollback=offered.rollback))
        except (errors.HowdahError, OSError) as error:
            self._failure = str(error)
            log.error("the image of transaction %d is not taken: %s", offered.txid, error)
        else:
            self._failure = None
            log.info("took the image of transaction %d, %d bytes", offered.txid, offered.size_bytes)

    def done(self) -> Response:
        if self._failure is None:
            return text_response(200, f"took the image of transaction {self._offered.txid}")
        return text_response(GONE, self._failure)

    def _receive_all(self, channel: Channel, sink: Sink) -> None:
        left_bytes = self._offered.size_bytes
        settings = self._settings
        throttle = Throttle(settings.bytes_per_s)
        patience = Patience(left_bytes, settings.bytes_per_s, settings.timeout_s, time.monotonic())
        while data := channel.read():
            left_bytes -= len(data)
            if left_bytes < 0:
                raise errors.ProtocolViolation("the image is longer than it says")
            sink.write(data)
            patience.check(time.monotonic())
            time.sleep(throttle.delay_s(len(data), time.monotonic()))
        if left_bytes:
            raise errors.ProtocolViolation(f"the image lacks {left_bytes} bytes of its length")

    def _check(self, written: WrittenImage) -> None:
        """Check the image. Raises CorruptImage, InconsistentStorage."""
        offered = self._offered
        if written.md5 != offered.md5:
            raise errors.CorruptImage(
                f"the image was damaged on its way: its sum is {written.md5}, and should "
                f"be {offered.md5}"
            )
        path = written.directories[0] / unfinished_name(written.txid)
        with open(path, "rb", buffering=0) as file:
            counters = ImageReader(file, str(path)).namesystem()
        if (counters.namespace_id, counters.txid) != (self._namespace_id, offered.txid):
            raise errors.InconsistentStorage(
                f"the image is of namespace {counters.namespace_id} after transaction "
                f"{counters.txid}, and not of {self._namespace_id} after {offered.txid}"
            )
