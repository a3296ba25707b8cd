"""The list of scenarios in this folder's README names tests that exist."""

import re
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
LINES = [line for line in (HERE / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("|")]
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in LINES]
SCENARIOS = [row for row in ROWS if row[0] != "what is tried" and set(row[0]) != {"-"}]
NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def test_every_scenario_has_a_test_that_exists_or_says_why_not():
    problems = []
    for scenario, holds in SCENARIOS:
        named = NAMED.findall(holds)
        if NAMED.sub("", holds).strip(" ,") and not re.match(r"retired: \w", holds):
            problems.append(f"{scenario}: neither tests nor a reason")
        for path, name in named:
            file = ROOT / path
            if not file.is_file() or f"\ndef {name}(" not in file.read_text(encoding="utf-8"):
                problems.append(f"{scenario}: there is no {path}::{name}")
    assert not problems
    assert len(SCENARIOS) > 40
    assert len({scenario for scenario, _ in SCENARIOS}) == len(SCENARIOS)
