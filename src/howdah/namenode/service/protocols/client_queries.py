"""Paths: status, listings, block locations, access (pure).

The part of ClientProtocol that Hadoop's FSDirStatAndListingOp serves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from howdah import errors
from howdah.namenode.service.block_tokens import READ
from howdah.namenode.service.calls.batched_listing import Entries, batched_listing
from howdah.namenode.service.calls.namespace_reads import Listing, Queries
from howdah.namenode.service.calls.permissions import Access
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols import encoders
from howdah.namenode.service.protocols.fast_path.reads import FastReads
from howdah.namenode.state.inodes import paths
from howdah.namenode.state.inodes.inodes import File, INode
from howdah.namenode.state.tree import coding_policies
from howdah.namenode.state.tree.encryption_zones import file_key, is_in_zone, zone_of
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.encryption_zones.messages import encryption_info_of
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Encoded, Slices
from howdah.protocol.striping.policies import Policy
from howdah.protocol.varint import encode_field, encode_varint


class Statuses(Protocol):
    """The entries of an answer's message."""

    def add(self) -> types_pb2.HdfsFileStatusProto: ...


class QueryMethods:
    """Calls that look at the tree and change nothing."""

    def __init__(self, namesystem: Namesystem, reads: FastReads) -> None:
        self._namesystem = namesystem
        self._reads = reads
        self._queries = Queries(namesystem)
        self.entries_listed = 0
        """In answers of listings, since the start."""
        self._defaults = pb.GetServerDefaultsResponseProto(
            serverDefaults=encoders.server_defaults(namesystem.settings)
        )

    def get_server_defaults(
        self, request: pb.GetServerDefaultsRequestProto, caller: Caller
    ) -> pb.GetServerDefaultsResponseProto:
        return self._defaults

    def get_data_encryption_key(
        self, request: pb.GetDataEncryptionKeyRequestProto, caller: Caller
    ) -> pb.GetDataEncryptionKeyResponseProto:
        """Everybody who gets in gets one: it opens a connection to a datanode, and no block."""
        tokens, settings = self._namesystem.block_tokens, self._namesystem.settings
        if tokens is None or not settings.encrypt_data_transfer:
            return pb.GetDataEncryptionKeyResponseProto()
        key = tokens.encryption_key(settings.encryption_algorithm)
        return pb.GetDataEncryptionKeyResponseProto(dataEncryptionKey=key.to_proto())

    def get_file_info(
        self, request: pb.GetFileInfoRequestProto, caller: Caller
    ) -> pb.GetFileInfoResponseProto:
        inode = self._queries.file_info(caller, request.src)
        answer = pb.GetFileInfoResponseProto()
        if inode is not None:
            encoders.file_status(inode, b"", into=answer.fs)
            self._mark(inode, answer.fs, request.src)
        return answer

    def get_file_link_info(
        self, request: pb.GetFileLinkInfoRequestProto, caller: Caller
    ) -> pb.GetFileLinkInfoResponseProto:
        inode = self._queries.file_info(caller, request.src, follows=False)
        answer = pb.GetFileLinkInfoResponseProto()
        if inode is not None:
            encoders.file_status(inode, b"", into=answer.fs)
            self._mark(inode, answer.fs, request.src)
        return answer

    def get_located_file_info(
        self, request: pb.GetLocatedFileInfoRequestProto, caller: Caller
    ) -> pb.GetLocatedFileInfoResponseProto:
        inode = self._queries.file_info(caller, request.src)
        if inode is None:
            return pb.GetLocatedFileInfoResponseProto()
        answer = pb.GetLocatedFileInfoResponseProto(
            fs=encoders.file_status(inode, b"", self._all_locations(caller, inode))
        )
        tokens = self._namesystem.block_tokens
        if tokens is not None and request.needBlockToken and answer.fs.HasField("locations"):
            self._queries.check_readable(caller, request.src)
            tokens.sign_all(answer.fs.locations, caller.user, READ)
        self._mark(inode, answer.fs, request.src)
        return answer

    def get_listing(
        self, request: pb.GetListingRequestProto, caller: Caller
    ) -> pb.GetListingResponseProto | Encoded:
        """One page. With locations it ends early, once it names `dfs.ls.limit` of them."""
        found = self._listed(request, caller)
        if found is None:
            return pb.GetListingResponseProto()
        listing = found.data + b"\x10" + encode_varint(found.remaining)
        return Encoded(encode_field(b"\x0a", listing))

    def _listed(self, request: pb.GetListingRequestProto, caller: Caller) -> Entries | None:
        try:
            start_after = request.startAfter.decode()
        except UnicodeDecodeError as error:
            raise errors.IllegalArgument(
                f"the name to list {request.src} from is not UTF-8: {request.startAfter!r}"
            ) from error
        page = self._queries.listing(caller, request.src, start_after)
        if page is None:
            return None
        address = caller.machine if request.needLocation else None
        places_left = self._namesystem.settings.listing_limit
        parts: list[bytes] = []
        at, end = 0, len(page.entries)
        while at < end and places_left > 0:
            plain, at, places_left = self._reads.list_entries(page, at, address, places_left)
            parts.append(plain)
            # In a zone nothing is plain: one message for all is quicker than one for each.
            until = min(at + 1, end) if page.zone is None else end
            rare = types_pb2.DirectoryListingProto()
            if request.needLocation:
                while at < until and places_left > 0:
                    status = rare.partialListing.add()
                    self._show_located(status, page, at, request.src, caller)
                    places_left -= sum(len(block.locs) for block in status.locations.blocks)
                    at += 1
            else:
                self._show(rare.partialListing, page, range(at, until), request.src)
                at = until
            parts.append(rare.SerializePartialToString())
        self.entries_listed += at
        last = page.names[at - 1].encode() if at else b""
        return Entries(b"".join(parts), at, last, page.remaining + end - at)

    def _show(self, entries: Statuses, page: Listing, places: Iterable[int], path: str) -> None:
        """Add entries of a page of `path` that are not plain."""
        files = self._namesystem.namespace.inodes.files
        policies = self._namesystem.namespace.coding_policies
        zone = None if paths.is_raw(path) else page.zone
        for place in places:
            status, name, entry = entries.add(), page.names[place].encode(), page.entries[place]
            if not isinstance(entry, int):
                encoders.file_status(entry, name, into=status)
                self._mark(entry, status, path)
                continue
            status.path = name
            glance = files.glance(entry)
            encoders.show_file(status, entry, glance, page.policy_above)
            if glance[4].coding_policy_id:
                encoders.show_coding(status, policies.by_id(glance[4].coding_policy_id))
            if zone is not None:
                key = file_key(glance[4].xattrs, zone)
                encoders.show_encryption(status, key, in_zone=True)

    def _show_located(
        self,
        status: types_pb2.HdfsFileStatusProto,
        page: Listing,
        place: int,
        path: str,
        caller: Caller,
    ) -> None:
        """Fill in an entry, with the locations of its blocks."""
        entry = page.entries[place]
        files = self._namesystem.namespace.inodes.files
        inode = files[entry] if isinstance(entry, int) else entry
        locations = self._all_locations(caller, inode)
        encoders.file_status(inode, page.names[place].encode(), locations, into=status)
        self._mark(inode, status, path)

    def get_batched_listing(
        self, request: pb.GetBatchedListingRequestProto, caller: Caller
    ) -> Encoded:
        settings = self._namesystem.settings
        if len(request.paths) > settings.batched_listing_limit:
            raise errors.IllegalArgument(
                f"Too many source paths: {len(request.paths)}, and dfs.batched.ls.limit is "
                f"{settings.batched_listing_limit}"
            )
        return batched_listing(
            request, lambda one: self._listed(one, caller), limit=settings.listing_limit
        )

    def get_block_locations(
        self, request: pb.GetBlockLocationsRequestProto, caller: Caller
    ) -> pb.GetBlockLocationsResponseProto:
        found = self._queries.block_locations(
            caller, request.src, encoders.signed(request.offset), encoders.signed(request.length)
        )
        answer = pb.GetBlockLocationsResponseProto()
        encoders.located_blocks(
            self._namesystem.settings, found, self._coding(found.file), into=answer.locations
        )
        if self._namesystem.namespace.zones and not paths.is_raw(request.src):
            key = file_key(found.file.xattrs, zone_of(found.file))
            if key is not None:
                answer.locations.fileEncryptionInfo.CopyFrom(encryption_info_of(key))
        tokens = self._namesystem.block_tokens
        if tokens is not None:
            tokens.sign_all(answer.locations, caller.user, READ)
        return answer

    def get_preferred_block_size(
        self, request: pb.GetPreferredBlockSizeRequestProto, caller: Caller
    ) -> pb.GetPreferredBlockSizeResponseProto:
        bsize = self._queries.block_size(caller, request.filename)
        return pb.GetPreferredBlockSizeResponseProto(bsize=bsize)

    def is_file_closed(
        self, request: pb.IsFileClosedRequestProto, caller: Caller
    ) -> pb.IsFileClosedResponseProto:
        return pb.IsFileClosedResponseProto(result=self._queries.is_closed(caller, request.src))

    def list_open_files(self, request: pb.ListOpenFilesRequestProto, caller: Caller) -> Slices:
        """One page: of them all, or of those that keep a datanode from being decommissioned."""
        answer = pb.ListOpenFilesResponseProto(hasMore=False)
        is_all = not request.types or pb.ALL_OPEN_FILES in request.types
        files, answer.hasMore = yield from self._queries.open_files(
            caller, request.id, request.path, blocking=not is_all
        )
        for file in files:
            answer.entries.add(
                id=file.inode_id,
                path=file.path,
                clientName=file.writer,
                clientMachine=file.writer_machine,
            )
        answer.types.append(pb.ALL_OPEN_FILES if is_all else pb.BLOCKING_DECOMMISSION)
        return answer

    def get_link_target(
        self, request: pb.GetLinkTargetRequestProto, caller: Caller
    ) -> pb.GetLinkTargetResponseProto:
        return pb.GetLinkTargetResponseProto(
            targetPath=self._queries.link_target(caller, request.path)
        )

    def check_access(
        self, request: pb.CheckAccessRequestProto, caller: Caller
    ) -> pb.CheckAccessResponseProto:
        self._queries.check_access(caller, request.path, Access(request.mode))
        return pb.CheckAccessResponseProto()

    def get_enclosing_root(
        self, request: pb.GetEnclosingRootRequestProto, caller: Caller
    ) -> pb.GetEnclosingRootResponseProto:
        """That of the encryption zone, beyond which nothing is moved."""
        found = self._queries.named(caller, request.filename)
        zone = zone_of(found) if self._namesystem.namespace.zones else None
        root = "/" if zone is None else zone.directory.path
        return pb.GetEnclosingRootResponseProto(enclosingRootPath=root)

    def _mark(self, inode: INode, status: types_pb2.HdfsFileStatusProto, path: str) -> None:
        """Clients ask a directory's status whether it may have snapshots. The root's always
        says so, as in Hadoop. Of an encrypted file there is its key, but for who asks by the raw
        `path`."""
        encoders.show_coding(status, self._coding(inode))
        if self._namesystem.namespace.zones:
            if isinstance(inode, File) and not paths.is_raw(path):
                zone = zone_of(inode)
                key = file_key(inode.xattrs, zone)
                encoders.show_encryption(status, key, in_zone=zone is not None)
            else:
                # Whatever its cipher: a directory is listed with others, outside of the zone.
                encoders.show_encryption(status, None, in_zone=is_in_zone(inode))
        roots = self._namesystem.namespace.snapshots.roots
        if inode is self._namesystem.namespace.root:
            status.flags |= types_pb2.HdfsFileStatusProto.SNAPSHOT_ENABLED
        elif roots:
            root = roots.get(inode.inode_id)
            if root is not None and root.directory is inode:
                status.flags |= types_pb2.HdfsFileStatusProto.SNAPSHOT_ENABLED

    def _coding(self, inode: INode) -> Policy | None:
        """The erasure coding policy that counts for an inode."""
        return coding_policies.of(inode, self._namesystem.namespace.coding_policies)

    def _all_locations(self, caller: Caller, inode: object) -> types_pb2.LocatedBlocksProto | None:
        if not isinstance(inode, File):
            return None
        found = self._queries.all_locations(inode, caller.machine)
        return encoders.located_blocks(self._namesystem.settings, found, self._coding(inode))
