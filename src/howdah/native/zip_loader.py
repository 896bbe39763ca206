"""The native kernel out of a zip, in which executors of Spark are sent howdah.

Python loads no extension module from a zip. So the kernel is written to a file, loaded,
and the file removed. It is one for a platform and a version of Python, which its name
says; where it is another's the fall-back has to do.
"""

from __future__ import annotations

import os
import tempfile
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from zipimport import zipimporter

import howdah

NAME = "howdah.native._kernel"


def load() -> ModuleType | None:
    """The kernel; None if howdah is not in a zip, or has none for this Python."""
    loader = None if howdah.__spec__ is None else howdah.__spec__.loader
    if not isinstance(loader, zipimporter) or howdah.__file__ is None:
        return None
    home = os.path.dirname(howdah.__file__)
    for suffix in EXTENSION_SUFFIXES:
        try:
            data = loader.get_data(os.path.join(home, "native", f"_kernel{suffix}"))
        except OSError:
            continue  # that is how it says that there is none
        return _loaded(data, suffix)
    return None


def _loaded(data: bytes, suffix: str) -> ModuleType | None:
    with tempfile.NamedTemporaryFile(prefix="howdah-kernel-", suffix=suffix) as copy:
        copy.write(data)
        copy.flush()
        spec = spec_from_file_location(NAME, copy.name)
        if spec is None or spec.loader is None:
            return None
        try:
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
        except ImportError:
            return None  # of another platform, or nothing may be run from there
        return module
