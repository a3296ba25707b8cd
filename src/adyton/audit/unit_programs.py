"""What is put to a table of people in the audit of units: everything that a curator can ask, and some that nests."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from adyton.kernel.mechanisms import MeasureTables, SplitChoice
from adyton.kernel.sources import TableSource, VectorSource
from adyton.learning.registry import learner_named
from adyton.queries import Identity, Partition
from adyton.release.cut_off import measured_cut_off, unit_sizes
from adyton.schema import Boolean, Categorical, Integer, Numeric, RowTree
from adyton.schema.coarsening import coarsened
from adyton.session.releasing_counts import vector_of
from adyton.statistics.asked import Asked
from adyton.statistics.programs import PROGRAMS as STATISTICS
from adyton.tasks import NumbersTask, Quantiles, RowsPerUnit, Sum, Summary

EPSILON = Fraction(1, 3)
ATTRIBUTES = {
    "age": Integer(0, 4, nulls="level"),
    "sex": Categorical(["F", "M"]),
    "smoker": Boolean(),
    "pay": Numeric(-10, 90, bins=5, outside="clamp"),
}
Question = Callable[[TableSource], None]


def _histogram(vector: VectorSource) -> None:
    vector.measure(Identity(vector.shape), EPSILON)


def _added(vector: VectorSource, rows: TableSource) -> None:
    """At the cost of a count, whatever one row can change."""
    vector.measure(Identity(vector.shape), EPSILON * rows.stability / vector.stability)


def _counts(root: TableSource) -> None:
    root.count(EPSILON)
    root.where("age >= 2").count(EPSILON)
    _histogram(root.misfits(["age", "smoker"]))


def _split(root: TableSource) -> None:
    one, other = root.split("smoker")
    other.count(EPSILON)
    for smaller in one.split("sex"):
        _histogram(smaller.select("age").vectorize())


def _vectors(root: TableSource) -> None:
    _histogram(root.vectorize())
    _histogram(root.select("age", "sex").coarsen(coarsened(root.schema.select(["age", "sex"]), 3)).vectorize())


def _marginals(root: TableSource) -> None:
    tables = root.tables([("age", "sex"), ("sex", "smoker"), ("age",)])
    tables.measure(MeasureTables.weighted(range(3)), EPSILON)


def _classifier(root: TableSource) -> None:
    stump = RowTree.stump(root.schema)
    root.choose_splits(SplitChoice(stump, [[1, 1, 0, 0]], "smoker", "gini"), EPSILON)
    _histogram(root.leaves(stump.grow({0: "sex"}, root.schema), "smoker"))
    learner_named("naive-bayes").fit(root, "smoker", EPSILON)


def _learners(root: TableSource) -> None:
    for name in ("friedman-schuster", "profiled-tree"):
        learner_named(name).fit(root.select("sex", "age", "smoker"), "smoker", EPSILON)


def _sums(root: TableSource) -> None:
    """Of the same rows, of some, and of parts."""
    _added(root.sums("pay"), root)
    _added(root.where("sex = 'F'").sums("age", ["smoker"]), root)
    _added(root.shares("pay", ["sex"], degree=2), root)
    for part in root.split("age", Partition([0, 0, 1, 1, 1, 1])):
        _added(part.shares("pay"), part)


def _statistics(root: TableSource) -> None:
    """Every program for numbers, with a task that it serves."""
    tasks: dict[str, NumbersTask] = {"sums": Sum("pay", by="sex"), "choice": Quantiles("pay", [0.5, 0.9], by="sex")}
    tasks |= {"cdf": Quantiles("age", [0.25, 0.5]), "histogram": Quantiles("age", [0.5])}
    for name, program in STATISTICS.items():
        asked = Asked.of(tasks.get(name, Summary("pay", by="smoker")), root.schema)
        for step in program.steps(root, asked, EPSILON):
            step()


def _people(root: TableSource) -> None:
    task = RowsPerUnit(50)
    root.units(most=50).count(EPSILON)
    measured_cut_off(unit_sizes(root, 50), root.schema.rows_per_unit, EPSILON)
    _histogram(vector_of(root.where("sex = 'F'"), task, task.select(root.schema)))
    _histogram(root.select("age").group_by("person", count="visits", max_count=9).select("visits").vectorize())


def _people_in_parts(root: TableSource) -> None:
    for part in root.split("sex"):
        part.group_by("person", count="visits", max_count=9).count(EPSILON)


def _groups(root: TableSource) -> None:
    root.group_by("sex", count="rows", max_count=600).count(EPSILON)


PROGRAMS: dict[str, Question] = {
    "counts": _counts,
    "split": _split,
    "histograms": _vectors,
    "marginals": _marginals,
    "sums": _sums,
    "statistics": _statistics,
    "classifiers": _classifier,
    "learners": _learners,
    "people": _people,
    "people in parts": _people_in_parts,
    "groups": _groups,
}
