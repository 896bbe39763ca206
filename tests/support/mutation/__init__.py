"""Changes lines of production code, one at a time, and tells which changes nobody notices.

`python -m tests.support.mutation` makes a mutant (`mutants`), runs the unit tests that reach its
line (`unit_tests`) and some simulated worlds that reach it (`worlds`), and reports the mutants that
pass all of them: a line that could be wrong, for all that is tested.
"""
