"""C and Python agree on the tables that both read, or the import ends."""

from __future__ import annotations

import importlib.util

import pytest

from howdah.namenode.state.inodes import block_rows, file_table, row_table
from howdah.native import layout
from howdah.native.loader import kernel


def test_every_number_of_the_native_code_is_compared_with_a_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    native = kernel()
    if native is None:
        pytest.skip("the kernel could not be built here")
    compared: dict[str, int] = {}
    monkeypatch.setattr(layout, "check_layout", compared.update)
    for module in (row_table, file_table, block_rows):
        spec = importlib.util.find_spec(module.__name__)
        assert spec is not None
        assert spec.loader is not None
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    assert compared == dict(native.LAYOUT)


@pytest.mark.parametrize("name", ["FILE_WIDTH", "NO_SUCH_NUMBER"])
def test_a_number_that_differs_ends_the_import(name: str) -> None:
    if kernel() is None:
        pytest.skip("the kernel could not be built here")
    with pytest.raises(RuntimeError, match=f"{name} is 77 here"):
        layout.check_layout(**{name: 77})


def test_without_a_kernel_nothing_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "kernel", lambda: None)
    layout.check_layout(FILE_WIDTH=77)
