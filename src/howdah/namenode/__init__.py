"""The namenode: the namespace, the block map, and the servers around them.

Pure (no sockets, files, threads, clocks or dice).

The state:
- `inode`, `inodes`, `features`, `paths`, `namespace`, `attribute_edits`, `edit_errors`
                                   the tree, and `apply(edit)`, its only change
- `columns`, `files`, `block_table` tables of numbers, and files and blocks as their rows
- `sorted_names`                   a directory's names for listings, kept in order
- `acls`, `xattrs`, `quotas`, `measuring`, `tally`, `storage_policies`, `symlinks`
                                   what inodes have, and what it means
- `snapshots`, `snapshot_parts`, `snapshot_edits`, `snapshot_views`, `snapshot_diff`,
  `snapshot_rules`                 what is kept for snapshots, what they show and forbid
- `permissions`                    who may do what
- `leases`, `retry_cache`, `held_appends` who writes which file; calls answered, calls that wait
- `lease_recovery`, `block_recovery` what becomes of files whose writers fell silent
- `topology`, `placement`, `hosts` racks, distances, where replicas go; who belongs here
- `datanodes`, `blocks`, `repair`  the nodes, their replicas, what must be copied or dropped
- `safe_mode`, `auto_roll`, `trash`, `refreshing`, `rounds`
                                   what happens, or changes, as time goes by
- `core`                           the state in one place; requests become edits here
- `image`, `image_rows`, `image_snapshots`, `restored_snapshots`
                                   the namespace to an image and back
- `inotify`                        edits as events

The operations on the core:
- `tree_calls`, `attribute_calls`, `acl_calls`, `xattr_calls`, `policy_calls`,
  `quota_calls`, `link_calls`, `snapshot_calls`, `snapshot_diff_calls`, `queries`,
  `batched_listing`                those of ClientProtocol
- `opening`, `writing`, `closing`, `pipeline_calls`, `file_blocks`
                                   the life of a file while it is written, and
- `truncation`, `concat`           what else changes a file's blocks
- `administration`, `storage_calls`, `image_calls`, `metasave`, `status`
                                   what administrators ask
- `client_protocol`, `client_queries`, `client_attributes`, `client_snapshots`,
  `client_administration`, `datanode_protocol`, `namenode_protocol`, `messages`,
  `cluster_identity`               protobuf in, operations out, and back

Shells:
- `settings`, `racks`              from configuration and system to the core
- `journal`, `restoring`           group commit of edits to their directories; failed ones mended
- `edit_log`, `loading`, `importing` from directories to a namespace, at start
- `checkpoint`                     an image, made by a forked child
- `format`, `upgrading`            a new filesystem; one of another layout, and back
- `image_server`, `edit_segments`, `name_directories`, `watching`, `aside`
                                   files that others fetch, and what needs files or names
- `server`                         sockets, timers, signals
- `secondary`, `primary`, `checkpoint_directories`
                                   the secondary namenode, a process of its own

Arrows: `server -> *_protocol, client_* -> *_calls, opening …, queries -> core ->
namespace, blocks …`; `journal, loading, format … -> storage`.
"""
