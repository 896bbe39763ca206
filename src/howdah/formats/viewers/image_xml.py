"""The XML of an image, element by element (pure).

An image's XML is one `fsimage` of sections, and a section is a row of elements. They
are given out as they are asked for, so that no more of the file is in memory than a
piece of its text and the element at hand.

A carriage return in a name is one in the XML too, where a parser would take it for
the end of a line; it is shielded from that before the parser sees it.

Nearly all of an image are plain files and lists of children, written in one way. For
these a parser's events cost five times what a regular expression does. `rows` hands
out what matches one, and gives the parser the rest: as the parser never sees a row, what
it sees is still one document. A row is looked for only where the parser has just ended an
element of the section, so never within a comment or what else looks like one.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol
from xml.parsers import expat

from howdah import errors
from howdah.formats.viewers.edit_xml import unmangle

_READ_BYTES: Final = 1 << 16
_ROWS_BYTES: Final = 1 << 18
_LONGEST_ROW_BYTES: Final = 1 << 22
"""A directory of 150,000 children; the parser takes those that are longer."""
_ROOT: Final = b"<fsimage"
_IN_SECTION: Final = 2
"""So many elements are open around one of a section's."""
_INTEGER: Final = 1 << 31
_LONG: Final = 1 << 63
_ZERO: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


class Source(Protocol):
    """What is needed of a file."""

    def read(self, count: int = -1, /) -> bytes: ...


class Element:
    """One element: its text, unescaped, or what is inside, which is taken out of it.

    `line` is where it begins, of those that are right in a section. Every method
    raises IllegalArgument for what is missing or makes no sense; `find_…` gives None
    for what is missing.
    """

    __slots__ = ("inside", "line", "name", "text")

    def __init__(self, name: str, text: str = "") -> None:
        self.name = name
        self.text = text
        self.line = 0
        # What has nothing inside is there as its text: that is most of an image. What is
        # there more than once is in a list.
        self.inside: dict[str, Inside | list[Inside]] = {}

    def only(self, name: str) -> None:
        """It must be of that name."""
        if self.name != name:
            raise errors.IllegalArgument(f"{self.name} is not expected here, but {name}")

    def done(self) -> None:
        """Nothing must be left inside."""
        if self.inside:
            raise errors.IllegalArgument(
                f"{', '.join(self.inside)} in {self.name} is not known here"
            )

    # What is inside.

    def all(self, name: str) -> list[Element]:
        return [_as_element(name, content) for content in self._all(name)]

    def all_long(self, name: str) -> list[int]:
        return [
            _number(name, _as_element(name, content).text, _LONG) for content in self._all(name)
        ]

    def all_integer(self, name: str) -> list[int]:
        return [
            _number(name, _as_element(name, content).text, _INTEGER) for content in self._all(name)
        ]

    def find(self, name: str) -> Element | None:
        content = self._pop_child(name)
        return None if content is None else _as_element(name, content)

    def want(self, name: str) -> Element:
        content = self._pop_child(name)
        if content is None:
            raise self._wrong(name, content)
        return _as_element(name, content)

    def find_text(self, name: str) -> str | None:
        text = self.inside.pop(name, None)
        if text is None or isinstance(text, str):
            return text
        raise self._wrong(name, text)

    def want_text(self, name: str) -> str:
        text = self.inside.pop(name, None)
        if isinstance(text, str):
            return text
        raise self._wrong(name, text)

    def want_data(self, name: str) -> bytes:
        return self.want_text(name).encode("utf-8", "surrogatepass")

    def find_long(self, name: str) -> int | None:
        text = self.find_text(name)
        return None if text is None else _number(name, text, _LONG)

    def want_long(self, name: str) -> int:
        return _number(name, self.want_text(name), _LONG)

    def find_integer(self, name: str) -> int | None:
        text = self.find_text(name)
        return None if text is None else _number(name, text, _INTEGER)

    def want_integer(self, name: str) -> int:
        return _number(name, self.want_text(name), _INTEGER)

    def want_hex(self, name: str) -> bytes:
        text = self.want_text(name)
        try:
            return bytes.fromhex(text)
        except ValueError as error:
            raise errors.IllegalArgument(f"{name} is not hexadecimal: {text!r}") from error

    def find_date_ms(self, name: str) -> int | None:
        """From a date in UTC."""
        text = self.find_text(name)
        if text is None:
            return None
        try:
            date = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f").replace(tzinfo=UTC)
        except ValueError as error:
            raise errors.IllegalArgument(f"{name} is no date: {text!r}") from error
        return (date - _ZERO) // _MILLISECOND

    def has(self, name: str) -> bool:
        """Whether there is such an element, which is taken out."""
        return self._pop_child(name) is not None

    def long(self) -> int:
        return _number(self.name, self.text, _LONG)

    def integer(self) -> int:
        return _number(self.name, self.text, _INTEGER)

    def _all(self, name: str) -> list[Inside]:
        content = self.inside.pop(name, None)
        if content is None:
            return []
        return content if isinstance(content, list) else [content]

    def _pop_child(self, name: str) -> Inside | None:
        content = self.inside.pop(name, None)
        if isinstance(content, list):
            raise self._wrong(name, content)
        return content

    def _wrong(self, name: str, content: Inside | list[Inside] | None) -> errors.IllegalArgument:
        if content is None:
            return errors.IllegalArgument(f"there is no {name} in {self.name}")
        if isinstance(content, list):
            return errors.IllegalArgument(f"there is more than one {name} in {self.name}")
        return errors.IllegalArgument(f"{name} in {self.name} is no text")


