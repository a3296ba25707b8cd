"""The picture of the rooms is drawn, and imports go one way: among rooms, and among modules of both packages."""

import ast
import re
import sys

import numpy as np
from page_blocks import ROOT
from scipy.sparse.csgraph import connected_components

sys.path.insert(0, str(ROOT / "docs" / "_hooks"))

import house

LIMITS = {"circles": 0, "imports inside functions": 40, "without a reason": 0}
"""How many there may be."""

DEFENDED: dict[tuple[str, str], str] = {
    ("adyton.result.shown", "adyton.result.release"): "words and sheets of a release take it, in types only",
    ("adyton.result.combining", "adyton.result.release"): "releases are combined into a release, in types only",
    ("adyton.result.number", "adyton.result.release"): "how many were cut off is read from a release, in types only",
}
"""Imports (module, what it imports) that may close a circle, each with the sentence that defends it."""

CALLS = {
    ("adyton.result.result", "adyton.result.folder"): "a result has a load, which makes what it belongs to",
}
"""Imports inside functions that go upwards within a room, each with its reason."""

SOURCE = ROOT / "src"
MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in SOURCE.rglob("*.py")
}


def imports(tree, kind="module"):
    """(kind, line, module of ours) for every import in a module: kind is "module", "types" or "function"."""
    for node in house.statements(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("adyton"):
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from sorted({(kind, node.lineno, name if name in MODULES else node.module) for name in names})
        elif isinstance(node, ast.Import):
            yield from ((kind, node.lineno, alias.name) for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from imports(node, "function")
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from imports(node, "types")
        else:
            yield from imports(node, kind)


def graph(kinds, allowed):
    """The modules of ours that every module imports in one of these ways, without the allowed pairs."""
    return {
        module: {used for kind, _, used in imports(house.parsed(path)) if kind in kinds and not allowed(module, used)}
        for module, path in MODULES.items()
    }


def circles(used_by):
    """The groups of modules that all import one another, directly or not."""
    modules = sorted(used_by)
    matrix = np.array([[other in used_by[module] and other != module for other in modules] for module in modules])
    _, labels = connected_components(matrix, connection="strong")
    groups = [[module for module, label in zip(modules, labels, strict=True) if label == k] for k in set(labels)]
    return sorted(group for group in groups if len(group) > 1)


def without_a_reason(text):
    """The lines of imports of ours inside functions that have no comment, there or above the imports around them."""
    lines = text.splitlines()
    places = {line for kind, line, _ in imports(ast.parse(text)) if kind == "function"}

    def explained(line):
        beside = re.search(r"  # (?!noqa|type:)", lines[line - 1])
        return beside or lines[line - 2].strip().startswith("# ") or (line - 1 in places and explained(line - 1))

    return sorted(line for line in places if not explained(line))


def test_rooms_stand_on_rooms():
    (ground, *_, highest) = house.floors()
    assert (ground, highest) == ((house.GROUND,), ("cli",))
    picture, listed = house.picture(), house.reading_list()
    for room in (room for floor in house.floors() for room in floor):
        assert f">{room}</text>" in picture
        assert f"| `{room}` |" in listed
    assert not house.imports()["kernel"] - {"ground", "noise", "queries", "schema"}


def test_no_circle_among_modules():
    """Neither when they are loaded nor in their types."""
    closed = circles(graph({"module", "types"}, lambda *pair: pair in DEFENDED))
    assert len(closed) <= LIMITS["circles"], f"these modules import one another: {closed}"


def test_no_circle_among_modules_of_the_product_that_functions_close():
    faces = {name for name, path in MODULES.items() if path.name == "__init__.py"}  # they only hand names on

    def allowed(module, used):
        return faces & {module, used} or (module, used) in CALLS or upwards(module, used)

    product = {m: used for m, used in graph({"module", "function"}, allowed).items() if m.startswith("adyton.")}
    closed = circles(product)
    assert not closed, f"these modules import one another: {closed}"


def upwards(module, used):
    return any(
        module.startswith(f"adyton.{room}.") and used.startswith(tuple(f"adyton.{name}." for name in above))
        for room, above in house.UPWARD.items()
    )


def test_few_imports_inside_functions_and_each_with_its_reason():
    inside, bare = [], []
    for module, path in MODULES.items():
        inside += [f"{module}:{line} {used}" for kind, line, used in imports(house.parsed(path)) if kind == "function"]
        bare += [f"{module}:{line}" for line in without_a_reason(path.read_text(encoding="utf-8"))]
    assert len(inside) <= LIMITS["imports inside functions"], "\n".join(inside)
    assert len(bare) <= LIMITS["without a reason"], f"say in a comment why these are imported late: {bare}"


def test_circles_and_silent_imports_are_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}) == [["a", "b", "c"]]
    above = "def f():\n    # loading it takes a second\n    import adyton.errors\n    import adyton.exact\n"
    beside = "def f():\n    from adyton.errors import InvalidData  # loading it takes a second\n"
    bare = "def f():\n    '''# no comment.'''\n    from adyton import exact  # noqa: PLC0415\n"
    assert [without_a_reason(text) for text in (above, beside, bare)] == [[], [], [3]]
    types = "if TYPE_CHECKING:\n    from adyton import exact\nclass A:\n    import adyton.errors\n"
    assert list(imports(ast.parse(types))) == [("types", 2, "adyton.exact"), ("module", 4, "adyton.errors")]
