"""Extended attributes (pure): the part of ClientProtocol that Hadoop's FSDirXAttrOp serves."""

from __future__ import annotations

from howdah.formats.edits.edits import XAttr, XAttrNamespace
from howdah.namenode.service.attributes.xattrs import XAttrCalls
from howdah.namenode.service.calls.at_most_once import AtMostOnce
from howdah.namenode.service.namesystem import Namesystem
from howdah.proto import types_pb2
from howdah.protocol.rpc.call import Caller


class XAttrMethods:
    """Calls about extended attributes."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._once = AtMostOnce(namesystem)
        self._xattrs = XAttrCalls(namesystem)

    def set_xattr(
        self, request: types_pb2.SetXAttrRequestProto, caller: Caller
    ) -> types_pb2.SetXAttrResponseProto:
        def run() -> types_pb2.SetXAttrResponseProto:
            self._xattrs.set(
                caller,
                request.src,
                _xattr(request.xAttr),
                create=bool(request.flag & types_pb2.XATTR_CREATE),
                replace=bool(request.flag & types_pb2.XATTR_REPLACE),
            )
            return types_pb2.SetXAttrResponseProto()

        return self._once(caller, run, types_pb2.SetXAttrResponseProto)

    def remove_xattr(
        self, request: types_pb2.RemoveXAttrRequestProto, caller: Caller
    ) -> types_pb2.RemoveXAttrResponseProto:
        def run() -> types_pb2.RemoveXAttrResponseProto:
            self._xattrs.remove(caller, request.src, _xattr(request.xAttr))
            return types_pb2.RemoveXAttrResponseProto()

        return self._once(caller, run, types_pb2.RemoveXAttrResponseProto)

    def get_xattrs(
        self, request: types_pb2.GetXAttrsRequestProto, caller: Caller
    ) -> types_pb2.GetXAttrsResponseProto:
        wanted = [_xattr(named) for named in request.xAttrs]
        found = self._xattrs.get(caller, request.src, wanted)
        return types_pb2.GetXAttrsResponseProto(xAttrs=map(_xattr_message, found))

    def list_xattrs(
        self, request: types_pb2.ListXAttrsRequestProto, caller: Caller
    ) -> types_pb2.ListXAttrsResponseProto:
        found = self._xattrs.list(caller, request.src)
        return types_pb2.ListXAttrsResponseProto(xAttrs=map(_xattr_message, found))


def _xattr(named: types_pb2.XAttrProto) -> XAttr:
    value = named.value if named.HasField("value") else None
    return XAttr(XAttrNamespace(named.namespace), named.name, value)


def _xattr_message(xattr: XAttr) -> types_pb2.XAttrProto:
    return types_pb2.XAttrProto(
        # The stub wants the enum; at run time a number is one.
        namespace=int(xattr.namespace),  # type: ignore[arg-type]
        name=xattr.name,
        value=xattr.value,
    )
