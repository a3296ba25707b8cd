"""Draws the rooms of the package from the code's own imports: what stands on what, and in which order to read it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from generated import filled

NAME = "house"
SOURCE = Path(__file__).parents[2] / "src" / "adyton"
GROUND = "ground"
"""All modules that lie directly in the package."""

UPWARD = {
    "result": {"report"},
    "marginals": {"report"},
    "statistics": {"report"},
    "learning": {"report", "programs", "session"},
    "configuration": {"report", "programs", "session"},
}
"""A result shows itself when it is asked to, with what stands above it; and what asks by itself, an estimator or
``configure``, goes the one way from a request to a result. Nothing else calls upwards."""

_STYLE = (
    "<style>path{fill:none;stroke:#8a9a98}rect{fill:#e6f2f0;stroke:#4c7f78}"
    "text{font:14px sans-serif;text-anchor:middle;fill:#1c2b29}</style>"
)
_WIDTH, _STEP, _BOX = 960, 92, (132, 42)
"""The picture's width, a floor's height, a room's width and height."""


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the picture and the list of rooms where a page asks for them."""
    return filled(markdown, NAME, lambda: f"{picture()}\n\n{reading_list()}")


def for_the_repository() -> str:
    """The same, with the picture in a file of its own."""
    return f"![The rooms of the package, each above what it rests on](assets/house.svg)\n\n{reading_list()}"


def standing_alone() -> str:
    """The picture with its colours, as a file."""
    head, rest = picture().split(">", 1)
    return f'{head} xmlns="http://www.w3.org/2000/svg">{_STYLE}{rest}\n'


@cache
def imports() -> dict[str, frozenset[str]]:
    """For every room the rooms that it imports, also inside functions, but not for types alone."""
    found: dict[str, set[str]] = {GROUND: set()}
    for file in sorted(SOURCE.rglob("*.py")):
        place = file.relative_to(SOURCE)
        room = place.parts[0] if len(place.parts) > 1 else GROUND
        if place.name not in ("__init__.py", "__main__.py", "workloads.py") or room != GROUND:  # those are the face
            found.setdefault(room, set()).update(map(_room, _imported(parsed(file))))
    return {room: frozenset(used - {room} - UPWARD.get(room, set())) for room, used in found.items()}


@cache
def parsed(file: Path) -> ast.Module:
    """A file of the package, read once."""
    return ast.parse(file.read_text(encoding="utf-8"))


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in a node on lines of its own: no import is inside an expression."""
    return (line for line in ast.iter_child_nodes(node) if not isinstance(line, ast.expr | ast.arguments))


def _imported(node: ast.AST) -> Iterator[str]:
    for line in statements(node):
        if isinstance(line, ast.ImportFrom) and (line.module or "").startswith("adyton."):
            yield str(line.module)
        elif isinstance(line, ast.Import):
            yield from (name.name for name in line.names if name.name.startswith("adyton."))
        elif not (isinstance(line, ast.If) and ast.unparse(line.test) == "TYPE_CHECKING"):
            yield from _imported(line)


def _room(module: str) -> str:
    name = module.split(".")[1]
    return name if (SOURCE / name).is_dir() else GROUND


@cache
def floors() -> tuple[tuple[str, ...], ...]:
    """The rooms by floor, the ground first: a room stands above all that it imports. Rooms in a circle have none."""
    left = dict(imports())
    built: list[tuple[str, ...]] = []
    while left:
        ready = tuple(sorted(room for room, used in left.items() if not used & left.keys()))
        if not ready:
            raise ValueError(f"these rooms import one another in a circle: {', '.join(sorted(left))}")
        built.append(ready)
        left = {room: used for room, used in left.items() if room not in ready}
    return tuple(built)


def _below(room: str) -> frozenset[str]:
    """All rooms that a room rests on, directly or not."""
    return imports()[room].union(*(_below(used) for used in imports()[room]))


def _rests_on(room: str) -> list[str]:
    """What it imports, without what one of those rests on."""
    return sorted(used for used in imports()[room] if not any(used in _below(other) for other in imports()[room]))


def picture() -> str:
    """An SVG: floors from the ground up, and a line from every room to what it rests on."""
    width, height = _BOX
    places = {}
    for level, rooms in enumerate(reversed(floors())):
        for number, room in enumerate(rooms):
            places[room] = (_WIDTH * (number + 1) / (len(rooms) + 1), 10 + _STEP * level)
    lines, boxes = [], []
    for room, (x, y) in places.items():
        for used in _rests_on(room):
            there, top = places[used]
            middle = (y + height + top) / 2
            lines.append(
                f'<path d="M{x:.0f} {y + height} C{x:.0f} {middle:.0f} {there:.0f} {middle:.0f} {there:.0f} {top}"/>'
            )
        boxes.append(
            f"<g><title>{escape(_purpose(room))}</title>"
            f'<rect x="{x - width / 2:.0f}" y="{y}" width="{width}" height="{height}" rx="6"/>'
            f'<text x="{x:.0f}" y="{y + height / 2 + 5:.0f}">{room}</text></g>'
        )
    tall = 10 + _STEP * len(places and floors()) - (_STEP - height) + 10
    return (
        f'<svg class="house" viewBox="0 0 {_WIDTH} {tall}" role="img" aria-label="The rooms of the package">'
        f"{''.join(lines)}{''.join(boxes)}</svg>"
    )


def reading_list() -> str:
    """The rooms from the ground up, each with what its own first line says."""
    rows = [f"| `{room}` | {_purpose(room)} |" for rooms in floors() for room in rooms]
    return "\n".join(["| room | what it is |", "|---|---|", *rows])


def _purpose(room: str) -> str:
    if room == GROUND:
        return "Modules that lie in no folder: exact numbers, words of messages, types of arrays, lazy compilation."
    text = ast.get_docstring(parsed(SOURCE / room / "__init__.py")) or ""
    return " ".join(text.split("\n\n")[0].split())
