"""Whole programs, audited by transcripts: every task, algorithm, learner and family, with and without a person.

One person has 70 rows, the others have 1 to 19, and some rows do not say whose they are. On one of the two sides the
rows are in another order, so files hold different rows. Plans, programs for many tables, learners and families are
also run on neighbours that are smaller and quicker: vectors, rows and sets of instances.
"""

from __future__ import annotations

import itertools
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adyton.configuration import made_up
from adyton.configuration.configure import configure
from adyton.configuration.family import families, family_named
from adyton.configuration.made_up import cut_graph
from adyton.configuration.tuning import Grid
from adyton.kernel.instances.votes import ADD_REMOVE, REPLACE
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import MECHANISMS, MeasureTables, Mechanism, SplitChoice
from adyton.kernel.mechanisms.published.statistic import BoundFunction, DeclaredFunction
from adyton.kernel.shapes import VectorShape
from adyton.learning.classifier import Classifier
from adyton.learning.registry import AUTO, learner_named, learners
from adyton.marginals.program import PROGRAMS, TableSet, program_named
from adyton.plans import algorithms, plan_named
from adyton.queries import Identity, Partition, RandomRanges
from adyton.schema import Boolean, Integer, RowTree, Schema
from adyton.schema.cell_groups import coarsened
from adyton.session import Session
from adyton.statistics.grouped import GroupedNumbers
from adyton.statistics.parts import reported
from adyton.statistics.programs import rank
from adyton.tasks import (
    Cdf,
    Histogram,
    Marginals,
    Mean,
    Quantiles,
    Ranges,
    RowsPerUnit,
    Sum,
    Summary,
    Task,
    Variance,
)
from adyton_lab.audit.pairs import Counts, Finding, vector_pairs
from adyton_lab.audit.people import STORES, Store, people, schema_of
from adyton_lab.audit.transcripts import Loss, Program, loss_between
from adyton_lab.audit.tuning import ToyFamily

EPSILON = Fraction(1, 3)
REMOVED = ("heavy", "", "7", "f")
"""Whose rows are missing in a neighbour."""
POWER = 0.9
"""The loss per charge that at least one case of a kind must reach; otherwise the audit has no power."""
Question = Callable[[Session], Any]
"""A request to a table; its result is published."""


def _released(task: Task, **options: Any) -> Question:
    return lambda session: session.release(task, EPSILON, **options)


def _fitted(method: str, **options: Any) -> Question:
    return lambda session: session.fit(Classifier("sex", method=method), EPSILON, **options)


def _merged(method: str, cells: int | str, **options: Any) -> Question:
    """Cells are merged by noisy counts before the method learns."""
    return lambda session: session.fit(Classifier("sex", method=method, cells=cells), EPSILON, **options)


def _with_profiles(session: Session) -> Any:
    """A public number of rows that is large enough for profiles, and for how much they repeat one another."""
    return session.fit(Classifier("sex", method="profiled-tree", rows=10**6, depth=1), EPSILON)


def _histogram(vector: Any) -> list[int]:
    return list(vector.measure(Identity(vector.shape), EPSILON).answers.tolist())


def _split(session: Session) -> Any:
    others, smokers = session._kernel.root.split("smoker")
    return smokers.count(EPSILON).value, [_histogram(part.select("age").vectorize()) for part in others.split("sex")]


def _cells(session: Session) -> Any:
    """A histogram of attributes that nearly all rows match, so all rows of a person are counted."""
    return _histogram(session._kernel.root.select("smoker", "balance", "dep", "visits").vectorize())


def _coarse(session: Session) -> Any:
    root = session._kernel.root
    coarse = root.select("age", "visits").coarsen(coarsened(root.schema.select(["age", "visits"]), 3))
    return _histogram(coarse.vectorize()), _histogram(root.misfits(["age", "sex"]))


def _added(session: Session) -> Any:
    """Sums of all rows, of some rows, and of parts: each at the cost of a count, however much one row can change it."""
    root = session._kernel.root
    parts = root.split("age", Partition([0, 0, 1, 1, 1, 1, 1, 1]))
    sums = [(root.sums("balance"), root), (root.where("sex = 'F'").sums("age", ["smoker"]), root)]
    sums += [(root.shares("balance", ["sex"], degree=2), root), *((part.shares("balance"), part) for part in parts)]
    return [
        vector.measure(Identity(vector.shape), EPSILON * rows.stability / vector.stability).answers.tolist()
        for vector, rows in sums
    ]


