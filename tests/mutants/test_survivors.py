"""The list of seeded faults that no test notices is about the code as it is."""

from mutants.seeding import KERNEL, MODULES, mutants
from mutants.survivors import explained, searched


def test_every_survivor_is_a_fault_of_the_code_of_today_and_has_a_reason():
    """What is not: functions were changed. Run ``python tests/mutants/run.py MODULE``, and correct the list."""
    names = [mutant.name for mutant in mutants()]
    assert len(names) == len(set(names)) > 1000
    assert sorted(set(explained()) - set(names)) == []
    assert min(map(len, explained().values())) > 20
    assert {f"{KERNEL}.{module}" for module in searched()} <= set(MODULES)
    assert {name.split(":")[0] for name in explained()} <= set(searched())
