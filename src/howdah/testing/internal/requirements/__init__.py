"""Which requirement is proved by which tests: marks, outcomes, and the page of them.

`plugin` is the pytest plugin, which pyproject.toml loads for our own runs alone; `marks`
refuses wrong marks, `recording` gathers what came of the tests, and `conformance` (pure)
makes docs/conformance.md of it. Imports go from the first to the last. `types_beside` is a
plugin of `./dev test` alone, which runs mypy while tests run.
"""
