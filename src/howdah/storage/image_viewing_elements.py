"""The XML of an image, element by element (pure).

An image's XML is one `fsimage` of sections, and a section is a row of elements. They
are given out as they are asked for, so that no more of the file is in memory than a
piece of its text and the element at hand.

A carriage return in a name is one in the XML too, where a parser would take it for
the end of a line; it is shielded from that before the parser sees it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol
from xml.parsers import expat

from howdah import errors
from howdah.storage.edit_xml import unmangle

_READ_BYTES: Final = 1 << 16
_ROOT: Final = b"<fsimage"
_ZERO: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


class Source(Protocol):
    """What is needed of a file."""

    def read(self, count: int = -1, /) -> bytes: ...


class Element:
    """One element: its text, unescaped, or what is inside, which is taken out of it.

    `line` is where it begins, of those that are right in a section. Every method
    raises IllegalArgument for what is missing or makes no sense.
    """

    __slots__ = ("_children", "line", "name", "text")

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = ""
        self.line = 0
        self._children: dict[str, list[Element]] | None = None

    def add(self, child: Element) -> None:
        if self._children is None:
            self._children = {child.name: [child]}
        elif child.name in self._children:
            self._children[child.name].append(child)
        else:
            self._children[child.name] = [child]

    def only(self, name: str) -> None:
        """It must be of that name."""
        if self.name != name:
            raise errors.IllegalArgument(f"{self.name} is not expected here, but {name}")

    def all(self, name: str) -> list[Element]:
        return [] if self._children is None else self._children.pop(name, [])

    def take(self, name: str) -> Element | None:
        found = None if self._children is None else self._children.pop(name, None)
        if found is None:
            return None
        if len(found) > 1:
            raise errors.IllegalArgument(f"there is more than one {name} in {self.name}")
        return found[0]

    def want(self, name: str) -> Element:
        found = self.take(name)
        if found is None:
            raise errors.IllegalArgument(f"there is no {name} in {self.name}")
        return found

    def text_at(self, name: str) -> str | None:
        """The text of what is inside under that name, and stays there."""
        found = None if self._children is None else self._children.get(name)
        return found[0].text if found else None

    def done(self) -> None:
        """Nothing must be left inside."""
        if self._children:
            raise errors.IllegalArgument(
                f"{', '.join(self._children)} in {self.name} is not known here"
            )

    def long(self) -> int:
        return self._number(64)

    def integer(self) -> int:
        return self._number(32)

    def _number(self, bits: int) -> int:
        try:
            number = int(self.text)
        except ValueError as error:
            raise errors.IllegalArgument(f"{self.name} is no number: {self.text!r}") from error
        if not -(1 << bits - 1) <= number < 1 << bits - 1:
            raise errors.IllegalArgument(f"{self.name} is not of {bits} bits: {number}")
        return number

    def data(self) -> bytes:
        return self.text.encode("utf-8", "surrogatepass")

    def hex(self) -> bytes:
        try:
            return bytes.fromhex(self.text)
        except ValueError as error:
            raise errors.IllegalArgument(
                f"{self.name} is not hexadecimal: {self.text!r}"
            ) from error

    def date_ms(self) -> int:
        """From a date in UTC."""
        try:
            date = datetime.strptime(self.text, "%Y-%m-%dT%H:%M:%S.%f").replace(tzinfo=UTC)
        except ValueError as error:
            raise errors.IllegalArgument(f"{self.name} is no date: {self.text!r}") from error
        return (date - _ZERO) // _MILLISECOND


class Elements:
    """The elements of a file, in order.

    Every method raises IllegalArgument; `line` is then where what was found begins.
    """

    def __init__(self, source: Source) -> None:
        self.line = 1
        self._source = source
        self._parser = expat.ParserCreate("UTF-8")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._open: list[Element] = []
        # Names of sections that begin, elements in them, and None where one ends.
        self._found: deque[str | Element | None] = deque()
        self._ahead = source.read(_READ_BYTES)
        self._is_inside = False

    def has_section(self, name: str) -> bool:
        """Whether the next section has that name."""
        return self._peek() == name

    def section(self, name: str) -> None:
        """The next section must be of that name."""
        found = self._peek()
        if found != name:
            what = found if isinstance(found, str) else "the end"
            raise errors.IllegalArgument(f"section {name} should be here, not {what}")
        self._found.popleft()

    def next(self, name: str) -> Element:
        """The next element of the section, which must be of that name."""
        found = self._peek()
        if not isinstance(found, Element) or found.name != name:
            raise errors.IllegalArgument(f"{name} should be here")
        return self._taken(found)

    def rest(self, name: str | None = None) -> Iterator[Element]:
        """All other elements of the section; of one name if it is given."""
        while (found := self._peek()) is not None:
            assert isinstance(found, Element), found
            element = self._taken(found)
            if name is not None:
                element.only(name)
            yield element
        self._found.popleft()

    def _taken(self, element: Element) -> Element:
        self._found.popleft()
        self.line = element.line
        return element

    def whole(self, name: str) -> Element:
        """The section as one element."""
        section = Element(name)
        for element in self.rest():
            section.add(element)
        return section

    def end(self) -> None:
        """There must be no further section."""
        found = self._peek(at_end=True)
        if found is not None:
            raise errors.IllegalArgument(f"{found} is not expected here")

    def _peek(self, *, at_end: bool = False) -> str | Element | None:
        while not self._found:
            if not self._ahead:
                if at_end:
                    return None
                raise errors.IllegalArgument("it ends too early")
            self._feed()
        return self._found[0]

    # The parser.

    def _feed(self) -> None:
        data, self._ahead = self._ahead, self._source.read(_READ_BYTES)
        if not self._ahead:
            data = data.rstrip()
        if not self._is_inside:
            head, root, data = data.partition(_ROOT)
            self._parse(head + root)
            self._is_inside = bool(root)
        if self._is_inside:
            self._parse(data.replace(b"\r", b"&#13;"))
        if not self._ahead:
            self._parse(b"", is_last=True)

    def _parse(self, data: bytes, *, is_last: bool = False) -> None:
        try:
            self._parser.Parse(data, is_last)
        except expat.ExpatError as error:
            self.line = error.lineno
            raise errors.IllegalArgument(f"this is no XML: {error}") from error

    def _doctype(self, *_: object) -> None:
        raise errors.IllegalArgument("a document type is not expected here")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        depth = len(self._open)
        if depth == 0 and name != "fsimage":
            raise errors.IllegalArgument(f"{name} is not expected here, but fsimage")
        if attributes:
            raise errors.IllegalArgument(f"{name} has attributes")
        if depth == 1:
            self._found.append(name)
        element = Element(name)
        if depth == 2:
            element.line = self._parser.CurrentLineNumber
        self._open.append(element)

    def _characters(self, text: str) -> None:
        self._open[-1].text += text

    def _end(self, name: str) -> None:
        element = self._open.pop()
        if "\\" in element.text:
            element.text = unmangle(element.text)
        depth = len(self._open)
        if depth == 1:
            self._found.append(None)
        elif depth == 2:
            self._found.append(element)
        elif depth > 2:
            self._open[-1].add(element)
