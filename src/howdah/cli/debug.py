"""`howdah debug`: look into the files of replicas, and recover leases by hand.

Mirrors Hadoop's DebugAdmin: commands, output and exit codes. `verifyReadable` is not there;
`howdah verify` reads every replica of files.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from howdah import errors
from howdah.cli.arguments.command_format import take_value
from howdah.cli.arguments.usage import UsageError
from howdah.config import keys
from howdah.config.value_types import parse_decimal
from howdah.protocol.data_transfer.checksum import (
    SUM_BYTES,
    ChecksumSpec,
    ChecksumType,
    checksum_chunks,
    crc,
    verify_chunks,
)
from howdah.protocol.data_transfer.meta_header import (
    META_HEADER_BYTES,
    decode_meta_header,
    encode_meta_header,
)
from howdah.protocol.striping.layout import GroupLayout
from howdah.runtime.atomic_files import replacing

if TYPE_CHECKING:
    from howdah.client.reading.replica_check import ReplicaChecker
    from howdah.client.state.blocks import LocatedBlock
    from howdah.config import Configuration
    from howdah.fs.api import FileSystem
    from howdah.protocol.striping.policies import Policy

EXIT_FAILURE: Final = 1
RETRY_S: Final = 5.0
_CHUNKS_AT_ONCE: Final = 32 * 1024


def main(argv: list[str], conf: Configuration) -> int:
    """Run one of `COMMANDS`."""
    name = argv[0].removeprefix("-") if argv else ""
    if name == "help":
        return _help(argv[1:])
    command = COMMANDS.get(name)
    if command is None:
        _print_usage()
        return 0
    if len(argv) == 1:
        print(f"{command.usage}\n{command.help}\n")
        return 1
    try:
        return command.run(argv[1:], conf)
    except UsageError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return EXIT_FAILURE


def _verify_meta(words: list[str], conf: Configuration) -> int:
    block_file, words = take_value(words, "-block")
    meta_file, _ = take_value(words, "-meta")
    if meta_file is None:
        return _refuse("You must specify a meta file with -meta", 1)
    try:
        with open(meta_file, "rb") as meta:
            try:
                spec = decode_meta_header(meta.read(META_HEADER_BYTES))
            except errors.HowdahError as error:
                raise OSError(str(error)) from error
            print(
                f"Checksum type: DataChecksum(type={spec.type.name}, "
                f"chunkSize={spec.bytes_per_checksum})"
            )
            return 0 if block_file is None else _verify(spec, meta, block_file)
    except OSError as error:
        return _refuse(f"Failed to read HDFS metadata file header for {meta_file}: {error}", 1)


def _verify(spec: ChecksumSpec, meta: BinaryIO, block_file: str) -> int:
    try:
        block = open(block_file, "rb")  # noqa: SIM115 - closed below, its errors are its own
    except OSError as error:
        return _refuse(f"Failed to open HDFS block file for {block_file}: {error}", 1)
    with block:
        offset = 0
        while data := block.read(_CHUNKS_AT_ONCE * spec.bytes_per_checksum):
            sums = meta.read(spec.sums_length(len(data)))
            if len(sums) != spec.sums_length(len(data)):
                print(f"verifyChunkedSums error: the checksums end before {block_file} does")
                return 1
            chunk = verify_chunks(spec, data, sums)
            if chunk >= 0:
                problem = _difference(spec, block_file, offset, chunk, data, sums)
                print(f"verifyChunkedSums error: {problem}")
                return 1
            offset += len(data)
    print(f"Checksum verification succeeded on block file {block_file}")
    return 0


def _difference(
    spec: ChecksumSpec, block_file: str, offset: int, chunk: int, data: bytes, sums: bytes
) -> str:
    """Return the message in Hadoop's words."""
    at = chunk * spec.bytes_per_checksum
    computed = crc(spec.type, data[at : at + spec.bytes_per_checksum])
    expected = int.from_bytes(sums[chunk * SUM_BYTES : (chunk + 1) * SUM_BYTES])
    kind = spec.type.name
    return (
        f"org.apache.hadoop.fs.ChecksumException: Checksum {kind} not matched for file "
        f"{block_file} at position {offset + at}: expected={expected:X} but computed={computed:X}, "
        f"algorithm={kind}"
    )


