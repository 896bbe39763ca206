"""The typed writes of `FSDataOutputStream`, as java.io.DataOutput has them (OS-023).

Each is one `write` of all its bytes, so that values of several threads stay whole
(OS-026) and a value that can't be represented writes nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from howdah.fs.typed_data import codec


class DataOutput(ABC):
    """Mixed into a stream. Numbers are big-endian."""

    @abstractmethod
    def write(self, data: bytes, /) -> int:
        """The stream's own: all of `data` is written."""

    def write_boolean(self, value: bool) -> None:
        """One byte, 1 or 0.

        >>> with fs.create("/docs/b") as out:
        ...     out.write_boolean(True)
        >>> fs.read_bytes("/docs/b")
        b'\\x01'
        """
        self.write(b"\1" if value else b"\0")

    def write_byte(self, value: int) -> None:
        """The low byte of any integer (OS-036).

        >>> with fs.create("/docs/b") as out:
        ...     out.write_byte(65)
        >>> fs.read_bytes("/docs/b")
        b'A'
        """
        self.write(bytes((value & 0xFF,)))

    def write_short(self, value: int) -> None:
        """The low two bytes of any integer.

        >>> with fs.create("/docs/b") as out:
        ...     out.write_short(258)
        >>> fs.read_bytes("/docs/b")
        b'\\x01\\x02'
        """
        self.write(codec.CHAR.pack(value & 0xFFFF))

    def write_char(self, value: int | str) -> None:
        """A UTF-16 unit: the low two bytes of an integer, or a character up to U+FFFF.

        >>> with fs.create("/docs/b") as out:
        ...     out.write_char("a")
        >>> fs.read_bytes("/docs/b")
        b'\\x00a'
        """
        if isinstance(value, str):
            value = ord(value)
            if value > 0xFFFF:
                raise OverflowError(f"U+{value:X} is two UTF-16 units; use write_chars")
        self.write(codec.CHAR.pack(value & 0xFFFF))

    def write_int(self, value: int) -> None:
        """Four bytes; `OverflowError` for a value beyond a signed 32-bit integer.

        >>> with fs.create("/docs/b") as out:
        ...     out.write_int(7)
        >>> fs.read_bytes("/docs/b")
        b'\\x00\\x00\\x00\\x07'
        """
        self.write(codec.encode_integer(value, codec.INT))

    def write_long(self, value: int) -> None:
        """Eight bytes; `OverflowError` for a value beyond a signed 64-bit integer.

        >>> with fs.create("/docs/b") as out:
        ...     out.write_long(7)
        >>> fs.stat("/docs/b").length
        8
        """
        self.write(codec.encode_integer(value, codec.LONG))

    def write_float(self, value: float) -> None:
        """Four bytes, IEEE 754.

        >>> with fs.create("/docs/b") as out:
        ...     out.write_float(0.5)
        >>> fs.stat("/docs/b").length
        4
        """
        self.write(codec.FLOAT.pack(value))

    def write_double(self, value: float) -> None:
        """Eight bytes, IEEE 754.

        >>> with fs.create("/docs/b") as out:
        ...     out.write_double(0.5)
        >>> fs.stat("/docs/b").length
        8
        """
        self.write(codec.DOUBLE.pack(value))

    def write_bytes(self, text: str) -> None:
        """The low byte of each UTF-16 unit, without a length.

        >>> with fs.create("/docs/b") as out:
        ...     out.write_bytes("abc")
        >>> fs.read_bytes("/docs/b")
        b'abc'
        """
        self.write(codec.encode_low_bytes(text))

    def write_chars(self, text: str) -> None:
        """Two bytes for each UTF-16 unit, without a length.

        >>> with fs.create("/docs/b") as out:
        ...     out.write_chars("ab")
        >>> fs.read_bytes("/docs/b")
        b'\\x00a\\x00b'
        """
        self.write(codec.encode_chars(text))

    def write_utf(self, text: str) -> None:
        """Two bytes of length and modified UTF-8; `MalformedText` beyond 65,535 bytes.

        >>> with fs.create("/docs/b") as out:
        ...     out.write_utf("ab")
        >>> fs.read_bytes("/docs/b")
        b'\\x00\\x02ab'
        """
        self.write(codec.encode_utf(text))
