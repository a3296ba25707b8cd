"""Seeded bugs of what is measured and chosen on many tables: the audit must catch every one of them. Each case passes
without its bug."""

from dataclasses import replace
from fractions import Fraction as F
from functools import partial

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.kernel import counts, transforms
from adyton.kernel.counting.packs import Pack
from adyton.kernel.counting.public_rows import CodedTable
from adyton.kernel.kernel import Kernel
from adyton.kernel.mechanisms import MeanDistance, MeasureTables, NoisyCount, PairChoice, ParentChoice
from adyton.kernel.mechanisms.guessed_tables import GuessedTables
from adyton.kernel.mechanisms.published import parent_choice
from adyton.kernel.shapes import TablesShape
from adyton.kernel.transforms import CountTables, MergeCells, SingleTables
from adyton.queries import Partition
from adyton.schema import Integer, Schema
from adyton_lab.audit.accounting import audit_tables
from adyton_lab.audit.enumeration import audit_selection_exactly
from adyton_lab.audit.statistical import audit_mechanism
from adyton_lab.audit.walk import DisagreementError, Walk
from adyton_lab.audit.whole_programs import audit_cases, row_cases


def attacked(kind, **changes):
    """The finding of a short attack on the first case. It fails by a certified loss above ε, not by a lack of power."""
    case = replace(kind.audit_cases()[0], **changes)
    return audit_mechanism(case, pairs=8, draws=4_000, strong_draws=100_000, reach=0.5)


def disjoint(self, source, honest=SingleTables.plan):
    """As if the tables of one source were the parts of a split."""
    return replace(honest(self, source), disjoint=True)


def disjoint_if_merged(self, source, honest=SingleTables.plan):
    """The same, for merged tables only."""
    return replace(honest(self, source), disjoint=bool(source.merged))


def free(kind):
    """A plan by which measurements of tables cost nothing."""
    honest = kind.plan
    return kind, "plan", lambda self, source: replace(honest(self, source), stability=0)


def chosen(mechanism, name):
    """The finding of the exact audit on the case with this name, and the case."""
    case = next(case for case in mechanism.audit_cases() if name in case.name)
    return audit_selection_exactly(case, pairs=12)


PAIR_CASES, PARENT_CASES = ["one of two", "two of three", "a forest"], ["one each", "up to two", "or none"]


# ---- the choice of pairs: monotone without being so, budgets, true numbers


@pytest.mark.parametrize("name", PAIR_CASES)
def test_pairs_that_count_as_monotone_are_caught(monkeypatch, name):
    """The factor 2 dropped, as if one more row could only raise the distances."""
    honest = PairChoice.sharpness
    monkeypatch.setattr(PairChoice, "sharpness", lambda self, epsilon: 2 * honest(self, epsilon))
    found = chosen(PairChoice, name)
    assert not found.passed
    assert (1.4 if name == "a forest" else 1.5) < found.figures["loss/ε"] <= 2


@pytest.mark.parametrize("name", PAIR_CASES[1:])
def test_the_whole_budget_for_every_choice_is_caught(monkeypatch, name):
    honest = PairChoice.sharpness
    monkeypatch.setattr(PairChoice, "sharpness", lambda self, epsilon: self.count * honest(self, epsilon))
    assert not chosen(PairChoice, name).passed


