"""The audit passes on the product as it is, and says so."""

import json
import subprocess
import sys

import pytest

from adyton.audit.accounting import audit_accounting
from adyton.audit.durability import audit_crashes
from adyton.audit.run import audit, checks
from adyton.errors import BadInput
from adyton.kernel.mechanisms import MECHANISMS


@pytest.fixture(scope="module")
def quick():
    command = [sys.executable, "-m", "adyton", "audit", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_quick_profile_passes(quick):
    """False alarm: at most 1e-6 for each of five statistical cases, and 1e-7 for each of nine goodness-of-fit tests."""
    assert quick["passed"]
    assert len(quick["findings"]) == len(checks("quick"))
    assert all(finding["passed"] for finding in quick["findings"])


def test_every_mechanism_is_attacked(quick):
    attacked = [finding for finding in quick["findings"] if finding["room"] == "mechanisms"]
    assert len(attacked) == sum(len(mechanism.audit_cases()) for mechanism in MECHANISMS) == 9
    for finding in attacked:
        assert 0.95 <= finding["figures"]["certified/ε"] <= 1
        assert finding["figures"]["largest/ε"] <= 1


def test_unknown_profile():
    with pytest.raises(BadInput, match="quick, full"):
        checks("thorough")


@pytest.mark.full
def test_full_profile_passes():
    assert [finding for finding in audit("full") if not finding.passed] == []


def test_two_hundred_kills():
    """The process of a release loop is killed at 200 random moments: debits always cover the answers seen."""
    found = audit_crashes(kills=200, seed=5)
    assert found.passed, found
    assert found.figures["kills"] == 200


def test_other_sequences_than_the_audit_s():
    found = audit_accounting(300, seed=77)
    assert found.passed, found
