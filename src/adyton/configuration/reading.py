"""Instances from text files. A file that cannot be opened is an error; nothing that it contains is.

What an instance holds is private: an error, or a number of skipped lines, would reveal something about it. So every
text can be read: a line that makes no sense is skipped, numbers beyond the limits are left out, and an empty file is an
empty instance.
"""

from __future__ import annotations

import glob
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from adyton.configuration.problems import Bids, CutGraph, Deliveries, Items, WeightedGraph
from adyton.errors import BadInput
from adyton.messages import listing, shorten

MOST_CUT_VERTICES = 3_000
"""Vertices with larger numbers are left out: a weight for every pair is kept."""


def cut_graph_in(text: str) -> CutGraph:
    """A graph: "vertices edges", then a line "i j weight" for each edge; vertices count from 1.

    An edge without a weight weighs 1, edges between the same two vertices are added up, and lines that make no sense
    are skipped.

    >>> cut_graph_in("3 2\\n1 2 2.5\\n2 3\\n").weights[1].tolist()
    [2.5, 0.0, 1.0]
    """
    rows = [words for line in text.splitlines() if (words := line.split())]
    size = min(_vertex(rows[0][0]) or 0, MOST_CUT_VERTICES) if rows else 0
    weights = np.zeros((size, size))
    with np.errstate(all="ignore"):
        for words in rows[1:]:
            first, second = (_vertex(word) for word in [*words, "", ""][:2])
            weight = _weight(words[2]) if len(words) > 2 else 1.0
            if first and second and max(first, second) <= size and first != second:
                weights[first - 1, second - 1] += weight
                weights[second - 1, first - 1] += weight
    return CutGraph(weights)


def _vertex(word: str) -> int | None:
    return int(word) if word.isascii() and word.isdigit() and len(word) < 10 else None


def _weight(word: str) -> float:
    """The number, or 0 for other words."""
    try:
        weight = float(word)
    except ValueError:
        return 0.0
    return weight if math.isfinite(weight) else 0.0


MOST_VERTICES = 100_000
"""Vertices with larger numbers are left out."""
MOST_CUSTOMERS = 2_000
"""The most customers that are read: all distances between them are kept."""
JSON_LINES = (".jsonl", ".ndjson")

Kind = TypeVar("Kind")
Files = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def read_instances(kind: type[Kind], files: Files) -> list[Kind]:
    """The instances in one or several files, or in those that match a pattern like ``bids/*.txt``, in order of names.

    *kind* is the ``kind`` of a family. A file holds one instance in the format that is common for its kind:
    :func:`items_in`, :func:`graph_in`, :func:`bids_in`, :func:`deliveries_in` or
    :func:`~adyton.configuration.reading.cut_graph_in`. A file whose name ends in ``.jsonl`` holds one instance per
    line, as a JSON object with the fields of its kind; that works for a kind of your own, too.
    """
    instances: list[Kind] = []
    for path in paths_of(files):
        text = _text(path)
        if path.suffix.lower() in JSON_LINES:
            instances += _json_lines(kind, text)
        elif kind in READERS:
            instances.append(READERS[kind](text))
        else:
            known = listing(reader.__name__ for reader in READERS)
            raise BadInput(
                f"there is no text format for {kind.__name__}, only for {known}. "
                f"Give a file of JSON lines that ends in {JSON_LINES[0]}."
            )
    return instances


def items_in(text: str) -> Items:
    """A knapsack: "count capacity", then a line "value size" for each item.

    >>> items_in("2 50\\n60 10\\n100 20\\n").sizes
    array([10., 20.])
    """
    rows = [numbers for line in text.splitlines() if len(numbers := _numbers(line.split())) == 2 == len(line.split())]
    (count, capacity), pairs = (rows[0], rows[1:]) if rows else ((0.0, 0.0), [])
    kept = pairs[: int(count)] if 0 <= count < len(pairs) else pairs
    values, sizes = np.array(kept, dtype=np.float64).reshape(-1, 2).T
    return Items(values, sizes, capacity)


def graph_in(text: str) -> WeightedGraph:
    """A graph in DIMACS format: "p edge vertices edges", "e 1 2" for an edge, "n 1 5" for a vertex of weight 5.

    Vertices count from 1 and weigh 1 by default.

    >>> graph_in("p edge 3 1\\nn 2 5\\ne 1 2\\n").weights
    array([1., 5., 1.])
    """
    vertices, weights, edges = 0, {}, []
    for line in text.splitlines():
        letter, *words = line.split() or [""]
        if letter == "p" and len(words) > 1:
            vertices = min(max([vertices, *_whole(words[1:2])]), MOST_VERTICES)
        elif letter == "e" and len(pair := _whole(words[:2], MOST_VERTICES)) == 2:
            edges.append((pair[0] - 1, pair[1] - 1))
        elif letter == "n" and _whole(words[:1], MOST_VERTICES) and len(weight := _numbers(words[1:2])) == 1:
            weights[int(words[0])] = weight[0]
    if not vertices:
        vertices = max((end + 1 for edge in edges for end in edge), default=0)
    return WeightedGraph([weights.get(vertex, 1.0) for vertex in range(1, vertices + 1)], edges)


