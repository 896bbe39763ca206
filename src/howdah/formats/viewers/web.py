"""A namespace image as a filesystem that can be looked at over WebHDFS (pure).

Mirrors the processor Web of Hadoop's offline image viewer: what it answers to a
request, of the operations that need no datanode. Requests go to `/webhdfs/v1/PATH`
with `op=…`; whoever asks sees everything. Snapshots cannot be looked at.

The image's inodes are in memory as they are in the file, some 300 bytes each.
"""

from __future__ import annotations

import base64
import json
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from howdah import errors
from howdah.formats.edits.edits import XAttr, XAttrNamespace
from howdah.formats.image.fsimage import ImageReader
from howdah.formats.image.inodes import OF_GROUP, OF_USER, OF_XATTR
from howdah.formats.image.message_maps import signed
from howdah.formats.viewers.image_lines import ROOT_ID, children_of_directories
from howdah.formats.viewers.text import NAME_MASK, acl_texts, text_of
from howdah.proto import fsimage_pb2 as pb

PREFIX: Final = "/webhdfs/v1"
_Node = pb.INodeSection.INode
# Directories are in the order of names as signed bytes, as Java compares them.
_SIGNED: Final = bytes(byte ^ 0x80 for byte in range(256))
_ENCODINGS: Final = ("TEXT", "HEX", "BASE64")
_ILLEGAL: Final = "java.lang.IllegalArgumentException"


@dataclass(frozen=True, slots=True)
class Answer:
    """To a request; `body` is JSON."""

    status: int
    body: str


