"""What is released works where nothing else is installed; ``make test-wheel`` runs this."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SMOKE = ROOT / "tests/wheels/smoke.py"

# Interpreters that the wheel is tried with.
PYTHONS = os.environ.get("STEPWATCH_PYTHONS", "").split() or [sys.executable]

pytestmark = [pytest.mark.wheel, pytest.mark.timeout(600)]


def run(*command, cwd, **variables):
    """Return what a command prints, with variables added to the environment."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env={**os.environ, **variables},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert 0 == done.returncode, done.stdout
    return done.stdout


def build(source, folder, *kinds, **variables):
    """Build a package and return the files."""
    shutil.rmtree(source / "build", ignore_errors=True)  # what was compiled before
    run(sys.executable, "-m", "build", *kinds, "--outdir", folder, source, cwd=source, **variables)
    return sorted(folder.iterdir())


def smoke(wheel, kernel, folder, python=sys.executable):
    """Install a wheel into a new environment of a Python and try it there."""
    run(python, "-m", "venv", folder, cwd=ROOT)
    python = folder / "bin/python"
    quiet = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    run(python, *quiet, *wheel, cwd=folder)
    return run(python, SMOKE, kernel, cwd=folder)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the files that are in version control, so that nothing else gets into a wheel."""
    folder = tmp_path_factory.mktemp("checkout")
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    for name in listed.splitlines():
        if (ROOT / name).is_file() and name.split("/")[0] in _PACKAGED:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


_PACKAGED = {"src", "packages", "pyproject.toml", "setup.py", "README.md", "LICENSE"}


@pytest.fixture(scope="module")
def released(checkout, tmp_path_factory):
    """The source distribution, and the wheel that is made of it, which must have the kernel."""
    folder = tmp_path_factory.mktemp("released")
    return build(checkout, folder, STEPWATCH_REQUIRE_KERNEL="1")


@pytest.fixture(scope="module")
def compat(checkout, tmp_path_factory):
    """The same of the package with the names of smdebug."""
    return build(checkout / "packages" / "stepwatch-smdebug", tmp_path_factory.mktemp("compat"))


def described(wheel):
    """Return the metadata of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(x for x in archive.namelist() if x.endswith(".dist-info/METADATA"))
        return archive.read(name).decode()


class TestCompiled:
    def test_its_name_says_which_pythons_and_platform(self, released):
        """One wheel for every Python from 3.10 on."""
        wheel, source = released
        assert re.fullmatch(r"stepwatch-[\w.]+-cp310-abi3-\w+\.whl", wheel.name)
        assert re.fullmatch(r"stepwatch-[\w.]+\.tar\.gz", source.name)

    @pytest.mark.parametrize("python", PYTHONS)
    def test_it_works_where_nothing_else_is(self, released, compat, tmp_path, python):
        """With what it depends on, and with the package of smdebug's names beside it."""
        print(smoke([released[0], compat[0]], "compiled", tmp_path / "bare", python))
        code = "from smdebug.trials import create_trial"
        run(tmp_path / "bare/bin/python", "-c", code, cwd=tmp_path)

    def test_both_packages_are_of_one_version(self, released, compat):
        """The second needs the first of at least its own."""
        version = re.search(r"^Version: (.+)$", described(released[0]), re.MULTILINE)[1]
        assert f"\nVersion: {version}\n" in described(compat[0])
        assert f"\nRequires-Dist: stepwatch>={version}\n" in described(compat[0])

    def test_the_source_holds_what_it_is_built_from(self, released):
        """Headers as well: the wheel was built from it."""
        with tarfile.open(released[1]) as archive:
            names = {name.partition("/")[2] for name in archive.getnames()}
        assert {"LICENSE", "setup.py", "src/stepwatch/_digest.h", "src/stepwatch/py.typed"} <= names


class TestWithoutCompiler:
    def test_the_wheel_is_for_every_platform_and_says_so(self, checkout, compat, tmp_path):
        """Tagged as pure Python; it works, and says that it is slow."""
        (wheel,) = build(checkout, tmp_path / "dist", "--wheel", CC="false")
        assert wheel.name.endswith("-py3-none-any.whl")
        print(smoke([wheel, compat[0]], "numpy", tmp_path / "bare"))

    def test_a_release_is_not_made_without_it(self, checkout, tmp_path):
        """STEPWATCH_REQUIRE_KERNEL makes it an error."""
        asked = {"CC": "false", "STEPWATCH_REQUIRE_KERNEL": "1"}
        with pytest.raises(AssertionError, match=r"(?i)error: command .*false"):
            build(checkout, tmp_path / "dist", "--wheel", **asked)


class TestPackagePage:
    @pytest.mark.parametrize("package", ["released", "compat"])
    def test_nothing_on_it_leads_into_the_checkout(self, package, request):
        """Pictures and links of the repository are not where the page is."""
        page = described(request.getfixturevalue(package)[0]).partition("\n\n")[2]
        links = re.findall(r"\]\(([^)]+)\)", page)

        assert page.strip()
        assert [] == [link for link in links if not link.startswith("https://")]

    def test_indexes_take_and_draw_it(self, released, compat):
        """As twine finds out."""
        run(sys.executable, "-m", "twine", "check", "--strict", *released, *compat, cwd=ROOT)
