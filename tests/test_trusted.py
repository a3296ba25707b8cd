"""The trusted part has the lines that it says it has, and nothing else reaches private rows or numbers.

Found in the text: who imports what, and who names the attributes behind which private data lie. Found while releases
run: whose functions are called between the debit and the answer, and whose functions hold private objects, arrays or
rows at any time. Below are mutants: modules that reach in, each in another way.
"""

import ast
import bisect
import functools
import itertools
import sys
import threading
import types
import typing

import numpy as np
import pandas as pd
import pyarrow
import pytest

import adyton as ad
from adyton.kernel.counting.rows import Batch
from adyton.kernel.counts import CountedTables, PrivateVector
from adyton.kernel.kernel import Kept, Kernel
from adyton.kernel.mechanisms import Mechanism
from adyton.kernel.reading.values import Values
from adyton.kernel.sealed import Sealed
from adyton.kernel.sources import Source
from adyton_lab.audit import trusted

SOURCES = trusted.sources()
CORE, ADDED = trusted.core(), trusted.added()
LISTED = [*CORE, *ADDED]
MAKERS = ("kernel.counting.public_rows",)
"""They make kernels and tables of public data."""


# ---- in the text ----------------------------------------------------------------------------------------------------


parsed = functools.cache(ast.parse)


@functools.cache
def imported(text):
    """(module, name, whether only a function imports it) of all that is imported from the package."""
    found = []

    def walk(node, within):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                continue
            inner = within or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            if isinstance(child, ast.Import):
                found.extend((alias.name[7:], "", inner) for alias in child.names if alias.name.startswith("adyton."))
            elif isinstance(child, ast.ImportFrom) and (child.module or "").split(".")[0] == "adyton":
                room = child.module[7:]
                for alias in child.names:
                    module = f"{room}.{alias.name}" if room else alias.name
                    found.append((module, "", inner) if module in SOURCES else (room, alias.name, inner))
            walk(child, inner)

    walk(parsed(text), False)
    return found


@functools.cache
def private_attributes():
    """The names under which the classes that seal private data keep them."""
    names = set()
    for module, path in SOURCES.items():
        if trusted.within(module, [*trusted.INSIDE, "kernel.kernel"]):
            for node in ast.walk(parsed(path.read_text())):
                if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "Sealed" for base in node.bases):
                    for part in ast.walk(node):
                        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
                            names.add(part.attr if ast.unparse(part.value) in ("self", "kernel") else "")
                        if isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) == "__slots__":
                            names.update(ast.literal_eval(part.value))
    return {name for name in names if name.startswith("_") and not name.startswith("__")}


def reaches(module, text):
    """The ways in which the text of a module beside the lists reaches inside."""
    found = []
    for source, name, _ in imported(text):
        if trusted.within(source, trusted.INSIDE) and name not in trusted.PASSED_ON and module not in trusted.OWNERS:
            found.append(f"{module} imports {name or 'all'} from {source}")
    tree = parsed(text)
    slots = [
        node for node in ast.walk(tree) if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__slots__"
    ]
    own = {name for node in slots for name in ast.literal_eval(node.value)}  # of its classes
    private = private_attributes()
    for node in ast.walk(tree) if module not in MAKERS else ():
        if isinstance(node, ast.Attribute) and node.attr in private and ast.unparse(node.value) not in ("self", "cls"):
            found.append(f"{module} names {ast.unparse(node)}")
        if isinstance(node, ast.Constant) and node.value in private and node.value not in own:
            found.append(f"{module} names {node.value!r}")
    return found


def test_the_lists_name_modules_that_exist_and_no_module_twice():
    for name in [*LISTED, *trusted.PUBLIC, *trusted.OWNERS]:
        assert any(trusted.within(module, [name]) for module in SOURCES), name
    for module in SOURCES:
        assert sum(trusted.within(module, names) for names in (*trusted.CORE.values(), *trusted.ADDED.values())) <= 1


def test_lines(capsys):
    totals = trusted.totals()
    with capsys.disabled():
        sys.stdout.write(f"\ntrusted lines: {', '.join(f'{part} {count:,}' for part, count in totals.items())}\n")
    assert {part: count for part, count in totals.items() if count > trusted.LIMITS[part]} == {}
    slack = {part: limit - totals[part] for part, limit in trusted.LIMITS.items()}
    assert max(slack.values()) < 500, "lower the limits: the lists have become shorter"


