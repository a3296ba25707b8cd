"""Seeded bugs in the noise, the mechanisms, the kernel and the ledger: the audit must catch every one of them.

The checks are those of ``adyton audit`` at the size of its quick profile or smaller; each passes without the mutation
(see ``test_audit.py``), so what it catches is the bug.
"""

import math
from dataclasses import replace
from fractions import Fraction as F
from functools import partial

import numpy as np
import pytest

import adyton as ad
from adyton.errors import BadInput, BudgetExceeded
from adyton.kernel import budget as budget_module
from adyton.kernel.kernel import Kernel
from adyton.kernel.ledger import Ledger
from adyton.kernel.ledger.records import account_of
from adyton.kernel.mechanisms import (
    DeclaredFunction,
    DyadicPartition,
    NoisyCount,
    SplitChoice,
    VectorLaplace,
    vector_laplace,
)
from adyton.kernel.mechanisms.published.statistic import Declared, Statistic
from adyton.kernel.mechanisms.split_choice import EntropyScore, GiniScore, MaxScore
from adyton.kernel.recorder import Debit
from adyton.kernel.transforms import LinearMap
from adyton.noise import ExactNoise, Ratio, SimulatedNoise
from adyton.plans import plan_named
from adyton.plans.base import CountsRows, Rows
from adyton.queries import Explicit, Haar, Hierarchy, Identity, Partition, Queries, Total
from adyton_lab.audit import enumeration
from adyton_lab.audit.accounting import audit_accounting
from adyton_lab.audit.certificates import audit_certificates, cost_of
from adyton_lab.audit.durability import audit_concurrency, audit_crashes, audit_exactness
from adyton_lab.audit.enumeration import (
    audit_laplace,
    audit_selection,
    audit_selection_exactly,
    audit_streams,
    audit_uniform,
)
from adyton_lab.audit.run import Check
from adyton_lab.audit.statistical import audit_mechanism, certify
from adyton_lab.audit.whole_programs import audit_cases, plan_cases, row_cases


class Noise(ExactNoise):
    """Exact noise with a bug in the scale or in the draw."""

    def discrete_laplace(self, size, scale):
        return self.spoil(super().discrete_laplace(size, self.rescale(scale)), scale)

    def rescale(self, scale):
        return scale

    def spoil(self, draws, scale):
        return draws


class Halved(Noise):
    def rescale(self, scale):
        return Ratio(scale.numerator, scale.denominator * 2) if isinstance(scale, Ratio) else F(scale) / 2


class FivePercentShort(Noise):
    def rescale(self, scale):
        return Ratio(scale.numerator * 19, scale.denominator * 20) if isinstance(scale, Ratio) else F(scale) * F(19, 20)


class Silent(Noise):
    def spoil(self, draws, scale):
        return 0 * draws


class OneSided(Noise):
    def spoil(self, draws, scale):
        return abs(draws)


class TwoZeros(Noise):
    """+0 and −0 both kept: zero comes twice as often as it should."""

    def spoil(self, draws, scale):
        coin = super().uniform_integers(draws.shape, 10)
        return np.where((coin < 3) & (abs(draws) == 1), 0, draws)


class ShortTails(Noise):
    def spoil(self, draws, scale):
        reach = 4 if isinstance(scale, Ratio) else 4 * math.ceil(F(scale))
        return np.clip(draws, -reach, reach)


class SameForAllQueries(Noise):
    def spoil(self, draws, scale):
        return np.broadcast_to(draws[..., :1], draws.shape) if draws.ndim > 1 else draws


class FirstScaleForAll(Noise):
    def rescale(self, scale):
        return Ratio(scale.numerator[:1], scale.denominator[:1]) if isinstance(scale, Ratio) else scale


class FixedSeed(ExactNoise):
    def discrete_laplace(self, size, scale):
        return np.random.default_rng(0).integers(-(2**39), 2**39, size)


