"""Build the one compiled file; everything else stands in pyproject.toml.

The kernel is optional: without a C compiler the install succeeds and
statistics are computed with numpy, about ten times slower.
"""

import sys

from setuptools import Extension, setup

PARTS = ("_crc32c", "_digest", "_exponents", "_files")
flags = [] if sys.platform == "win32" else ["-O3"]
setup(
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
    ext_modules=[
        Extension(
            "stepwatch._kernel",
            [f"src/stepwatch/{name}.c" for name in ("_kernel", *PARTS)],
            depends=[f"src/stepwatch/{name}.h" for name in PARTS],
            extra_compile_args=flags,
            define_macros=[("Py_LIMITED_API", "0x030A0000")],
            py_limited_api=True,
            optional=True,
        )
    ],
)
