"""What `-help` says of each command: texts, nothing else."""

from __future__ import annotations

from typing import Final

_PUT = """
Copies local files and directories into the cluster; `-` alone is standard input.
A file gets its name when it is complete. Several sources want a directory.

  -f  overwrite files that are there
  -p  keep times, owner and mode
  -l  one replica only
  -d  write under the final name at once, not under NAME._COPYING_ first
  -t  how many files to copy at a time (1)
  -q  how many files may wait for a thread (1024)
"""

_GET = """
Copies from the cluster to local files. Several sources want a directory.

  -f          overwrite files that are there
  -p          keep times, owner and mode
  -crc        leave a checksum file (.NAME.crc) beside each copy
  -ignoreCrc  accepted; what is read is verified all the same
  -t          how many files to copy at a time (1)
  -q          how many files may wait for a thread (1024)
"""

TEXTS: Final[dict[str, str]] = {
    "abortUploads": """
Removes what killed writers left at an object store: parts of files that were never closed,
which no listing shows and which are paid for. A path is a file that was to be, or a directory
for all below. Names are literal.

  -list   show them, remove none
  -age    how old an upload must be: 30m, 12h, 7d (1d); 0 is any age, and ends also uploads
          of writers that are at work
  --json  as a JSON list (first word after the command)""",
    "appendToFile": """
Appends local files, or standard input (`-`), to a file, which is made if it isn't
there. All sources must be readable before the first byte is appended.

  -n  begin a new block, whose size may be another one""",
    "cat": """
Prints files.

  -ignoreCrc  accepted; what is read is verified all the same""",
    "checksum": """
Prints path, algorithm and checksum of files, with tabs between. Two files with
equal checksums have equal content. The datanodes compute it.

  -v      block size as well
  --json  as a JSON list (first word after the command)""",
    "chgrp": """
Changes the group.

  -R  of everything below, too""",
    "chmod": """
Changes the mode. MODE is octal (755; 1777 with the sticky bit) or symbolic:
[ugoa](+|-|=)[rwxXt], several with commas between. No umask is applied.

  -R  of everything below, too""",
    "chown": """
Changes owner, group (`:group`), or both (`owner:group`).

  -R  of everything below, too""",
    "concat": """
Appends files to the first one without copying: their blocks become its blocks, and they
are gone. All must be in one directory.""",
    "copyFromLocal": "The same as -put.",
    "copyToLocal": "The same as -get.",
    "count": """
Counts directories, files and bytes below each path.

  -q      quotas and what is left of them as well
  -u      quotas only
  -t      with -q or -u: quotas by storage type (all, or a list: ssd,disk)
  -h      sizes for people: 64.2 M
  -v      a header line
  -x      leave out what is in snapshots only
  -e      the erasure coding policy as well
  -s      what is in snapshots only as well
  --json  as a JSON list (first word after the command)""",
    "cp": """
Copies within the cluster, or between filesystems named by URIs.

  -f  overwrite files that are there
  -p  keep times, owner and mode, or the given: t(imes) o(wner) p(ermission)
      a(ccess control list)
  -d  write under the final name at once
  -t  how many files to copy at a time (1)
  -q  how many files may wait for a thread (1024)""",
    "createSnapshot": "Makes a snapshot of a directory. Not supported yet.",
    "deleteSnapshot": "Deletes a snapshot. Not supported yet.",
    "df": """
Shows size, use and free space of a filesystem, all replicas counted.

  -h      sizes for people: 64.2 M
  --json  as a JSON list (first word after the command)""",
    "du": """
Shows for each entry of a directory, or for a file: bytes, bytes of all replicas, path.

  -s      one line for each path that was given
  -h      sizes for people: 64.2 M
  -v      a header line
  -x      leave out what is in snapshots only
  --json  as a JSON list (first word after the command)""",
    "expunge": """
Deletes checkpoints of your trash that are older than fs.trash.interval, and makes
a new checkpoint of what was deleted since.

  -immediate  delete all of your trash now
  -fs         the filesystem whose trash is meant""",
    "find": """
Walks the trees below the paths (by default your home directory) and prints what
the expression picks:

  -name PATTERN   the last component of the path matches
  -iname PATTERN  the same, upper and lower case alike
  -print          print the path; this is what happens if no action is given
  -print0         print the path and a zero byte
  A -a B          A and B; the same as A B, A -and B""",
    "get": _GET,
    "getfacl": """
Shows owner, group and access control list, the default one of directories as well.

  -R  of everything below, too""",
    "getfattr": """
Shows extended attributes.

  -n NAME  one, named with its namespace: user.mark
  -d       all of them
  -e HOW   values as text, hex or base64
  -R       of everything below, too""",
    "getmerge": """
Copies files, and the files in directories, one behind the other to a local file.

  -nl               a newline after each file
  -skip-empty-file  none after empty ones""",
    "head": "Prints the first 1024 bytes of a file.",
    "help": "Says what a command does; without one, what all of them do.",
    "ls": """
Lists files, and what is in directories: mode, replication (`-` for directories),
owner, group, bytes, time of the last change, path. Without a path it lists your
home directory.

  -C      paths only
  -d      directories themselves, not what is in them
  -h      sizes for people: 64.2 M
  -q      ? for characters that cannot be printed
  -R      everything below, too
  -t      latest first
  -S      largest first
  -r      the other way round
  -u      time of the last access, shown and sorted by
  -e      the erasure coding policy as well
  --json  as a JSON list (first word after the command)""",
    "mkdir": """
Makes directories.

  -p  those above as well; no complaint about what is there""",
    "moveFromLocal": """
Copies as -put does and deletes each local file when it is complete in the cluster.

  -f  overwrite files that are there
  -p  keep times, owner and mode
  -l  one replica only
  -d  write under the final name at once""",
    "moveToLocal": "Hadoop knows this command and does not implement it; the same here.",
    "mv": """
Renames, within one filesystem. Several sources want a directory. Nothing is
overwritten.""",
    "put": _PUT,
    "renameSnapshot": "Renames a snapshot. Not supported yet.",
    "rm": """
Deletes files, or moves them to the trash where there is one.

  -f          no complaint about what isn't there
  -r, -R      directories with everything below, too
  -skipTrash  delete at once
  -safely     ask before a directory with more than
              hadoop.shell.delete.limit.num.files files is deleted""",
    "rmdir": """
Deletes empty directories.

  --ignore-fail-on-non-empty  no complaint about others""",
    "setfacl": """
Sets access control lists.

  -m SPEC     add entries, or change them: user:bob:rw-,default:group::r-x
  -x SPEC     remove entries: user:bob,group:staff
  --set SPEC  replace them all
  -b          remove all but those that the mode stands for
  -k          remove the default entries
  -R          of everything below, too""",
    "setfattr": """
Sets extended attributes.

  -n NAME   the attribute, named with its namespace: user.mark
  -v VALUE  its value: text, "text", 0x… (hexadecimal) or 0s… (base64)
  -x NAME   remove this one""",
    "setrep": """
Sets the number of replicas, of directories for all files below.

  -w  wait until there are so many
  -R  accepted, changes nothing""",
    "stat": """
Prints a line per path by a format (default: %y):
%a mode, octal   %A mode, symbolic   %b bytes        %F kind
%g group         %n name             %o block size   %r replication
%u owner         %x last access      %y last change  (UTC)
%X, %Y the same in milliseconds since 1970

  --json  everything as a JSON list (first word after the command)""",
    "tail": """
Prints the last 1024 bytes of a file.

  -f  go on with what is appended, until interrupted
  -s  look every so many milliseconds (5000)""",
    "test": """
Answers by its exit code, 0 for yes:

  -d  a directory        -e  exists           -f  a file
  -r  may be read        -w  may be written
  -s  not empty          -z  empty""",
    "text": """
Prints files as -cat does, and decompresses gzip, zlib (.deflate) and bzip2 (.bz2).

  -ignoreCrc  accepted; what is read is verified all the same""",
    "touch": """
Sets the times of files to now; makes files that aren't there.

  -a  the time of last access only
  -m  the time of last change only
  -t  not now but yyyyMMdd:HHmmss, local time
  -c  make nothing""",
    "touchz": "Makes empty files; a file that is there must be empty.",
    "truncate": """
Cuts files to a length in bytes. Where that is within a block the namenode recovers the
block first, which takes a moment: until then nobody can append to the file.

  -w  wait until that is done""",
    "usage": "Shows how a command is called; without one, how all of them are.",
}
