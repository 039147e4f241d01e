"""Take the version from Stepwatch's, which this package is released with, and make its page."""

import re
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).resolve().parent


def version() -> str:
    """Return the version that is written in the checkout, or in this source distribution."""
    noted = HERE / "PKG-INFO"
    if noted.exists():
        text, pattern = noted.read_text(encoding="utf-8"), r"^Version: (\S+)$"
    else:
        text = (HERE.parents[1] / "src/stepwatch/__init__.py").read_text(encoding="utf-8")
        pattern = r'^__version__ = "(.+)"$'
    return re.findall(pattern, text, re.MULTILINE)[0]


def package_page() -> str:
    """Return the README with text for links into the repository, which a package index has not."""
    text = (HERE / "README.md").read_text(encoding="utf-8")
    return re.sub(r"\[([^\[\]]*)\]\((?![a-z]+:)[^)]*\)", r"\1", text)


setup(
    version=version(),
    install_requires=[f"stepwatch>={version()}"],
    long_description=package_page(),
    long_description_content_type="text/markdown",
)
