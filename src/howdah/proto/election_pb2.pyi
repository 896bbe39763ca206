from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BreadcrumbProto(_message.Message):
    __slots__ = ("term", "content")
    TERM_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    term: int
    content: bytes
    def __init__(self, term: _Optional[int] = ..., content: _Optional[bytes] = ...) -> None: ...

class ElectionStateProto(_message.Message):
    __slots__ = ("promisedTerm", "holder", "holderContent", "millisLeft", "breadcrumb", "millisSilent")
    PROMISEDTERM_FIELD_NUMBER: _ClassVar[int]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    HOLDERCONTENT_FIELD_NUMBER: _ClassVar[int]
    MILLISLEFT_FIELD_NUMBER: _ClassVar[int]
    BREADCRUMB_FIELD_NUMBER: _ClassVar[int]
    MILLISSILENT_FIELD_NUMBER: _ClassVar[int]
    promisedTerm: int
    holder: str
    holderContent: bytes
    millisLeft: int
    breadcrumb: BreadcrumbProto
    millisSilent: int
    def __init__(self, promisedTerm: _Optional[int] = ..., holder: _Optional[str] = ..., holderContent: _Optional[bytes] = ..., millisLeft: _Optional[int] = ..., breadcrumb: _Optional[_Union[BreadcrumbProto, _Mapping]] = ..., millisSilent: _Optional[int] = ...) -> None: ...

class GetElectionRequestProto(_message.Message):
    __slots__ = ("electionId",)
    ELECTIONID_FIELD_NUMBER: _ClassVar[int]
    electionId: str
    def __init__(self, electionId: _Optional[str] = ...) -> None: ...

class GetElectionResponseProto(_message.Message):
    __slots__ = ("state",)
    STATE_FIELD_NUMBER: _ClassVar[int]
    state: ElectionStateProto
    def __init__(self, state: _Optional[_Union[ElectionStateProto, _Mapping]] = ...) -> None: ...

class AcquireRequestProto(_message.Message):
    __slots__ = ("electionId", "holder", "term", "ttlMillis", "content")
    ELECTIONID_FIELD_NUMBER: _ClassVar[int]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    TTLMILLIS_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    electionId: str
    holder: str
    term: int
    ttlMillis: int
    content: bytes
    def __init__(self, electionId: _Optional[str] = ..., holder: _Optional[str] = ..., term: _Optional[int] = ..., ttlMillis: _Optional[int] = ..., content: _Optional[bytes] = ...) -> None: ...

class AcquireResponseProto(_message.Message):
    __slots__ = ("granted", "state")
    GRANTED_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    granted: bool
    state: ElectionStateProto
    def __init__(self, granted: bool = ..., state: _Optional[_Union[ElectionStateProto, _Mapping]] = ...) -> None: ...

class ReleaseRequestProto(_message.Message):
    __slots__ = ("electionId", "holder", "term")
    ELECTIONID_FIELD_NUMBER: _ClassVar[int]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    electionId: str
    holder: str
    term: int
    def __init__(self, electionId: _Optional[str] = ..., holder: _Optional[str] = ..., term: _Optional[int] = ...) -> None: ...

class ReleaseResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SetBreadcrumbRequestProto(_message.Message):
    __slots__ = ("electionId", "holder", "term", "content")
    ELECTIONID_FIELD_NUMBER: _ClassVar[int]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    electionId: str
    holder: str
    term: int
    content: bytes
    def __init__(self, electionId: _Optional[str] = ..., holder: _Optional[str] = ..., term: _Optional[int] = ..., content: _Optional[bytes] = ...) -> None: ...

class ClearBreadcrumbRequestProto(_message.Message):
    __slots__ = ("electionId", "holder", "term")
    ELECTIONID_FIELD_NUMBER: _ClassVar[int]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    electionId: str
    holder: str
    term: int
    def __init__(self, electionId: _Optional[str] = ..., holder: _Optional[str] = ..., term: _Optional[int] = ...) -> None: ...

class BreadcrumbResponseProto(_message.Message):
    __slots__ = ("accepted", "state")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    accepted: bool
    state: ElectionStateProto
    def __init__(self, accepted: bool = ..., state: _Optional[_Union[ElectionStateProto, _Mapping]] = ...) -> None: ...

class PersistedElectionProto(_message.Message):
    __slots__ = ("promisedTerm", "holder", "ttlMillis", "breadcrumb")
    PROMISEDTERM_FIELD_NUMBER: _ClassVar[int]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    TTLMILLIS_FIELD_NUMBER: _ClassVar[int]
    BREADCRUMB_FIELD_NUMBER: _ClassVar[int]
    promisedTerm: int
    holder: str
    ttlMillis: int
    breadcrumb: BreadcrumbProto
    def __init__(self, promisedTerm: _Optional[int] = ..., holder: _Optional[str] = ..., ttlMillis: _Optional[int] = ..., breadcrumb: _Optional[_Union[BreadcrumbProto, _Mapping]] = ...) -> None: ...
