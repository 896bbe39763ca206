"""The edit log of a namenode: written, read again, mended, watched.

`edit_log` makes edits durable in all directories; `recovery` chooses what a start reads;
`restoring` brings a failed directory back; `manifest` is for those who fetch segments;
`watching` and `inotify` tell edits as events. The bytes are `storage.edits`'. Knows no
namespace. Arrows: `edit_log -> restoring -> recovery`.
"""
