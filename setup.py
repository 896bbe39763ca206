"""The one native kernel (checksums, tables, edits); everything else is in pyproject.toml.

The extension is optional: where there is no C compiler the build goes on, and
what it does is done in Python, by `google-crc32c` and by `zlib`.
"""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "howdah._kernel",
            sources=[
                "src/howdah/_kernel.c",
                "src/howdah/_kernel_rows.c",
                "src/howdah/_kernel_calls.c",
                "src/howdah/_kernel_answers.c",
                "src/howdah/_kernel_reads.c",
                "src/howdah/_kernel_exchange.c",
                "src/howdah/_kernel_journal.c",
                "src/howdah/_kernel_locations.c",
                "src/howdah/_kernel_relay.c",
                "src/howdah/_kernel_relay_type.c",
                "src/howdah/_kernel_reports.c",
            ],
            depends=[
                "src/howdah/_kernel_calls.h",
                "src/howdah/_kernel_messages.h",
                "src/howdah/_kernel_reads.h",
                "src/howdah/_kernel_relay.h",
            ],
            extra_compile_args=["-O3"],
            # Python 3.11's, the first with buffers: one wheel serves all that come later.
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
            optional=True,
        )
    ]
)