def _tree(session: Session) -> Any:
    root = session._kernel.root
    stump = RowTree.stump(root.schema)
    candidates = [[name in ("age", "dep", "smoker") for name in root.schema.names]]
    chosen = root.choose_splits(SplitChoice(stump, np.array(candidates, dtype=int), "sex", "gini"), EPSILON)
    return np.asarray(chosen).tolist(), _histogram(root.leaves(stump.grow({0: "dep"}, root.schema), "sex"))


def _tables(session: Session) -> Any:
    tables = session._kernel.root.tables([("age", "sex"), ("sex", "smoker"), ("age",)])
    return tables.measure(MeasureTables.weighted(range(3)), EPSILON).counts.tolist()


def _people(session: Session) -> Any:
    root = session._kernel.root
    visits = root.select("age").group_by("person", count="number", max_count=9).select("number").vectorize()
    return root.units(most=50).count(EPSILON).value, _histogram(visits)


def _people_in_parts(session: Session) -> Any:
    parts = session._kernel.root.split("sex")
    return [part.group_by("person", count="number", max_count=9).count(EPSILON).value for part in parts]


def _groups(session: Session) -> Any:
    return session._kernel.root.group_by("sex", count="rows", max_count=600).count(EPSILON).value


QUESTIONS: dict[str, dict[str, Question]] = {
    "counts": {
        "count": lambda session: session.count(EPSILON),
        "count where": lambda session: session.count(EPSILON, where="age > 3 or sex = 'F'"),
        "people": lambda session: session.count_units(EPSILON),
        "people where": lambda session: session.count_units(EPSILON, where="age > 3"),
        "people cut off": lambda session: session.cut_off(EPSILON, most=20),
        "people by rows": _released(RowsPerUnit(8)),
        "people by rows, where": _released(RowsPerUnit(30), where="sex = 'F'"),
    },
    "cells": {
        "histogram": _released(Histogram("dep")),
        "histogram of two": _released(Histogram("sex", "age"), where="smoker = true"),
        "histogram with misfits": _released(Histogram("age"), misfits="0.2"),
        "ranges": _released(Ranges("visits")),
        "ranges where": _released(Ranges("visits"), where="dep in ('a', 'b')"),
        "ranges of two": _released(Ranges("balance", "age")),
        "cdf": _released(Cdf("visits"), misfits=True),
    },
    "marginals": {
        "narrow": _released(Marginals(way=1, attrs=["sex", "dep"])),
        "narrow pairs": _released(Marginals(way=2, attrs=["sex", "dep", "smoker"]), where="age > 1"),
        "coarse": _released(Marginals(way=2, cells=3), algorithm="all-pairs"),
        **{f"wide, {name}": _released(Marginals(way=2), algorithm=name) for name in PROGRAMS},
        "wide, where": _released(Marginals(way=2), where="smoker = true", misfits=True),
    },
    "numbers": {
        "sum": _released(Sum("balance")),
        "sum by": _released(Sum("age", by=["sex", "dep"])),
        "mean": _released(Mean("balance", by="sex"), misfits=True),
        "mean where": _released(Mean("visits", by=["smoker"]), where="dep = 'a' or age > 3"),
        "variance": _released(Variance("balance", by=["sex"])),
        "median": _released(Quantiles("balance", "median", by=["sex", "dep"])),
        "quartiles": _released(Quantiles("visits", "quartiles", by="sex")),
        "deciles": _released(Quantiles("balance", "deciles"), where="smoker = true"),
        "summary": _released(Summary("balance", by="smoker")),
        "median of all": _released(Quantiles("visits", "median")),
        "high quantile of all": _released(Quantiles("balance", [0.98])),
        "mean of all": _released(Mean("balance")),
        "variance of all": _released(Variance("visits"), where="age > 1"),
        "summary of all": _released(Summary("balance")),
    },
    "operators": {
        "split": _split,
        "cells": _cells,
        "coarse": _coarse,
        "sums": _added,
        "tree": _tree,
        "tables": _tables,
        "people": _people,
        "people in parts": _people_in_parts,
        "groups": _groups,
    },
    "plans on tables": {
        **{f"{name}, line": _released(Ranges("visits"), algorithm=name) for name in algorithms(1)},
        **{f"{name}, plane": _released(Ranges("balance", "age"), algorithm=name) for name in algorithms(2)},
    },
    "learners on tables": {
        **{name: _fitted(name) for name in learners()},
        **{f"{name}, where": _fitted(name, where="age > 1") for name in ("profiled-tree", "naive-bayes", "chosen")},
        "profiled-tree, repetition": _with_profiles,
        "auto": _fitted("auto"),
        "auto, where": _fitted("auto", where="age > 1"),
        "auto, few cells": _merged("auto", 3),
        "naive-bayes, few cells": _merged("naive-bayes", 2, where="smoker = true"),
        "chosen, few cells": _merged("chosen", 4),
    },
}
"""Questions to tables, by kind."""
SHORT, LONG = tuple(QUESTIONS)[:-2], tuple(QUESTIONS)[-2:]
SOME = "some of each kind"
QUESTIONS[SOME] = {
    name: question
    for kind in SHORT
    for name, question in QUESTIONS[kind].items()
    if name in ("people where", "histogram with misfits", "wide, auto", "mean where", "quartiles", "split")
}