Inside = str | Element
Groups = tuple[str | None, ...]
"""Of a match."""


def _as_element(name: str, inside: Inside) -> Element:
    return Element(name, inside) if isinstance(inside, str) else inside


def _number(name: str, text: str, limit: int) -> int:
    try:
        number = int(text)
    except ValueError as error:
        raise errors.IllegalArgument(f"{name} is no number: {text!r}") from error
    if not -limit <= number < limit:
        raise errors.IllegalArgument(f"{name} has too many digits: {number}")
    return number


class Elements:
    """Reads the elements of a file, in order.

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
        # The names of what is open, and what is inside of them, if anything is.
        self._names: list[str] = []
        self._open: list[Element | None] = []
        self._text = ""
        # Names of sections that begin, elements in them, and None where one ends.
        self._found: deque[str | Element | None] = deque()
        self._ahead = source.read(_READ_BYTES)
        self._is_inside = False
        # Of the bytes that the parser was given, where its last element of a section ends.
        self._given_bytes = 0
        self._ended_at = -1
        self._lines_of_rows = 0

    def has_section(self, name: str) -> bool:
        """Whether the next section has that name."""
        return self._peek() == name

    def section(self, name: str) -> None:
        """Begin the next section, which must be of that name."""
        item = self._peek()
        if item != name:
            actual = item if isinstance(item, str) else "the end"
            raise errors.IllegalArgument(f"section {name} should be here, not {actual}")
        self._found.popleft()

    def next(self, name: str) -> Element:
        """Return the next element of the section, which must be of that name."""
        item = self._peek()
        if not isinstance(item, Element) or item.name != name:
            raise errors.IllegalArgument(f"{name} should be here")
        return self._consumed(item)

    def rest(self, name: str | None = None) -> Iterator[Element]:
        """Yield all other elements of the section; of one name if it is given."""
        while (item := self._peek()) is not None:
            assert isinstance(item, Element), item
            element = self._consumed(item)
            if name is not None:
                element.only(name)
            yield element
        self._found.popleft()

    def rows(self, name: str, row: re.Pattern[str]) -> Iterator[Element | list[Groups]]:
        """Yield all other elements of the section, in order: the groups of what `row` matches, many
        rows at a time, and the others one by one.

        `row` matches an element of that name from the end of the one before to its own.
        """
        end = f"</{name}>"
        while True:
            if self._found:
                item = self._found[0]
                if item is None:
                    self._found.popleft()
                    return
                assert isinstance(item, Element), item
                yield self._consumed(item)
            elif self._ended_at != self._given_bytes or not self._read_rows(end.encode()):
                # Within an element, or before what is none of that name.
                self._feed_to(end.encode())
            else:
                yield from self._matched(end, row)

    def _read_rows(self, end: bytes) -> bool:
        """Read ahead to the end of at least one element; whether there is one."""
        while True:
            data = self._ahead
            if data.lstrip()[:2] == b"</" or len(data) > _LONGEST_ROW_BYTES:
                return False
            if len(data) >= _ROWS_BYTES and end in data:
                return True
            more = self._source.read(max(_ROWS_BYTES, len(data)))
            if not more:
                return end in data
            self._ahead = data + more

    def _matched(self, end: str, row: re.Pattern[str]) -> Iterator[list[Groups]]:
        """Yield the rows that are next; the parser gets what stands behind them."""
        data = self._ahead
        cut = data.rindex(end.encode()) + len(end)
        try:
            text = data[:cut].decode()
        except UnicodeDecodeError:
            self._feed()  # Which says where.
            return
        matched: list[Groups] = []
        at = 0
        while (match := row.match(text, at)) is not None:
            matched.append(match.groups())
            at = match.end()
        if at:
            self._lines_of_rows += text.count("\n", 0, at)
            self.line = self._parser.CurrentLineNumber + self._lines_of_rows
            yield matched
        self._ahead = text[at:].encode() + data[cut:]
        if at < len(text):
            self._feed_to(end.encode())

    def _feed_to(self, end: bytes) -> None:
        """Give the parser what is ahead, up to the next `end` if there is one."""
        cut = self._ahead.find(end) + len(end)
        if cut < len(end) or cut == len(self._ahead):
            self._feed()
            return
        data, self._ahead = self._ahead[:cut], self._ahead[cut:]
        self._parse(data.replace(b"\r", b"&#13;"))

    def _consumed(self, element: Element) -> Element:
        self._found.popleft()
        self.line = element.line
        return element

    def read_section(self, name: str) -> Element:
        """The section as one element."""
        section = Element(name)
        for element in self.rest():
            _put(section, element.name, element if element.inside else element.text)
        return section

    def end(self) -> None:
        """Raise IllegalArgument if there is a further section."""
        item = self._peek(at_end=True)
        if item is not None:
            raise errors.IllegalArgument(f"{item} is not expected here")

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
        self._given_bytes += len(data)
        try:
            self._parser.Parse(data, is_last)
        except expat.ExpatError as error:
            self.line = error.lineno + self._lines_of_rows
            raise errors.IllegalArgument(f"this is no XML: {error}") from error

    def _doctype(self, *_: object) -> None:
        raise errors.IllegalArgument("a document type is not expected here")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if attributes:
            raise errors.IllegalArgument(f"{name} has attributes")
        depth = len(self._open)
        element = None
        if depth > _IN_SECTION:
            if self._open[-1] is None:
                self._open[-1] = Element(self._names[-1])
        elif depth == _IN_SECTION:
            element = Element(name)
            element.line = self._parser.CurrentLineNumber + self._lines_of_rows
        elif depth:
            self._found.append(name)
        elif name != "fsimage":
            raise errors.IllegalArgument(f"{name} is not expected here, but fsimage")
        self._names.append(name)
        self._open.append(element)
        self._text = ""

    def _characters(self, text: str) -> None:
        self._text += text

    def _end(self, name: str) -> None:
        element = self._open.pop()
        self._names.pop()
        text, self._text = self._text, ""
        if "\\" in text:
            text = unmangle(text)
        depth = len(self._open)
        if depth > _IN_SECTION:
            parent = self._open[-1]
            assert parent is not None
            child = text if element is None else element
            if name in parent.inside:
                _put(parent, name, child)
            else:
                parent.inside[name] = child
        elif depth == _IN_SECTION:
            assert element is not None
            if not element.inside:
                element.text = text
            self._found.append(element)
            # `</name>` or `<name/>`; never too far for what is written in another way.
            self._ended_at = self._parser.CurrentByteIndex + len(name) + 3
        elif depth:
            self._found.append(None)


def _put(parent: Element, name: str, child: Inside) -> None:
    there = parent.inside.get(name)
    if there is None:
        parent.inside[name] = child
    elif isinstance(there, list):
        there.append(child)
    else:
        parent.inside[name] = [there, child]
