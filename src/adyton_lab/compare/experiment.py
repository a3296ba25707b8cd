"""The experiment: every algorithm on every public data set, with every budget, for every workload."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.choice.pythia import Pythia
from adyton.choice.selector import WORKLOADS, workload_named
from adyton.errors import AdytonError, BadInput
from adyton.exact import Rational, display, positive
from adyton.kernel.kernel import Kernel
from adyton.kernel.ledger.records import LARGEST_TOTAL
from adyton.messages import no_such
from adyton.plans import Plan, algorithms, plan_named
from adyton.whole import whole
from adyton_lab.compare.data_sets import DataSet
from adyton_lab.compare.results import LOOKS, Case, Comparison, Outcome, Recommendation, ranked, shown
from adyton_lab.corpus import confirm_public
from adyton_lab.training.engine import Advance, Trials, unseen

EPSILONS: tuple[Rational, ...] = ("0.01", "0.1", "1")
USUAL_WORKLOADS = {1: ("identity", "prefix", "mixed"), 2: ("identity", "mixed")}
TRIALS = 5
"""How many times each algorithm runs."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Experiment:
    """What to compare.

    >>> data = [DataSet("ages", np.array([9, 0, 0, 0, 3, 0, 0, 0]))]
    >>> [case] = Experiment(
    ...     datasets=data, public=True, epsilons=["1"], workloads=["identity"], algorithms=["hb", "uniform"]
    ... ).run().cases
    >>> sorted(outcome.algorithm for outcome in case.outcomes), sum(case.recommendation.choices.values())
    (['hb', 'uniform'], 20)
    """

    datasets: Sequence[DataSet]
    public: bool = False
    """Confirms that the data are public: nothing done with them is protected."""
    epsilons: Sequence[Rational] = EPSILONS
    workloads: Sequence[str] | None = None
    """Names from :data:`adyton.choice.selector.WORKLOADS`; None for the usual workloads."""
    algorithms: Sequence[str] | None = None
    """None for all that serve the domain."""
    trials: int = TRIALS
    seed: int = 0

    def __post_init__(self) -> None:
        confirm_comparing(self.public)
        whole(self.trials, "trials", 1)
        whole(self.seed, "seed", 0)
        self.budgets()
        for data in self.datasets:
            self.asked(data)
            self.plans(data)

    def budgets(self) -> list[Fraction]:
        """The distinct budgets, the smallest first."""
        budgets = sorted({positive(amount, "epsilon") for amount in self.epsilons})
        if budgets and budgets[-1] > LARGEST_TOTAL:
            raise BadInput(f"epsilon must be at most {LARGEST_TOTAL}, given {display(budgets[-1])}.")
        return budgets

    def asked(self, data: DataSet) -> list[str]:
        """The workloads that fit a data set."""
        ndim = data.counts.ndim
        names = list(dict.fromkeys(self.workloads or USUAL_WORKLOADS[ndim]))
        for name in names:
            if name not in WORKLOADS:
                raise BadInput(no_such("workload", name, WORKLOADS))
        fitting = [name for name in names if ndim == 1 or name != "prefix"]
        if not fitting:
            raise BadInput(
                f"there are no prefixes in two dimensions, which {data.name!r} has. Ask for another workload as well: "
                "identity, short, medium, long or mixed."
            )
        return fitting

    def plans(self, data: DataSet) -> dict[str, Plan]:
        """The algorithms that serve a data set, by name."""
        ndim = data.counts.ndim
        chosen = {name: plan_named(name) for name in self.algorithms or algorithms(ndim)}
        serving = {name: plan for name, plan in chosen.items() if plan.serves.serves(ndim)}
        if not serving:
            raise BadInput(
                f"none of the algorithms asked for serves {ndim} dimension{'s' * (ndim > 1)}, which {data.name!r} has. "
                f"These do: {', '.join(algorithms(ndim))}."
            )
        return serving

    def steps(self) -> int:
        """How many steps :meth:`run` reports."""
        cases = ((len(self.asked(data)), len(self.plans(data))) for data in self.datasets)
        return len(self.budgets()) * sum(asked * (plans + 1) for asked, plans in cases)

    def run(self, advance: Advance = unseen) -> Comparison:
        """Run the whole experiment; an algorithm that fails is reported with the reason.

        Each algorithm is completed before the next begins: what it prepares for a workload is used for all data sets
        and budgets.
        """
        outcomes: dict[tuple[str, Fraction, str], list[Outcome]] = defaultdict(list)
        estimates: dict[tuple[str, str, str, str | None], Reals] = {}
        plans = {data.name: self.plans(data) for data in self.datasets}
        names = dict.fromkeys(itertools.chain.from_iterable(plans.values()))
        for name, data, epsilon in itertools.product(names, self.datasets, self.budgets()):
            if name not in plans[data.name]:
                continue
            plan, seed = plans[data.name][name], self._seed(data, epsilon, "runs")
            runs = Trials(plan, data.counts, epsilon, seed=seed, trials=self.trials)
            for workload in self.asked(data):
                outcome, estimate = _judged(runs, workload)
                outcomes[data.name, epsilon, workload].append(outcome)
                if estimate is not None:
                    kept = workload if plan.minds_workload else None
                    estimates.setdefault((data.name, display(epsilon), name, kept), estimate)
                advance(1)
        cases = []
        for data, epsilon in itertools.product(self.datasets, self.budgets()):
            for workload in self.asked(data):
                advice = self._recommendation(data, epsilon, workload)
                judged = ranked(outcomes[data.name, epsilon, workload])
                cases.append(Case(data.name, epsilon, workload, outcomes=judged, recommendation=advice))
                advance(1)
        return Comparison(datasets=self.datasets, cases=cases, estimates=estimates, trials=self.trials, seed=self.seed)

    def _recommendation(self, data: DataSet, epsilon: Fraction, asked: str) -> Recommendation:
        """The choices of the selector that ships with Adyton, in repeated runs on the data."""
        workload = workload_named(asked, data.counts.shape)
        sources = np.random.SeedSequence(self._seed(data, epsilon, "looks")).spawn(LOOKS)
        try:
            kernels = (Kernel.simulated(data.counts, epsilon=epsilon, seed=source) for source in sources)
            chosen = [Pythia().choose(kernel.root, workload, epsilon).algorithm for kernel in kernels]
        except AdytonError as error:
            return Recommendation(choices={}, failure=_reason(error))
        return Recommendation(choices=dict(Counter(sorted(chosen)).most_common()))

    def _seed(self, data: DataSet, epsilon: Fraction, purpose: str) -> int:
        """A seed that is the same for all algorithms, so identical algorithms have identical errors; else distinct."""
        text = f"{self.seed}/{data.name}/{epsilon}/{purpose}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def confirm_comparing(public: object) -> None:
    """Refuse to compare algorithms on data that are not confirmed to be public."""
    confirm_public(
        public, "comparing", "For private data, `adyton release --algorithm auto` chooses an algorithm privately."
    )


def _judged(runs: Trials, asked: str) -> tuple[Outcome, Reals | None]:
    """How an algorithm did on a workload, and its first estimate at the resolution of the plots."""
    name, workload = runs.plan.name, workload_named(asked, runs.x.shape)
    try:
        ran = runs.on(workload)
        if not np.isfinite(ran.estimates).all():
            raise ArithmeticError("an estimate was not finite.")
        errors = ran.errors / math.sqrt(workload.count)
        deviation = float(errors.std(ddof=1)) / math.sqrt(errors.size) if errors.size > 1 else None
        outcome = Outcome(algorithm=name, error=float(errors.mean()), standard_error=deviation, seconds=ran.seconds)
        return outcome, shown(ran.estimates[0])
    except Exception as error:  # a failing algorithm does not stop the others
        return Outcome(algorithm=name, failure=_reason(error)), None


def _reason(error: Exception) -> str:
    words = " ".join(str(error).split())
    return words if isinstance(error, AdytonError) else f"{type(error).__name__}: {words or 'no reason given'}"
