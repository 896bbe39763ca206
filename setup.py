"""The native kernel (checksums, tables, edits), and, if asked for, the namenode's hot modules
compiled; everything else is in pyproject.toml.

The kernel is optional: where there is no C compiler the build goes on, and what the kernel does
is done in Python, by `google-crc32c` and by `zlib`.

With HOWDAH_COMPILE=1 the modules that pyproject.toml names under `tool.howdah` are compiled by
mypyc, which takes minutes; `howdah.native.compiled` says how they are found. Then the wheel is
for one version of Python alone.
"""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

COMPILE = os.environ.get("HOWDAH_COMPILE") == "1"
HERE = Path(__file__).parent
SOURCE = Path("src")
# As in howdah.native.compiled, which is not to be imported here.
DIRECTORY, SOURCES, GROUP = "_compiled", "sources.txt", "howdah"

KERNEL_SOURCES = SOURCE / "howdah" / "native" / "kernel"
KERNEL = Extension(
    "howdah.native._kernel",
    sources=sorted(map(str, KERNEL_SOURCES.glob("*.c"))),
    depends=sorted(map(str, KERNEL_SOURCES.glob("*.h"))),
    extra_compile_args=["-O3"],
    # Python 3.11's, the first with buffers: one wheel serves all that come later.
    define_macros=[("Py_LIMITED_API", "0x030B0000")],
    py_limited_api=True,
    optional=True,
)


def compiled_modules() -> list[str]:
    names = tomllib.loads((HERE / "pyproject.toml").read_text())["tool"]["howdah"]["compiled"]
    return sorted(names)


def path_of(module: str) -> Path | None:
    base = SOURCE.joinpath(*module.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.exists():
            return path
    return None


def imported_by(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def sources() -> str:
    """What the compiled modules are made of: they, and all that they import."""
    compiled = compiled_modules()
    found: dict[str, Path] = {}
    left = list(compiled)
    while left:
        name = left.pop()
        path = path_of(name) if name.split(".")[0] == "howdah" else None
        if path is not None and name not in found:
            found[name] = path
            left += imported_by(path)
    return "".join(
        f"{'compiled' if name in compiled else 'imported'} {name} "
        f"{path.relative_to(SOURCE / 'howdah').as_posix()} "
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}\n"
        for name, path in sorted(found.items())
    )


def instead_of_sources() -> list[str]:
    """Options that have the compiler read expanded sources (howdah.formats.edits.expansion)."""
    # The sources are to be expanded, not what an earlier build has made of them.
    os.environ["HOWDAH_COMPILED"] = "off"
    sys.path.insert(0, str(SOURCE))
    from howdah.formats.edits.expansion import MODULES, expanded

    target = Path("build") / "expanded"
    target.mkdir(parents=True, exist_ok=True)
    options = []
    for module in MODULES:
        source = path_of(module.__name__)
        assert source is not None
        shadow = target / source.name
        shadow.write_text(expanded(module, source.read_text()))
        options += ["--shadow-file", str(source), str(shadow)]
    return options


def compiled_extensions() -> list[Extension]:
    from mypyc.build import mypycify

    paths = [str(path_of(name)) for name in compiled_modules()]
    made = mypycify(
        ["--config-file", "pyproject.toml", *instead_of_sources(), *paths],
        opt_level="2",
        debug_level="0",
        multi_file=True,
        group_name=GROUP,
        target_dir=str(Path("build") / "mypyc"),
    )
    for each in made:
        # Python looks for none of them where they are (howdah.native.compiled).
        each.name = f"howdah.{DIRECTORY}.{each.name.replace('.', '__')}"
    return made


class Build(build_ext):
    """Builds the kernel, and the compiled modules where they are asked for."""

    made_of = ""

    def finalize_options(self) -> None:
        if COMPILE and not Build.made_of:
            Build.made_of = sources()
            self.distribution.ext_modules = [KERNEL, *compiled_extensions()]
        super().finalize_options()

    def run(self) -> None:
        where = SOURCE if self.inplace else Path(self.build_lib)
        target = where / "howdah" / DIRECTORY
        if COMPILE or not self.inplace:
            # Until the build is done nothing of it is to be found, and what an earlier one has
            # left is for no wheel that goes without.
            shutil.rmtree(target, ignore_errors=True)
        if COMPILE:
            target.mkdir(parents=True)
        super().run()
        if COMPILE:
            if sources() != Build.made_of:
                raise SystemExit("a source was changed while the modules were compiled: once more")
            # At once or not at all: what it lists is taken for the whole build.
            partial = target / f"{SOURCES}.part"
            partial.write_text(Build.made_of)
            partial.replace(target / SOURCES)


setup(
    ext_modules=[KERNEL],
    cmdclass={"build_ext": Build},
    # For this build alone: the compiler, types that the modules use, and what the edits need to
    # be expanded.
    setup_requires=["mypy>=1.18,<3", "types-protobuf>=6.30", "protobuf>=6.31,<8"]
    if COMPILE
    else [],
    options={} if COMPILE else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