class Case(NamedTuple):
    """A program, and two neighbours to run it on."""

    name: str
    program: Program
    left: Any
    right: Any


def audit_cases(kind: str, cases: Iterable[Case]) -> Finding:
    """The largest loss per charge over many cases."""
    worst, pairs, steps = 0.0, 0, 0
    for seed, case in enumerate(cases):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loss: Loss = loss_between(case.program, case.left, case.right, seed)
        if not loss.passed:
            lost = loss.divergence or f"loses {float(loss.lost):.6g}, but is charged {float(loss.charged):.6g}"
            return Finding("programs", kind, False, f"{case.name}: {lost}.", {"loss/ε": loss.ratio})
        worst, pairs, steps = max(worst, loss.ratio), pairs + 1, steps + loss.steps
    figures = {"loss/ε": worst, "pairs": pairs, "steps": steps}
    if worst < POWER:
        return Finding("programs", kind, False, f"the audit reached only {worst:.3f} of the charge.", figures)
    return Finding("programs", kind, True, f"{pairs} pairs, at most {worst:.3f} of the charge.", figures)


# ---- tables of people -----------------------------------------------------------------------------------------------


def paid(question: Question) -> Program:
    """A program that returns the session's answer and its cost."""

    def program(session: Session) -> tuple[Any, Fraction]:
        before = session.spent
        result = question(session)
        return result, session.spent - before

    return program


def table_cases(
    kind: str,
    sources: Mapping[str, Sequence[str]],
    *,
    names: Sequence[str] | None = None,
    stores: Mapping[str, Store] = STORES,
    seed: int = 0,
) -> Iterable[Case]:
    """The questions of a kind, or those named, on tables in several formats: *sources* says whose rows are removed.

    A session is opened once and answers all questions. A person named ``row`` means a single row without a person.
    """
    with tempfile.TemporaryDirectory() as folder:
        for source, removed in sources.items():
            for place, person in enumerate(removed):
                rows, unit = people(seed + place), person != "row"
                fewer = [row for row in reversed(rows) if row[0] != person] if unit else rows[:0:-1]
                sides = []
                for side, kept in (("with", rows), ("without", fewer)):
                    path = Path(folder, source, str(place), side)
                    path.mkdir(parents=True)
                    data = stores[source](path / "people", kept)
                    sides.append(_opened(data, schema_of(source, unit=unit)))
                for name in names or QUESTIONS[kind]:
                    if unit or not ("people" in name or "groups" in name):
                        first, second = sides if place % 2 == 0 else reversed(sides)
                        words = f"{name} from {source}, {person or 'the blank unit'}"
                        yield Case(words, paid(QUESTIONS[kind][name]), first, second)
                for session in sides:
                    session.close()