class Remainder(ExactNoise):
    """Uniform integers by taking a remainder of 63 bits."""

    def uniform_integers(self, size, bound):
        words = super().uniform_integers(size, 2**64)
        return np.array([int(word) % bound for word in words.tolist()], dtype=object)


def attack(mechanism, noise, case=0):
    return audit_mechanism(mechanism.audit_cases()[case], pairs=6, draws=4_000, strong_draws=60_000, noise=noise)


@pytest.mark.parametrize(
    ("mechanism", "noise_type"),
    [
        (NoisyCount, Halved),
        *((VectorLaplace, one) for one in (Halved, Silent, OneSided, ShortTails)),
        pytest.param(VectorLaplace, FivePercentShort, marks=pytest.mark.full),
    ],
)
def test_noise_mutants_are_caught_by_the_attack(mechanism, noise_type):
    strong = 1_500_000 if noise_type is FivePercentShort else 20_000  # the others lose twice ε or more
    found = audit_mechanism(mechanism.audit_cases()[0], pairs=6, draws=4_000, strong_draws=strong, noise=noise_type())
    assert not found.passed, found


def test_zero_twice_is_caught():
    assert not audit_laplace(TwoZeros(), 200_000).passed


def test_a_metafeature_without_noise_is_caught(monkeypatch):
    """A declared function whose value comes out as it is; and one that gives itself a smaller sensitivity."""
    assert not attack(DeclaredFunction, Silent()).passed
    monkeypatch.setattr(Declared, "changes", 0.5)
    monkeypatch.setattr(Statistic, "_scale", lambda self, cells, epsilon: F(self.sensitivity(cells)) / epsilon)
    assert not attack(DeclaredFunction, ExactNoise()).passed


def test_a_choice_by_a_true_value_is_caught():
    """A choice maker whose metafeature measures, as it must, and then gives the true value all the same."""

    def true_rows(x, epsilon):
        x.measure(Total(x.shape), epsilon)
        return float(peek(x).sum())

    def decisions(side, trials, feature):
        options = [ad.option(predict=text)(total_of) for text in ("rows", "7.5")]
        maker = ad.ChoiceMaker([options[0], replace(options[1], name="other")], informed_by=[feature], share="0.5")
        kernel = [Kernel.simulated(side, epsilon=1, seed=seed) for seed in range(trials)]
        return np.array([[maker.decide(one.root, epsilon=1).chosen == "other"] for one in kernel], dtype=np.int64)

    left, right = np.array([7, 0]), np.array([8, 0])
    for function in (true_rows, total_rows):
        feature = ad.metafeature(name="rows")(function)
        found = certify(partial(decisions, feature=feature), left, right, draws=300, alpha=1e-6)
        assert (found.lower_bound > 1) == (function is true_rows)


def total_of(x, *, epsilon):
    return x.measure(Total(x.shape), epsilon).value


def total_rows(x, epsilon):
    return x.measure(Total(x.shape), epsilon)


def test_one_noise_for_all_queries_is_caught():
    assert not attack(VectorLaplace, SameForAllQueries()).passed


def test_one_scale_for_all_queries_is_caught():
    assert not attack(VectorLaplace, FirstScaleForAll(), case=3).passed


def test_a_fixed_seed_is_caught():
    assert not audit_streams(FixedSeed()).passed


def test_modulo_bias_is_caught():
    assert not audit_uniform(Remainder(), 50_000).passed


def test_dropped_factor_two_is_caught(monkeypatch):
    honest = enumeration.permute_and_flip
    monkeypatch.setattr(
        enumeration, "permute_and_flip", lambda source, scores, sharp: honest(source, scores, 2 * sharp)
    )
    assert not audit_selection().passed


