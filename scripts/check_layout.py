"""Owns the house rules that no other linter knows: names, first lines, who prints, who reads the environment.

Layers and doors are left to import-linter, style to ruff, types to mypy. Usage: check_layout.py [ROOT]
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

FORBIDDEN_NAMES = {"util", "utils", "common", "helper", "helpers", "misc", "manager", "models"}

# The module of chrono/ that may print; everything else returns values.
PRINTER = "chrono/cli/render.py"

# Modules that may read the environment or the home folder; everything else is handed what it needs.
READERS = (
    "chrono/cli/render.py",
    "chrono/guard/client.py",
    "chrono/record/settings.py",
    "chrono/workspace/config.py",
)

# A test folder under tests/unit mirrors chrono/; these test modules are about the project itself.
PROJECT_TESTS = {"tests/unit/test_contracts.py", "tests/unit/test_check_layout.py", "tests/unit/test_imports.py"}

# Names that are there for others than the code of this house: public suites, verbs that `cli.app` calls by their
# names, hooks of pytest, tables that tests go through, and the points at which they let a process die.
CALLED_FROM_OUTSIDE = re.compile(
    r"chrono/testing/.*|chrono/cli/commands/.* run_\w+|chrono/cli/app.py VERBS"
    r"|chrono/trace/.* (PUBLIC_MODELS|schema_files)|.* (pytest_\w+|\w*STEPS|__\w+__)"
)

MAX_LINES = 700
FACADES = {"chrono/__init__.py", "chrono/record/__init__.py"}


def problems(root: Path) -> Iterator[str]:
    """Every broken rule as `path:line: what`."""
    public: list[tuple[str, str, int]] = []
    for path in sorted((root / "chrono").rglob("*.py")):
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        yield from _names(name)
        yield from _first_line(name, tree)
        yield from _size(name, text)
        yield from _door_signs(name, tree)
        nodes = list(ast.walk(tree))
        for node in nodes:
            yield from _prints(name, node)
            yield from _reads_environment(name, node)
            yield from _dangerous(name, node)
            yield from _borrowed(name, node)
        yield from _unread(name, tree, nodes)
        public += [(name, defined, line) for defined, line in _defined(tree) if not _is_private(defined)]
    yield from _unused(root, public)
    yield from _mirrors(root)
    yield from _rules_are_data(root)
    yield from _rooms_are_told(root)


def _names(name: str) -> Iterator[str]:
    for part in name.removesuffix(".py").split("/"):
        if part in FORBIDDEN_NAMES:
            yield f"{name}:1: '{part}' says nothing about what it owns; take a word from the glossary"


def _first_line(name: str, tree: ast.Module) -> Iterator[str]:
    if not (ast.get_docstring(tree) or "").strip():
        yield f"{name}:1: the first line must say what the file owns"


def _size(name: str, text: str) -> Iterator[str]:
    lines = text.count("\n")
    if lines > MAX_LINES:
        yield f"{name}:1: {lines} lines; there are two things inside"


def _door_signs(name: str, tree: ast.Module) -> Iterator[str]:
    if name.endswith("/__init__.py") and name not in FACADES and len(tree.body) > 1:
        yield f"{name}:{tree.body[1].lineno}: an __init__.py is a door sign: its docstring only"


def _prints(name: str, node: ast.AST) -> Iterator[str]:
    if name == PRINTER:
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("print", "input"):
        yield f"{name}:{node.lineno}: {node.func.id}() belongs to cli.render"
    if (
        isinstance(node, ast.Attribute)
        and _dotted(node) in ("sys.stdout", "sys.stderr")
        and name != "chrono/cli/main.py"
    ):
        yield f"{name}:{node.lineno}: {_dotted(node)} belongs to cli.render"


def _reads_environment(name: str, node: ast.AST) -> Iterator[str]:
    if name in READERS:
        return
    if isinstance(node, ast.Attribute) and _dotted(node) in (
        "os.environ",
        "os.environb",
        "os.getenv",
        "posix.environ",
        "os.path.expanduser",
        "Path.home",
    ):
        yield f"{name}:{node.lineno}: {_dotted(node)} is read in workspace.config and handed on"


def _dangerous(name: str, node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        for module in modules:
            if module.split(".")[0] in ("pickle", "shelve", "dill"):
                yield f"{name}:{node.lineno}: {module} runs what it reads"
    if (
        isinstance(node, ast.keyword)
        and node.arg == "shell"
        and isinstance(node.value, ast.Constant)
        and node.value.value
    ):
        yield f"{name}:{node.value.lineno}: shell=True"


def _borrowed(name: str, node: ast.AST) -> Iterator[str]:
    if not isinstance(node, ast.ImportFrom):
        return
    for alias in node.names:
        if node.module == "typing" and alias.name == "NamedTuple" and name != "chrono/tuples.py":
            yield f"{name}:{node.lineno}: NamedTuple comes from chrono.tuples: typing's compiles code at every start"
        if (node.module or "").split(".")[0] == "chrono" and _is_private(alias.name):
            yield f"{name}:{node.lineno}: {alias.name} is private to {node.module}"


def _unread(name: str, tree: ast.Module, nodes: list[ast.AST]) -> Iterator[str]:
    """Private names of a module that it does not read itself; nobody else may."""
    read = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    for defined, line in _defined(tree):
        if _is_private(defined) and defined not in read:
            yield f"{name}:{line}: nothing reads {defined}"


def _unused(root: Path, public: list[tuple[str, str, int]]) -> Iterator[str]:
    """Of (file, name, line) those that stand nowhere else in what is shipped or run; a test's call is no use."""
    folders = [root / "chrono", root / "plugins", root / "scripts"]
    paths = [path for folder in folders for path in folder.rglob("*") if path.suffix in ("", ".py", ".pyi")]
    texts = [path.read_text(encoding="utf-8") for path in [*paths, root / "pyproject.toml"] if path.is_file()]
    words = Counter(word for text in texts for word in re.findall(r"\w+", text))
    for name, defined, line in public:
        if words[defined] == 1 and not CALLED_FROM_OUTSIDE.fullmatch(f"{name} {defined}"):
            yield f"{name}:{line}: nothing uses {defined}"


