"""Which requirement is proved by which tests: marks, outcomes, and the page of them.

`plugin` is the pytest plugin, which pyproject.toml loads for our own runs alone; `marks`
refuses wrong marks, `recording` gathers what came of the tests, and `conformance` (pure)
makes docs/conformance.md of it. Imports go from the first to the last. `pytest_mypy`,
`pytest_retry_alone` and `pytest_precompile` are plugins of `./dev test` only: mypy runs while
tests run, a test of real processes that failed beside others is run once more alone, and the
workers share the compiling of a new checkout. `distribution` says which worker gets which tests,
and `sources` makes syntax trees for those that look through sources.
"""