def test_the_core_imports_itself_and_what_is_public():
    wrong = []
    for module, path in SOURCES.items():
        if not trusted.within(module, CORE):
            continue
        for source, _, lazily in imported(path.read_text()):
            known = trusted.within(source, CORE) or source in trusted.PUBLIC
            if not known and not (lazily and trusted.within(source, ADDED)):
                wrong.append(f"{module} imports {source}")
    assert wrong == []


def test_no_module_beside_the_lists_reaches_inside():
    assert {"_kept", "_values", "_counts", "_table"} <= private_attributes()
    found = []
    for module, path in SOURCES.items():
        if not trusted.within(module, LISTED):
            found += reaches(module, path.read_text())
    assert found == []


def test_the_product_does_not_import_the_laboratory():
    named = [module for module, path in SOURCES.items() if "adyton_lab" in path.read_text()]
    assert named == ["", "kernel.instances.tuned_parameter"]  # the lazy name Delphi; a sentence


MUTANTS = {
    "the rows themselves": "from adyton.kernel.counting.table import PrivateTable",
    "in a function": "def look(x):\n    from adyton.kernel.counts import PrivateVector\n    return PrivateVector",
    "a whole module": "from adyton.kernel import counts",
    "by its full name": "import adyton.kernel.counts",
    "what a kernel keeps": "def look(x):\n    return x.kernel._kept[x.node].data",
    "by a word": "def look(kernel):\n    return getattr(kernel, '_table')",
    "counts behind a vector": "def look(vector):\n    return vector._values",
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_module_that_reaches_inside_is_found(name):
    assert reaches("plans.mutant", MUTANTS[name])


def test_handles_that_reach_behind_the_door_are_found():
    assert reaches("kernel.sources", "class Source:\n    def look(self):\n        return self._door._kept")


# ---- while releases run ---------------------------------------------------------------------------------------------


def classes_below(base):
    """A class, and all that derive from it."""
    return {base}.union(*(classes_below(kind) for kind in base.__subclasses__()))


def holders():
    """The classes that hold private data."""
    public = {*classes_below(Kernel), *classes_below(Source), Sealed}
    kinds = {kind for kind in classes_below(Sealed) - public if trusted.within(kind.__module__[7:], LISTED)}
    return {*kinds, Kept}


def is_value(held):
    """Whether it may be made of rows: an array, what holds arrays, or a text that only rows have."""
    return isinstance(held, np.ndarray | pyarrow.Array | Values | Batch) or (
        isinstance(held, str) and held.strip() == OWN
    )


class Watch:
    """Notes which modules are at work while private numbers are, and which hold some at any time."""

    def __init__(self):
        self.holders = holders()
        self.draws = {kind.draw.__code__ for kind in classes_below(Mechanism)}
        self.publish = {kind.publish.__code__ for kind in classes_below(Mechanism)}
        self.doors = {Kernel.measure.__code__, Kernel.transform.__code__, Kernel.__init__.__code__}
        self.inside, self.at_the_door, self.found, self.given = set(), set(), set(), set()
        self.arrays, self.starts, self.ends = [], [], []  # by their places, and where all so far end
        self.open, self.threads = 0, threading.local()

    def __enter__(self):
        self.values, self.all = PrivateVector.values, CountedTables._all

        def values(vector):
            return self.note(self.values(vector))

        def every(counted):
            return self.note(self.all(counted))

        values.__module__ = every.__module__ = "adyton.kernel.counts"
        PrivateVector.values, CountedTables._all = values, every
        threading.setprofile(self.event)
        sys.setprofile(self.event)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)
        threading.setprofile(None)
        PrivateVector.values, CountedTables._all = self.values, self.all

    def note(self, array):
        """Keep a private array, so that its place in memory is its own."""
        if array.size > 1 and array.dtype != object:
            self.arrays.append(array)
            start = array.ctypes.data
            place = bisect.bisect(self.starts, start)
            self.starts.insert(place, start)
            self.ends.insert(place, 0)
            self.ends = list(
                itertools.accumulate((*self.ends[:place], start + array.nbytes, *self.ends[place + 1 :]), max)
            )
        return array

    def event(self, frame, event, value):
        if event not in ("call", "return"):
            return
        module = frame.f_globals.get("__name__") or ""
        if not module.startswith("adyton"):
            return
        own = self.threads.__dict__
        if "depth" not in own:  # a thread that was started inside works inside
            own.update(depth=self.open, door=0, after=0)
        code, step = frame.f_code, 1 if event == "call" else -1
        if code in self.draws:
            own["depth"] += step
            self.open += step
        if code in self.doors:
            own["door"] += step
        if code in self.publish:
            own["after"] += step
        name = module[7:]
        if event == "call" and not own["after"] and own["depth"]:
            self.inside.add(name)
            if name in trusted.NUMBERS and code.co_name != "sizes_of":  # which is given a tree
                self.given.update((name, code.co_qualname) for held in frame.f_locals.values() if is_value(held))
        elif event == "call" and not own["after"] and own["door"]:
            self.at_the_door.add(name)
        if event == "return" and not own["depth"] and not trusted.within(name, LISTED):
            for held in (*frame.f_locals.values(), value):
                if self.is_private(held):
                    self.found.add((name, code.co_qualname, type(held).__name__))

    def is_private(self, held, deep=True):
        kind = type(held)
        if kind in self.holders:
            return True
        if kind is np.ndarray and held.dtype != object:
            start = held.ctypes.data
            place = bisect.bisect(self.starts, start) - 1
            return place >= 0 and start < self.ends[place]
        if deep and kind in (list, tuple) and len(held) < 20:
            return any(self.is_private(part, False) for part in held)
        return deep and kind is dict and len(held) < 20 and any(self.is_private(part, False) for part in held.values())