def test_an_unshuffled_order_is_caught(monkeypatch):
    def in_order(source, scores, sharpness):
        best = max(scores)
        return next(i for i, score in enumerate(scores) if source.bernoulli_exp(sharpness * (best - score)))

    honest = audit_selection().figures["loss/ε"]
    monkeypatch.setattr(enumeration, "permute_and_flip", in_order)
    assert audit_selection().figures["loss/ε"] > honest + 0.1


# ---- kernel


def accounts():
    return audit_accounting(120)


def test_ignored_stability_is_caught(monkeypatch):
    honest = budget_module.Budget.add_source
    monkeypatch.setattr(budget_module.Budget, "add_source", lambda self, parent, stability: honest(self, parent, 1))
    assert not accounts().passed


def test_stability_of_a_map_declared_as_one_is_caught(monkeypatch):
    honest = LinearMap.plan
    monkeypatch.setattr(LinearMap, "plan", lambda self, source: replace(honest(self, source), stability=1))
    assert not accounts().passed


def test_sensitivity_without_absolute_values_is_caught(monkeypatch):
    def signed(self, weights=None):
        rows = np.ones(self.count) if weights is None else weights
        return max(1, int(abs(rows @ np.stack([self @ unit for unit in np.eye(self.cells, dtype=int)], axis=1)).max()))

    monkeypatch.setattr(Explicit, "sensitivity", signed)
    assert not accounts().passed


def test_sensitivity_of_one_is_caught(monkeypatch):
    monkeypatch.setattr(Queries, "sensitivity", lambda self, weights=None: 1)
    assert not accounts().passed


def test_free_siblings_are_caught(monkeypatch):
    """A partition variable that lets through whatever a sibling has paid, without comparing."""

    def quote(self, node, amount):
        increases = []
        while node != budget_module.ROOT:
            here = self._nodes[node]
            if here.is_partition and here.spent:
                amount = F(0)
            increases.append((node, amount))
            amount *= here.stability
            node = here.parent
        return budget_module.Quote(amount, (*increases, (budget_module.ROOT, amount)))

    monkeypatch.setattr(budget_module.Budget, "quote", quote)
    assert not accounts().passed


def test_a_split_that_adds_up_is_caught(monkeypatch):
    """Overcharging is no leak, but it is not Algorithm 6 either."""
    monkeypatch.setattr(budget_module.Budget, "add_partition", lambda self, parent, **_: self.add_source(parent, 1))
    assert not accounts().passed


@pytest.mark.parametrize("leniency", ["absolute value", "anything goes"])
def test_lenient_budgets_are_caught(monkeypatch, leniency):
    """A negative budget taken as a positive one; something that is no number taken as a small budget."""
    import adyton.kernel.kernel as module

    strict = module.positive

    def lenient(value, name, **options):
        try:
            return strict(value, name, **options)
        except BadInput:
            if leniency == "absolute value" and isinstance(value, int | float) and -math.inf < value < 0:
                return strict(-value, name, **options)
            if leniency == "anything goes":
                return F(1, 10**6)
            raise

    monkeypatch.setattr(module, "positive", lenient)
    found = accounts()
    assert "was accepted" in found.detail
    assert not found.passed


def test_noise_for_another_epsilon_than_the_charge_is_caught(monkeypatch):
    honest = VectorLaplace.scales
    monkeypatch.setattr(VectorLaplace, "scales", lambda self, epsilon: honest(self, epsilon * 2))
    assert not accounts().passed


def test_a_discounted_charge_is_caught(monkeypatch):
    monkeypatch.setattr(VectorLaplace, "cost", lambda self, epsilon: epsilon / 2)
    assert not accounts().passed


def test_ignored_rows_per_unit_is_caught(monkeypatch):
    honest = Kernel.on_vector.__func__

    def forgetful(cls, x, *, rows_per_unit=1, **options):
        return honest(cls, x, rows_per_unit=1, **options)

    monkeypatch.setattr(Kernel, "on_vector", classmethod(forgetful))
    assert not accounts().passed


