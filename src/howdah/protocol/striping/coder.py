"""Makes parity of data, and any lost unit of those that are left (pure).

One coder serves all codecs of Hadoop: they differ in their matrices alone (`matrix`). The work is
done by `howdah.native._kernel`, with the vector instructions that the CPU has, or by
`product_fallback` where that is not built or HOWDAH_KERNEL=off says so.

Units are any contiguous buffers, read where they are and written into. A data unit that is
shorter than the others, the last of a file, counts as padded with zeros. Units that are written
overlap no other ones: native code refuses that, its twin does not see it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from howdah.native.loader import kernel
from howdah.protocol.striping.matrix import decode_rows, parity_rows

if TYPE_CHECKING:
    from typing_extensions import Buffer


class _Implementation(Protocol):
    @property
    def PRODUCT_METHODS(self) -> tuple[str, ...]: ...
    def multiply_units(
        self, rows: Buffer, inputs: Sequence[Buffer], outputs: Sequence[Buffer], method: int, /
    ) -> None: ...


def _load() -> _Implementation:
    native = kernel()
    if native is not None:
        return cast(_Implementation, native)
    from howdah.protocol.striping import product_fallback

    return product_fallback


_implementation = _load()
_QUICKEST = 0


def implementation() -> str:
    """Return how units are multiplied here: `gfni512`, `gfni`, `avx2`, `ssse3`, `neon`, `scalar`,
    or `python`."""
    return _implementation.PRODUCT_METHODS[_QUICKEST]


class Coder:
    """Codes the units of one kind of group: codec, data units, parity units. Thread-safe.

    Raises `ValueError` for a codec that is unknown, and for numbers that it cannot have.
    """

    __slots__ = ("_parity_rows", "codec", "data_units", "parity_units")

    def __init__(self, codec: str, data_units: int, parity_units: int) -> None:
        self.codec = codec
        self.data_units = data_units
        self.parity_units = parity_units
        self._parity_rows = b"".join(parity_rows(codec, data_units, parity_units))

    def __repr__(self) -> str:
        return f"Coder({self.codec}-{self.data_units}-{self.parity_units})"

    def encode(self, data: Sequence[Buffer], parity: Sequence[Buffer]) -> None:
        """Fill all parity units, which are as long as the longest data unit.

        Raises `ValueError` where there are more or fewer units than the policy has, or their
        lengths do not fit together; `BufferError` for a parity unit that is read-only.
        """
        if len(data) != self.data_units or len(parity) != self.parity_units:
            raise ValueError(f"{self} has other units than {len(data)} and {len(parity)}")
        _implementation.multiply_units(self._parity_rows, data, parity, _QUICKEST)

    def decode(self, present: Mapping[int, Buffer], lost: Mapping[int, Buffer]) -> None:
        """Fill units that are lost, by their indices, from others, of which as many are used as
        there are data units: data units before parity units.

        All lost units are as long as the longest one that is present; what of a shorter one is
        behind its end becomes zeros. Raises `ValueError` where too few are present, an index is
        wrong or stands on both sides, or lengths do not fit together.
        """
        if len(present) < self.data_units:
            raise ValueError(
                f"{len(present)} units are present, and {self} needs {self.data_units} to make "
                "others"
            )
        if both := present.keys() & lost.keys():
            raise ValueError(f"units {sorted(both)} are present and lost")
        used = tuple(sorted(present))[: self.data_units]
        wanted = tuple(lost)
        rows = decode_rows(self.codec, self.data_units, self.parity_units, used, wanted)
        _implementation.multiply_units(
            b"".join(rows), [present[index] for index in used], list(lost.values()), _QUICKEST
        )
