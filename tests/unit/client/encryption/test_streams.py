"""Files in encryption zones: datanodes hold cipher text, whoever reads and writes plain text."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.client.dfs import DFSClient
from howdah.client.encryption.cipher import FileCipher, SequentialCipher
from howdah.fs.hdfs.filesystem import HdfsDataOutputStream
from howdah.fs.streams import FSDataInputStream
from howdah.options import FileRange
from howdah.protocol.encryption_zones.messages import EncryptedKey
from tests.unit.client.conftest import FakeCluster

KEY = EncryptedKey("payroll", "payroll@0", b"\xff" * 15 + b"\xf0", bytes(range(16)))
CIPHER = FileCipher(b"k" * 32, KEY.iv)
DATA = bytes(index * 7 % 251 for index in range(200_000))


def encrypted(data: bytes) -> bytes:
    """By the library alone, in one piece."""
    result: bytes = (
        Cipher(algorithms.AES(CIPHER.key), modes.CTR(CIPHER.iv)).encryptor().update(data)
    )
    return result


@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 600)), max_size=20))
def test_any_piece_is_as_in_the_whole(pieces: list[tuple[int, int]]) -> None:
    whole = encrypted(DATA[:6000])
    sequential = SequentialCipher(CIPHER)
    for offset, length in pieces:
        buffer = bytearray(whole[offset : offset + length])
        CIPHER.apply(offset, memoryview(buffer))
        assert buffer == DATA[offset : offset + length]
        assert sequential.applied(offset, whole[offset : offset + length]) == buffer


def test_the_counter_begins_again_behind_its_end() -> None:
    # The vector is the last but sixteen of all counters: the file is beyond it soon.
    assert CIPHER.iv == b"\xff" * 15 + b"\xf0"
    buffer = bytearray(encrypted(DATA))
    CIPHER.apply(0, memoryview(buffer))
    assert buffer == DATA


class Keys:
    """Stands for `FileKeys`."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, EncryptedKey]] = []
        self.refusal: errors.HowdahError | None = None

    def cipher_of(self, path: str, key: EncryptedKey) -> FileCipher:
        self.asked.append((path, key))
        if self.refusal is not None:
            raise self.refusal
        return CIPHER

    def close(self) -> None:
        """There are no connections."""


class Zone:
    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster, self.keys = cluster, Keys()
        cluster.namenode.key_of_new = KEY

    def client(self, **settings: Any) -> DFSClient:
        client = self.cluster.client(**settings)
        client.__dict__["file_keys"] = self.keys
        return client

    def create(self, path: str = "/f") -> HdfsDataOutputStream:
        return HdfsDataOutputStream(
            self.client().create(
                path,
                masked=0o644,
                unmasked=0o666,
                overwrite=False,
                create_parent=True,
                replication=None,
                block_size=64 * 1024,
            )
        )

    def open(self, path: str = "/f", **settings: Any) -> FSDataInputStream:
        return FSDataInputStream(self.client(**settings).open(path))

    def put(self, data: bytes, path: str = "/f") -> None:
        self.cluster.put(encrypted(data), path)
        self.cluster.namenode.files[path].key = KEY

    def stored(self, path: str = "/f") -> bytes:
        blocks = self.cluster.namenode.files[path].blocks
        return b"".join(bytes(self.cluster.datanodes[0].replicas[b.block_id]) for b in blocks)


@pytest.fixture
def zone(cluster: FakeCluster) -> Zone:
    return Zone(cluster)


def test_what_is_read_is_plain(zone: Zone) -> None:
    zone.put(DATA)
    with zone.open() as file:
        assert file.read(10) == DATA[:10]
        assert file.read() == DATA[10:]
        file.seek(65_530)
        assert file.read(20) == DATA[65_530:65_550]
        assert file.pread(131_000, 300) == DATA[131_000:131_300]
        assert bytes(file.pread_view(100, 50)) == DATA[100:150]
        ranges = [FileRange(5, 1000), FileRange(70_001, 3), FileRange(199_000, 1000)]
        for wanted, part in zip(ranges, file.read_vectored(ranges), strict=True):
            end = wanted.offset + wanted.length
            assert bytes(part.result()) == DATA[wanted.offset : end]
    assert zone.keys.asked == [("/f", KEY)]


def test_hedged_reads_are_decrypted_once(zone: Zone) -> None:
    zone.put(DATA)
    with zone.open(hedged_read_threads=2, hedged_read_threshold_s=0.0) as file:
        assert file.pread(1, 150_000) == DATA[1:150_001]


def test_what_is_written_is_cipher_text(zone: Zone) -> None:
    with zone.create() as out:
        out.write(DATA[:3])
        out.write(memoryview(DATA)[3:100_000])
        assert out.tell() == 100_000
        out.write(DATA[100_000:])
    assert zone.stored() == encrypted(DATA)
    assert zone.open().read() == DATA


def test_what_is_appended_goes_on_in_the_middle_of_a_block_of_aes(zone: Zone) -> None:
    zone.put(DATA[:70_001])
    with HdfsDataOutputStream(zone.client().append("/f")) as out:
        out.write(DATA[70_001:70_002])
        out.write(DATA[70_002:])
    assert zone.stored() == encrypted(DATA)


def test_threads_that_write_at_once_keep_each_others_bytes(zone: Zone) -> None:
    pieces = [bytes((number,)) * 999 for number in range(24)]
    with zone.create() as out, ThreadPoolExecutor(8) as pool:
        list(pool.map(out.write, pieces))
    read = zone.open().read()
    assert sorted(read[start : start + 999] for start in range(0, len(read), 999)) == pieces


def test_threads_that_read_at_once_disturb_nobody(zone: Zone) -> None:
    zone.put(DATA)
    start = threading.Barrier(6)
    with zone.open() as file:

        def read(number: int) -> bool:
            start.wait()
            return all(
                file.pread(at, 501) == DATA[at : at + 501]
                for at in range(number * 1000, number * 1000 + 900, 13)
            )

        with ThreadPoolExecutor(6) as pool:
            assert all(pool.map(read, range(6)))


def test_a_key_that_is_refused_opens_nothing(zone: Zone) -> None:
    zone.put(DATA)
    zone.keys.refusal = errors.AccessDenied("anna may not decrypt")
    with pytest.raises(errors.AccessDenied, match="may not decrypt"):
        zone.open()


def test_a_key_that_is_refused_leaves_a_closed_empty_file(zone: Zone) -> None:
    zone.keys.refusal = errors.AccessDenied("anna may not decrypt")
    with pytest.raises(errors.AccessDenied, match="may not decrypt"):
        zone.create()
    assert zone.cluster.namenode.files["/f"].complete
    assert not zone.cluster.namenode.files["/f"].blocks


def test_a_client_without_keys_says_what_is_missing(zone: Zone) -> None:
    zone.put(DATA)
    with pytest.raises(errors.InvalidConfiguration, match=r"hadoop\.security\.key\.provider\.path"):
        zone.cluster.open("/f")
