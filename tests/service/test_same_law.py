"""A client of another user, who cannot read the table, gets what somebody at the table gets: the same law of results.

The noise is fresh on both sides, so samples are compared: each figure of a result by the exact Kolmogorov–Smirnov test,
which rejects where nothing differs in at most one of a million runs, over all figures together. That
the same seed gives the same is shown in tests/session/test_remote.py. The long run is
``ADYTON_RELEASES=300 pytest -m full tests/service/test_same_law.py``.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ks_2samp

import adyton as ad
from service.whole import Served, people

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="changing the user needs root"),
    pytest.mark.filterwarnings("ignore::adyton.errors.LargeBudget"),
]
RELEASES = int(os.environ.get("ADYTON_RELEASES", "20"))
FALSE_ALARM = 1e-6
EPSILON = "0.5"
"""Of every release."""
ROWS = people().to_pandas()
CLIENT = """
import json, os, sys
import adyton as ad
from service.test_same_law import sample

address, token, count, data = sys.argv[1:]
session = ad.connect(address, token=token, dataset="people")
sample(session, 1)  # loads what it needs: this Python may lie where only root reads
os.setgroups([]), os.setgid(65534), os.setuid(65534)
try:
    open(data, "rb")
except PermissionError:
    print(json.dumps(sample(session, int(count))))
"""


def sample(session, count, epsilon=EPSILON):
    """Some figures of each kind of release, again and again: by name, one number for each time."""
    figures = {}
    for _ in range(count):
        ages = session.release(ad.Histogram("age"), epsilon=epsilon)
        model = session.fit(ad.Classifier("ward", ["age", "sex"]), epsilon=epsilon)
        tables = session.release(ad.Marginals(way=2), epsilon=epsilon)
        chances = model.predict_proba({"age": [10, 50, 90], "sex": ["F", "M", "F"]})
        pairs = tables.table("age", "ward").counts
        found = {
            "auto, error": np.square(ages.estimate - COUNTS).sum(),
            "auto, sum": ages.estimate.sum(),
            "auto, first cell": ages.estimate[0],
            "auto, different values": len(np.unique(ages.estimate)),
            "classifier, first chance": chances[0, 0],
            "classifier, certainty": np.square(chances).sum(),
            "marginals, error": np.square(pairs - PAIRS).sum(),
            "marginals, sum": pairs.sum(),
            "marginals, first cell": pairs[0, 0],
        }
        for name, figure in found.items():
            figures.setdefault(name, []).append(float(figure))
    return figures


COUNTS = np.bincount(ROWS["age"], minlength=100)
PAIRS = ROWS.groupby(["age", "ward"]).size().unstack(fill_value=0).reindex(range(100), fill_value=0)
PAIRS = PAIRS[["eye", "ear", "heart", "hand"]].to_numpy()


def here(served):
    """A session at the table itself."""
    return ad.Session(served.folder / "people.parquet", schema=served.folder / "people.toml", epsilon=1000)


def differing(one, other):
    """The figures that have another law, and how unlikely it is that they seem so."""
    found = {name: ks_2samp(one[name], other[name], method="exact").pvalue for name in one}
    return {name: chance for name, chance in found.items() if chance < FALSE_ALARM / len(found)}


def from_elsewhere(served, count):
    """A sample by a client of another user, who is refused the file."""
    served.folder.chmod(0o711)
    served.socket.chmod(0o666)
    given = [f"unix:{served.socket}", served.tokens["zoe"], str(count), str(served.folder / "people.parquet")]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", CLIENT, *given]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=env)
    assert done.stdout, f"it could read the table: {done.stderr}"
    return json.loads(done.stdout)


def test_a_client_who_cannot_read_the_table_is_answered():
    with tempfile.TemporaryDirectory() as name, Served(Path(name), total=1000) as served:
        figures = from_elsewhere(served, 1)
        assert figures.keys() == sample(here(served), 1).keys()
        assert np.isfinite([figure for (figure,) in figures.values()]).all()


@pytest.mark.full
def test_a_client_who_cannot_read_the_table_gets_the_same_law():
    with tempfile.TemporaryDirectory() as name, Served(Path(name), total=1000) as served:
        there = from_elsewhere(served, RELEASES)
        assert {len(figures) for figures in there.values()} == {RELEASES}
        assert differing(there, sample(here(served), RELEASES)) == {}
        twice = differing(there, sample(here(served), RELEASES, "1"))
        assert {"auto, error", "marginals, error"} <= twice.keys(), "the test would not notice half of the noise"