def _compute_meta(words: list[str], conf: Configuration) -> int:
    block_file, words = take_value(words, "-block")
    out_file, _ = take_value(words, "-out")
    if block_file is None:
        return _refuse("You must specify a block file with -block", 2)
    if not Path(block_file).is_file():
        return _refuse(f"Block file <{block_file}> does not exist or is not a file", 3)
    if out_file is None:
        return _refuse("You must specify a output file with -out", 4)
    if Path(out_file).exists():
        return _refuse("output file already exists!", 5)
    spec = ChecksumSpec(
        ChecksumType[conf.get(keys.DFS_CHECKSUM_TYPE)], conf.get(keys.DFS_BYTES_PER_CHECKSUM)
    )
    with open(block_file, "rb") as block, replacing(Path(out_file)) as out:
        out.write(encode_meta_header(spec))
        while data := block.read(_CHUNKS_AT_ONCE * spec.bytes_per_checksum):
            sums = bytearray(spec.sums_length(len(data)))
            checksum_chunks(spec, data, sums)
            out.write(sums)
    print(
        f"Checksum calculation succeeded on block file {block_file} saved metadata to meta file "
        f"{out_file}"
    )
    return 0


def _recover_lease(words: list[str], conf: Configuration) -> int:
    import howdah
    from howdah.fs import paths
    from howdah.fs.hdfs.filesystem import HdfsFileSystem

    path, words = take_value(words, "-path")
    retries, _ = take_value(words, "-retries")
    if path is None:
        return _refuse("You must supply a -path argument to recoverLease.", 1)
    try:
        attempts = parse_decimal(retries or "1")
    except ValueError:
        return _refuse(f"Failed to parse the argument to -retries: {retries!r} is no number", 1)
    with howdah.connect(path if "://" in path else None, conf=conf) as fs:
        # A mount table may be laid over hdfs://.
        if not isinstance(fs.resolve_path(path)[0] if fs.scheme == "hdfs" else fs, HdfsFileSystem):
            return _refuse(
                f"Invalid filesystem for path {path}: needed scheme hdfs, but got: "
                f"{paths.parse(fs.uri).scheme}",
                1,
            )
        return _recover(lambda: fs.recover_lease(path), path, attempts)


def _recover(recover: Callable[[], bool], path: str, attempts: int) -> int:
    attempt = 0
    while True:
        try:
            if recover():
                print(f"recoverLease SUCCEEDED on {path}")
                return 0
            problem = "returned false."
        except errors.PathNotFound as error:
            return _refuse(
                f"recoverLease got exception: {_first_line(error)}\n"
                f"Giving up on recoverLease for {path} after 1 try",
                1,
            )
        except errors.HowdahError as error:
            problem = f"got exception: {_first_line(error)}"
        print(f"recoverLease {problem}", file=sys.stderr)
        attempt += 1
        if attempt >= attempts:
            break
        print(f"Retrying in {round(RETRY_S * 1000)} ms...", file=sys.stderr)
        time.sleep(RETRY_S)
        print(f"Retry #{attempt}", file=sys.stderr)
    tries = "try" if attempts == 1 else "tries"
    return _refuse(f"Giving up on recoverLease for {path} after {attempts} {tries}.", 1)


def _verify_ec(words: list[str], conf: Configuration) -> int:
    from howdah.cli.arguments.administered import administered
    from howdah.fs.hdfs.filesystem import HdfsFileSystem

    if len(words) < 2:
        return _help(["verifyEC"], 1)
    path, words = take_value(words, "-file")
    block_id, words = take_value(words, "-blockId")
    if path is None:
        return _refuse("IllegalArgumentException: Can not create a Path from a null string", 1)
    with _connected(path, conf) if "://" in path else administered(conf) as fs:
        if not isinstance(fs, HdfsFileSystem):
            return _refuse(
                f"IllegalArgumentException: FileSystem {fs.uri} is not an HDFS file system", 1
            )
        try:
            status = fs.get_file_status(path)
            if not status.is_file:
                return _refuse(f"File {path} is not a regular file.", 1)
            if not fs.is_file_closed(path):
                return _refuse(f"File {path} is not closed.", 1)
            checker = fs.client.replica_checker()
            finished = checker.finished_blocks(status.path)
        except errors.PathNotFound:
            return _refuse(f"File {path} does not exist.", 1)
        if finished.policy is None:
            return _refuse(f"File {path} is not erasure coded.", 1)
        wanted = [
            group for group in finished.blocks if block_id in (None, _name_without_stamp(group))
        ]
        is_healthy = True
        for group in wanted:
            print(f"Checking EC block group: {_name_without_stamp(group)}", flush=True)
            problem = _problem_of_group(checker, status.path, group, finished.policy)
            if not problem:
                print("Status: OK")
                continue
            print(f"Status: ERROR, message: {problem}", file=sys.stderr)
            is_healthy = False
            if "-skipFailureBlocks" not in words:
                break
        if is_healthy and block_id is None:
            print("\nAll EC block group status: OK")
        return 0 if is_healthy else EXIT_FAILURE


