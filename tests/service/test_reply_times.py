"""Whether the times of replies tell neighbouring tables apart, on the real clock and through all processes.

``ADYTON_REPLIES=2000 pytest -m full tests/service/test_reply_times.py -s`` is the long run. Welch's t is below 4.5 in
all but about one of 150,000 runs if the times have the same law. On a machine that is used for other things,
``ADYTON_DURATIONS=1.2,1.2,4 ADYTON_ASKERS=4`` gives the work of each class more time, and lets four people ask for it.
"""

import json
import os
import random
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pytest

from adyton.service.access import Access
from service import whole
from service.whole import Served

pytestmark = pytest.mark.full
REPLIES, ASKERS = int(os.environ.get("ADYTON_REPLIES", "60")), int(os.environ.get("ADYTON_ASKERS", "1"))
SECONDS = map(float, os.environ.get("ADYTON_DURATIONS", "0.15,0.4,1.5").split(","))
DURATIONS = dict(zip(("count", "small", "large"), SECONDS, strict=True))
"""Long enough for the work of each class on a machine with two cores that is used for nothing else."""
EPSILON = "0.0001"
ASKED = {
    "count": ({"task": {"task": "count"}, "epsilon": EPSILON}, 1),
    "small": (
        {"task": {"task": "histogram", "attributes": ["ward"]}, "algorithm": "identity", "epsilon": EPSILON},
        1,
    ),
    "filtered": ({"task": {"task": "count"}, "where": "age >= 50", "epsilon": EPSILON}, 1),
    "large": ({"task": {"task": "marginals", "way": 2}, "epsilon": EPSILON}, 10),
}
"""A request of each class, and how much rarer it is asked. All classes are asked at once, by people of their own."""
NAMES = {name: [f"{name}{number}" for number in range(ASKERS)] for name in ASKED}
ANALYSTS = "".join(f"[datasets.people.analysts.{who}]\n" for names in NAMES.values() for who in names)


class Asking(threading.Thread):
    """Asks one service, again and again, and notes how long each reply takes."""

    def __init__(self, served, request, times, who):
        super().__init__()
        self.served, self.request, self.times, self.who, self.seconds = served, request, times, who, []

    def run(self):
        for number in range(self.times):
            time.sleep(random.random() / 20)  # or all would stay in step, and the same one would always be first
            start = time.perf_counter()
            status, _, body = self.served.ask(f"{self.name}-{number}-{os.urandom(4).hex()}", self.request, self.who)
            self.seconds.append(time.perf_counter() - start)
            assert status == 200, body


def welch(left, right):
    spread = np.var(left, ddof=1) / len(left) + np.var(right, ddof=1) / len(right)
    return float((np.mean(left) - np.mean(right)) / np.sqrt(max(spread, 1e-18)))


def test_neighbouring_tables_reply_at_the_same_times(tmp_path, monkeypatch):
    rows = whole.people()
    neighbour = pa.concat_tables([rows, rows.slice(0, 1)])
    durations = "\n".join(f'{name} = "{seconds} s"' for name, seconds in DURATIONS.items())
    figures = {}
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
    options = {"analysts": ANALYSTS, "timing": True, "durations": durations, "total": 900}
    with Served(tmp_path / "here", **options) as here:
        monkeypatch.setattr(whole, "people", lambda *_: neighbour)
        with Served(tmp_path / "there", **options) as there:
            asking = {name: ([], []) for name in ASKED}
            for name, (request, rarer) in ASKED.items():
                for served, threads in zip((here, there), asking[name], strict=True):
                    access, times = Access(served.folder / "access.sqlite"), max(10, REPLIES // rarer) // ASKERS
                    served.tokens |= {who: access.make(who) for who in NAMES[name]}
                    served.ask(f"warm-{name}", request, NAMES[name][0])
                    threads += [Asking(served, request, times, who) for who in NAMES[name]]
            for both in asking.values():
                for pair in zip(*both, strict=True):
                    for thread in pair:
                        thread.start()
            for name, both in asking.items():
                for thread in (*both[0], *both[1]):
                    thread.join()
                    assert len(thread.seconds) == thread.times
                times = [np.concatenate([thread.seconds for thread in threads]) for threads in both]
                figures[name] = {
                    "t": round(welch(*times), 2),
                    "replies": len(times[0]),
                    "mean": [round(float(one.mean()), 4) for one in times],
                    "late": [int((one > 1.5 * np.median(one)).sum()) for one in times],
                }
    sys.stdout.write(f"{json.dumps(figures)}\n")
    assert max(abs(one["t"]) for one in figures.values()) < 4.5
