"""Make the pages of the documentation site that are no files in ``docs``; a hook of MkDocs.

The API reference has a page for each module in the table of ``stability.md``. The README and its
like become pages, and so does each script in ``examples``. Links that lead out of the site become
their text: where the repository lies, nothing here knows.
"""

from __future__ import annotations

import ast
import importlib
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
#: Where packages are; ``mkdocs.yml`` names them too.
SOURCES = (ROOT / "src", ROOT / "packages/stepwatch-smdebug/src")
#: Files of the repository that are pages of the site, under another name.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
} | {
    path.relative_to(ROOT).as_posix(): f"examples/{path.stem}.md"
    for path in sorted(ROOT.glob("examples/[0-9]*.py"))
}
# A link, or code, in which nothing is a link.
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)|`[^`\n]+`")
_BLOCK = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| `(stepwatch[\w.]*)` \| (.+?) \|", re.MULTILINE)


def public_modules() -> dict[str, str]:
    """Return the public modules, each with what it holds, as ``stability.md`` lists them."""
    return dict(_ROW.findall((ROOT / "docs/stability.md").read_text(encoding="utf-8")))


def public_names(module: str) -> list[str]:
    """Return the public names of a module; of one whose framework is not installed, too."""
    try:
        loaded = importlib.import_module(module)
    except ImportError:
        return _declared(module)
    own = [x for x, value in vars(loaded).items() if getattr(value, "__module__", "") == module]
    names = getattr(loaded, "__all__", None) or own
    return sorted(name for name in names if not name.startswith("_"))


def _declared(module: str) -> list[str]:
    """Return ``__all__``, or what a package imports from within, by its source alone."""
    source = next(one for one in SOURCES if (one / module.partition(".")[0]).is_dir())
    base = source.joinpath(*module.split("."))
    path = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    names: list[str] = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return sorted(ast.literal_eval(node.value))
        if isinstance(node, ast.ImportFrom) and node.level:
            names += [alias.asname or alias.name for alias in node.names]
    return sorted(names)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add what is made here to the navigation."""
    assert config.nav is not None
    reference = [{module: f"api/{module}.md"} for module in public_modules()]
    examples = [{Path(page).stem: page} for page in PAGES.values() if page.startswith("examples/")]
    made = [{"API reference": reference}]
    made += [{"Examples": ["examples/index.md", *examples]}] if examples else []
    place = next(x for x, entry in enumerate(config.nav) if "Troubleshooting" in entry)
    config.nav[place:place] = made
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made here."""
    for module, holds in public_modules().items():
        text = "\n\n".join(
            [f"# `{module}`", f"{holds}.", *(f"::: {module}.{x}" for x in public_names(module))]
        )
        files.append(File.generated(config, f"api/{module}.md", content=text))
    for source, page in PAGES.items():
        path = ROOT / source
        if path.exists():
            text = path.read_text(encoding="utf-8")
            text = _example(path.name, text) if path.suffix == ".py" else text
            files.append(File.generated(config, page, content=text))
    return files


def _example(name: str, code: str) -> str:
    """Return the page of a script: what it says of itself, and itself."""
    title, _, about = (ast.get_docstring(ast.parse(code)) or name).partition("\n")
    return f"# {title.rstrip('.')}\n\n{about.strip()}\n\n```python\n{code}```\n"


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Let links lead to pages of the site, and show blocks of code that tests run."""
    uri = page.file.src_uri
    source = next((path for path, made in PAGES.items() if made == uri), f"docs/{uri}")
    parts = _BLOCK.split(markdown)
    parts[::2] = [_LINK.sub(lambda found: _linked(found, source, uri), x) for x in parts[::2]]
    # What tests do with a block stands behind its language.
    return re.sub(r"^```(\w+) .*$", r"```\1", "".join(parts), flags=re.MULTILINE)


def _linked(found: re.Match[str], source: str, uri: str) -> str:
    """Return a link of a file of the repository as it stands on a page of the site."""
    if found[3] is None:
        return found[0]
    picture, text, link = found.groups()
    path, mark, anchor = link.partition("#")
    if re.match(r"[a-z]+:", link) or not path:
        return found[0]
    text = _LINK.sub(lambda inner: _linked(inner, source, uri), text)
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    if target in PAGES:
        target = PAGES[target]
    elif target.startswith("docs/"):
        target = target.removeprefix("docs/")
    else:
        return text
    return f"{picture}[{text}]({posixpath.relpath(target, posixpath.dirname(uri))}{mark}{anchor})"