@pytest.mark.parametrize("name", PAIR_CASES)
def test_guesses_scaled_to_the_true_number_of_rows_are_caught(monkeypatch, name):
    """What the model says of the shape, at the true N: a row then moves the guess as well."""

    def to_true_rows(self, data):
        scaled = []
        for place, numbers in zip(self.places, np.split(self.numbers, data.starts(self.places)[1:]), strict=True):
            table = data.table(place).reshape(-1) * self.unit
            scaled.append(int(abs(table - numbers * int(table.sum()) // max(1, int(numbers.sum()))).sum()))
        return np.array(scaled)

    monkeypatch.setattr(GuessedTables, "distances", to_true_rows)
    assert not chosen(PairChoice, name).passed


def test_as_many_pairs_as_the_true_number_of_rows_bears_is_caught(monkeypatch):
    honest = PairChoice.draw

    def draw(self, data, epsilon, noise, trials):
        found = honest(self, data, epsilon, noise, trials)
        return found if data.table(0).sum() > 8 else np.where(np.arange(self.count) < self.count - 1, found, -1)

    monkeypatch.setattr(PairChoice, "draw", draw)
    assert chosen(PairChoice, "two of three").figures["loss/ε"] == np.inf


# ---- the choice of parents


@pytest.mark.parametrize("name", PARENT_CASES)
@pytest.mark.parametrize("short", [F(9, 10), F(1, 2)])
def test_a_spread_that_is_short_is_caught(monkeypatch, name, short):
    """A tenth short; and half of it, as if the scores were monotone."""
    monkeypatch.setattr(parent_choice, "SPREAD", parent_choice.SPREAD * short)
    assert not chosen(ParentChoice, name).passed


def test_more_parents_where_there_are_more_rows_is_caught(monkeypatch):
    """As published: how many parents there can be depends on the true number of rows."""
    honest = ParentChoice._network

    def useful(self, data, sharpness, scores, noise):
        rows = data.table(0).sum()
        kept = [place for place in self.places if data.table(place).size == 4 or data.table(place).size * 11 < 2 * rows]
        return honest(replace(self, places=tuple(kept)), data, sharpness, scores, noise)

    monkeypatch.setattr(ParentChoice, "_network", useful)
    assert chosen(ParentChoice, "up to two").figures["loss/ε"] == np.inf


def test_a_score_that_is_not_normalised_is_caught(monkeypatch):
    """Σ |n·n_xπ − n_x·n_π| without the division by n."""
    honest = parent_choice._score
    monkeypatch.setattr(parent_choice, "_score", lambda table, child: honest(table, child) * max(1, int(table.sum())))
    assert not chosen(ParentChoice, "one each").passed


# ---- noisy tables: weights that raise the sensitivity


def test_shares_relative_to_the_largest_are_caught(monkeypatch):
    honest = MeasureTables.rates
    monkeypatch.setattr(
        MeasureTables, "rates", lambda self, epsilon: [rate / max(self.shares) for rate in honest(self, epsilon)]
    )
    assert not attacked(MeasureTables).passed


def test_the_whole_budget_for_every_table_is_caught(monkeypatch):
    monkeypatch.setattr(MeasureTables, "rates", lambda self, epsilon: [epsilon] * len(self.places))
    assert not attacked(MeasureTables).passed


def test_shares_above_one_are_refused_and_would_be_caught():
    shape = TablesShape(Schema({"a": Integer(0, 1), "b": Integer(0, 1)}), (("a", "b"), ("a",), ("b",)))
    greedy = MeasureTables((0, 1, 2), (F(1, 2), F(1, 2), F(1, 4)))
    with pytest.raises(BadInput, match=r"at most 1, given 1\.25"):
        greedy.check(shape)
    ratio = partial(greedy._likelihood_ratio, MeasureTables.audit_cases()[0].prepare)
    assert not attacked(MeasureTables, mechanism=greedy, statistic=ratio).passed


def test_rows_in_two_cells_of_a_table_are_caught(monkeypatch):
    """A column norm of 2: every row of a table counts in the opposite cell as well."""
    honest = CodedTable.tables
    monkeypatch.setattr(
        CodedTable, "tables", lambda self, groups: [table + np.flip(table) for table in honest(self, groups)]
    )
    assert not attacked(MeasureTables).passed
    assert not chosen(PairChoice, "one of two").passed


def test_rows_that_the_engine_counts_twice_are_caught(monkeypatch):
    """(``audit_tables`` passes without this in ``test_audit.py``.)"""
    honest = Pack.table
    monkeypatch.setattr(Pack, "table", lambda *given: honest(*given) * 2)
    assert not audit_tables().passed


def test_cells_that_count_in_two_groups_are_caught(monkeypatch):
    honest = counts._merged
    monkeypatch.setattr(counts, "_merged", lambda table, axes: honest(table, axes) + np.flip(honest(table, axes)))
    found = audit_tables(merge=True)
    assert (found.passed, found.figures["moved"]) == (False, 2)


def test_groups_without_cells_are_refused_and_would_be_caught(monkeypatch):
    """The sum of an empty group would be the first cell of the next group: a row there would change two sums."""
    case = MeasureTables.audit_cases()[0]
    shape = TablesShape(Schema({"a": Integer(0, 1), "b": Integer(0, 1)}), (("a", "b"), ("a",), ("b",)))
    gap = Partition([1, 1], 2)
    merge = MergeCells(shape.groups, ((gap, None), (gap,), (None,)))
    with pytest.raises(BadInput, match="without gaps"):
        merge.plan(shape)
    monkeypatch.setattr(transforms, "_check_map", lambda *given: None)

    def prepare(counts):
        return merge.plan(shape).derive(case.prepare(counts))[0]

    ratio = partial(case.mechanism._likelihood_ratio, prepare)
    assert not attacked(MeasureTables, prepare=prepare, statistic=ratio).passed


def test_one_noise_for_all_tables_is_caught(monkeypatch):
    """Every table with the noise of its share, but the same draw for all cells: differences are free of noise."""
    honest = MeasureTables.draw

    def draw(self, data, epsilon, noise, trials):
        true = data.together(self.places)
        return true + (honest(self, data, epsilon, noise, trials) - true)[:, :1]

    monkeypatch.setattr(MeasureTables, "draw", draw)
    assert not attacked(MeasureTables).passed


# ---- the mean distance


def test_a_sum_with_the_noise_of_one_table_is_caught(monkeypatch):
    monkeypatch.setattr(MeanDistance, "scale", lambda self, epsilon: self.guess.unit / epsilon)
    assert not attacked(MeanDistance).passed


def test_a_mean_relative_to_the_true_number_of_rows_is_caught(monkeypatch):
    """β divided by N before the noise, which is scaled as if N were public."""

    def draw(self, data, epsilon, noise, trials):
        rows = max(1, int(data.table(0).sum()))
        total = sum(self.guess.distances(data).tolist()) // rows
        return total + noise.discrete_laplace((trials, 1), self.scale(epsilon) / rows)

    monkeypatch.setattr(MeanDistance, "draw", draw)
    assert not attacked(MeanDistance).passed


@pytest.mark.parametrize("name", ["all-pairs", "privbayes"])
def test_weights_that_raise_the_sensitivity_are_caught_in_whole_programs(monkeypatch, name):
    """Shares by which the smallest table has all of the budget."""
    honest = MeasureTables.rates
    assert audit_cases(name, row_cases("programs", 1, [name])).passed
    monkeypatch.setattr(
        MeasureTables, "rates", lambda self, epsilon: [rate / max(self.shares) for rate in honest(self, epsilon)]
    )
    assert audit_cases(name, row_cases("programs", 1, [name])).figures["loss/ε"] > 1


def test_the_true_number_of_rows_is_caught_in_a_whole_program(monkeypatch):
    """PrivBayes as published, which reads how many rows there are."""
    assert audit_cases("privbayes", row_cases("programs", 1, ["privbayes"])).passed
    monkeypatch.setattr(NoisyCount, "draw", lambda self, data, *_: np.array([[data.count()]]))
    found = audit_cases("privbayes", row_cases("programs", 1, ["privbayes"]))
    assert not found.passed
    assert "noisy count has another output on the neighbour" in found.detail


# ---- the walk through the kernel


def disagree(walks=40):
    """Whether the oracles object to one of some walks over many tables."""
    try:
        for seed in range(walks):
            Walk(seed, "codes").play(16)
    except DisagreementError:
        return True
    return False


def doubled(kind, name, factor=2):
    """A mechanism whose own number is that many times as large."""
    honest = getattr(kind, name)
    return kind, name, lambda self, *given: factor * honest(self, *given)


MUTANTS = {
    "tables with less noise": (MeasureTables, "rates", lambda self, epsilon: [epsilon] * len(self.places)),
    "pairs that count as monotone": doubled(PairChoice, "sharpness"),
    "parents that count as monotone": doubled(ParentChoice, "sharpness"),
    "a distance with less noise": doubled(MeanDistance, "scale", F(1, 2)),
    "tables that share no rows": (SingleTables, "plan", disjoint),
    "merged tables that share no rows": (SingleTables, "plan", disjoint_if_merged),
    "tables that nobody pays for": free(CountTables),
    "merged tables that nobody pays for": free(MergeCells),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_walk_over_many_tables_catches(monkeypatch, mutant):
    monkeypatch.setattr(*MUTANTS[mutant])
    assert disagree()


def test_a_kernel_pays_once_for_all_tables():
    """The charge is what the shares of one debit add up to, not what each table would cost."""
    kernel = Kernel.simulated_table(
        np.zeros((5, 2), dtype=int), Schema({"a": Integer(0, 1), "b": Integer(0, 1)}), epsilon=1
    )
    kernel.root.tables([("a",), ("b",), ("a", "b")]).measure(MeasureTables.weighted(range(3)), 1)
    assert kernel.remaining == 0
