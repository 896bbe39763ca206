"""The typed reads of `FSDataInputStream`, as java.io.DataInput has them.

The twins of `howdah.fs.typed_data.output`. A file that ends within a value is an `EOFError`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from howdah import errors
from howdah.fs.typed_data import codec


class DataInput(ABC):
    """Mixed into a buffered stream."""

    @abstractmethod
    def read(self, size: int | None = -1, /) -> bytes:
        """The stream's own: fewer than `size` bytes only at the end of the file."""

    def read_exactly(self, length: int) -> bytes:
        """The next `length` bytes; `EOFError` if the file ends before.

        >>> with fs.open("/docs/a") as stream:
        ...     stream.read_exactly(3)
        b'012'
        """
        if length < 0:
            raise ValueError(f"cannot read {length} bytes")
        data = self.read(length)
        if len(data) < length:
            raise errors.EndOfFile(f"the file ended {length - len(data)} bytes too early")
        return data

    def read_boolean(self) -> bool:
        """One byte; true unless it is 0.

        >>> with fs.create("/docs/b") as out:
        ...     _ = out.write_boolean(True)
        >>> with fs.open("/docs/b") as stream:
        ...     stream.read_boolean()
        True
        """
        return self.read_exactly(1) != b"\0"

    def read_byte(self) -> int:
        """One byte as -128 to 127.

        >>> with fs.create("/docs/b") as out:
        ...     _ = out.write_byte(-1)
        >>> with fs.open("/docs/b") as stream:
        ...     stream.read_byte()
        -1
        """
        return int.from_bytes(self.read_exactly(1), "big", signed=True)

    def read_unsigned_byte(self) -> int:
        """One byte as 0 to 255.

        >>> with fs.create("/docs/b") as out:
        ...     _ = out.write_byte(-1)
        >>> with fs.open("/docs/b") as stream:
        ...     stream.read_unsigned_byte()
        255
        """
        return self.read_exactly(1)[0]

    def read_short(self) -> int:
        """Two bytes as -32,768 to 32,767.

        >>> with fs.create("/docs/b") as out:
        ...     _ = out.write_short(-2)
        >>> with fs.open("/docs/b") as stream:
        ...     stream.read_short()
        -2
        """
        return int.from_bytes(self.read_exactly(2), "big", signed=True)

    def read_unsigned_short(self) -> int:
        """Two bytes as 0 to 65,535.

        >>> with fs.create("/docs/b") as out:
        ...     _ = out.write_short(-2)
        >>> with fs.open("/docs/b") as stream:
        ...     stream.read_unsigned_short()
        65534
        """
        return int.from_bytes(self.read_exactly(2), "big")

    def read_char(self) -> str:
        """A UTF-16 unit, which may be half of a character.

        >>> with fs.create("/docs/b") as out:
        ...     _ = out.write_char("a")
        >>> with fs.open("/docs/b") as stream:
        ...     stream.read_char()
        'a'
        """
        return chr(self.read_unsigned_short())

    def read_int(self) -> int:
        """Four bytes as a signed number.

        >>> with fs.create("/docs/b") as out:
        ...     _ = out.write_int(7)
        >>> with fs.open("/docs/b") as stream:
        ...     stream.read_int()
        7
        """
        return int.from_bytes(self.read_exactly(4), "big", signed=True)

    def read_long(self) -> int:
        """Eight bytes as a signed number.

        >>> with fs.create("/docs/b") as out:
        ...     _ = out.write_long(1 << 40)
        >>> with fs.open("/docs/b") as stream:
        ...     stream.read_long()
        1099511627776
        """
        return int.from_bytes(self.read_exactly(8), "big", signed=True)

    def read_float(self) -> float:
        """Four bytes as a number of IEEE 754.

        >>> with fs.create("/docs/b") as out:
        ...     _ = out.write_float(0.5)
        >>> with fs.open("/docs/b") as stream:
        ...     stream.read_float()
        0.5
        """
        value: float = codec.FLOAT.unpack(self.read_exactly(4))[0]
        return value

    def read_double(self) -> float:
        """Eight bytes as a number of IEEE 754.

        >>> with fs.create("/docs/b") as out:
        ...     _ = out.write_double(0.1)
        >>> with fs.open("/docs/b") as stream:
        ...     stream.read_double()
        0.1
        """
        value: float = codec.DOUBLE.unpack(self.read_exactly(8))[0]
        return value

    def read_utf(self) -> str:
        """A text that `write_utf` wrote; `MalformedText` if it is none.

        >>> with fs.create("/docs/b") as out:
        ...     _ = out.write_utf("grüße")
        >>> with fs.open("/docs/b") as stream:
        ...     stream.read_utf()
        'grüße'
        """
        return codec.decode_modified_utf8(self.read_exactly(self.read_unsigned_short()))
