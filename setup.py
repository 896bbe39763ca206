"""The one native kernel (chunk checksums); everything else is in pyproject.toml.

The extension is optional: where there is no C compiler the build goes on, and
`howdah.transfer.checksum` falls back to `google-crc32c` and `zlib`.
"""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "howdah._kernel",
            sources=["src/howdah/_kernel.c"],
            extra_compile_args=["-O3"],
            # Python 3.11's, the first with buffers: one wheel serves all that come later.
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
            optional=True,
        )
    ]
)
