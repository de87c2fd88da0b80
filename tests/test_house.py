"""The house rules: layers, public doors, no private interfaces of dependencies, a good guest, one name for one thing.

Imports are read with `ast`, also those inside functions. docs/how-it-works.md tells the reasons.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType

import pytest

import bridgeval

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "bridgeval"

# Each layer may import the layers above it in this list, and rooms of its own layer.
LAYERS = (
    ("errors",),
    ("axes", "choices", "parallel", "progress"),
    ("io",),
    ("arguments",),
    ("tables",),
    ("batch",),
    ("engine",),
    ("convention", "hookspecs", "loading", "offers", "plugin_info", "plugins", "spec"),
    ("metrics",),
    ("stats", "inspection"),
    ("report",),
    (
        "baselines",
        "config",
        "evaluation",
        "examples",
        "explanation",
        "identification",
        "joint_evaluation",
        "merging",
        "online",
        "run_changes",
        "run_history",
        "saved_states",
        "slices",
        "systems",
        "verification",
    ),
    ("cli",),
)
# Rooms beside the layers -> the highest layer that they may import.
BESIDE = {
    "plugin": "report",
    "spark": "hookspecs",
    "testing": "evaluation",
    "demo": "evaluation",
    "pytest_gate": "baselines",
    "pytest_laws": "evaluation",
    "pytest_plugin": "errors",
    "__main__": "cli",
}
# Rooms that import the public doors and nothing deeper.
GUESTS = ("toolkits", "integrations")
DOORS = {"bridgeval"} | {f"bridgeval.{name}" for name in ("demo", "errors", "metrics", "plugin", "slices", "testing")}
# Modules that every toolkit has; commands are called as what they do.
SHARED_MODULES = {"ported", "__init__", "__main__", "loader", "reader", "conventions", "bases", "custom"}

# What a library does not do to the process it is called in.
FORBIDDEN_CALLS = (
    "set_num_threads",
    "mallopt",
    "register_at_fork",
    "gc.freeze",
    "gc.disable",
    "setitimer",
    "simplefilter",
    "filterwarnings",
    "signal.signal",
    "seterr",
    "manual_seed",
)
TOOLKITS = re.compile(r"librec|replay|warprec|recbole|lenskit|ranx|elliot", re.IGNORECASE)


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


SOURCES = {module_name(path): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """(module, name) of every absolute import; the name is "" for `import module`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((node.module or "", alias.name) for alias in node.names)


def own_imports(tree: ast.AST) -> Iterator[str]:
    """The modules of this package that are imported; a public name stands for the module that defines it."""
    for module, name in imports(tree):
        if module.split(".")[0] != "bridgeval":
            continue
        if f"{module}.{name}" in SOURCES:
            yield f"{module}.{name}"
        elif module == "bridgeval" and name in bridgeval._HOMES:
            yield bridgeval._HOMES[name]
        elif name != "__version__":
            yield module


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else "bridgeval"


def level(name: str) -> int:
    """The position of a room's layer; the package itself is a door to `evaluate`, above which only commands are."""
    name = {"bridgeval": "evaluation", "plugin": "report", "testing": "evaluation"}.get(name, name)
    for position, rooms in enumerate(LAYERS):
        if name in rooms:
            return position
    return -1


def check(found: set[str]) -> None:
    """Fails if anything was found; prints one line for each."""
    assert not found, "\n".join(["", *sorted(found)])


def test_every_room_has_a_place_in_the_layers():
    rooms = {room(module) for module in SOURCES} - {"bridgeval"}
    placed = {name for rooms in LAYERS for name in rooms} | set(BESIDE) | set(GUESTS)
    assert rooms <= placed


def test_imports_go_one_way():
    found = set()
    for module, tree in SOURCES.items():
        here = "__main__" if module.endswith(".__main__") else room(module)
        if here in GUESTS or module == "bridgeval":
            continue
        highest = level(BESIDE.get(here, here))
        for other in own_imports(tree):
            there = room(other)
            if there == here or (here in BESIDE and other in DOORS):
                continue
            # Commands are on top of everything.
            if level(there) > highest or (there in (*GUESTS, "spark") and here != "cli"):
                found.add(f"{module} -> {other}")
    check(found)


def test_leaves_import_only_errors():
    for leaf in ("errors", "axes", "choices", "parallel", "progress"):
        found = {room(module) for module in own_imports(SOURCES[f"bridgeval.{leaf}"])}
        assert found <= {"errors"}, leaf


def test_no_toolkit_imports_another():
    for module, tree in SOURCES.items():
        if room(module) == "toolkits":
            others = {name for name in own_imports(tree) if room(name) == "toolkits"}
            assert {name.split(".")[2] for name in others} <= set(module.split(".")[2:3]), module


def test_the_engine_and_what_is_below_names_no_toolkit():
    below = {name for rooms in LAYERS[: level("engine") + 1] for name in rooms}
    found = set()
    for module, tree in SOURCES.items():
        if room(module) not in below:
            continue
        for node in ast.walk(strip_docstrings(tree)):
            texts = [getattr(node, field, None) for field in ("id", "name", "attr", "value", "module")]
            found |= {f"{module}: {text}" for text in texts if isinstance(text, str) and TOOLKITS.search(text)}
    check(found)


def strip_docstrings(tree: ast.Module) -> ast.Module:
    """The same tree without strings that stand alone; prose may tell where a rule comes from."""

    class Strip(ast.NodeTransformer):
        def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
            return None if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str) else node

    return Strip().visit(ast.parse(ast.unparse(tree)))


