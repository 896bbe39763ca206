"""`howdah fsck`: have the active namenode check files and their blocks.

Mirrors Hadoop's DFSck: arguments, output and exit codes. The namenode, ours or Hadoop's, makes
the text; its last line decides the exit code (`result`). It is printed as it comes.

What differs from Hadoop's program:

- `-move` copies here, not in the namenode (`lost_found`). What cannot be copied is not deleted.
- A namenode that cannot be reached is 255; Hadoop's program says 0.
- `-files` may come first, and an option behind `-blockId` counts.
- `--json` prints one object instead of the text.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from howdah import errors
from howdah.cli.fsck.args import USAGE, Wanted, WrongWords, parse_words

if TYPE_CHECKING:
    from howdah.config import Configuration

EXIT_FAILURE = 255


def main(argv: list[str], conf: Configuration) -> int:
    """The exit code; see `result`."""
    if not argv:
        print(USAGE, file=sys.stderr)
        return EXIT_FAILURE
    if argv[0] in ("-h", "-help", "--help"):
        print(USAGE)
        return 0
    try:
        wanted = parse_words(argv)
    except WrongWords as error:
        print(f"fsck: {error}\n{USAGE}", file=sys.stderr)
        return EXIT_FAILURE
    try:
        return _run(wanted, conf)
    except errors.HowdahError as error:
        print(f"fsck: {error}", file=sys.stderr)
        return EXIT_FAILURE


def _run(wanted: Wanted, conf: Configuration) -> int:
    import howdah
    from howdah.fs import paths
    from howdah.fs.hdfs.filesystem import HdfsFileSystem

    with howdah.connect(wanted.path if "://" in wanted.path else None, conf=conf) as whole:
        try:
            # Of a view the filesystem that has the path is checked.
            fs, path = whole.resolve_path(wanted.path)
            if not isinstance(fs, HdfsFileSystem):
                print(
                    f"FileSystem is {fs.uri}\nDFSck exiting.\nfsck: {wanted.path} has no blocks "
                    "of its own, and nothing was checked: name a path that is on hdfs://",
                    file=sys.stderr,
                )
                return EXIT_FAILURE
            status = fs.get_file_status(path)
        except errors.PathNotFound:
            print(
                "FileSystem is inaccessible due to:\njava.io.FileNotFoundException: "
                f"File does not exist: {whole.qualify(wanted.path)}\nDFSck exiting.",
                file=sys.stderr,
            )
            return 0
        return _check(fs, replace(wanted, path=paths.parse(status.path).path), wanted.path, conf)


def _check(fs: HdfsFileSystem, wanted: Wanted, shown_path: str, conf: Configuration) -> int:
    from howdah.cli.fsck.client import Namenode
    from howdah.cli.fsck.result import as_json, exit_code

    namenode = Namenode(fs, conf)
    if wanted.list_corrupt:
        return _list_corrupt(namenode, wanted, shown_path)
    url = namenode.url(wanted)
    print(f"Connecting to namenode via {url}", file=sys.stderr)
    text = namenode.fetch(url, is_shown=not wanted.json)
    code = exit_code(text)
    problems: list[str] = []
    if wanted.move and code == 1:
        from howdah.cli.fsck.lost_found import Salvage

        salvage = Salvage(fs, deletes=wanted.delete)
        salvage.under(wanted.path)
        problems = salvage.problems
        code = EXIT_FAILURE if problems else code
    if wanted.json:
        print(json.dumps({**as_json(text), "notMoved": problems, "exitCode": code}))
    return code


def _list_corrupt(namenode: Namenode, wanted: Wanted, shown_path: str) -> int:
    from howdah.cli.fsck.result import read_corrupt_page

    seen = 0
    lines: list[str] = []
    print(f"Connecting to namenode via {namenode.url(wanted)}", file=sys.stderr)
    while True:
        text = namenode.fetch(namenode.url(wanted, skip=seen), is_shown=False)
        page = read_corrupt_page(text)
        if page.is_denied:
            print(f"Failed to open path '{shown_path}': Permission denied")
            return EXIT_FAILURE
        if page.failure:
            raise errors.RemoteError(page.failure)
        if page.lines and not wanted.json:
            if not lines:
                print(f"The list of corrupt blocks under path '{shown_path}' are:")
            print("\n".join(page.lines))
        lines += page.lines
        if page.is_last or page.seen <= seen:
            break
        seen = page.seen
    code = EXIT_FAILURE if lines else 0
    if wanted.json:
        blocks = [line.split("\t") for line in lines]
        listed = [{"block": fields[0], "path": fields[-1]} for fields in blocks]
        print(json.dumps({"path": wanted.path, "corruptBlocks": listed, "exitCode": code}))
    else:
        print(f"The filesystem under path '{shown_path}' has {len(lines)} CORRUPT blocks")
    return code


if TYPE_CHECKING:
    from howdah.cli.fsck.client import Namenode
    from howdah.fs.hdfs.filesystem import HdfsFileSystem
