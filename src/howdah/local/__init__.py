"""Clusters on this machine, as `howdah up` leaves them running.

Here is what any command may want to know of such a cluster without starting one: which
processes run, and how clients reach it. Starting and stopping is above, in `howdah.cli`
and `howdah.testing`, which import this package and are not imported by it.
"""
