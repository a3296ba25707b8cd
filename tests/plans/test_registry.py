"""The registry: a table that agrees with the plans, loads one at a time, and is open to other packages."""

import importlib
import inspect
import pkgutil
import subprocess
import sys
import textwrap

import pytest

import adyton as ad
import adyton.choice
import adyton.plans
import adyton.plans.published
from adyton.errors import BadInput
from adyton.plans import Plan, StrategyPlan, Tasks, plan_named, plan_type, register, simulate
from adyton.plans.registry import _PLACES, ALGORITHMS, PLANS
from over_cases import over

OWN = """
    from dataclasses import dataclass

    from adyton.plans import StrategyPlan, Tasks
    from adyton.queries import Identity
    from adyton.strategies.base import Strategy


    @dataclass(frozen=True, kw_only=True)
    class Elsewhere(StrategyPlan):
        '''Noise on every cell, from another package.'''

        name, serves = "elsewhere", Tasks(dimensions=(1,))

        def strategy(self, workload):
            return Strategy(Identity(workload.domain))
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Installs a module with these entry points; what it registers is forgotten afterwards."""
    known = dict(PLANS)

    def install(**entries):
        (tmp_path / "from_elsewhere.py").write_text(textwrap.dedent(OWN))
        about = tmp_path / "from_elsewhere-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: from-elsewhere\nVersion: 1.0\n")
        lines = [f"{name.replace('_', '-')} = {place}" for name, place in entries.items()]
        (about / "entry_points.txt").write_text("\n".join(["[adyton.plans]", *lines, ""]))
        monkeypatch.syspath_prepend(tmp_path)

    yield install
    sys.modules.pop("from_elsewhere", None)
    PLANS.clear()
    PLANS.update(known)


@over(_PLACES)
def test_the_table_agrees_with_the_plan(name):
    plan = plan_type(name)
    assert (plan.name, plan.serves.dimensions) == (name, _PLACES[name][-1])
    assert type(plan_named(name)) is plan


def test_every_plan_of_the_package_is_in_the_table():
    found = set()
    for room in (adyton.plans, adyton.plans.published, adyton.choice):
        for module in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
            for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
                if issubclass(kind, Plan) and hasattr(kind, "name") and kind.__module__ == module.name:
                    found.add(kind)
    hidden = {"chosen"}  # what runs inside of a choice
    assert {kind.name for kind in found} - hidden == set(_PLACES)


def test_one_plan_is_imported_for_one_plan():
    """Names and dimensions come from the table."""
    code = """
        import sys, adyton as ad
        from adyton.plans import plan_named
        ad.algorithms(ndim=2), plan_named("hb")
        print(*(module for module in sys.modules if module.startswith(("adyton.plans.", "adyton.choice"))))
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    places = {f"adyton.{place.split(':')[0]}" for place, _ in _PLACES.values()}
    assert set(run.stdout.split()) & places == {"adyton.plans.strategy_plan"}


def test_a_plan_of_another_package_is_like_any_other(package):
    before = ad.algorithms()
    assert "elsewhere" not in before
    package(elsewhere="from_elsewhere:Elsewhere")
    assert ad.algorithms() == sorted([*before, "elsewhere"])
    assert "from_elsewhere" not in sys.modules
    assert "elsewhere" in ad.algorithms(ndim=1)
    assert "elsewhere" not in ad.algorithms(ndim=2)
    assert simulate("elsewhere", [3, 4], ad.workloads.Identity(2), 1000, seed=0).round().tolist() == [3, 4]
    assert ALGORITHMS.what_it_does("elsewhere") == "Noise on every cell, from another package"


def test_another_package_cannot_replace_a_plan(package):
    package(hb="from_elsewhere:Elsewhere")
    assert plan_type("hb").__module__ == "adyton.plans.strategy_plan"


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("from_elsewhere:Nothing", "cannot be loaded"),
        ("from_nowhere:Plan", "cannot be loaded"),
        ("math:pi", "is not one"),
    ],
)
def test_what_cannot_be_loaded_is_left_out_with_a_warning(package, place, words):
    package(elsewhere=place)
    with pytest.raises(BadInput, match=f"{place}.*{words}"):
        plan_named("elsewhere")
    with pytest.warns(UserWarning, match=words):
        assert "elsewhere" not in ad.algorithms(ndim=1)
    with pytest.raises(BadInput, match="Did you mean 'hb'"):
        plan_named("hbb")


def test_an_entry_of_another_name_is_none(package):
    package(other_name="from_elsewhere:Elsewhere")
    with pytest.raises(BadInput, match="is not one of that name"):
        plan_named("other-name")


@pytest.mark.parametrize("taken", ["hb", "pythia"])
def test_a_name_is_given_once(taken):
    class Mine(StrategyPlan):
        name, serves = taken, Tasks()

    with pytest.raises(BadInput, match="there is already a plan named"):
        register(Mine)
    assert ALGORITHMS.what_it_does("no such plan") == ""
