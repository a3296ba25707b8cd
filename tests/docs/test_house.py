"""The picture of the rooms is drawn, and imports go one way: among rooms, and among files."""

import ast
import sys

from page_blocks import ROOT

sys.path.insert(0, str(ROOT / "docs" / "_hooks"))

import house

MODULES = {
    ".".join(path.relative_to(house.SOURCE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in house.SOURCE.rglob("*.py")
}


def imported(node):
    """The modules that a file imports, also inside functions, but not for types alone."""
    for line in house.statements(node):
        if isinstance(line, ast.ImportFrom) and (line.module or "").startswith("adyton"):
            names = {f"{line.module}.{name.name}" for name in line.names}
            yield from names & MODULES.keys() or {line.module}
        elif isinstance(line, ast.Import):
            yield from MODULES.keys() & {name.name for name in line.names}
        elif not (isinstance(line, ast.If) and ast.unparse(line.test) == "TYPE_CHECKING"):
            yield from imported(line)


def test_rooms_stand_on_rooms():
    (ground, *_, highest) = house.floors()
    assert (ground, highest) == ((house.GROUND,), ("cli",))
    picture, listed = house.picture(), house.reading_list()
    for room in (room for floor in house.floors() for room in floor):
        assert f">{room}</text>" in picture
        assert f"| `{room}` |" in listed
    assert not house.imports()["kernel"] - {"ground", "noise", "queries", "schema"}


def test_no_circle_among_files():
    faces = {name for name, path in MODULES.items() if path.name == "__init__.py"}  # they only hand names on
    left = {
        name: {used for used in imported(house.parsed(path)) if used not in faces and not upwards(name, used)}
        for name, path in MODULES.items()
        if name not in faces
    }
    while ready := [name for name, used in left.items() if not used & left.keys()]:
        left = {name: used for name, used in left.items() if name not in ready}
    assert not left, f"among these is a circle: {sorted(left)}"


def upwards(name, used):
    return any(
        name.startswith(f"adyton.{room}.") and used.startswith(tuple(f"adyton.{one}." for one in above))
        for room, above in house.UPWARD.items()
    )