def test_group_by_charged_once_is_caught(monkeypatch, tmp_path):
    """The direct check of the stability that the paper gives: one row more changes two rows of groups."""
    from adyton.kernel.transforms import GroupBy
    from adyton_lab.audit.accounting import audit_group_by

    honest = GroupBy.plan
    monkeypatch.setattr(GroupBy, "plan", lambda self, source: replace(honest(self, source), stability=1))
    assert not audit_group_by().passed


def test_rows_counted_under_two_reasons(monkeypatch):
    from adyton.kernel.counting.table import PrivateTable
    from adyton_lab.audit.accounting import audit_misfits

    once = PrivateTable.misfits
    monkeypatch.setattr(PrivateTable, "misfits", lambda self, asked: once(self, asked) + np.roll(once(self, asked), 1))
    assert not audit_misfits().passed


def test_one_row_in_two_leaves_is_caught(monkeypatch):
    from adyton.kernel.counting.table import PrivateTable
    from adyton_lab.audit.accounting import audit_leaves

    once = PrivateTable.in_leaves
    monkeypatch.setattr(
        PrivateTable, "in_leaves", lambda self, *asked: once(self, *asked) + np.roll(once(self, *asked), 1, axis=0)
    )
    assert not audit_leaves().passed


def test_rows_counted_in_two_leaves_are_caught_by_the_choice(monkeypatch):
    """As if the leaves overlapped: every leaf of a level sees all rows of the table."""
    from adyton.kernel.counting.public_rows import CodedTable

    case = next(case for case in SplitChoice.audit_cases() if "two leaves" in case.name)
    honest = CodedTable.split_tables

    def overlapping(self, tree, names, label):
        return [np.broadcast_to(table.sum(axis=0), table.shape) for table in honest(self, tree, names, label)]

    assert audit_selection_exactly(case, pairs=40).passed
    monkeypatch.setattr(CodedTable, "split_tables", overlapping)
    assert not audit_selection_exactly(case, pairs=40).passed


class WithTheThesisBound(SplitChoice):
    """Claim. A mutant. Proof. The entropy per row of a leaf has the sensitivity (1/ln 2 + log₂|D|)/|D|. ∎"""

    def draw(self, data, epsilon, noise, trials):
        rows = max(1, data.count())
        bound = F(str((1 / math.log(2) + math.log2(rows)) / rows))
        scores = np.zeros(self.candidates.shape, dtype=np.int64)
        names = self.tree.attributes[1:]
        for place, table in enumerate(data.split_tables(self.tree, names, self.label), start=1):
            inside = table / np.maximum(table.sum(axis=2, keepdims=True), 1)
            bits = -(table * np.log2(np.where(inside > 0, inside, 1))).sum(axis=(1, 2))
            scores[:, place] = -np.rint(1000 * bits / np.maximum(table.sum(axis=(1, 2)), 1))
        return noise.permute_and_flips(scores, self.candidates == 1, epsilon / (1000 * bound))[None]


def test_entropy_with_the_bound_of_the_thesis_is_caught():
    case = next(case for case in SplitChoice.audit_cases() if "two leaves" in case.name)
    mutant = WithTheThesisBound(case.mechanism.tree, case.mechanism.candidates, "y")
    assert not audit_selection_exactly(replace(case, mechanism=mutant), pairs=40).passed


@pytest.mark.parametrize("score", [MaxScore, GiniScore, EntropyScore])
def test_a_spread_that_is_a_tenth_short_is_caught(monkeypatch, score):
    case = next(case for case in SplitChoice.audit_cases() if score.__name__.lower()[:3] in case.name)
    honest = score(64).spread if score is EntropyScore else score.spread
    monkeypatch.setattr(score, "spread", F(9, 10) * honest)
    assert not audit_selection_exactly(case, pairs=40).passed


# ---- ledger