class Canary(pd.DataFrame):
    """Rows that note who touches them: the nearest module of the package on the stack."""

    touched: typing.ClassVar = set()

    def __getattribute__(self, name):
        frame = sys._getframe(1)
        while frame is not None and not (frame.f_globals.get("__name__") or "").startswith("adyton"):
            frame = frame.f_back
        if frame is not None:
            Canary.touched.add(frame.f_globals["__name__"][7:])
        return super().__getattribute__(name)


OWN = "a town that is no level"


def rows(n=300):
    random = np.random.default_rng(5)
    age = random.integers(0, 64, n)
    return pd.DataFrame(
        {
            "person": np.arange(n) // 2,
            "age": age,
            "sex": random.choice(["F", "M"], n),
            "income": random.gamma(2, 20000, n).round(2),
            "city": random.choice([*"abcd", OWN], n),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 300, n), unit="D"),
            "weight": random.normal(70, 10, n).round(1),
            "ill": np.where(age > 30, "yes", "no"),
        }
    )


SCHEMA = ad.Schema(
    {
        "age": ad.Integer(0, 63),
        "sex": ad.Categorical(["F", "M"]),
        "income": ad.Numeric(0, 200000, bins=64),
        "city": ad.Categorical(list("abcd")),
        "day": ad.Date("2024-01", "2024-12", by="month"),
        "weight": ad.Numeric(30, 150, bins=16),
        "ill": ad.Boolean(),
    },
    unit="person",
    rows_per_unit=2,
)
LINE = ("change-points", "denoised-tree", "staged-hierarchy", "adaptive-hierarchy", "monotone-hierarchy", "identity")
PLANE = ("staged-quadtree", "optimal-quadtree", "denoised-cells")
SPACE = ("hb", "hdmm", "privelet", "uniform", "change-points-striped", "staged-hierarchy-striped")
TASKS = [
    *((ad.Ranges("age"), {"algorithm": name}) for name in ("auto", *LINE)),
    *((ad.Ranges("age", "weight"), {"algorithm": name}) for name in ("auto", *PLANE)),
    *((ad.Ranges("weight", "sex", "ill"), {"algorithm": name}) for name in ("auto", *SPACE)),
    (ad.Histogram("day", "sex"), {"where": "age >= 18 and city in ('a', 'b')"}),
    (ad.Marginals(way=2, attrs=["age", "sex", "city"]), {}),
    (ad.Marginals(way=2), {}),
    (ad.Sum("income", by="sex"), {}),
    (ad.Mean("income"), {}),
    (ad.Quantiles("income"), {}),
    (ad.Summary("weight", by="sex"), {}),
    (ad.Count(), {}),
    (ad.Units(), {}),
]
"""What ``auto`` can make, and each algorithm that it may take."""


