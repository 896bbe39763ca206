"""A stream may be longer than memory: what it takes is the parts that are on their way."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator

import pytest

from tests.support.objects.store import StoreServer, stub_server

MIB = 1 << 20

# Peaks are of the process alone: what it inherits of the one that started it does not count.
PROGRAM = """
    import json, sys
    from tests.support.objects.store import StoreServer
    from tests.support.objects.stub import PATTERN

    port, length, part_bytes = map(int, sys.argv[1:])
    fs = StoreServer(port).connect("bucket", multipart_size=str(part_bytes))

    def peak():
        with open("/proc/self/status") as lines:
            return next(int(line.split()[1]) << 10 for line in lines if line[:6] == "VmHWM:")

    with fs.create("/warm", overwrite=True) as out:
        out.write(PATTERN[:1000])
    fs.open("/warm").read()
    before = peak()
    with fs.create("/long", overwrite=True) as out:
        left = length
        while left:
            left -= out.write(PATTERN[:left])
    written = peak()
    with fs.open("/long") as stream:
        got = 0
        while data := stream.read(1 << 20):
            got += len(data)
        counts = stream.statistics()
    print(json.dumps({
        "length": fs.get_file_status("/long").length,
        "read": got,
        "verified": counts.is_verified,
        "requests": counts.requests,
        "to write": written - before,
        "to read": peak() - written,
    }))
"""


@pytest.fixture(scope="module")
def sink() -> Iterator[StoreServer]:
    with stub_server(is_sink=True) as started:
        yield started


@pytest.mark.req("LM-057", "OS-171", "FS-193")
@pytest.mark.parametrize(
    ("length", "part_bytes"),
    [
        (200 * MIB, 5 * MIB),
        pytest.param(
            5 << 30, 64 * MIB, marks=[pytest.mark.torture, pytest.mark.timeout(1800)], id="5 GiB"
        ),
    ],
)
def test_a_stream_takes_the_memory_of_the_parts_on_their_way(
    sink: StoreServer, length: int, part_bytes: int
) -> None:
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            textwrap.dedent(PROGRAM),
            *map(str, (sink.port, length, part_bytes)),
        ],
        stdout=subprocess.PIPE,
        check=True,
        timeout=1700,
    )
    found = json.loads(run.stdout)
    print(found)
    assert (found["length"], found["read"], found["requests"]) == (length, length, 1)
    # The sink has held each part against its checksum; what it answers is what was written.
    assert found["verified"]
    # Four parts on their way, one that is filled and one that takes its place.
    assert found["to write"] < 6 * part_bytes + 48 * MIB
    assert found["to write"] < length / 2
    assert found["to read"] < 48 * MIB
