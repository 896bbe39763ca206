"""CPU time to checksum a packet: the kernel, its tables, the fall-back, google-crc32c.

A packet is 64 KiB of random data in 128 chunks of 512 bytes, CRC32C. The peer is
google-crc32c called once a chunk, what a client without a kernel would do.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable

import google_crc32c
from harness import Figure, Options, Results, Skipped, figure, in_turn, main

from howdah.protocol.data_transfer import checksum_fallback

PACKET_BYTES = 64 * 1024
CHUNK_BYTES = 512
CRC32 = 1
CRC32C = 2


def measure(options: Options) -> Results:
    data = os.urandom(PACKET_BYTES)
    sums = bytearray(PACKET_BYTES // CHUNK_BYTES * 4)
    rounds = 200 if options.quick else 2000

    def timed(run: Callable[[], object]) -> Callable[[], float]:
        def once() -> float:
            before_s = time.thread_time()
            for _ in range(rounds):
                run()
            return (time.thread_time() - before_s) / rounds * 1e6

        return once

    def google() -> None:
        # It takes bytes only, so every chunk is cut out; then the sums are written.
        struct.pack_into(
            f">{PACKET_BYTES // CHUNK_BYTES}I",
            sums,
            0,
            *[
                google_crc32c.value(data[start : start + CHUNK_BYTES])
                for start in range(0, PACKET_BYTES, CHUNK_BYTES)
            ],
        )

    runs = {
        "google": timed(google),
        "fall-back": timed(
            lambda: checksum_fallback.checksum_chunks(CRC32C, CHUNK_BYTES, data, sums, 0)
        ),
        "fall-back crc32": timed(
            lambda: checksum_fallback.checksum_chunks(CRC32, CHUNK_BYTES, data, sums, 0)
        ),
    }
    try:
        from howdah.native import _kernel
    except ImportError as error:
        kernel = ""
        yield Skipped("checksum kernel", f"it is not built here ({error})")
    else:
        kernel = _kernel.CRC32C_METHOD
        runs["kernel"] = timed(lambda: _kernel.checksum_chunks(CRC32C, CHUNK_BYTES, data, sums, 0))
        runs["verify"] = timed(lambda: _kernel.verify_chunks(CRC32C, CHUNK_BYTES, data, sums))
        runs["kernel crc32"] = timed(
            lambda: _kernel.checksum_chunks(CRC32, CHUNK_BYTES, data, sums, 0)
        )
    google()  # `verify` wants sums that fit, whatever ran last
    right = bytes(sums)
    found = in_turn({name: _with(sums, right, run) for name, run in runs.items()}, 7)
    yield from _figures(found, kernel)


def _with(sums: bytearray, right: bytes, run: Callable[[], float]) -> Callable[[], float]:
    def once() -> float:
        sums[:] = right
        return run()

    return once


def _figures(found: dict[str, list[float]], kernel: str) -> list[Figure]:
    loop = {"google-crc32c loop": found["google"]}
    figures = []
    if kernel:
        figures += [
            figure(f"checksum 64 KiB, kernel ({kernel})", "µs", found["kernel"], loop),
            figure(f"verify 64 KiB, kernel ({kernel})", "µs", found["verify"], loop),
        ]
    figures.append(figure("checksum 64 KiB, fall-back", "µs", found["fall-back"], loop))
    zlib = {"fall-back (zlib loop)": found["fall-back crc32"]}
    if kernel:
        figures.append(figure("checksum 64 KiB, CRC32, kernel", "µs", found["kernel crc32"], zlib))
    return figures


if __name__ == "__main__":
    main(measure)
