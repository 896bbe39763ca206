"""How large the files of a namespace image are (pure).

Mirrors the processor FileDistribution of Hadoop's offline image viewer, to the byte. Files
are counted by the thousand (`howdah.formats.image.columns`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from operator import mul
from typing import Final

from howdah import errors
from howdah.formats.image.columns import BATCH, FileSizes, file_sizes
from howdah.formats.image.fsimage import ImageReader
from howdah.proto import fsimage_pb2 as pb
from howdah.runtime.units import byte_text

_Node = pb.INodeSection.INode

DEFAULT_LARGEST_BYTES: Final = 1 << 37
DEFAULT_STEP_BYTES: Final = 1 << 21
MAX_INTERVALS: Final = 1 << 27
_SAY_EVERY: Final = 1 << 20


def distribution(
    reader: ImageReader, largest_bytes: int, step_bytes: int, *, for_people: bool
) -> Iterator[str]:
    """Yield how many files there are of which size, up to `largest_bytes` in steps.

    Zero stands for what is usual. Raises IllegalArgument for too many steps.
    """
    largest_bytes = largest_bytes or DEFAULT_LARGEST_BYTES
    step_bytes = step_bytes or DEFAULT_STEP_BYTES
    if step_bytes < 0 or largest_bytes < 0:
        raise errors.IllegalArgument("a size of files and a step cannot be negative")
    last = largest_bytes // step_bytes
    if last > MAX_INTERVALS:
        raise errors.IllegalArgument(
            f"Too many distribution intervals (maxSize/step): {last}, "
            f"should be less than {MAX_INTERVALS + 1}."
        )
    counts: Counter[int] = Counter()
    files = directories = blocks = space_bytes = longest_bytes = inodes = 0
    for sizes in _sizes(reader):
        files += len(sizes.sizes_bytes)
        directories += sizes.directories
        blocks += sizes.blocks
        longest_bytes = max(longest_bytes, max(sizes.sizes_bytes, default=0))
        space_bytes += sum(map(mul, sizes.sizes_bytes, sizes.replications))
        counts.update(
            [
                step if (step := -(-size // step_bytes)) < last else last
                for size in sizes.sizes_bytes
            ]
        )
        said = -(-inodes // _SAY_EVERY) * _SAY_EVERY
        inodes += sizes.inodes
        for number in range(said, inodes, _SAY_EVERY):
            yield f"Processed {number} inodes.\n"
    yield "Size Range\tNumFiles\n" if for_people else "Size\tNumFiles\n"
    for step, count in sorted(counts.items()):
        if for_people:
            start = byte_text(max(step - 1, 0) * step_bytes)
            end = byte_text(longest_bytes if step == last else step * step_bytes)
            yield f"{'(' if step else '['}{start}, {end}]\t{count}\n"
        else:
            yield f"{step * step_bytes}\t{count}\n"
    yield f"totalFiles = {files}\ntotalDirectories = {directories}\ntotalBlocks = {blocks}\n"
    yield f"totalSpace = {space_bytes}\nmaxFileSize = {longest_bytes}\n"


def _sizes(reader: ImageReader) -> Iterator[FileSizes]:
    sections = reader.sections
    batches = sections.batches("INODE")
    first = next(batches, None)
    if first is None:
        raise sections.fail("it has no inodes")
    announced = sections.parse(pb.INodeSection, first[0]).numInodes
    count = 0
    for messages in chain((first[1:],), batches):
        for begin in range(0, len(messages), BATCH):
            for part in file_sizes(messages[begin : begin + BATCH]):
                yield _size(sections.parse(_Node, part)) if isinstance(part, bytes) else part
        count += len(messages)
    if count != announced:
        raise sections.fail(f"it has {count} inodes and announces {announced}")


def _size(inode: pb.INodeSection.INode) -> FileSizes:
    """Of what has something that few have."""
    if inode.type != _Node.FILE:
        return FileSizes(1, int(inode.type == _Node.DIRECTORY), 0, [], [])
    file = inode.file
    size = sum([block.numBytes for block in file.blocks])
    return FileSizes(1, 0, len(file.blocks), [size], [file.replication])