def test_a_debit_after_the_answer_is_caught(monkeypatch):
    import adyton.kernel.kernel as module

    def hasty(self, source, operator, epsilon):
        amount = F(epsilon)
        answers = []
        assert module.run(operator, self._kept[source.node], amount, self._noise, None, answers.append) is None
        later.append(lambda: self._ledger.debit(amount, lineage=("late",), operator="late"))
        if len(later) > 2:
            later.pop(0)()
        return answers[0]

    later = []
    monkeypatch.setattr(Kernel, "measure", hasty)
    assert not audit_crashes(kills=10).passed


def broken(work):
    """What the audit reports of a check, whether it fails or breaks."""
    return not Check("mutant", 1, lambda _: work()).run().passed


def test_a_ledger_in_memory_only_is_caught(monkeypatch):
    """A ledger that is made on disk once, and kept in memory by everybody who opens it later."""
    honest = Ledger.open.__func__

    def forgetful(cls, path, **options):
        return honest(cls, path if path is not None and not path.exists() else None, **options)

    monkeypatch.setattr(Ledger, "open", classmethod(forgetful))
    assert broken(lambda: audit_crashes(kills=3))
    assert broken(audit_concurrency)


def test_float_sums_are_caught(monkeypatch):
    """Sums kept as floats: twenty twentieths are more than one."""

    def as_float(balance, *whose):
        return replace(account_of(balance, *whose), spent=F(sum([0.05] * int(balance.spent * 20))))

    monkeypatch.setattr("adyton.kernel.ledger.ledger.account_of", as_float)
    assert broken(audit_exactness)


def test_a_check_outside_the_transaction_is_caught(monkeypatch):
    """Compare with what was left a moment ago: two askers both get the last of it."""
    import time

    def stale(self, amount, **options):
        if self.spent + amount > self.total:
            raise BudgetExceeded("", asked=amount, left=F(0), total=self.total)
        time.sleep(0.002)
        with monkeypatch.context() as patch:
            patch.setattr("adyton.kernel.ledger.records.Account.remaining", F(10**9))
            return honest(self, amount, **options)

    honest = Ledger.debit
    monkeypatch.setattr(Ledger, "debit", stale)
    assert broken(audit_concurrency)


def test_refused_requests_that_stay_recorded_are_caught(monkeypatch):
    honest = Ledger.debit

    def sticky(self, amount, **options):
        try:
            return honest(self, amount, **options)
        except BudgetExceeded:
            honest(self, F(0), **options)
            raise

    monkeypatch.setattr(Ledger, "debit", sticky)
    assert not audit_exactness().passed


# ---- strategies -----------------------------------------------------------------------------------------------------


def test_a_hierarchy_that_forgets_a_level_is_caught(monkeypatch):
    monkeypatch.setattr(Hierarchy, "_plain_sensitivity", lambda self: len(self.boundaries) - 1 or 1)
    assert not audit_certificates(names=["h2"]).passed
    case = next(case for case in VectorLaplace.audit_cases() if case.name.endswith(", hierarchy"))
    assert not audit_mechanism(case, pairs=6, draws=4_000, strong_draws=60_000).passed


def test_a_wavelet_that_forgets_a_level_is_caught(monkeypatch):
    monkeypatch.setattr(Haar, "_plain_sensitivity", lambda self: max(1, self.levels))
    assert not audit_certificates(names=["privelet"]).passed


def test_budgets_that_are_rounded_up_are_caught(monkeypatch):
    honest = vector_laplace._scales_on_grid

    def rounded_up(rate, weights):
        return honest(rate * (1 + F(1, 2**35)), weights)  # one more in the last of 37 bits

    monkeypatch.setattr(vector_laplace, "_scales_on_grid", rounded_up)
    assert not audit_certificates(names=["greedy-h"]).passed


def test_weights_that_drive_the_noise_but_not_the_sensitivity_are_caught(monkeypatch):
    honest = Queries.sensitivity
    monkeypatch.setattr(Queries, "sensitivity", lambda self, weights=None: honest(self))
    assert not audit_certificates(names=["greedy-h"]).passed