def _defined(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """The names that a module gives to functions, classes and values, with their lines."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((target.id, node.lineno) for target in targets if isinstance(target, ast.Name))


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _mirrors(root: Path) -> Iterator[str]:
    unit = root / "tests" / "unit"
    for path in sorted(unit.rglob("test_*.py")):
        name = path.relative_to(root).as_posix()
        if name in PROJECT_TESTS:
            continue
        folder = root / "chrono" / path.relative_to(unit).parent
        if not folder.is_dir():
            yield f"{name}:1: tests/unit mirrors chrono/, and {folder.relative_to(root).as_posix()}/ does not exist"


def _rules_are_data(root: Path) -> Iterator[str]:
    for path in sorted((root / "rules").rglob("*.py")):
        yield f"{path.relative_to(root).as_posix()}:1: rule packs are data; nothing under rules/ is imported"


def _rooms_are_told(root: Path) -> Iterator[str]:
    """Rooms and modules of the first level that architecture.md does not name, and names in its table that are none."""
    table = (root / "docs" / "architecture.md").read_text(encoding="utf-8").partition("\n## One call")[0]
    told = {name for cell in re.findall(r"^\| (`[^|]*) \|", table, re.M) for name in re.findall(r"`(\w+)`", cell)}
    places = [path for path in (root / "chrono").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    rooms = {path.stem for path in places} - {"__init__"}
    for name in sorted(rooms ^ told):
        what = "does not say what chrono/{} owns" if name in rooms else "tells of chrono/{}, which does not exist"
        yield f"docs/architecture.md:1: it {what.format(name)}"


def _dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    found = list(problems(root))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