def bids_in(text: str) -> Bids:
    """Bids in the format of CATS: "goods 3", then "number price good good … #" for each bid; goods count from 0.

    Goods numbered from that count on are dummies: they only make bids of the same bidder exclude one another.

    >>> bids_in("goods 2\\nbids 1\\n0 9.5 0 1 #\\n").bundles
    ((0, 1),)
    """
    goods: int | None = None
    prices, bundles = [], []
    for line in text.splitlines():
        first, *words = line.split("%")[0].split("#")[0].split() or [""]
        if first.lower() == "goods":
            goods = next(iter(_whole(words[:1])), goods)
        elif _whole([first]) and (price := _numbers(words[:1])):
            prices.append(price[0])
            bundles.append(_whole(words[1:]))
    return Bids(prices, bundles, goods)


def deliveries_in(text: str) -> Deliveries:
    """Customers in the format of TSPLIB (``.vrp``), with points in the plane; distances are rounded as EUC_2D says.

    >>> deliveries_in('''CAPACITY : 10
    ... NODE_COORD_SECTION
    ... 1 0 0
    ... 2 3 4
    ... DEMAND_SECTION
    ... 2 7
    ... DEPOT_SECTION
    ... 1
    ... -1
    ... EOF''').distances
    array([[0., 5.],
           [5., 0.]])
    """
    points: dict[int, tuple[float, float]] = {}
    demands: dict[int, float] = {}
    depots: list[int] = []
    capacity, section = 0.0, ""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        words = line.split()
        if key.strip().upper() == "CAPACITY":
            capacity = next(iter(_numbers(value.split()[:1])), capacity)
        elif key.strip().upper().endswith("_SECTION"):
            section = key.strip().upper()
        elif node := _whole(words[:1]):
            numbers = _numbers(words[1:3])
            if section == "NODE_COORD_SECTION" and len(numbers) == 2 and len(points) <= MOST_CUSTOMERS:
                points[node[0]] = (numbers[0], numbers[1])
            elif section == "DEMAND_SECTION" and numbers:
                demands[node[0]] = numbers[0]
            elif section == "DEPOT_SECTION":
                depots.append(node[0])
    depot = next((node for node in depots if node in points), next(iter(points), 0))
    customers = [node for node in points if node != depot]
    exact = Deliveries.in_the_plane(
        points.get(depot, (0.0, 0.0)),
        [points[node] for node in customers],
        [demands.get(node, 0.0) for node in customers],
        capacity,
    )
    return Deliveries(np.floor(exact.distances + 0.5), exact.demands, capacity)


READERS: dict[type, Callable[[str], Any]] = {
    Items: items_in,
    WeightedGraph: graph_in,
    Bids: bids_in,
    Deliveries: deliveries_in,
    CutGraph: cut_graph_in,
}
"""For each kind of instance, the function that reads the text of a file."""


def paths_of(files: Files) -> Iterator[Path]:
    """Files one by one; patterns are replaced by the files that match."""
    for given in [files] if isinstance(files, str | os.PathLike) else files:
        path = Path(given)
        if path.exists() or not glob.has_magic(str(given)):
            yield path
            continue
        named = sorted(glob.glob(str(given), recursive=True))
        if not named:
            raise BadInput(f"no file matches {shorten(str(given))}. Check the folder and the pattern.")
        yield from map(Path, named)


def _text(path: Path) -> str:
    problem = "cannot be read"
    try:
        return path.read_bytes().decode("utf-8", errors="replace")
    except FileNotFoundError:
        problem = "does not exist"
    except IsADirectoryError:
        problem = "is a folder"
    except (OSError, ValueError):
        pass
    raise BadInput(f"the file {shorten(str(path))} {problem}. Give files of instances, or a pattern like bids/*.txt.")


def _json_lines(kind: type[Kind], text: str) -> Iterator[Kind]:
    """The instance of each line that holds one."""
    make: Any = _deliveries if issubclass(kind, Deliveries) else kind
    for line in text.splitlines():
        try:
            held = json.loads(line)
            yield held if isinstance(held, kind) else make(**held)
        except Exception:  # nothing that a line holds is an error
            continue


def _deliveries(**fields: Any) -> Deliveries:
    return Deliveries(**fields) if "distances" in fields else Deliveries.in_the_plane(**fields)


def _numbers(words: Sequence[str]) -> list[float]:
    """The numbers among words."""
    numbers = []
    for word in words:
        with suppress(ValueError):
            numbers.append(float(word))
    return numbers


def _whole(words: Sequence[str], most: int = (1 << 62)) -> list[int]:
    """The whole numbers among words, from 0 to *most*."""
    digits = (word for word in words if word.isascii() and word.isdigit() and len(word) < 20)
    return [number for number in map(int, digits) if number <= most]