def _connected(path: str, conf: Configuration) -> FileSystem:
    import howdah

    return howdah.connect(path, conf=conf, laid_over=False)


def _name_without_stamp(group: LocatedBlock) -> str:
    return f"blk_{group.block.block_id}"


def _problem_of_group(
    checker: ReplicaChecker, path: str, group: LocatedBlock, policy: Policy
) -> str:
    """Return what is wrong with a group, first in Hadoop's words, then which internal blocks it
    is; empty of a sound one."""
    from howdah.client.reading.replica_finding import ReplicaState

    held = set() if group.members is None else set(group.members.indices)
    missing = sorted(set(GroupLayout(policy, group.length_bytes).block_indices) - held)
    if missing:
        return (
            "Block group is under-erasure-coded.\n"
            f"  No datanode has index {', '.join(map(str, missing))}."
        )
    found = checker.check_group(path, group, policy)
    bad = [member for member in found.members if member.finding.state is not ReplicaState.SOUND]
    if not bad:
        return ""
    lines = [
        f"  {member.block.block.name} at {member.node} is {member.finding.state.value}: "
        f"{member.finding.message}"
        for member in bad
    ]
    states = {member.finding.state for member in bad}
    compared = states & {ReplicaState.DIFFERENT, ReplicaState.DOUBTFUL}
    said = "EC compute result not match." if compared else bad[0].finding.message
    return "\n".join([said, *lines])


def _first_line(error: errors.HowdahError) -> str:
    return str(error).partition("\n")[0]


def _refuse(why: str, code: int) -> int:
    print(why, file=sys.stderr)
    return code


def _print_usage() -> None:
    print(
        "Usage: howdah debug <command> [arguments]\n\n"
        "These commands are for advanced users only.\n\n"
        "Incorrect usages may result in data loss. Use at your own risk.\n"
    )
    for command in COMMANDS.values():
        print(command.usage)


def _help(words: list[str], code: int = 0) -> int:
    command = COMMANDS.get(words[0].removeprefix("-")) if words else None
    if command is None:
        _print_usage()
        return code
    print(f"{command.usage}\n{command.help}\n")
    return code


class Command(NamedTuple):
    """One command."""

    usage: str
    help: str
    run: Callable[[list[str], Configuration], int]


COMMANDS: Final = {
    "verifyMeta": Command(
        "verifyMeta -meta <metadata-file> [-block <block-file>]",
        "  Print the checksum type of a metadata file. With a block file, check that the\n"
        "  block's data matches the checksums.",
        _verify_meta,
    ),
    "computeMeta": Command(
        "computeMeta -block <block-file> -out <output-metadata-file>",
        "  Make the metadata file of a block file.\n\n"
        "**NOTE: Use at your own risk! Checksums of a corrupt block file make it look good\n"
        " for ever. Only do this where you are certain that its data is right.",
        _compute_meta,
    ),
    "recoverLease": Command(
        "recoverLease -path <path> [-retries <num-retries>]",
        "  Recover the lease of a file, so that it is closed though its writer is gone. It is\n"
        "  tried once, unless -retries says otherwise.",
        _recover_lease,
    ),
    "verifyEC": Command(
        "verifyEC -file <file> [-blockId <blk_Id>] [-skipFailureBlocks]",
        "  Read all internal blocks of an erasure coded file, code its data again, and compare.\n"
        "  -blockId: of one block group only. -skipFailureBlocks: go on after a block group that\n"
        "  is not sound. What is wrong names the internal blocks by their index.",
        _verify_ec,
    ),
}
