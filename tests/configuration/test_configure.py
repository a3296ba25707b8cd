"""ad.configure on toys: what comes out, what is refused before anything is spent, and what files may hold."""

import json
import math
from dataclasses import dataclass
from fractions import Fraction as F

import numpy as np
import pytest

import adyton as ad
from adyton.configuration.result import Guarantee, planned
from adyton.errors import BadInput, BudgetExceeded, LargeBudget, LedgerMismatch
from adyton.kernel.instances.lattice import POINTS, UNIT, Lattice, SmoothCurve, StepCurve, Utility
from adyton.kernel.instances.opening import simulated_instances
from adyton.kernel.ledger import Ledger
from adyton_lab.audit.tuning import ToyFamily


@dataclass(frozen=True)
class Liked(ad.configuration.Family):
    """An instance is the parameter that it likes; further away is worse. Steps of 1/250 of the interval."""

    name = "liked"
    interval = (0.0, 2.0)
    default = 1.0
    kind = float
    fails: bool = False

    def run(self, instance, parameter):
        return 100 - 40 * abs(parameter - instance)

    def curve(self, instance, lattice):
        if self.fails:
            raise ZeroDivisionError("on purpose")
        starts = np.arange(250) * (POINTS // 250)
        middles = lattice.point(starts + POINTS // 500)
        return StepCurve(starts, 100 - 40 * np.abs(middles - instance))

    def examples(self):
        return [0.5, 1.5]


class Nameless(Liked):
    """Found out before anything is paid, not when the result is written."""

    name = None


class Broken(Liked):
    """Its curve begins at place 1."""

    def curve(self, instance, lattice):
        return StepCurve(np.array([1, 5]), np.array([1.0, 2.0]))


NAMELESS, BROKEN = Nameless(), Broken()
INSTANCES = [0.69, 0.7, 0.71] * 100


@pytest.fixture(scope="module")
def found():
    return ad.configure(Liked(), INSTANCES, 1, default=1.0)


def test_the_parameter_is_good(found):
    """A summed loss of more than 25 votes has probability e^(-25)·2·L/w: never."""
    assert abs(found.parameter - 0.7) < 0.1
    assert (found.epsilon, found.family, found.interval) == (F(1), "liked", (0.0, 2.0))
    assert (found.neighbours, found.utility.name, found.private) == ("add-remove", "regret", True)
    assert found.receipt.entries[0].operator == "tuned parameter, or 1, ε = 1"
    assert found.curve is None
    with pytest.raises(AttributeError):
        found.parameter = 0


def test_nothing_reveals_the_instances():
    """All but the parameter is the same for three instances, for three hundred, and for failures."""

    def told(instances):
        plain = ad.configure(Liked(), instances, 1).to_dict()
        return {key: value for key, value in plain.items() if key not in ("parameter", "digest")}

    assert told([]) == told([0.7]) == told(INSTANCES) == told(["x", None, math.nan, 1e308])


def test_words(found):
    text = str(found.explain())
    assert text.startswith("Tuned: liked, to the parameter 0.")
    assert "by relative regret, clipped at 0.1. Half of the prior was on today's value, 1." in text
    assert "With probability 95% the average loss (losses above 0.1 on one instance count as 0.1)" in text
    assert "whether a certain instance is among those used can reach at most 74%" in text
    assert "cost ε = 1; 0 of 1 is left, in this process only" in text
    assert "Tuned: liked" in found._repr_html_()
    assert repr(found).startswith("<liked tuned to 0.")


def test_replaced_and_owned():
    found = ad.configure(Liked(), INSTANCES, 1, neighbours="replace", owner=[place % 7 for place in range(300)])
    assert found.receipt.unit == "owner"
    assert "whether a certain owner's instances were used, or others in their place" in str(found.explain())
    assert found.guarantee.by_owner
    assert found.guarantee.summed_loss() == pytest.approx(2 * math.log(100 * 20), rel=1e-6)


def test_values_and_bounds():
    found = ad.configure(Liked(), INSTANCES, 1, utility="value", bound=100)
    assert "by value, up to 100." in str(found.explain())
    assert abs(ad.configure(Liked(), [0.7] * 3000, 1, utility="value", bound=100).parameter - 0.7) < 0.2


def test_public_instances_have_a_curve():
    runs = [ad.configure(Liked(), INSTANCES, 1, public=True, seed=3) for _ in range(2)]
    assert runs[0] == runs[1]
    assert not runs[0].private
    assert str(runs[0].explain()).startswith("NOT PRIVATE")
    points, means = np.array(runs[0].curve).T
    assert abs(points[means.argmax()] - 0.7) < 0.02
    assert means.min() >= 0
    assert means.max() <= 1
    with pytest.raises(BadInput, match="need no ledger"):
        ad.configure(Liked(), INSTANCES, 1, public=True, ledger="x.ledger")
    with pytest.raises(BadInput, match="cannot be seeded"):
        ad.configure(Liked(), INSTANCES, 1, seed=3)


def test_a_ledger_remembers(tmp_path):
    path = tmp_path / "bids.ledger"
    first = ad.configure(Liked(), INSTANCES, "0.3", ledger=path, dataset="bids", total=1)
    assert (first.receipt.total, first.receipt.remaining, first.receipt.ledger) == (1, F(7, 10), "bids.ledger")
    asked = []
    with pytest.raises(BudgetExceeded, match="0.7"):
        ad.configure(Liked(), INSTANCES, "0.8", ledger=path, dataset="bids", progress=lambda *told: asked.append(told))
    assert asked == []
    with pytest.raises(LedgerMismatch):
        ad.configure(Liked(), INSTANCES, "0.1", ledger=path, dataset="bids", clip="0.2")
    with pytest.raises(LedgerMismatch):
        ad.configure(Liked(), INSTANCES, "0.1", ledger=path, dataset="bids", neighbours="replace")
    with pytest.raises(LedgerMismatch):
        ad.configure(Liked(), INSTANCES, "0.1", ledger=path, dataset="other")
    assert Ledger.read(path).spent == F(3, 10)
    with Ledger.open(path, total=1, dataset="bids") as ledger:
        ad.configure(Liked(), INSTANCES, "0.7", ledger=ledger)
        assert ledger.remaining == 0


BAD = {
    "no budget": ({"epsilon": 0}, "epsilon must be greater than 0, given 0"),
    "nan budget": ({"epsilon": math.nan}, "epsilon must be a finite number"),
    "zero length": ({"interval": (1, 1)}, "from a number to a greater one"),
    "backwards": ({"interval": (2, 1)}, "from a number to a greater one"),
    "infinite": ({"interval": (0, math.inf)}, "from a number to a greater one"),
    "one end": ({"interval": (1,)}, "two numbers such as"),
    "words for an interval": ({"interval": ("a", "b")}, "two numbers such as"),
    "no family": ({"family": "knapsack!"}, "family must be an algorithm with a parameter"),
    "a class": ({"family": Liked}, r"Write Liked\(\)"),
    "a failing family": ({"family": Liked(fails=True)}, "fails on its own example: ZeroDivisionError: on purpose"),
    "a nameless family": ({"family": NAMELESS}, "a family must have a name"),
    "a broken curve": ({"family": BROKEN}, "its curve does not begin at place 0"),
    "clip 0": ({"clip": 0}, "clip must be greater than 0"),
    "clip 2": ({"clip": 2}, "clip must be greater than 0"),
    "clip and words": ({"clip": "much"}, "clip must be a finite number"),
    "relation": ({"neighbours": "add"}, "no relation of neighbours 'add'. There are 'add-remove', 'replace'"),
    "utility": ({"utility": "regrets"}, "Did you mean 'regret'"),
    "no bound": ({"utility": "value"}, "needs a bound"),
    "bound 0": ({"utility": "value", "bound": 0}, "bound must be greater than 0"),
    "a bound too many": ({"bound": 3}, "a bound is for the utility value"),
    "default outside": ({"default": 2.5}, "default must be a number in the interval from 0 to 2, given 2.5"),
    "default nan": ({"default": math.nan}, "default must be a number in the interval"),
    "default text": ({"default": "today"}, "default must be a number in the interval"),
    "owners": ({"owner": ["a", "b"]}, "one owner for each instance"),
    "instances": ({"instances": "file.txt"}, "instances must be a list"),
    "no list": ({"instances": 7}, "instances must be a list"),
    "no data set": ({"ledger": "made.ledger"}, "Name the data set"),
}


@pytest.mark.parametrize(("given", "said"), BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence_and_nothing_is_spent(given, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=said) as refused:
        ad.configure(**{"family": Liked(), "instances": INSTANCES, "epsilon": 1, **given})
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_large_budget_is_remarked_upon():
    with pytest.warns(LargeBudget, match="a configuration of ε = 5"):
        ad.configure(Liked(), INSTANCES, 5)


def test_a_smooth_family():
    class Smooth(ToyFamily):
        name = "smooth"
        interval = (0.5, 4.0)

        def curve(self, instance, lattice):
            return SmoothCurve(np.array([0]), np.array([[0.0, 10.0, -5.0 * instance]]))  # best at s = instance

        def examples(self):
            return [1.0]

    assert 1.5 < ad.configure(Smooth(), [2.0] * 1500, 1).parameter < 2.7


def test_what_was_paid_is_kept():
    kept = []
    found = ad.configure(Liked(), INSTANCES, 1, keep=kept.append)
    assert kept == [found]


# ---- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("public", [False, True])
def test_files(tmp_path, found, public):
    saved = ad.configure(Liked(), INSTANCES, "1/3", public=True, seed=1) if public else found
    path = tmp_path / "config.json"
    saved.save(path)
    assert ad.Configuration.load(path) == saved
    assert ad.Configuration.from_dict(json.loads(json.dumps(saved.to_dict()))) == saved
    assert "\n".join(map(str, json.loads(path.read_text()).values())).count("time") == 0


CHANGES = {
    "parameter": 7.0,
    "neighbours": "both",
    "utility": {"name": "regret", "scale": {"exact": "2"}},
    "intervals": [[0, 0]],
    "points": -1,
    "default": 9.0,
    "curve": [[0.0, 1.0]],
    "epsilon": {"exact": "5"},
    "family": 3,
    "record": {},
    "version": 3,
    "format": "adyton classifier",
}


@pytest.mark.parametrize("part", CHANGES)
def test_a_stranger_s_file_is_refused(found, part):
    from saved_results import signed

    plain = found.to_dict()
    inside = plain["task"] if part in plain["task"] else plain
    inside[part] = CHANGES[part]
    with pytest.raises(BadInput, match="digest does not fit|is not a configuration|version"):
        ad.Configuration.from_dict(plain)
    with pytest.raises(BadInput):
        ad.Configuration.from_dict(signed(plain))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "adyton configuration"}', "NaN", "[" * 10**5])
def test_what_is_no_configuration(tmp_path, text):
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(BadInput):
        ad.Configuration.load(path)


# ---- the guarantee --------------------------------------------------------------------------------------------------


def losses(curves, utility, epsilon, neighbours, default=None, draws=300):
    """The summed loss of many draws against the best neighbourhood of one hundredth, by brute force on the places."""
    from adyton.kernel.instances.opening import survey

    lattice = Lattice(0.0, 2.0)
    sums = survey(curves, lambda curve: curve, lattice, utility)
    grid = np.arange(2000) * (POINTS // 500)
    least = np.lib.stride_tricks.sliding_window_view(sums.at(grid), 22).min(axis=1).max()  # a little wider than w
    kernel = simulated_instances(sums, lattice, epsilon=1000, neighbours=neighbours, seed=1)
    chosen = [kernel.root.tune(epsilon, default) for _ in range(draws)]
    return (least - sums.at(np.array([lattice.nearest(one) for one in chosen]))) / UNIT


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("default", [None, 1.9])
def test_the_guarantee_holds(neighbours, default):
    """It may fail with probability 0.05 a draw; here 60 of 300 would be a miracle (below 1e-12)."""
    utility = Utility.named("regret")
    promise = Guarantee(F(1), neighbours, utility, has_default=default is not None)
    for seed, many in ((0, 10), (1, 200)):
        generator = np.random.default_rng(seed)
        curves = [Liked().curve(liked, Lattice(0.0, 2.0)) for liked in generator.normal(0.8, 0.1, many)]
        seen = losses(curves, utility, 1, neighbours, default)
        assert (seen > promise.summed_loss()).sum() < 60
        assert many > 10 or seen.max() > 0


def test_figures_of_the_guarantee():
    promise = planned(1)
    assert promise.summed_loss(width=0.5, failure=0.5) == pytest.approx(math.log(4), rel=1e-8)
    assert planned(1, neighbours="replace").summed_loss() == pytest.approx(2 * promise.summed_loss())
    assert planned(1, has_default=True).summed_loss() == pytest.approx(promise.summed_loss() + math.log(2))
    assert planned(1, points=64).summed_loss() == pytest.approx(math.log(64 * 20))
    assert planned("0.1").summed_loss() == pytest.approx(10 * promise.summed_loss())
    assert promise.average_loss(1) == 0.1
    needed = promise.instances_needed("0.005")
    assert promise.average_loss(needed) <= 0.005 < promise.average_loss(needed - 1)
    assert planned(1, has_default=True).against_default(1000) < promise.average_loss(1000)
    assert planned(1, utility="value", bound=50).average_loss(10**6) == pytest.approx(0.00043, rel=0.2)
    assert "nothing is said about what lies between" in str(planned(1, points=64))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda promise: promise.summed_loss(width=0),
        lambda promise: promise.summed_loss(width=2),
        lambda promise: promise.summed_loss(failure=0),
        lambda promise: promise.average_loss(0),
        lambda promise: promise.instances_needed(0),
        lambda promise: promise.instances_needed("1e-30"),
        lambda promise: promise.against_default(5),
        lambda promise: planned(0),
        lambda promise: planned(1, neighbours="both"),
    ],
)
def test_figures_that_cannot_be(wrong):
    with pytest.raises(BadInput):
        wrong(planned(1))
