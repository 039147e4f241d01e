"""Build the one compiled file; everything else stands in pyproject.toml.

The kernel is optional: without a C compiler the install succeeds and
statistics are computed with numpy, about ten times slower.
"""

import sys

from setuptools import Extension, setup

flags = [] if sys.platform == "win32" else ["-O3"]
setup(
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
    ext_modules=[
        Extension(
            "stepwatch._kernel",
            [f"src/stepwatch/{name}.c" for name in ("_kernel", "_crc32c", "_files")],
            depends=["src/stepwatch/_crc32c.h", "src/stepwatch/_files.h"],
            extra_compile_args=flags,
            define_macros=[("Py_LIMITED_API", "0x030A0000")],
            py_limited_api=True,
            optional=True,
        )
    ],
)
