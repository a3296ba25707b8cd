"""A table of hashes of what every plan gives with seeded noise: the same before and after a change of form only.

Run ``python tests/plans/estimate_hashes.py > before.txt`` on both versions, on one machine, and compare the files;
names of plans after it choose some of them.
Floating point differs between processors, so the table itself is not kept.
"""

import hashlib
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from test_contract import SERVED, identify, requests

from adyton.plans import plan_named, simulate


def lines(names):
    """One line for each plan, domain, workload and data set of the contract, and what it expects of its error."""
    for name, domain in SERVED:
        if names and name not in names:
            continue
        for workload, data in requests(name, domain):
            words = f"{name} {identify(domain)} {type(workload).__name__}"
            if not plan_named(name).serves.data_dependent:
                yield f"{words} expected {plan_named(name).expected_error(workload, 1)!r}"
            for number, x in enumerate(data):
                for trials in (None, 2) if x.size < 1000 else (None,):
                    estimate = simulate(name, x, workload, 1, seed=7, trials=trials)
                    digest = hashlib.sha256(np.ascontiguousarray(estimate).tobytes()).hexdigest()[:16]
                    yield f"{words} {number} {trials} {digest}"


if __name__ == "__main__":
    for line in lines(sys.argv[1:]):
        sys.stdout.write(line + "\n")
