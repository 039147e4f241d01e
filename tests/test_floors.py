"""The house holds: who may import whom, and what importing the package brings along."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import stepwatch

ROOT = Path(stepwatch.__file__).parent

#: Rooms by floor. A room may import from lower floors and from itself, never from its neighbours.
FLOORS = (
    ("errors",),
    ("_kernel", "plugins"),
    ("numerics",),
    ("model",),
    ("config", "runtime"),
    ("store",),
    ("formats",),
    ("capture", "trial"),
    ("profile",),
    ("judge", "diff"),
    ("hooks", "rules", "actions", "plots"),
    ("jobs", "report", "dashboard", "forward"),
    ("cli", "testing"),
    ("integrations",),
)
#: How long a chain of imports may be within one room, in files.
DEEPEST = 8
FRAMEWORKS = {
    "torch",
    "tensorflow",
    "keras",
    "jax",
    "xgboost",
    "lightgbm",
    "catboost",
    "sklearn",
    "mxnet",
}
FLOOR_OF = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}


def room_of(module: str) -> str:
    """Return the room of ``stepwatch.<room>.<…>``."""
    return module.split(".")[1]


def module_of(path: Path) -> str:
    """Return the name under which a file is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("stepwatch", *parts)).removesuffix(".__init__")


def imports(path: Path) -> set[str]:
    """Return the full names of all that a file imports, wherever in the file."""
    package = ".".join(("stepwatch", *path.relative_to(ROOT).parts[:-1]))
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            base = ".".join(parts[: len(parts) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            found.add(module)
            if module == "stepwatch":
                found.discard(module)
                found.update(f"stepwatch.{alias.name}" for alias in node.names)
    return found


def imports_at_once(path: Path) -> set[str]:
    """Return the modules of ours that are imported while a file is."""
    tree = ast.parse(path.read_text())
    package = module_of(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    found = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            below = {f"{module}.{alias.name}" for alias in node.names}
            # a package gives a file of its own whatever stands in the package itself
            found |= below if below <= MODULES.keys() else {module, *below}
    return found & MODULES.keys() - {module_of(path), "stepwatch"}


FILES = sorted(path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.name[0] != "_")
# Contracts for plug-in authors are tests themselves.
MODULES = {module_of(path): path for path in ROOT.rglob("*.py")}
GRAPH = {module: sorted(imports_at_once(path)) for module, path in MODULES.items()}
OURS = [path for path in FILES if path.relative_to(ROOT).parts[0] != "testing"]


class TestFloors:
    @pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
    def test_imports_go_downward(self, path):
        """A file imports from its own room and from lower floors only."""
        name = ".".join(("stepwatch", *path.relative_to(ROOT).with_suffix("").parts))
        room = room_of(name)
        ours = [module for module in imports(path) if module.startswith("stepwatch.")]
        wrong = [
            module
            for module in ours
            if room_of(module) not in ("__version__", room)
            and FLOOR_OF[room_of(module)] >= FLOOR_OF[room]
        ]

        assert [] == wrong

    def test_every_room_stands_on_a_floor(self):
        """A new file or folder in the package must be given its place."""
        rooms = {room_of(f"stepwatch.{path.stem}") for path in ROOT.iterdir() if path.suffix != ""}
        folders = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}

        assert set() == (rooms | folders) - FLOOR_OF.keys() - {
            "__init__",
            "__main__",
            "py",
            "_kernel.abi3",
            *("_crc32c", "_digest", "_dlpack", "_exponents", "_files", "_matcher"),  # C
        }

    @pytest.mark.slow
    def test_only_hooks_import_a_framework(self):
        """Everything else works where no framework is installed."""
        wrong = {
            str(path.relative_to(ROOT))
            for path in FILES
            if FRAMEWORKS & {module.split(".")[0] for module in imports(path)}
            and path.relative_to(ROOT).parts[0] != "hooks"
        }

        assert set() == wrong

    def test_only_two_files_have_threads(self):
        """Slow work in the background, and many small reads at once; locks may stand elsewhere."""
        wrong = {
            path.name
            for path in OURS
            if any(word in path.read_text() for word in ("Thread(", "ThreadPoolExecutor"))
        }

        assert {"background.py", "parallel.py"} == wrong

    def test_only_config_reads_the_environment(self):
        """What a variable may change is found in one place."""
        words = ("os.environ", "os.getenv")
        wrong = {path.name for path in OURS if any(word in path.read_text() for word in words)}

        assert {"variables.py"} == wrong

    def test_files_import_each_other_in_one_direction(self):
        """No file is needed while it is itself being imported."""
        assert [] == longest_chain(GRAPH)[1]

    @pytest.mark.parametrize("room", sorted(FLOOR_OF))
    def test_chains_of_imports_within_a_room_are_short(self, room):
        """Who reads a file need not read half of the room before."""
        inside = {
            module: [other for other in others if room_of(other) == room]
            for module, others in GRAPH.items()
            if module != "stepwatch" and room_of(module) == room
        }
        chain, _ = longest_chain(inside)

        assert len(chain) <= DEEPEST, " -> ".join(chain)


def longest_chain(graph: dict[str, list[str]]) -> tuple[list[str], list[str]]:
    """Return the longest chain of imports, and a cycle, empty if there is none."""
    below: dict[str, list[str]] = {}
    way: list[str] = []
    cycle: list[str] = []

    def visit(module: str) -> list[str]:
        if module in way:
            cycle[:] = cycle or [*way[way.index(module) :], module]
            return []
        if module not in below:
            way.append(module)
            below[module] = [module, *max(map(visit, graph.get(module, [])), key=len, default=[])]
            way.pop()
        return below[module]

    return max(map(visit, sorted(graph)), key=len, default=[]), cycle


class TestImport:
    def test_importing_the_package_loads_nothing_heavy(self):
        """No framework, web server, cloud client, array library or thread comes with it."""
        program = (
            "import sys, threading, stepwatch; "
            "print(threading.active_count(), *sorted({m.split('.')[0] for m in sys.modules}))"
        )
        output = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout
        threads, *modules = output.split()

        assert "1" == threads
        assert set() == set(modules) & (
            FRAMEWORKS | {"numpy", "pyarrow", "plotly", "rich", "click", "starlette", "boto3"}
        )

    @pytest.mark.slow
    def test_reading_and_judging_a_run_needs_no_framework(self):
        """Trial, rules and command line import where no framework is."""
        program = (
            "import sys, stepwatch.cli.check, stepwatch.cli.show, stepwatch.cli.run; "
            "print(*sorted({m.split('.')[0] for m in sys.modules}))"
        )
        output = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout

        assert set() == set(output.split()) & FRAMEWORKS

    def test_every_public_name_is_there(self):
        """``__all__`` holds what can be imported, and nothing else."""
        assert all(getattr(stepwatch, name) is not None for name in stepwatch.__all__)

    def test_an_unknown_name_is_an_attribute_error(self):
        """The lazy look-up behaves as a module's."""
        with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
            _ = stepwatch.nosuch
