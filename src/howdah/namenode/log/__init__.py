"""The edit log of a namenode: written, read again, mended, watched.

`journal` makes edits durable in all directories; `edit_log` chooses what a start reads;
`restoring` brings a failed directory back; `edit_segments` are for those who fetch them;
`watching` and `inotify` tell edits as events. The bytes are `storage.edits`'. Knows no
namespace. Arrows: `journal -> restoring -> edit_log`.
"""