def guests() -> dict[str, ast.AST]:
    """Everything that may use the public doors alone: toolkits, integrations, plugin packages, code in the docs."""
    found: dict[str, ast.AST] = {module: tree for module, tree in SOURCES.items() if room(module) in GUESTS}
    for path in sorted((ROOT / "plugins").rglob("*.py")):
        if "build" not in path.parts and not path.name.startswith("test_"):
            found[str(path.relative_to(ROOT))] = ast.parse(path.read_text(encoding="utf-8"))
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        found[str(path.relative_to(ROOT))] = ast.parse("\n".join(code_blocks(path.read_text(encoding="utf-8"))))
    return found


def code_blocks(text: str) -> Iterator[str]:
    for block in re.findall(r"```python(?: integration| torchrun)?\n(.*?)```", text, re.DOTALL):
        examples = doctest.DocTestParser().get_examples(block)
        code = "".join(example.source for example in examples) if examples else block
        try:
            ast.parse(code)
        except SyntaxError:
            # A fragment such as a signature: its import lines are read alone.
            code = "\n".join(line.strip() for line in code.splitlines() if re.match(r"\s*(from|import) \S+", line))
        yield code


def is_door(guest: str, module: str) -> bool:
    if module in DOORS:
        return True
    parts = module.split(".")
    if parts[1] in (*GUESTS, "spark"):
        is_own = guest.startswith(".".join(parts[:3]))
        return is_own or len(parts) <= 3
    return False


def test_guests_import_only_public_doors():
    found = set()
    for guest, tree in guests().items():
        for module, name in imports(tree):
            if module.split(".")[0] != "bridgeval":
                continue
            named = f"{module}.{name}" if f"{module}.{name}" in SOURCES else module
            if not is_door(guest, named) and name not in getattr(importlib.import_module(module), "__all__", ()):
                found.add(f"{guest} -> {named}")
            elif module == "bridgeval" and name and name not in (*bridgeval.__all__, "__version__"):
                found.add(f"{guest} -> bridgeval.{name}")
    check(found)


def test_every_class_and_function_of_the_plugin_door_has_a_docstring_of_its_own():
    from bridgeval import plugin

    named = {name: getattr(plugin, name) for name in plugin.__all__}
    assert len(named) == len(plugin.__all__)
    for name, one in named.items():
        if isinstance(one, type | FunctionType) and one.__module__.startswith("bridgeval."):
            # A dataclass without a docstring gets its signature as one.
            assert not (one.__doc__ or f"{name}(").startswith(f"{name}("), name


def test_no_private_module_or_attribute_of_a_dependency_is_used():
    own = {name for tree in SOURCES.values() for name in private_names(tree)}
    found = set()
    for module, tree in SOURCES.items():
        for imported, name in imports(tree):
            parts = [*imported.split("."), name]
            if parts[0] != "bridgeval" and any(is_private(part) for part in parts):
                found.add(f"{module}: {imported}.{name}".removesuffix("."))
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in own:
                found.add(f"{module}: .{node.attr}")
            if isinstance(node, ast.Constant) and node.value in ("_jdf", "_jvm", "_sc", "_jsparkSession"):
                found.add(f"{module}: {node.value!r}")
    check(found)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def private_names(tree: ast.AST) -> Iterator[str]:
    """Private names that this package defines itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def test_nothing_of_the_host_process_is_set():
    found = set()
    for module, tree in SOURCES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute | ast.Name):
                text = ast.unparse(node)
                if module == "bridgeval.cli.stopping":
                    continue  # The command's own process, for as long as it runs.
                found |= {f"{module}: {text}" for call in FORBIDDEN_CALLS if text == call or text.endswith(f".{call}")}
    check(found)


def test_no_two_modules_have_one_name():
    places = defaultdict(set)
    for module in SOURCES:
        name = module.rpartition(".")[2]
        if name not in SHARED_MODULES and not is_package(module) and room(module) != "cli":
            places[name].add(module)
    found = {f"{name}: {', '.join(sorted(modules))}" for name, modules in places.items() if len(modules) > 1}
    check(found)


def is_package(module: str) -> bool:
    return (ROOT / Path(*module.split(".")) / "__init__.py").exists()


def test_no_two_classes_have_one_name():
    places = defaultdict(set)
    for module, tree in SOURCES.items():
        for node in ast.walk(tree):
            # A toolkit's classes have the names that its users import there.
            if isinstance(node, ast.ClassDef) and room(module) not in GUESTS:
                places[node.name].add(module)
    found = {f"{name}: {', '.join(sorted(modules))}" for name, modules in places.items() if len(modules) > 1}
    check(found)


def test_every_path_of_how_it_works_exists():
    text = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:bridgeval|tests)/[^`\s<>]*)`", text)
    assert len(named) > 40
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_how_it_works_lists_the_layers_and_the_rooms_beside_them():
    text = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \d+ \| (.+?) \|", text, re.MULTILINE)
    listed = [tuple(re.findall(r"`bridgeval/(\w+)(?:\.py)?`", row)) for row in rows]
    assert [set(rooms) for rooms in listed] == [set(rooms) for rooms in LAYERS]
    beside = [name for name in (*BESIDE, *GUESTS) if name != "__main__"]
    assert [name for name in beside if not re.search(rf"`bridgeval/{name}(\.py)?`", text)] == []


@pytest.mark.parametrize("code", ["from bridgeval.engine.plan import Plan", "import bridgeval.tables.ids"])
def test_a_deeper_import_is_no_door(code):
    ((module, _),) = imports(ast.parse(code))
    assert not is_door("bridgeval.toolkits.mine.loader", module)


def test_the_rules_see_imports_inside_functions():
    tree = ast.parse("def act():\n    from bridgeval.cli import main\n    from bridgeval import evaluate\n")
    assert list(own_imports(tree)) == ["bridgeval.cli", "bridgeval.evaluation"]
