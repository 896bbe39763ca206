"""Where each CreateFlag goes on the wire (pure).

Some of the flags are the namenode's business and travel with `create` or `append`; two
are told it with each block; SYNC_BLOCK is between the client and its datanodes. Hadoop
has one more, NO_LOCAL_RACK, which its own protocol has no number for: no namenode ever
hears of it, so it is not offered.
"""

from __future__ import annotations

from typing import Final

from howdah.errors import IllegalArgument
from howdah.options import CreateFlag

# To reckon with flags takes the enum a microsecond, with their numbers a tenth of that; and
# this is done for every file.
_FOR_NAMENODE: Final = (
    CreateFlag.CREATE
    | CreateFlag.OVERWRITE
    | CreateFlag.APPEND
    | CreateFlag.LAZY_PERSIST
    | CreateFlag.NEW_BLOCK
    | CreateFlag.SHOULD_REPLICATE
).value
_FOR_APPEND: Final = (CreateFlag.APPEND | CreateFlag.NEW_BLOCK).value
_FOR_BLOCKS = (CreateFlag.NO_LOCAL_WRITE, CreateFlag.IGNORE_CLIENT_LOCALITY)


def namenode_bits(flags: CreateFlag) -> int:
    """The bits of CreateFlagProto."""
    return int(flags.value & _FOR_NAMENODE)


def block_flags(flags: CreateFlag) -> tuple[str, ...]:
    """Return the names of AddBlockFlagProto, which go with every `addBlock`."""
    if flags is CreateFlag.NONE:
        return ()
    return tuple(flag.name for flag in _FOR_BLOCKS if flag & flags and flag.name)


def check_create(path: str, flags: CreateFlag, ec_policy: str | None = None) -> None:
    """`IllegalArgument` for what only an append can do, and for a file that is to be replicated and
    erasure coded."""
    if ec_policy is not None and flags & CreateFlag.SHOULD_REPLICATE:
        raise IllegalArgument(
            f"Cannot create {path}: SHOULD_REPLICATE flag and ecPolicyName are exclusive "
            "parameters. Set both is not allowed!"
        )
    if flags.value & _FOR_APPEND:
        raise IllegalArgument(f"Cannot create {path} with {flags}: that is for append")


def check_append(path: str, flags: CreateFlag) -> None:
    """`IllegalArgument` for what only `create` can do."""
    if flags & (CreateFlag.CREATE | CreateFlag.OVERWRITE):
        raise IllegalArgument(f"Cannot append to {path} with {flags}: that is for create")