def _opened(data: Any, schema: Schema) -> Session:
    """A session with enough budget for all questions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Session(data, schema=schema, epsilon=1000, dataset="people")


# ---- vectors, rows and instances ------------------------------------------------------------------------------------


DOMAINS = ((8,), (3, 3)), ((130,), (6, 7))
"""Domains for plans. Every other pair has the larger domains, because plans choose by the size of the domain."""


def plan_cases(pairs: int, names: Sequence[str] | None = None) -> Iterable[Case]:
    """Every plan, or those named, on vectors one row apart, and three rows apart with three rows per unit."""
    for name, number in itertools.product(names or algorithms(), range(pairs)):
        for domain in DOMAINS[number % 2]:
            if name in algorithms(len(domain)):
                distance = 1 + number % 2 * 2
                pair = vector_pairs(domain, count=3 * pairs, distance=distance)[3 * number + 1]
                yield Case(f"{name} on {pair.name}", partial(_planned, name, distance), pair.left, pair.right)


def _planned(name: str, stability: int, x: Counts) -> tuple[Any, Fraction]:
    kernel = Kernel.on_vector(x, epsilon=stability, rows_per_unit=stability, dataset="vector")
    return plan_named(name).estimate(kernel.root, RandomRanges(x.shape, 6, seed=0), Fraction(1)), kernel.spent


def mechanism_cases(pairs: int) -> Iterable[Case]:
    """Every mechanism that takes a vector, with its own audit cases, run by a kernel."""
    for case in (case for kind in MECHANISMS if kind.takes is VectorShape for case in kind.audit_cases()):
        neighbours = [(pair.left, pair.right) for pair in vector_pairs(case.domain, count=pairs)]
        for left, right in [*neighbours, *(pair for pair in case.searched if min(map(np.min, pair)) >= 0)]:
            yield Case(case.name, partial(_by_kernel, case.mechanism), left, right)


def _by_kernel(mechanism: Mechanism, x: Counts) -> tuple[Any, Fraction]:
    trusted = [mechanism.declared] if isinstance(mechanism, BoundFunction) else []
    operator = DeclaredFunction(mechanism.name) if isinstance(mechanism, BoundFunction) else mechanism
    kernel = Kernel.on_vector(x, epsilon=3, dataset="vector", trusted=trusted)
    return repr(kernel.measure(kernel.root, operator, 3)), kernel.spent


_BITS = Schema({"a": Boolean(), "b": Integer(0, 2), "c": Integer(0, 6), "d": Boolean(), "label": Boolean()})
_MANY = 10


def row_cases(kind: str, pairs: int, names: Sequence[str] | None = None) -> Iterable[Case]:
    """Every learner or program for many tables, or those named, on few and on many rows that were read before."""
    asked: Callable[[Any, str], Any] = _learnt if kind == "learners" else _measured
    for name in names or ((*learners(), AUTO) if kind == "learners" else PROGRAMS):
        for number, pair in enumerate(vector_pairs(_BITS.shape, count=3 * pairs)[1::3]):
            more = _MANY * (number % 2) * (1 + np.arange(pair.left.size).reshape(_BITS.shape) % 5)
            left, right = (np.clip(side, 0, 200) + more for side in (pair.left, pair.right))
            yield Case(f"{name} on {pair.name}", partial(_on_rows, asked, name), left, right)


def _on_rows(asked: Callable[[Any, str], Any], name: str, counts: Counts) -> tuple[Any, Fraction]:
    cells = np.repeat(np.arange(counts.size), counts.reshape(-1))
    codes = np.stack(np.unravel_index(cells, _BITS.shape), axis=1)
    kernel = Kernel.simulated_table(codes, _BITS, epsilon=1, seed=0)
    return asked(kernel.root, name), kernel.spent


_WIDE = Schema({"x": Integer(0, 127), "g": Boolean()})
_ASKED: dict[str, Any] = {
    "median": Quantiles("x", "median"),
    "high quantile": Quantiles("x", [Fraction(97, 100)]),
    "quartiles": Quantiles("x"),
    "quartiles by group": Quantiles("x", by="g"),
    "mean": Mean("x"),
    "mean by group": Mean("x", by="g"),
    "variance": Variance("x"),
    "summary": Summary("x"),
    "sum": Sum("x"),
}


def number_cases(pairs: int) -> Iterable[Case]:
    """Statistics of numbers with many cells, most of which are empty: of few rows, for which trees are measured, and of
    many rows, which fill a few cells."""
    for name, task in _ASKED.items():
        asked = GroupedNumbers.of(task, _WIDE)
        for number, pair in enumerate(vector_pairs((8,), count=3 * pairs)[1::3]):
            for more in (0, 400):
                left, right = (np.clip(side, 0, 200) + more for side in (pair.left, pair.right))
                yield Case(f"{name} on {pair.name}, {more} more", partial(_counted, asked, number), left, right)


def _counted(asked: GroupedNumbers, place: int, counts: Counts) -> tuple[Any, Fraction]:
    """Rows in eight of the cells, a few cells apart, of both groups."""
    values = np.repeat(np.arange(8) * (1 + 3 * (place % 5)), counts)
    kernel = Kernel.simulated_table(np.stack([values, values % 2], axis=1), _WIDE, epsilon=1, seed=0)
    parts = list(rank(asked, Fraction(1)).program.measuring(kernel.root, asked, Fraction(1))())
    figures = [(one.name, one.estimate, one.lower, one.upper) for one in reported(asked, parts, 0.95)]
    return ([(part.kind, part.numbers) for part in parts], figures), kernel.spent


def _learnt(root: Any, name: str) -> Any:
    learner = learner_named(name, **{"cells": 2} if name == AUTO else {})
    return learner.fit(root, "label", Fraction(1)).to_plain()


def _measured(root: Any, name: str) -> Any:
    wanted = TableSet.of(_BITS, list(itertools.combinations(_BITS.names, 2)))
    outcome = program_named(name).measure(root, wanted, Fraction(1))
    bought = [(part.name, part.value) for part in outcome.bought]
    return outcome.algorithm, outcome.why, bought, [(part.group, part.counts) for part in outcome.measured]


def family_cases(sizes: Iterable[int], *, brief: bool = False) -> Iterable[Case]:
    """Every family, a grid and made-up curves, on sets of these sizes with instances added or one replaced; *brief*
    leaves out the families."""
    makers: dict[str, Callable[[int], Any]] = {
        "knapsack": lambda seed: made_up.items(count=8, seed=seed),
        "independent-set": lambda seed: made_up.graph(vertices=8, seed=seed),
        "auction": lambda seed: made_up.bids(goods=5, count=8, seed=seed),
        "routing": lambda seed: made_up.deliveries(customers=6, seed=seed),
        "max-cut": lambda seed: cut_graph("gaussian", vertices=6, seed=seed),
    }
    everything: dict[Any, Callable[[int], Any]] = {family_named(name): makers[name] for name in families() if not brief}
    everything[ToyFamily()] = lambda seed: seed % ToyFamily.toys
    everything[Grid(lambda wish, price: price * (wish - price), points=9)] = lambda seed: seed / 7 % 1.0
    for (family, make), size, owned in itertools.product(everything.items(), sizes, (False, True)):
        left, others = [make(seed) for seed in range(size)], [make(seed) for seed in range(size, size + 3)]
        relation = REPLACE if size % 2 else ADD_REMOVE
        right = left + others if owned else [*left[1:], others[0]] if size % 2 else [*left, others[0]]
        relation = ADD_REMOVE if owned else relation
        name = f"{family.name} on {size} instances, {'an owner of three' if owned else relation}"
        yield Case(name, partial(_configured, family, relation, size if owned else None), left, right)


def _configured(family: Any, relation: str, owners: int | None, instances: Sequence[Any]) -> tuple[Any, Fraction]:
    """All instances beyond the first *owners* belong to one owner."""
    owner = None if owners is None else [min(place, owners) for place in range(len(instances))]
    default = 0.5 if isinstance(family, ToyFamily) else None
    result = configure(family, instances, 1, neighbours=relation, owner=owner, default=default)
    return result, sum((entry.amount for entry in result.receipt.entries), Fraction(0))
