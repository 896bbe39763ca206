"""Agree with the native code on the tables that both read (pure).

C reads rows in place, so a number that differs would be another field's: that ends the import.
"""

from __future__ import annotations

from howdah.native.loader import kernel


def check_layout(**numbers: int) -> None:
    """Compare a table's numbers with the kernel's, by their names there. Raises RuntimeError for
    the first that differs, and for a name that the kernel does not know."""
    native = kernel()
    if native is None:
        return
    for name, number in numbers.items():
        theirs = native.LAYOUT.get(name)
        if theirs != number:
            raise RuntimeError(
                f"{name} is {number} here and {theirs} in the native code: build it anew"
            )
