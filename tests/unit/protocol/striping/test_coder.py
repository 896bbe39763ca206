"""Coders make the bytes that Hadoop's make, by every way of multiplying that this CPU has."""

from __future__ import annotations

import itertools
import mmap
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import howdah
from howdah.native.loader import kernel
from howdah.protocol.data_transfer import checksum
from howdah.protocol.data_transfer.checksum import ChecksumType
from howdah.protocol.striping import coder as coder_module
from howdah.protocol.striping import galois, product_fallback
from howdah.protocol.striping.coder import Coder
from howdah.protocol.striping.matrix import MAX_UNITS, decode_rows, parity_rows
from tests.unit.protocol.striping.vectors import units_of, vectors

CODERS = vectors()["coders"]
IDS = [f"{coder['codec']}-{coder['data']}-{coder['parity']}" for coder in CODERS]
MODULES = [product_fallback, *filter(None, [kernel()])]
METHODS = [(module, number) for module in MODULES for number in range(len(module.PRODUCT_METHODS))]
Multiply = Callable[[bytes, Sequence[Any], Sequence[Any]], None]


@pytest.fixture(params=METHODS, ids=[module.PRODUCT_METHODS[number] for module, number in METHODS])
def method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Multiply:
    """Each way of multiplying in turn, which coders use meanwhile."""
    module, number = request.param
    monkeypatch.setattr(coder_module, "_implementation", module)
    monkeypatch.setattr(coder_module, "_QUICKEST", number)

    def multiply(rows: bytes, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        module.multiply_units(rows, inputs, outputs, number)

    return multiply


def encoded(coder: dict[str, Any], length: int) -> tuple[list[bytes], list[bytearray]]:
    data = units_of(coder, length)
    parity = [bytearray(length) for _ in range(coder["parity"])]
    Coder(coder["codec"], coder["data"], coder["parity"]).encode(data, parity)
    return data, parity


# -- what Hadoop made ----------------------------------------------------------------------


@pytest.mark.parametrize("coder", CODERS, ids=IDS)
def test_parity_is_hadoops(method: Multiply, coder: dict[str, Any]) -> None:
    data, parity = encoded(coder, 64)
    assert [unit.hex() for unit in data] == coder["inputs64"]
    assert [unit.hex() for unit in parity] == coder["outputs64"]


@pytest.mark.parametrize("coder", CODERS, ids=IDS)
def test_parity_of_any_length_is_hadoops(method: Multiply, coder: dict[str, Any]) -> None:
    for length, sums in coder["lengths"].items():
        _, parity = encoded(coder, int(length))
        assert [f"{checksum.crc(ChecksumType.CRC32C, unit):08x}" for unit in parity] == sums, length


@pytest.mark.parametrize("coder", CODERS, ids=IDS)
def test_rows_are_hadoops(coder: dict[str, Any]) -> None:
    numbers = coder["codec"], coder["data"], coder["parity"]
    if "parity_rows" in coder:
        assert [row.hex() for row in parity_rows(*numbers)] == coder["parity_rows"]
    for case in coder.get("decode_matrices", ()):
        rows = decode_rows(*numbers, tuple(case["from"]), tuple(case["erased"]))
        assert [row.hex() for row in rows] == case["rows"]


def test_rows_of_the_legacy_codec_are_those_of_its_polynomial() -> None:
    assert [list(row) for row in parity_rows("rs-legacy", 6, 3)] == [
        [8, 56, 216, 63, 4, 245],
        [14, 34, 186, 176, 56, 127],
        [7, 27, 99, 142, 61, 139],
    ]


# -- any data units make the others ----------------------------------------------------------


@pytest.mark.parametrize("coder", CODERS, ids=IDS)
def test_any_lost_units_come_back(method: Multiply, coder: dict[str, Any]) -> None:
    data, parity = encoded(coder, 80)
    units = [*data, *map(bytes, parity)]
    patterns = [
        lost
        for count in range(1, coder["parity"] + 1)
        for lost in itertools.combinations(range(len(units)), count)
    ]
    for lost in random.Random(1).sample(patterns, min(len(patterns), 150)):
        present = {index: unit for index, unit in enumerate(units) if index not in lost}
        order = random.Random(repr(lost)).sample(sorted(present), len(present))
        # Buffers that were used before hold other bytes.
        made = {index: bytearray(b"\xa5" * 80) for index in reversed(lost)}
        Coder(coder["codec"], coder["data"], coder["parity"]).decode(
            {index: present[index] for index in order}, made
        )
        assert made == {index: units[index] for index in lost}


@pytest.mark.parametrize("coder", CODERS, ids=IDS)
def test_every_pattern_of_losses_can_be_decoded(coder: dict[str, Any]) -> None:
    numbers = coder["codec"], coder["data"], coder["parity"]
    units = coder["data"] + coder["parity"]
    rows = (*galois.identity(coder["data"]), *parity_rows(*numbers))
    patterns = list(itertools.combinations(range(units), coder["parity"]))
    for lost in random.Random(2).sample(patterns, min(len(patterns), 1500)):
        present = tuple(index for index in range(units) if index not in lost)
        decoding = decode_rows(*numbers, present, lost)
        # Over the rows of what is present they give the rows of what is lost.
        product = galois.matrix_product(decoding, [rows[index] for index in present])
        assert product == tuple(rows[index] for index in lost)


def test_parity_is_made_of_other_parity(method: Multiply) -> None:
    data, parity = encoded(CODERS[3], 33)
    made = bytearray(33)
    Coder("rs", 6, 3).decode(
        {7: parity[1], 6: parity[0], **{i: data[i] for i in (0, 2, 3, 5)}}, {8: made}
    )
    assert made == parity[2]


@given(
    policy=st.sampled_from(
        [
            ("rs", 3, 2),
            ("rs", 6, 3),
            ("rs", 10, 4),
            ("rs", 2, 3),
            ("rs-legacy", 6, 3),
            ("xor", 2, 1),
        ]
    ),
    lengths=st.lists(st.integers(0, 300), min_size=1, max_size=4),
    data=st.data(),
)
def test_units_come_back_in_any_order_into_buffers_that_were_used_before(
    policy: tuple[str, int, int], lengths: list[int], data: st.DataObject
) -> None:
    """One stripe after the other, as a reader has them: whichever units are lost of it, its
    buffers held those of another stripe before."""
    coder = Coder(*policy)
    count = coder.data_units + coder.parity_units
    used = [bytearray(b"\x5a" * max(lengths)) for _ in range(count)]
    for number, length in enumerate(lengths):
        dice = random.Random(number)
        units: list[bytes] = [dice.randbytes(length) for _ in range(coder.data_units)]
        parity = [bytearray(length) for _ in range(coder.parity_units)]
        coder.encode(units, parity)
        units += map(bytes, parity)
        order = data.draw(st.permutations(range(count)))
        lost = order[: data.draw(st.integers(1, coder.parity_units))]
        left = order[len(lost) :][: data.draw(st.integers(coder.data_units, count))]
        if len(left) < coder.data_units:
            left = order[len(lost) :]
        for index in left:
            used[index][:length] = units[index]
        views = [memoryview(each)[:length] for each in used]
        coder.decode(
            {index: views[index] for index in left}, {index: views[index] for index in lost}
        )
        assert [bytes(views[index]) for index in lost] == [units[index] for index in lost]
        assert [bytes(views[index]) for index in left] == [units[index] for index in left]


# -- lengths ---------------------------------------------------------------------------------


@given(
    lengths=st.lists(st.integers(0, 200), min_size=1, max_size=8),
    outputs=st.integers(1, 9),
    beyond=st.integers(0, 70),
    seed=st.integers(0, 2**32),
)
def test_all_ways_agree_where_inputs_are_short(
    lengths: list[int], outputs: int, beyond: int, seed: int
) -> None:
    dice = random.Random(seed)
    rows = dice.randbytes(len(lengths) * outputs)
    inputs = [dice.randbytes(length) for length in lengths]
    length = max(lengths) + beyond
    expected = [
        bytes(
            _sum(
                galois.multiply(rows[i * len(inputs) + j], unit[at])
                for j, unit in enumerate(inputs)
                if at < len(unit)
            )
            for at in range(length)
        )
        for i in range(outputs)
    ]
    for module, number in METHODS:
        # Not where vectors would like them to begin.
        room = [bytearray(b"\x77" * (length + 3)) for _ in range(outputs)]
        views = [memoryview(unit)[1 : 1 + length] for unit in room]
        module.multiply_units(rows, inputs, views, number)
        assert [bytes(view) for view in views] == expected, (module, number)
        assert all(unit[0] == unit[-1] == unit[-2] == 0x77 for unit in room)


def _sum(elements: Any) -> int:
    total = 0
    for element in elements:
        total ^= element
    return total


def test_a_last_stripe_is_padded_with_zeros(method: Multiply) -> None:
    units = [b"abcdefgh" * 5, b"xyz", b""]
    padded = [unit.ljust(40, b"\0") for unit in units]
    parity, expected = [bytearray(40) for _ in range(2)], [bytearray(40) for _ in range(2)]
    Coder("rs", 3, 2).encode(units, parity)
    Coder("rs", 3, 2).encode(padded, expected)
    assert parity == expected
    made = {0: bytearray(40), 1: bytearray(40)}
    Coder("rs", 3, 2).decode({2: b"", 3: parity[0], 4: parity[1]}, made)
    assert made == {0: units[0], 1: padded[1]}


def test_nothing_is_made_of_nothing(method: Multiply) -> None:
    Coder("rs", 3, 2).encode([b"", b"", b""], [bytearray(), bytearray()])


# -- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "inputs", "outputs", "message"),
    [
        (b"\1\1", [b"a"], [bytearray(1)], "2 coefficients are not 1 rows of 1"),
        (b"\1\1", [b"a"], [bytearray(1), bytearray(2)], "outputs have 1 and 2 bytes"),
        (b"\1", [b"ab"], [bytearray(1)], "input 0 has 2 bytes, and outputs have 1"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(
    method: Multiply, rows: bytes, inputs: list[bytes], outputs: list[bytearray], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        method(rows, inputs, outputs)


def test_what_cannot_be_written_is_refused(method: Multiply) -> None:
    with pytest.raises(BufferError):
        method(b"\1", [b"a"], [b"b"])


def test_what_is_no_buffer_is_refused(method: Multiply) -> None:
    with pytest.raises(TypeError):
        method(b"\1", [None], [bytearray(1)])
    with pytest.raises(TypeError):
        method(b"\1\1", [b"a", b"b"], [None])


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_methods_that_are_not_there_are_refused(module: ModuleType) -> None:
    for number in (-1, len(module.PRODUCT_METHODS)):
        with pytest.raises(ValueError, match="there is no method"):
            module.multiply_units(b"\1", [b"a"], [bytearray(1)], number)


class Liar(Sequence[Any]):
    """Says that it has other numbers of items than it has."""

    def __init__(self, items: Sequence[Any], length: int) -> None:
        self._items, self._length = items, length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]


class Shrinking(list[Any]):
    """Loses its items while they are looked at."""

    def __getitem__(self, index: Any) -> Any:
        item = super().__getitem__(index)
        self.clear()
        return item


@pytest.mark.skipif(kernel() is None, reason="the kernel is not built")
@pytest.mark.parametrize(
    ("rows", "inputs", "outputs", "number", "error"),
    [
        (b"\1", [memoryview(bytes(20))[::2]], [bytearray(10)], 0, BufferError),
        (b"\1", [b"a"], [memoryview(bytearray(4))[::2]], 0, BufferError),
        (memoryview(b"\1\1\1")[::2], [b"a", b"b"], [bytearray(1)], 0, BufferError),
        (b"\1", [b"a"], [memoryview(b"b")], 0, BufferError),
        (b"\1", 7, [bytearray(1)], 0, TypeError),
        (b"\1", (each for each in [b"a"]), [bytearray(1)], 0, TypeError),
        (b"\1", {0: "a"}, [bytearray(1)], 0, TypeError),
        ("1", [b"a"], [bytearray(1)], 0, TypeError),
        (b"\1", [b"a"], [bytearray(1)], 1 << 70, OverflowError),
        (b"\1", [b"a"], [bytearray(1)], "0", TypeError),
        (b"\1\1", Liar([b"a"], 2), [bytearray(1)], 0, IndexError),
        (b"\1\1", Shrinking([b"a", b"b"]), [bytearray(1)], 0, IndexError),
        (b"\1\1", [b"a"], Liar([bytearray(1)], 2), 0, IndexError),
        (b"\1", [b"a"], Liar([bytearray(1)], -1), 0, ValueError),
        (b"\1", [b"a"], Liar([bytearray(1)], 1 << 62), 0, ValueError),
        (b"", [], [bytearray(1)] * 2, 0, ValueError),
    ],
)
def test_hostile_arguments_are_refused_and_nothing_stays_held(
    rows: Any, inputs: Any, outputs: Any, number: Any, error: type[Exception]
) -> None:
    native = kernel()
    assert native is not None
    with pytest.raises(error):
        native.multiply_units(rows, inputs, outputs, number)
    if isinstance(outputs, list) and isinstance(outputs[0], bytearray):
        outputs[0].append(1)  # which a buffer that is held refuses


@pytest.mark.skipif(kernel() is None, reason="the kernel is not built")
def test_products_of_nothing_are_zeros_or_nothing() -> None:
    native = kernel()
    assert native is not None
    for number in range(len(native.PRODUCT_METHODS)):
        made = bytearray(b"\x77" * 100)
        native.multiply_units(b"", [], [made], number)
        assert made == bytes(100)
        native.multiply_units(b"", [b"abc"], [], number)
        native.multiply_units(b"\1", [b""], [bytearray()], number)
        whole = bytearray(b"\x77" * 100)
        # An input without bytes overlaps nothing, wherever it is.
        native.multiply_units(b"\1", [bytes(50)], [whole], number)
        assert whole == bytes(100)


@pytest.mark.skipif(kernel() is None, reason="the kernel is not built")
def test_an_empty_input_may_lie_within_an_output(method: Multiply) -> None:
    whole = bytearray(b"\x77" * 100)
    view = memoryview(whole)
    method(b"\1\1", [view[50:50], b"a" * 100], [view])
    assert whole == b"a" * 100


@pytest.mark.torture
@pytest.mark.skipif(kernel() is None, reason="the kernel is not built")
def test_units_longer_than_two_gib_are_coded() -> None:
    """The input is a file of holes with some bytes at its end."""
    length = (1 << 31) + 4096 + 3
    with tempfile.TemporaryFile() as file:
        file.seek(length - 5000)
        tail = random.Random(1).randbytes(5000)
        file.write(tail)
        file.flush()
        with mmap.mmap(file.fileno(), length, access=mmap.ACCESS_READ) as unit:
            made = mmap.mmap(-1, length)
            Coder("rs", 2, 1).decode({1: memoryview(unit), 0: b""}, {2: made})
            expected = bytearray(5000)
            Coder("rs", 2, 1).encode([b"", tail], [expected])
            assert made[length - 5000 :] == expected
            assert not any(made[:5000])
            made.close()


@pytest.mark.skipif(kernel() is None, reason="the kernel is not built")
def test_native_code_knows_its_limits() -> None:
    native = kernel()
    assert native is not None
    many = [b"a"] * (MAX_UNITS + 1)
    with pytest.raises(ValueError, match="33 inputs, and at most 32"):
        native.multiply_units(bytes(33), many, [bytearray(1)], 0)
    with pytest.raises(ValueError, match="33 outputs, and at most 32"):
        native.multiply_units(bytes(33), [b"a"], [bytearray(1) for _ in many], 0)
    shared = bytearray(20)
    whole = memoryview(shared)
    with pytest.raises(ValueError, match="output 0 overlaps input 0"):
        native.multiply_units(b"\1", [whole[:10]], [whole[5:15]], 0)
    with pytest.raises(ValueError, match="output 1 overlaps output 0"):
        native.multiply_units(b"\1\1", [b"a"], [whole[:10], whole[9:19]], 0)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        (("rs", 0, 2), "at least one of each"),
        (("rs", 3, 0), "at least one of each"),
        (("rs", 30, 3), "at most 32 in all"),
        (("xor", 2, 2), "xor has one parity unit, and not 2"),
        (("lrc", 6, 3), "'lrc' is no codec; there are rs, rs-legacy, xor"),
    ],
)
def test_policies_that_cannot_be_are_refused(numbers: tuple[str, int, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Coder(*numbers)


def test_units_that_cannot_be_are_refused() -> None:
    coder = Coder("rs", 3, 2)
    with pytest.raises(ValueError, match="has other units than 2 and 2"):
        coder.encode([b"", b""], [bytearray(), bytearray()])
    with pytest.raises(ValueError, match="2 units are present"):
        coder.decode({0: b"", 1: b""}, {2: bytearray()})
    with pytest.raises(ValueError, match=r"units \[2\] are present and lost"):
        coder.decode({0: b"", 1: b"", 2: b""}, {2: bytearray()})
    with pytest.raises(ValueError, match="are not different ones of 5 units"):
        coder.decode({0: b"", 1: b"", 2: b""}, {5: bytearray()})
    with pytest.raises(ValueError, match="are not different ones of 5 units"):
        coder.decode({-1: b"", 1: b"", 2: b""}, {3: bytearray()})


@pytest.mark.parametrize(("setting", "expected"), [("off", "python"), ("tables", "scalar")])
def test_the_kernel_can_be_switched_off(setting: str, expected: str) -> None:
    if kernel() is None:
        pytest.skip("the kernel is not built")
    told = subprocess.run(
        [
            sys.executable,
            "-c",
            "from howdah.protocol.striping.coder import implementation; print(implementation())",
        ],
        env={
            **os.environ,
            "HOWDAH_KERNEL": setting,
            "PYTHONPATH": str(Path(howdah.__file__).parents[1]),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == expected


# -- the field -------------------------------------------------------------------------------


@given(a=st.integers(0, 255), b=st.integers(0, 255), c=st.integers(0, 255))
def test_it_is_a_field(a: int, b: int, c: int) -> None:
    assert galois.multiply(a, b) == galois.multiply(b, a)
    assert galois.multiply(a, galois.multiply(b, c)) == galois.multiply(galois.multiply(a, b), c)
    assert galois.multiply(a, b ^ c) == galois.multiply(a, b) ^ galois.multiply(a, c)
    assert galois.multiply(a, 1) == a
    if a:
        assert galois.multiply(a, galois.inverse(a)) == 1


def test_what_has_no_inverse_says_so() -> None:
    with pytest.raises(ZeroDivisionError, match="0 has no inverse"):
        galois.inverse(0)
    with pytest.raises(ZeroDivisionError, match="the matrix has no inverse"):
        galois.inverted([b"\1\2", b"\1\2"])