def test_a_plan_that_measures_twice_is_caught():
    class Twice(plan_named("hb").__class__):
        def run(self, x, workload, epsilon):
            super().run(x, workload, epsilon)
            return super().run(x, workload, epsilon)

    with pytest.raises(BudgetExceeded):
        cost_of(Twice(), Identity(4), F(1))


# ---- plans that look at the data ------------------------------------------------------------------------------------


def peek(x):
    return x.kernel._kept[x.node].data.values()


def test_the_true_number_of_rows_is_caught(monkeypatch):
    """Published implementations of MWEM take it for granted."""

    def true_total(plan, x, epsilon):
        return Rows(max(1.0, float(peek(x).sum())), epsilon, ())

    monkeypatch.setattr(CountsRows, "count_rows", true_total)
    assert audit_cases("mwem", plan_cases(2, ["mwem"])).figures["loss/ε"] > 1


def test_a_plan_that_returns_what_it_saw_is_caught(monkeypatch):
    kind = plan_named("identity").__class__
    honest = kind.run

    def peeking(self, x, workload, epsilon):
        return np.where(peek(x) == 0, 0.0, honest(self, x, workload, epsilon))  # "empty cells need no noise"

    monkeypatch.setattr(kind, "run", peeking)
    found = audit_cases("identity", plan_cases(4, ["identity"]))
    assert not found.passed
    assert "the result is not" in found.detail


def test_a_selection_that_is_not_charged_is_caught(monkeypatch):
    """It comes on top of what the counts cost."""
    honest = Kernel.measure

    def free_of_charge(self, source, operator, epsilon):
        if isinstance(operator, DyadicPartition):
            return Partition(operator.choose(peek(source), F(1, 5), SimulatedNoise(0)))
        return honest(self, source, operator, epsilon)

    monkeypatch.setattr(Kernel, "measure", free_of_charge)
    kernel = Kernel.simulated(np.arange(8), epsilon=1, seed=0)
    plan_named("dyadic").estimate(kernel.root, Identity(8), 1)
    assert kernel.spent != 1  # what the contract of every plan forbids


def test_the_certificates_that_catch_mutants_pass_without_them():
    found = audit_certificates(names=["h2", "privelet", "greedy-h"])
    assert found.passed, found
    assert found.figures["largest cost/ε"] == 1.0


def test_a_depth_by_the_true_number_of_rows_is_caught(monkeypatch):
    """A tree whose depth depends on how many rows there really are."""
    from adyton.kernel.counting.public_rows import CodedTable
    from adyton.learning import chosen_tree

    seen = []
    honest = CodedTable.count
    monkeypatch.setattr(CodedTable, "count", lambda self: seen.append(honest(self)) or seen[-1])
    monkeypatch.setattr(chosen_tree, "deepest", lambda target, most: seen[-1] % 2 + 1)
    monkeypatch.setattr(chosen_tree.BySupport, "finest", property(lambda self: 4.0 if seen[-1] % 2 else 0.0))
    assert audit_cases("chosen", row_cases("learners", 2, ["chosen"])).figures["loss/ε"] > 1


def test_a_forest_that_is_charged_once_is_caught(monkeypatch):
    """Every tree of a forest with the whole budget, and a kernel that does not notice."""
    from adyton.learning.published_trees import PublishedTrees

    honest = PublishedTrees._tree

    def generous(self, source, target, epsilon, rows, random):
        with monkeypatch.context() as patched:
            patched.setattr(Kernel, "_debit", lambda *_: Debit(0, F(0), "nothing", ()))
            patched.setattr(Kernel, "_settle", lambda *_: None)
            return honest(self, source, target, 8 * epsilon, rows, random)

    monkeypatch.setattr(PublishedTrees, "_tree", generous)
    assert audit_cases("jagannathan", row_cases("learners", 1, ["jagannathan"])).figures["loss/ε"] > 1