class ImageTree:
    """Holds the files and directories of an image, by path."""

    def __init__(self, reader: ImageReader) -> None:
        """Raises CorruptImage."""
        self._in = reader.sections
        self._names = reader.names
        self._inodes: dict[int, bytes] = {}
        messages = self._in.messages("INODE")
        next(messages, None)
        for data in messages:
            self._inodes[self._in.parse(_Node, data).id] = data
        # In the order of their names, but for references, which are behind them.
        self._children: dict[int, Sequence[int]] = {}
        self._ordered: dict[int, int] = {}
        for listed in reader.children():
            self._ordered[listed.parent_id] = len(listed.children)
        for parent_id, children in children_of_directories(reader):
            self._children[parent_id] = children

    def find(self, path: str) -> pb.INodeSection.INode:
        """Raises PathNotFound, IllegalArgument."""
        if not path.startswith("/"):
            raise _senseless(f"{path!r} is not absolute")
        inode_id: int | None = ROOT_ID
        for name in path.split("/"):
            if name:
                inode_id = self._child(inode_id, name.encode("utf-8", "surrogatepass"))
            if inode_id is None:
                raise errors.PathNotFound(path)
        assert inode_id is not None
        return self._inode(inode_id)

    def _inode(self, inode_id: int) -> pb.INodeSection.INode:
        data = self._inodes.get(inode_id)
        if data is None:
            raise self._in.fail(f"inode {inode_id} is in a directory and not there")
        return self._in.parse(_Node, data)

    def _child(self, parent_id: int | None, name: bytes) -> int | None:
        if parent_id is None:
            return None
        children = self._children.get(parent_id, [])
        ordered = self._ordered.get(parent_id, 0)
        place = bisect_left(
            children,
            name.translate(_SIGNED),
            0,
            ordered,
            key=lambda inode_id: self._inode(inode_id).name.translate(_SIGNED),
        )
        for inode_id in (*children[place : min(place + 1, ordered)], *children[ordered:]):
            if self._inode(inode_id).name == name:
                return inode_id
        return None

    # What can be asked.

    def status(self, path: str) -> dict[str, Any]:
        return self._status(self.find(path), is_entry=False)

    def statuses(self, path: str) -> list[dict[str, Any]]:
        """Of what is in a directory, or of the file itself."""
        inode = self.find(path)
        if inode.type != _Node.DIRECTORY:
            return [self._status(inode, is_entry=False)]
        children = self._children.get(inode.id, [])
        return [self._status(self._inode(child), is_entry=True) for child in children]

    def _status(self, inode: pb.INodeSection.INode, *, is_entry: bool) -> dict[str, Any]:
        owner, group, mode = self._permission(inode)
        status: dict[str, Any] = {
            "accessTime": 0,
            "blockSize": 0,
            "childrenNum": 0,
            "fileId": inode.id,
            "group": group,
            "length": 0,
            "owner": owner,
            "pathSuffix": text_of(inode.name) if is_entry else "",
            "permission": f"{mode:o}",
            "replication": 0,
            "type": _Node.Type.Name(inode.type),
        }
        if inode.type == _Node.FILE:
            file = inode.file
            status["accessTime"] = signed(file.accessTime, 64)
            status["blockSize"] = signed(file.preferredBlockSize, 64)
            status["length"] = _length(file)
            status["modificationTime"] = signed(file.modificationTime, 64)
            status["replication"] = signed(file.replication, 32)
        elif inode.type == _Node.DIRECTORY:
            status["childrenNum"] = len(self._children.get(inode.id, ()))
            status["modificationTime"] = signed(inode.directory.modificationTime, 64)
        else:
            status["accessTime"] = signed(inode.symlink.accessTime, 64)
            status["modificationTime"] = signed(inode.symlink.modificationTime, 64)
            status["symlink"] = text_of(inode.symlink.target)
        return status

    def acl(self, path: str) -> dict[str, Any]:
        inode = self.find(path)
        owner, group, mode = self._permission(inode)
        held: Any = inode.file if inode.type == _Node.FILE else inode.directory
        return {
            "entries": acl_texts(held.acl, self._names),
            "group": group,
            "owner": owner,
            "permission": f"{mode:o}",
            "stickyBit": bool(mode & 0o1000),
        }

    def xattrs(self, path: str) -> list[XAttr]:
        """Return all there are, whatever their namespace."""
        inode = self.find(path)
        held: Any = inode.file if inode.type == _Node.FILE else inode.directory
        xattrs = []
        for xattr in held.xAttrs.xAttrs:
            number = xattr.name >> 30 & 3 | (xattr.name >> 5 & 1) << 2
            if number > max(XAttrNamespace):
                raise self._in.fail(f"an extended attribute is of namespace {number}")
            name = self._names.get(OF_XATTR, xattr.name >> 6 & NAME_MASK)
            xattrs.append(XAttr(XAttrNamespace(number), name, xattr.value))
        return xattrs

    def summary(self, path: str) -> dict[str, int]:
        """Of everything under a path."""
        top = self.find(path)
        directories = files = length = space = 0
        todo = [top]
        while todo:
            inode = todo.pop()
            if directories + files == len(self._inodes):
                raise self._in.fail(f"a directory below {path} is in itself")
            if inode.type == _Node.DIRECTORY:
                directories += 1
                todo.extend(map(self._inode, self._children.get(inode.id, ())))
                continue
            files += 1
            if inode.type == _Node.FILE:
                size = _length(inode.file)
                length += size
                space += size * inode.file.replication
        is_directory = top.type == _Node.DIRECTORY
        return {
            "directoryCount": directories,
            "fileCount": files,
            "length": length,
            "quota": signed(top.directory.nsQuota, 64) if is_directory else -1,
            "spaceConsumed": space,
            "spaceQuota": signed(top.directory.dsQuota, 64) if is_directory else -1,
        }

    def _permission(self, inode: pb.INodeSection.INode) -> tuple[str, str, int]:
        if inode.type == _Node.FILE:
            bits = inode.file.permission
        elif inode.type == _Node.DIRECTORY:
            bits = inode.directory.permission
        else:
            bits = inode.symlink.permission
        owner = self._names.get_optional(OF_USER, bits >> 40)
        group = self._names.get_optional(OF_GROUP, bits >> 16 & NAME_MASK)
        return owner or "", group or "", bits & 0o1777


def _length(file: pb.INodeSection.INodeFile) -> int:
    return sum([block.numBytes for block in file.blocks])


# Requests.


