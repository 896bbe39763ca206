"""A quorum of journal nodes, its writers and its readers, as plain objects: no sockets, files,
threads or clocks. The writers' side is `howdah.namenode.journal.quorum`, the nodes' side is
`howdah.journalnode.state.acceptor`, both as they are; the network, the disks and the dice are here.

`node` is a journal node with a disk that a crash cuts short, `world` everything together,
`history` what must hold, `seeds` long runs: `python -m tests.support.journals.seeds`.
"""
