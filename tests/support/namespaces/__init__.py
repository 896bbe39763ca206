"""Random histories of a namespace, compared with `howdah.model` and with what a crash leaves.

`histories` has what all operations need, `tree`, `files`, `changes` and `attributes` the
operations, as rules of Hypothesis; `survival` brings a namespace back from every prefix
of its log, from torn ones, and from images; `howdah.testing.fingerprint` says whether it
is the same.
Needs Hypothesis.
"""
