"""Ways to measure pairs, tried on a public table, and what trials teach."""

import csv
import json
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

from adyton.cli.main import app
from adyton.errors import BadInput
from adyton.marginals.deciding import WAYS
from adyton_lab.pair_decisions import Trials, collect
from adyton_lab.pair_trials import PublicPairs, Trial, tried
from adyton_lab.way_costs import FILE, WayCosts, facts


@pytest.fixture(scope="module")
def public():
    random = np.random.default_rng(3)
    first = random.integers(0, 3, 4000)
    codes = np.column_stack([first, (first + (random.random(4000) < 0.1)) % 3, random.integers(0, 2, 4000), first % 2])
    return PublicPairs.of("small", codes, [3, 3, 2, 2])


def test_a_trial_measures_what_was_decided(public):
    trial = Trial(public, Fraction(10), np.random.default_rng(0))
    seen, spent = trial.look()
    model = trial.again([1]).go(WAYS["half of one"].decision(seen.attributes, spent.rest))
    assert len(model.pairs) == 2
    assert public.error(model) < 0.5 * seen.dependence
    labelled = trial.again([1]).go(WAYS["half of one"].decision(seen.attributes, spent.rest), label="x02")
    assert sum("x02" in pair for pair in labelled.pairs) == 3


def lessons(tmp_path, worse):
    """All pairs are best above a signal of 1, none below."""
    file = tmp_path / "trials.csv"
    with file.open("w", newline="") as kept:
        for number, signal in enumerate(np.geomspace(0.01, 100, 40)):
            errors = (worse, 1.0) if signal < 1 else (1.0, worse)
            for way, error in zip(WAYS, (errors[0], *[errors[1]] * (len(WAYS) - 1)), strict=True):
                csv.writer(kept).writerow((f"t{number % 20}", "1", number, 6, signal, 0.1, 0.1 * signal, way, error))
    return Trials.read(file), file


def test_what_is_learnt_holds_on_tables_held_out(tmp_path):
    trials, _ = lessons(tmp_path, 2.0)
    assert (trials.held_out() == 1).mean() > 0.9
    costs = trials.fitted().costs(facts(50.0, 0.1, 5.0, 6))
    assert costs == {way: 1.0 if way == "all pairs" else 2.0 for way in WAYS}


def test_files_are_made_once_and_read_again(tmp_path, public):
    trials, file = lessons(tmp_path, 2.0)
    found = CliRunner().invoke(app, ["train-pairs", "--out", str(tmp_path), "--cache", str(file), "--tables", "0"])
    assert found.exit_code == 0
    assert "mean regret, held out: 1" in found.output
    read = WayCosts.from_plain(json.loads((tmp_path / FILE).read_text("utf-8")))
    point = facts(0.2, 0.1, 0.02, 6)
    assert read.costs(point) == trials.fitted().costs(point)
    with file.open("a", newline="") as kept:
        csv.writer(kept).writerow((public.name, "1", 0, 4, 1.0, 0.1, 0.1, "all pairs", 1.0))
    before = file.read_text("utf-8")
    collect([public], ["1"], 1, file)
    assert file.read_text("utf-8") == before
    with pytest.raises(BadInput, match="pair ways"):
        WayCosts.from_plain({})


def test_no_two_tables_share_their_noise(public):
    other = PublicPairs("other", public.sides, public.rows, public.tables, public.codes)
    looks = [next(iter(tried(one, Fraction(1), 0)))[1] for one in (public, public, other)]
    assert looks[0] == looks[1] != looks[2]
