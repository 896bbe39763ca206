"""XML of requests and answers.

Requests are small trees of elements without attributes that count. A parser that knows no entities
and no DTD reads them, and stops at a bound of depth and number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote
from xml.parsers import expat
from xml.sax.saxutils import escape

from howdah.gateway.s3.protocol.refusals import Refused

NAMESPACE: Final = "http://s3.amazonaws.com/doc/2006-03-01/"
CONTENT_TYPE: Final = "application/xml"
_DECLARATION: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'
_MAX_DEPTH: Final = 8
_MAX_ELEMENTS: Final = 200_000
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\r\ufffe\uffff]")

Child = tuple[str, "str | list[Child]"]
"""An element: its name, with its attributes, and its text or the elements in it."""


@dataclass(slots=True)
class Element:
    """An element of a request, without its namespace."""

    name: str
    pieces: list[str] = field(default_factory=list)
    """Of its text: a sum of strings would take the square of their number."""
    children: list[Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What stands right in it."""
        return "".join(self.pieces)

    def all(self, name: str) -> Iterator[Element]:
        """Yield the elements of this name right below."""
        return (child for child in self.children if child.name == name)

    def value(self, name: str) -> str | None:
        """The text of the first element of this name right below; None without one."""
        return next((child.text.strip() for child in self.all(name)), None)


def parsed(document: bytes, root: str) -> Element:
    """Return the root of a document, which has this name. Raises Refused."""
    parser = _Parser()
    found = parser.parse(document)
    if found is None or found.name != root:
        raise _malformed(f"the body is a document {root}")
    return found


class _Parser:
    def __init__(self) -> None:
        self._root: Element | None = None
        self._open: list[Element] = []
        self._count = 0

    def parse(self, document: bytes) -> Element | None:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        try:
            parser.Parse(document, True)
        except (expat.ExpatError, ValueError, LookupError) as error:
            raise _malformed(str(error)) from None
        return self._root

    def _refuse_doctype(self, *_: object) -> None:
        raise _malformed("it has a document type")

    def _start(self, name: str, _: object) -> None:
        self._count += 1
        if len(self._open) >= _MAX_DEPTH or self._count > _MAX_ELEMENTS:
            raise _malformed("it has too many elements")
        element = Element(name.rpartition(" ")[2])
        if self._open:
            self._open[-1].children.append(element)
        elif self._root is None:
            self._root = element
        self._open.append(element)

    def _end(self, _: str) -> None:
        self._open.pop()

    def _characters(self, text: str) -> None:
        self._open[-1].pieces.append(text)


def _malformed(why: str) -> Refused:
    return Refused(
        "MalformedXML",
        "The XML you provided was not well-formed or did not validate against our published "
        f"schema: {why}",
    )


def document(root: str, children: Iterable[Child], namespace: str = NAMESPACE) -> bytes:
    """Return a whole document.

    >>> document("A", [("B", "x < y")], "")
    b'<?xml version="1.0" encoding="UTF-8"?>\\n<A><B>x &lt; y</B></A>'
    """
    attribute = f' xmlns="{namespace}"' if namespace else ""
    inner = "".join(map(_written, children))
    return f"{_DECLARATION}<{root}{attribute}>{inner}</{root}>".encode()


def _written(child: Child) -> str:
    name, value = child
    inner = text_of(value) if isinstance(value, str) else "".join(map(_written, value))
    # Attributes may stand behind the name.
    return f"<{name}>{inner}</{name.partition(' ')[0]}>"


def text_of(text: str) -> str:
    """Return a text within an element. Characters that XML cannot hold are written as references
    all the same, as AWS does: whoever has such keys asks for `encoding-type=url`."""
    return _CONTROL.sub(lambda match: f"&#x{ord(match[0]):X};", escape(text))


def url_encoded(text: str) -> str:
    """Return a key as `encoding-type=url` wants it.

    >>> url_encoded("a b/c+d")
    'a%20b/c%2Bd'
    """
    return quote(text, safe="/-_.~*")


def error_document(
    code: str, message: str, resource: str, request_id: str, fields: Iterable[tuple[str, str]]
) -> bytes:
    """Return the body of a refusal."""
    children: list[Child] = [("Code", code), ("Message", message), *fields]
    children += [("Resource", resource), ("RequestId", request_id)]
    return document("Error", children, "")
