"""The audit passes on the product as it is, and says so."""

import json

import pytest
from typer.testing import CliRunner

from adyton.cli.main import app
from adyton.errors import BadInput
from adyton.kernel.mechanisms import MECHANISMS
from adyton.learning.registry import learners
from adyton.marginals.program import PROGRAMS
from adyton.plans import algorithms
from adyton_lab.audit.accounting import audit_accounting
from adyton_lab.audit.durability import audit_crashes
from adyton_lab.audit.run import audit, checks


@pytest.fixture(scope="module")
def brief():
    done = CliRunner().invoke(app, ["audit", "--profile", "brief", "--json"])
    assert done.exit_code == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_brief_profile_passes(brief):
    """False alarm: at most 1e-6 for each statistical case and each plan, 1e-7 for each goodness-of-fit test."""
    assert brief["passed"]
    assert len(brief["findings"]) == len(checks("brief"))
    assert all(finding["passed"] for finding in brief["findings"])


def test_every_mechanism_is_attacked(brief):
    """Statistically, with enough draws to certify nearly all of ε where a pair loses that much; or exactly."""
    found = {finding["check"]: finding for finding in brief["findings"]}
    for case in (case for mechanism in MECHANISMS for case in mechanism.audit_cases()):
        finding = found[case.name]
        assert finding["room"] == ("selections" if case.enumerable else "mechanisms")
        assert 0 < finding["figures"]["largest/ε"] <= 1
        if case.reaches_epsilon:
            assert 0.9 <= finding["figures"]["certified/ε"] <= 1


def test_every_plan_is_recomputed(brief):
    (certificates,) = (finding for finding in brief["findings"] if finding["check"] == "certificates")
    assert 0.999 < certificates["figures"]["largest cost/ε"] <= 1


def test_whole_programs_are_replayed(brief):
    """Every plan, program for many tables and learner, a family, and a question of each kind to a table of people."""
    found = {one["check"]: one["figures"] for one in brief["findings"] if one["room"] == "programs"}
    assert found["plans"]["pairs"] == len(algorithms(1)) + len(algorithms(2))
    assert found["learners"]["pairs"] == len(learners()) + 1  # the default, on merged cells
    assert found["programs for many tables"]["pairs"] == len(PROGRAMS)
    assert found["some of each kind, of people"]["pairs"] == 6
    assert all(0.9 <= one["loss/ε"] <= 1 for one in found.values())


def test_unknown_profile():
    with pytest.raises(BadInput, match="brief, quick, full"):
        checks("thorough")


@pytest.mark.full
@pytest.mark.parametrize("profile", ["quick", "full"])
def test_longer_profiles_pass(profile):
    assert [finding for finding in audit(profile) if not finding.passed] == []


@pytest.mark.full
def test_two_hundred_kills():
    """The process of a release loop is killed at 200 random moments: debits always cover the answers seen."""
    found = audit_crashes(kills=200, seed=5)
    assert found.passed, found
    assert found.figures["kills"] == 200


@pytest.mark.full
def test_other_sequences_than_the_audit_s():
    found = audit_accounting(3000, seed=77)
    assert found.passed, found