def answer(tree: ImageTree, method: str, target: str) -> Answer:
    """What a request is answered; `target` is as it stands in it."""
    if method != "GET":
        return Answer(405, "")
    split = urlsplit(target if not target.startswith("//") else "/" + target.lstrip("/"))
    try:
        return Answer(200, _answer(tree, unquote(split.path), parse_qs(split.query, True)))
    except errors.CorruptImage as error:
        return _failure(500, error)
    except errors.IllegalArgument as error:
        return _failure(400, error)
    except errors.PathNotFound as error:
        return _failure(404, error)
    except errors.RemoteError as error:
        return _failure(403, error)


def _answer(tree: ImageTree, path: str, query: dict[str, list[str]]) -> str:
    if not path.startswith(PREFIX):
        raise errors.PathNotFound(f"Path: {path} should start with {PREFIX}")
    path = path.removeprefix(PREFIX)
    asked = query.get("op")
    if not asked:
        raise _senseless("Param op must be specified.")
    if asked[0].upper() == "GETXATTRS":
        encoding = query.get("encoding", ["TEXT"])[0].upper()
        return _json({"XAttrs": _xattrs(tree.xattrs(path), query.get("xattr.name"), encoding)})
    operation = _OPERATIONS.get(asked[0].upper())
    if operation is None:
        raise _senseless('Invalid value for webhdfs parameter "op"')
    return operation(tree, path)


def _listing(tree: ImageTree, path: str) -> str:
    entries = ",".join(_json(status) for status in tree.statuses(path))
    return f'{{"FileStatuses":{{"FileStatus":[\n{entries}\n]}}}}\n'


def _xattr_names(tree: ImageTree, path: str) -> str:
    # A text of JSON within JSON: so it is specified.
    return _json({"XAttrNames": _json([_full_name(xattr) for xattr in tree.xattrs(path)])})


_OPERATIONS: Final[dict[str, Callable[[ImageTree, str], str]]] = {
    "GETFILESTATUS": lambda tree, path: f'{{"FileStatus":\n{_json(tree.status(path))}\n}}\n',
    "LISTSTATUS": _listing,
    "GETACLSTATUS": lambda tree, path: _json({"AclStatus": tree.acl(path)}),
    "LISTXATTRS": _xattr_names,
    "GETCONTENTSUMMARY": lambda tree, path: (
        f'{{"ContentSummary":\n{_json(tree.summary(path))}\n}}\n'
    ),
}


def _xattrs(have: Sequence[XAttr], names: list[str] | None, encoding: str) -> list[dict[str, str]]:
    """Those that were asked for by name, or all."""
    if encoding not in _ENCODINGS:
        raise _senseless(f"there is no encoding {encoding}; these are: {', '.join(_ENCODINGS)}")
    by_name = {_full_name(xattr): xattr for xattr in have}
    if names is None:
        names = list(by_name)
    for name in names:
        namespace, dot, rest = name.partition(".")
        if namespace.upper() not in XAttrNamespace.__members__ or not dot:
            raise errors.IllegalArgument(
                "An XAttr name must be prefixed with user/trusted/security/system/raw, "
                "followed by a '.'"
            )
        if f"{namespace.lower()}.{rest}" not in by_name:
            raise errors.AttributeNotFound(errors.AttributeNotFound.WORDS)
    wanted = {name.partition(".")[0].lower() + "." + name.partition(".")[2] for name in names}
    return [
        {"name": name, "value": _encoded(xattr.value or b"", encoding)}
        for name, xattr in by_name.items()
        if name in wanted
    ]


def _encoded(value: bytes, encoding: str) -> str:
    if encoding == "HEX":
        return "0x" + value.hex()
    if encoding == "BASE64":
        return "0s" + base64.b64encode(value).decode()
    return f'"{text_of(value)}"'


def _full_name(xattr: XAttr) -> str:
    return f"{xattr.namespace.name.lower()}.{xattr.name}"


def _senseless(message: str) -> errors.IllegalArgument:
    return errors.IllegalArgument(message, java_class=_ILLEGAL)


def _failure(status: int, error: errors.HowdahError) -> Answer:
    exception = {
        "exception": error.remote_class.rpartition(".")[2],
        "javaClassName": error.remote_class,
        "message": error.message,
    }
    return Answer(status, _json({"RemoteException": exception}))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