def release_all(data, tasks):
    session = ad.Session(data, schema=SCHEMA, epsilon=200)
    for task, options in tasks:
        session.release(task, epsilon=1, **options)
    session.fit(ad.Classifier("ill"), epsilon=1)


@pytest.mark.filterwarnings("ignore")
def test_releases_keep_private_numbers_within_the_core(tmp_path):
    path = tmp_path / "rows.csv"
    rows().to_csv(path, index=False)
    Canary.touched.clear()
    with Watch() as watch:
        release_all(Canary(rows()), TASKS)
        release_all(path, [(task, options) for task, options in TASKS if options.get("algorithm", "auto") == "auto"])
    assert {module for module in watch.inside if not trusted.within(module, [*CORE, *trusted.NUMBERS])} == set()
    assert watch.given == set()
    public = [*CORE, *trusted.PUBLIC]
    assert {module for module in watch.at_the_door if not trusted.within(module, public)} == set()
    assert watch.found == set()
    assert watch.arrays
    assert {"kernel.counts", "noise.exact", "kernel.reading.cells"} <= watch.inside
    assert {module for module in Canary.touched if not trusted.within(module, CORE)} == set()
    assert Canary.touched


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in ad.algorithms(ndim=1) if name != "pythia"])
def test_named_algorithms_keep_private_numbers_within_the_lists(name):
    kernel = Kernel.on_vector(np.random.default_rng(1).integers(0, 50, 16), epsilon=1)
    plan = ad.plans.registry.plan_named(name)
    with Watch() as watch:
        plan.estimate(kernel.root, ad.workloads.Prefix(16), 1)
    assert {module for module in watch.inside if not trusted.within(module, LISTED)} == set()
    assert watch.found == set()


def released_with(monkeypatch, watch):
    kernel = Kernel.on_vector(np.arange(64), epsilon=1)
    with watch:
        ad.plans.registry.plan_named("identity").estimate(kernel.root, ad.workloads.Prefix(64), 1)


def outsider(text):
    """A function of a module that is on no list."""
    module = types.ModuleType("adyton.plans.mutant")
    exec(text, module.__dict__)
    return module.look


def test_a_plan_that_looks_behind_its_source_is_found(monkeypatch):
    look = outsider("def look(x):\n    data = vars(x.kernel)['_' + 'kept'][x.node].data\n    return data is None")
    measure = ad.plans.strategy_plan.Strategy.measure
    monkeypatch.setattr(
        ad.plans.strategy_plan.Strategy, "measure", lambda self, x, *rest: (look(x), measure(self, x, *rest))[1]
    )
    watch = Watch()
    released_with(monkeypatch, watch)
    assert ("plans.mutant", "look", "PrivateVector") in watch.found


def test_a_module_that_is_called_with_the_counts_is_found(monkeypatch):
    look = outsider("def look(values):\n    return values + 0")
    answers = PrivateVector.answers
    monkeypatch.setattr(PrivateVector, "answers", lambda self, queries: answers(self, queries) + 0 * look(0))
    watch = Watch()
    released_with(monkeypatch, watch)
    assert "plans.mutant" in watch.inside


def test_counts_that_are_handed_out_are_found(monkeypatch):
    look = outsider("def look(values):\n    part = values[3:9]\n    return int(part[0])")
    kept = []
    answers = PrivateVector.answers
    monkeypatch.setattr(
        PrivateVector, "answers", lambda self, queries: (kept.append(self.values()), answers(self, queries))[1]
    )
    watch = Watch()
    kernel = Kernel.on_vector(np.arange(64), epsilon=1)
    with watch:
        ad.plans.registry.plan_named("identity").estimate(kernel.root, ad.workloads.Prefix(64), 1)
        look(kept[0])
    assert ("plans.mutant", "look", "ndarray") in watch.found


def test_rows_that_are_read_beside_the_kernel_are_found():
    look = outsider("def look(rows):\n    return rows.shape")
    Canary.touched.clear()
    look(Canary(rows()))
    assert "plans.mutant" in Canary.touched
