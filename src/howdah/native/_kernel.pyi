from array import array
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, Final, Protocol

from typing_extensions import Buffer

REVISION: Final[int]
LAYOUT: Final[Mapping[str, int]]
CRC32_METHOD: Final[str]
CRC32C_METHOD: Final[str]
PRODUCT_METHODS: Final[tuple[str, ...]]

def checksum_chunks(
    type: int, bytes_per_checksum: int, data: Buffer, out: Buffer, out_offset: int, /
) -> int: ...
def verify_chunks(type: int, bytes_per_checksum: int, data: Buffer, sums: Buffer, /) -> int: ...
def crc(type: int, data: Buffer, seed: int, /) -> int: ...
def crc64nvme(data: Buffer, seed: int, /) -> int: ...
def combine(type: int, crc_a: int, crc_b: int, length_b: int, /) -> int: ...
def compose(type: int, sums: Buffer, chunk_bytes: int, last_chunk_bytes: int, /) -> int: ...
def multiply_units(
    rows: Buffer, inputs: Sequence[Buffer], outputs: Sequence[Buffer], method: int, /
) -> None: ...
def split_calls(
    data: bytes, max_frame_bytes: int, /
) -> tuple[list[tuple[int, bytes, bytes, bytes, int, int]], int]: ...
def answer_calls(
    data: bytes,
    max_frame_bytes: int,
    most_calls: int,
    tails: dict[bytes, bytes],
    quicks: dict[bytes, tuple[str, Callable[[bytes, str, str], bytes | None]]],
    user: str,
    address: str,
    states: bytes,
    clock: Callable[[], int],
    began_ns: int,
    /,
) -> tuple[list[tuple[str, int]], bytes, int]: ...
def file_info(
    request: bytes,
    ways: dict[str, tuple[list[str], list[object], object]],
    user: str,
    groups: Sequence[str],
    is_exempt: bool,
    tables: tuple[object, ...],
    /,
) -> bytes | None: ...
def file_status(inode_id: int, tables: tuple[object, ...], /) -> bytes | None: ...
def block_locations(
    request: bytes,
    ways: dict[str, tuple[list[str], list[object], object]],
    user: str,
    groups: Sequence[str],
    is_exempt: bool,
    tables: tuple[object, ...],
    view: tuple[object, ...],
    /,
) -> object: ...
def await_bytes(descriptor: int, nanoseconds: int, /) -> bool: ...
def request_fields(request: bytes, codes: bytes, /) -> tuple[Any, ...] | None: ...
def pack_record(opcode: int, txid: int, codes: bytes, values: list[object], /) -> bytes: ...
def take_rows(pages: Mapping[int, Buffer], ids: Buffer, shift: int, width: int, /) -> bytes: ...
def shift_right(numbers: Buffer, bits: int, /) -> bytes: ...
def file_ids(entries: Mapping[str, object], /) -> bytes | None: ...
def ids_in_order(entries: Mapping[str, object], /) -> bytes | None: ...
def frame_files(
    ids: Buffer,
    names: list[str] | tuple[Mapping[int, object], int],
    mtimes: Buffer,
    atimes: Buffer,
    looks: list[tuple[bytes, bytes, bytes]],
    block_ids: Buffer,
    stamps: Buffer,
    lengths: Buffer,
    counts: Buffer | None,
    /,
) -> bytes: ...
def take_reported(
    report: bytes,
    position: int,
    most: int,
    pages: Mapping[int, Buffer],
    number: int,
    siblings: tuple[int, ...],
    exceptions: tuple[Container[int], ...],
    touched: dict[int, bytearray],
    parts: dict[int, array[int]],
    last_orphaned: int,
    /,
) -> tuple[int, int, bytes, bytes, bytes]: ...
def read_request(
    start: bytes,
    pool: bytes,
    token: bytes,
    client: bytes,
    rest: bytes,
    block_id: int,
    stamp: int,
    length: int,
    offset: int,
    count: int,
    /,
) -> bytes: ...
def located(
    answer: bytes, known: dict[bytes, object], kinds: tuple[object, ...], /
) -> tuple[int, list[tuple[object, ...]], bool, tuple[object, ...] | None, bool] | None: ...
def exchange(
    socket: HasFileno, request: bytes, wait_ns: int, limit: int, /
) -> bytes | tuple[int, int, bytes]: ...
def send_now(socket: HasFileno, packet: bytes, found: list[tuple[int, int]], /) -> None: ...
def hear_acks(
    socket: HasFileno,
    acks: bytes,
    first: int,
    wait_ns: int,
    found: list[tuple[int, int, int, bytes]],
    line: HasFileno | None,
    request: bytes,
    call_wait_ns: int,
    /,
) -> None: ...
def read_short(
    socket: HasFileno,
    request: bytes,
    start: int,
    end: int,
    room: int,
    silence_ns: int,
    status: bytes,
    /,
) -> tuple[int, int, bytes, int, int]: ...

class HasFileno(Protocol):
    def fileno(self) -> int: ...

class DirectWriter:
    def __init__(self, bell: int, /) -> None: ...
    def open(self, files: list[tuple[int, int, int, int]], durable_txid: int, /) -> None: ...
    def put(self, records: list[bytes], last_txid: int, now: bool, /) -> int: ...
    def answer(
        self, outlet: Outlet, data: bytes, txid: int, back: Callable[[bytes], object], /
    ) -> int: ...
    def returned(self, txid: int, /) -> list[tuple[Callable[[bytes], object], bytes]]: ...
    def want(self, txid: int, /) -> bool: ...
    def look(self) -> int: ...
    def run(self) -> tuple[int, int, int] | None: ...
    def interrupt(self) -> None: ...
    def close(self) -> tuple[list[tuple[int, int]], int, int, bytes]: ...
    def durable(self) -> int: ...
    def figures(self) -> tuple[int, int, int, list[int]]: ...

class Outlet:
    def __init__(self, descriptor: int, /) -> None: ...
    @property
    def is_open(self) -> bool: ...
    @property
    def waiting_bytes(self) -> int: ...
    def send(self, data: bytes, /) -> int: ...
    def reopen(self) -> bool: ...
    def close(self) -> None: ...

class PacketRelay:
    def __init__(
        self,
        descriptors: tuple[int, int, int, int, int],
        sums: tuple[int, int, int],
        progress: tuple[int, int],
        limits: tuple[int, int],
        ack_tails: tuple[bytes, bytes],
        times_ns: tuple[int, int, int, int, int],
        came: bytes,
        /,
    ) -> None: ...
    @property
    def tail(self) -> tuple[int, bytes]: ...
    @property
    def acked_bytes(self) -> int: ...
    @property
    def block_is_synced(self) -> bool: ...
    @property
    def synced_bytes(self) -> int: ...
    def run(self) -> tuple[int, int]: ...
    def synced(self, others: bool, /) -> None: ...
    def interrupt(self) -> None: ...
    def figures(self) -> tuple[int, int, int, int, int, int, int, int]: ...
    def rest(self) -> tuple[bytes, int, bytes, bytes, list[tuple[int, int]]]: ...
