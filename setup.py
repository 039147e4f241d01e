"""Build the one compiled file, and the page of the package; the rest stands in pyproject.toml.

The kernel is optional: without a C compiler the install succeeds, statistics are computed with
numpy, about ten times slower, and a wheel is tagged as pure Python. STEPWATCH_REQUIRE_KERNEL=1
makes that an error, for wheels that are released.
"""

import os
import re
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel

PARTS = ("_crc32c", "_digest", "_exponents", "_files", "_matcher")
flags = [] if sys.platform == "win32" else ["-O3"]


class TruthfulWheel(bdist_wheel):
    """Tags a wheel without the kernel as what it is: one for every platform."""

    def run(self) -> None:
        """Build first, as only then it is known what there is."""
        self.run_command("build_ext")
        built = self.get_finalized_command("build_ext")
        if not any(map(os.path.exists, built.get_outputs())):
            print("no C compiler: this wheel is without the kernel", file=sys.stderr)
            self.distribution.ext_modules = None
            self.root_is_pure = True
        super().run()


def package_page() -> str:
    """Return the README without its pictures, and with text for links into the repository.

    A package index shows it, where neither is.
    """
    text = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    text = re.sub(r"^!\[.*\]\(.*\)\n\n?", "", text, flags=re.MULTILINE)
    return re.sub(r"\[([^\[\]]*)\]\((?![a-z]+:)[^)]*\)", r"\1", text)


setup(
    long_description=package_page(),
    long_description_content_type="text/markdown",
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
    cmdclass={"bdist_wheel": TruthfulWheel},
    ext_modules=[
        Extension(
            "stepwatch._kernel",
            [f"src/stepwatch/{name}.c" for name in ("_kernel", *PARTS)],
            depends=[f"src/stepwatch/{name}.h" for name in (*PARTS, "_dlpack")],
            extra_compile_args=flags,
            define_macros=[("Py_LIMITED_API", "0x030A0000")],
            py_limited_api=True,
            optional=not os.environ.get("STEPWATCH_REQUIRE_KERNEL"),
        )
    ],
)
