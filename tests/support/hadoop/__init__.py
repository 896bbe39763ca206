"""Hadoop's own programs, as the peers that ours are held against.

`jars` fetches them, `java` starts them, with the classes that `class_archive` has kept.
`distcp` runs Hadoop's DistCp and clusters in one Java process, `suites` runs Hadoop's JUnit
suites, for which `clusters` starts clusters of ours. `beans` records what its servers tell.
Needs a Java and what Maven fetches; knows our servers as a user does, by `MiniCluster`.
"""
