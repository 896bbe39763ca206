"""Cache pools and directives of several nameservices (shell). Hadoop: RouterCacheAdmin.

A pool is one name in all nameservices: it is added, changed and removed in each of them. One
that has it already, or no longer, is no failure where another one does it, so that a call which
met a nameservice that was away can be repeated. A listing has each pool once, with the sums.

A directive is in the nameservices of its path's destinations; `howdah.router.state.table.cache_ids`
says how its id tells which one.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from google.protobuf.message import Message

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc.call import Caller
from howdah.router.calls.core import Core, is_unavailable, not_repeated
from howdah.router.state.table import cache_ids, merging
from howdah.router.state.table.mount_table import Location

log = logging.getLogger(__name__)


class CachingCalls:
    def __init__(self, core: Core) -> None:
        self._core = core

    # -- pools -------------------------------------------------------------------------------

    async def add_cache_pool(self, request: pb.AddCachePoolRequestProto, caller: Caller) -> Message:
        await self._in_all("addCachePool", request, caller)
        return pb.AddCachePoolResponseProto()

    async def modify_cache_pool(
        self, request: pb.ModifyCachePoolRequestProto, caller: Caller
    ) -> Message:
        await self._in_all("modifyCachePool", request, caller)
        return pb.ModifyCachePoolResponseProto()

    async def remove_cache_pool(
        self, request: pb.RemoveCachePoolRequestProto, caller: Caller
    ) -> Message:
        await self._in_all("removeCachePool", request, caller)
        return pb.RemoveCachePoolResponseProto()

    async def _in_all(self, method: str, request: Message, caller: Caller) -> None:
        done = await self._core.call_all(self._everywhere(), method, request, caller)
        failures = [outcome for _, outcome in done if isinstance(outcome, errors.HowdahError)]
        grave = [failure for failure in failures if not isinstance(failure, errors.InvalidRequest)]
        if grave or len(failures) == len(done):
            raise (grave or failures)[0]

    async def list_cache_pools(
        self, request: pb.ListCachePoolsRequestProto, caller: Caller
    ) -> Message:
        done = await self._core.call_all(self._everywhere(), "listCachePools", request, caller)
        return merging.cache_pools(_reached(done))

    def _everywhere(self) -> list[Location]:
        names = self._core.nameservices.enabled
        if not names:
            raise errors.NoNamenodes("No namespace available.")
        return [_root_location(name) for name in names]

    # -- directives --------------------------------------------------------------------------

    async def add_cache_directive(
        self, request: pb.AddCacheDirectiveRequestProto, caller: Caller
    ) -> Message:
        """Add the directive in every destination of the path; return the id in the first. Where one
        refuses, remove the directives that the others have added."""
        core = self._core
        if request.info.HasField("id"):
            raise errors.InvalidRequest("No ID should be supplied when adding a directive")
        if not request.info.path:
            raise errors.InvalidRequest("No path specified.")
        resolution = core.resolve(request.info.path, caller, "addCacheDirective")
        made: list[tuple[Location, int]] = []
        if len(resolution.locations) > 1:
            await core.reached(resolution, caller, tolerant=False)
        try:
            for place in resolution.locations:
                asked = pb.AddCacheDirectiveRequestProto()
                asked.CopyFrom(request)
                asked.info.path = place.path
                answer = await core.call_one(place, "addCacheDirective", asked, caller)
                made.append((place, answer.id))
        except errors.HowdahError as refusal:
            outcome = await self._undo(made, caller)
            failure = not_repeated(refusal, outcome) if made else refusal
            if failure is refusal:
                raise
            raise failure from refusal
        first, own_id = made[0]
        return pb.AddCacheDirectiveResponseProto(id=cache_ids.routers_id(first.nameservice, own_id))

    async def _undo(self, made: Sequence[tuple[Location, int]], caller: Caller) -> str:
        """Remove directives. Return the outcome, for a message."""
        outcome = "those of the other destinations are removed"
        for place, own_id in made:
            undo = pb.RemoveCacheDirectiveRequestProto(id=own_id)
            try:
                await self._core.call_one(place, "removeCacheDirective", undo, caller, part="undo")
            except errors.HowdahError as error:
                outcome = f"directive {own_id} of nameservice {place.nameservice} stays"
                log.warning(
                    "cache directive %d of nameservice %s stays, though those of the other "
                    "destinations of its path could not be made: %s",
                    own_id,
                    place.nameservice,
                    error,
                )
        return outcome

    async def modify_cache_directive(
        self, request: pb.ModifyCacheDirectiveRequestProto, caller: Caller
    ) -> Message:
        core = self._core
        if not request.info.HasField("id"):
            raise errors.InvalidRequest("Must supply an ID.")
        nameservice = self._home(request.info.id)
        place = _root_location(nameservice)
        asked = pb.ModifyCacheDirectiveRequestProto()
        asked.CopyFrom(request)
        asked.info.id = cache_ids.own_id(request.info.id)
        if request.info.HasField("path"):
            locations = core.resolve(request.info.path, caller, "modifyCacheDirective").locations
            here = [location for location in locations if location.nameservice == nameservice]
            if not here:
                raise errors.InvalidRequest(
                    f"cache directive {request.info.id} is one of nameservice {nameservice}, and "
                    f"{request.info.path} is not in it: remove it, and add another one"
                )
            place = here[0]
            asked.info.path = place.path
        with _named(request.info.id):
            await core.call_one(place, "modifyCacheDirective", asked, caller)
        return pb.ModifyCacheDirectiveResponseProto()

    async def remove_cache_directive(
        self, request: pb.RemoveCacheDirectiveRequestProto, caller: Caller
    ) -> Message:
        asked = pb.RemoveCacheDirectiveRequestProto(id=cache_ids.own_id(request.id))
        place = _root_location(self._home(request.id))
        with _named(request.id):
            await self._core.call_one(place, "removeCacheDirective", asked, caller)
        return pb.RemoveCacheDirectiveResponseProto()

    def _home(self, directive_id: int) -> str:
        nameservice = cache_ids.nameservice_of(directive_id, list(self._core.nameservices.members))
        if nameservice is None or not cache_ids.own_id(directive_id):
            raise errors.InvalidRequest(f"No directive with ID {directive_id} found.")
        return nameservice

    async def list_cache_directives(
        self, request: pb.ListCacheDirectivesRequestProto, caller: Caller
    ) -> Message:
        """Those of mounted paths, one nameservice after the other."""
        places = self._destinations(request, caller)
        names = cache_ids.in_order(places)
        begun = request.prevId >> cache_ids.OWN_BITS
        answer = pb.ListCacheDirectivesResponseProto(hasMore=False)
        failures: list[errors.HowdahError] = []
        for name in names:
            if cache_ids.tag(name) < begun:
                continue
            after = cache_ids.own_id(request.prevId) if cache_ids.tag(name) == begun else 0
            has_more = True
            try:
                while has_more and not answer.elements:
                    page = await self._page(places[name], request, after, caller)
                    has_more = page.hasMore
                    self._merge_page(page, name, request, answer)
                    if page.elements:
                        after = page.elements[-1].info.id
                    else:
                        break
            except errors.HowdahError as error:
                # What another nameservice has is listed, as with directories.
                if not is_unavailable(error) or not self._core.partial_listing:
                    raise
                failures.append(error)
            if answer.elements:
                # A client takes a page without entries for the end.
                answer.hasMore = has_more or name != names[-1]
                return answer
        if failures and len(failures) == len(names):
            raise failures[0]
        return answer

    def _destinations(
        self, request: pb.ListCacheDirectivesRequestProto, caller: Caller
    ) -> dict[str, list[Location]]:
        """The nameservices that may have what is asked for, and the paths there."""
        core, only = self._core, request.filter
        names = core.nameservices.enabled
        if only.HasField("id"):
            names = [name for name in names if name == self._home(only.id)]
        if not only.HasField("path"):
            return {name: [_root_location(name)] for name in names}
        locations = core.resolve(only.path, caller, "listCacheDirectives").locations
        places: dict[str, list[Location]] = {}
        for location in locations:
            if location.nameservice in names:
                places.setdefault(location.nameservice, []).append(location)
        return places

    async def _page(
        self,
        places: Sequence[Location],
        request: pb.ListCacheDirectivesRequestProto,
        after: int,
        caller: Caller,
    ) -> pb.ListCacheDirectivesResponseProto:
        """The next directives of one nameservice."""
        pages = []
        for place in places:
            asked = pb.ListCacheDirectivesRequestProto()
            asked.CopyFrom(request)
            asked.prevId = after
            if request.filter.HasField("id"):
                asked.filter.id = cache_ids.own_id(request.filter.id)
            if request.filter.HasField("path"):
                asked.filter.path = place.path
            pages.append(await self._core.call_one(place, "listCacheDirectives", asked, caller))
        return pages[0] if len(pages) == 1 else merging.cache_directives(pages)

    def _merge_page(
        self,
        page: pb.ListCacheDirectivesResponseProto,
        nameservice: str,
        request: pb.ListCacheDirectivesRequestProto,
        answer: pb.ListCacheDirectivesResponseProto,
    ) -> None:
        for element in page.elements:
            path: str | None = request.filter.path
            if not request.filter.HasField("path"):
                path = self._core.table.source_of(nameservice, element.info.path)
            if path is None:
                continue
            taken = answer.elements.add()
            taken.CopyFrom(element)
            taken.info.id = cache_ids.routers_id(nameservice, element.info.id)
            taken.info.path = path


@contextmanager
def _named(directive_id: int) -> Iterator[None]:
    """What a namenode says of a directive is said of it under the router's id."""
    try:
        yield
    except errors.InvalidRequest as error:
        own = rf"(?<!\d){cache_ids.own_id(directive_id)}(?!\d)"
        raise errors.InvalidRequest(re.sub(own, str(directive_id), error.message)) from error


def _reached(done: Sequence[tuple[Location, Any]]) -> list[Any]:
    """Return the answers. Raises a refusal, or the first failure if nobody answered."""
    failures = [outcome for _, outcome in done if isinstance(outcome, errors.HowdahError)]
    grave = [failure for failure in failures if not is_unavailable(failure)]
    if grave or len(failures) == len(done):
        raise (grave or failures)[0]
    return [outcome for _, outcome in done if not isinstance(outcome, errors.HowdahError)]


def _root_location(nameservice: str) -> Location:
    return Location(nameservice, "/", "/", "/")
