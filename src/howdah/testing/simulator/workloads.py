"""The lives of writers and readers of a simulated cluster."""

from __future__ import annotations

from howdah import errors
from howdah.client.state.writing.pipeline_rules import PipelineRules, ReplacementPolicy
from howdah.options import CreateFlag
from howdah.testing.simulator.clients import Client
from howdah.testing.simulator.config import BLOCK_BYTES, HARD_LIMIT_S, PATH, Stage
from howdah.testing.simulator.history import Violation
from howdah.testing.simulator.reading import Reader
from howdah.testing.simulator.tasks import Steps
from howdah.testing.simulator.writing import OpenFile, OutputStream

PATTERN = bytes(range(1, 251))


class Lives:
    """Who comes to write or read the file, and what becomes of them."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._world = stage.world
        self._choices = stage.choices
        self._plan = stage.plan

    def writer_lives(self) -> bool:
        return any(writer.process.alive for writer in self._stage.writers)

    def open_another(self) -> bool:
        """A client comes that wants to write the file."""
        writers = self._stage.writers
        writers[:] = [writer for writer in writers if writer.process.alive]
        if self._stage.healing or len(writers) >= self._plan.most_writers:
            return False
        client = self._stage.client("writer")
        writers.append(client)
        self._world.spawn(client.process, "main", self._write(client))
        return True

    def read_once(self) -> bool:
        readers = self._stage.readers
        readers[:] = [reader for reader in readers if reader.process.alive]
        if self._stage.healing or len(readers) >= 2:
            return False
        client = self._stage.client("reader")
        readers.append(client)
        self._world.spawn(client.process, "main", self._read(client))
        return True

    def _write(self, client: Client) -> Steps[None]:
        """A writer's life. When it fails, it leaves the file to whoever comes next."""
        stream: OutputStream | None = None
        try:
            stream = yield from self._open(client)
            yield from self._work(client, stream)
        except (errors.HowdahError, OSError) as error:
            self._stage.counts.failed_writers += stream is not None
            self._world.note(client.name, f"gives up: {type(error).__name__} {error}")
        if stream is not None:
            stream.stop()
        self._world.note(client.name, "goes")
        self._world.kill(client.process)

    def _work(self, client: Client, stream: OutputStream) -> Steps[None]:
        note = self._world.note
        for _ in range(1 + self._choices.below(self._plan.actions)):
            match self._choices.below(8):
                case 0 | 1 | 2 | 3:
                    size = 1 + self._choices.below(24)
                    start = len(stream.promised.written)
                    yield from stream.write(_pattern(client.name, start, size))
                case 4 | 5:
                    yield from stream.sync(to_disk=False)
                    self._stage.counts.flushes += 1
                    note(client.name, f"hflush: {stream.promised.flushed_bytes} bytes")
                case 6:
                    end_block = self._choices.below(4) == 3
                    yield from stream.sync(to_disk=True, end_block=end_block)
                    self._stage.counts.syncs += 1
                    note(client.name, f"hsync: {stream.promised.synced_bytes} bytes")
                case 7:
                    yield from self._world.sleep(1 + 20 * self._choices.below(3))
        yield from stream.close()
        self._stage.counts.closes += 1
        note(client.name, f"closed: {len(stream.promised.written)} bytes")

    def _open(self, client: Client) -> Steps[OutputStream]:
        """Create the file, or append to it, whoever may have been at it before."""
        patience = 8
        while True:
            try:
                file = yield from self._create_or_append(client)
                break
            except (errors.AlreadyBeingCreated, errors.RecoveryInProgress):
                patience -= 1
                if not patience:
                    raise
                if self._choices.below(2) == 1:
                    self._stage.counts.takeovers += 1
                    self._world.note(client.name, "recoverLease")
                    yield from client.call(
                        lambda namenode: namenode.recover_lease(PATH, client.name)
                    )
                yield from self._world.sleep(10)
        self._world.note(client.name, "has opened the file")
        rules = PipelineRules(
            exclude_s=60.0,
            replacement=ReplacementPolicy(min_replication=1),
            restart_timeout_s=20.0,
            is_local=lambda node: node.uuid == "uuid-1",
        )
        promised = self._stage.namenode.history.writer(client.name)
        stream = OutputStream(client, file, promised, rules, HARD_LIMIT_S)
        self._stage.checks.streams[client.name] = stream
        return stream

    def _create_or_append(self, client: Client) -> Steps[OpenFile]:
        is_there = PATH in self._stage.namenode.history.files
        if not is_there:
            status = yield from client.call(
                lambda namenode: namenode.create(
                    PATH,
                    client.name,
                    masked=0o644,
                    unmasked=0o644,
                    flags=CreateFlag.CREATE,
                    create_parent=False,
                    replication=self._plan.replication,
                    block_size=BLOCK_BYTES,
                )
            )
            return OpenFile(PATH, status.fileId, BLOCK_BYTES, self._plan.replication)
        in_new_block = self._choices.below(4) == 3
        flags = CreateFlag.APPEND | (CreateFlag.NEW_BLOCK if in_new_block else CreateFlag.NONE)
        block, status_of_file = yield from client.call(
            lambda namenode: namenode.append(PATH, client.name, flags)
        )
        assert status_of_file is not None, "the namenode tells the status"
        return OpenFile(
            PATH,
            status_of_file.fileId,
            BLOCK_BYTES,
            self._plan.replication,
            room=None if in_new_block else block,
            previous=block.block if in_new_block and block is not None else None,
        )

    def _read(self, client: Client) -> Steps[None]:
        history = self._stage.namenode.history
        opening, promised = len(history.openings), history.promised_bytes(PATH)
        try:
            data = yield from Reader(client, PATH).read()
        except errors.PathNotFound:
            if promised:
                raise Violation(f"{client.name} does not find {PATH}") from None
            self._world.kill(client.process)
            return
        except (errors.HowdahError, OSError) as error:
            self._stage.counts.failed_reads += 1
            self._world.note(client.name, f"cannot read: {type(error).__name__} {error}")
            self._world.kill(client.process)
            return
        self._stage.counts.reads += 1
        self._world.note(client.name, f"has read {len(data)} bytes")
        self.check_read(data, opening, promised)
        self._world.kill(client.process)

    def check_read(self, data: bytes, opening: int, promised: int) -> None:
        """`data` was read by somebody who came when there had been so many writers."""
        history = self._stage.namenode.history
        texts = history.texts_since(opening)
        if data and not any(text.startswith(data) for text in texts):
            raise Violation(f"{data!r} was read; the file has, or had, {texts!r}")
        if len(data) < promised and PATH not in history.lost_to_power:
            raise Violation(f"{len(data)} bytes were read, {promised} were promised before")


def _pattern(writer: str, start: int, size: int) -> bytes:
    """Bytes that no other writer writes at that place, and nobody elsewhere nearby."""
    offset = 97 * int(writer.removeprefix("writer"))
    return bytes(PATTERN[(offset + start + index) % len(PATTERN)] for index in range(size))
