"""What one analyst may store, and how much work they may ask for, whatever their ε."""

import itertools
import json
import sqlite3
import threading
import time
from contextlib import closing
from fractions import Fraction

import pytest

from adyton.errors import AdytonError
from adyton.kernel.mechanisms import MeasureTables
from adyton.kernel.mechanisms.published.statistic import TotalVariation
from adyton.service.config import DataSet
from adyton.service.quotas import OverQuota, WorkDone, bytes_of
from service.whole import Served

CELLS = {"task": {"task": "histogram", "attributes": ["age", "sex", "ward"]}, "epsilon": "1e-11"}
COUNT = {"task": {"task": "count"}, "epsilon": "0.001"}
QUOTA = 400 << 10
ANALYSTS = """
[datasets.people.analysts.ben]
consent_above = 1
[datasets.people.analysts.ida]
[datasets.people.analysts.mara]
[datasets.people.analysts.pat]
[datasets.people.analysts.zoe]
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    more = f"least_epsilon = 1e-12\nstorage = {QUOTA}\nwork = 20_000"
    with Served(tmp_path_factory.mktemp("quotas"), more=more, analysts=ANALYSTS) as service:
        yield service


def stored(served, who):
    """How many characters of the ledger are somebody's."""
    with closing(sqlite3.connect(served.folder / "people.ledger")) as database:
        asked = "select coalesce(sum(length(body) + coalesce(length(result), 0)), 0) from requests where analyst = ?"
        answered = (
            "select coalesce(sum(length(answer)), 0) from answers join entries on number = entry where analyst = ?"
        )
        return sum(database.execute(query, (who,)).fetchone()[0] for query in (asked, answered))


def refusal(reply):
    return reply[0], json.loads(reply[2])["error"]


def test_one_analyst_stores_at_most_the_quota_and_others_go_on(served):
    said, longest, ended = [], [], threading.Event()

    def others():
        while not ended.is_set():
            begun = time.monotonic()
            assert served.ask(f"m{len(longest)}", COUNT)[0] == 200
            longest.append(time.monotonic() - begun)

    for place, first in enumerate((COUNT, CELLS)):  # nothing is compiled later
        assert served.ask(f"first{place}", first, "olga")[0] == 200
    honest = threading.Thread(target=others)
    honest.start()
    try:
        for number in range(12):
            said.append(served.ask(f"z{number}", CELLS, "zoe"))
    finally:
        ended.set()
        honest.join()
    assert [said[0][0], said[-1][0]] == [200, 409]
    assert refusal(said[-1])[1]["kind"] == "OverQuota"
    assert "bytes" in refusal(said[-1])[1]["message"]
    assert 32_000 < stored(served, "zoe") <= QUOTA
    assert len(longest) > 2
    assert sorted(longest)[len(longest) // 2] <= 2
    assert max(longest) <= 10  # on any machine; without a quota, a request took more than a minute
    assert served.ask("z0", CELLS, "zoe")[0] == 200  # what was paid for is there
    assert served.ask("later", CELLS | {"epsilon": "1"}, "olga")[0] == 200


def test_requests_that_wait_and_are_cancelled_take_of_the_quota(served):
    """They cost nothing, and stay in the ledger."""
    asked = {**COUNT, "epsilon": "2", "where": " or ".join(f"age = {number % 100}" for number in range(700))}
    for place in range(60):
        status, *_ = reply = served.ask(f"w{place}", asked, "ben")
        if status == 409:
            break
        assert status == 202, reply[2]
        assert served.call("DELETE", f"/v1/datasets/people/requests/w{place}", who="ben")[0] == 200
    assert "bytes" in refusal(reply)[1]["message"]
    assert 0.8 * QUOTA < stored(served, "ben") <= QUOTA


def ask_until_refused(vector):
    for _ in range(100):
        vector.statistic(TotalVariation(), "0.0001")


def test_measurements_at_a_door_take_of_both_quotas(served):
    """Of storage by their answers; of work by the steps of the mechanism, which are many for long fractions."""
    session = served.connect("pat")
    tables = session.kernel.root.tables([*itertools.permutations(("age", "sex", "ward")), ("sex",)])
    with pytest.raises(AdytonError, match="bytes"):
        tables.measure(MeasureTables.weighted(range(6)), "0.01")
    assert tables.measure(MeasureTables.weighted([6]), "0.01").shapes == ((2,),)
    with pytest.raises(AdytonError, match="work for"):
        ask_until_refused(session.kernel.root.vectorize())


def test_quantiles_of_many_groups_are_work(served):
    """Each is a selection of its own: twenty thousand groups would keep others waiting for half a minute."""
    quartiles = {"task": "quantiles", "attribute": "age", "parts": ["1/4", "1/2", "3/4"]}
    many = {"task": quartiles | {"by": ["ward", "sex"]}, "epsilon": "1"}
    status, said = refusal(served.ask("quartiles", many, "ida"))
    assert (status, said["kind"]) == (409, "OverQuota")
    assert "work for" in said["message"]
    assert served.ask("median", {"task": quartiles | {"by": ["sex"]}, "epsilon": "0.1"}, "ida")[0] == 200


def test_long_ways_to_a_source_take_of_the_quota(served):
    """Every debit repeats all filters that came before it."""
    source = served.connect("ida").kernel.root
    for number in range(40):
        source = source.where(" or ".join(f"age = {(number + place) % 100}" for place in range(100)))

    def count_all():
        for _ in range(100):
            source.count("0.0001")

    with pytest.raises(AdytonError, match="bytes"):
        count_all()
    with closing(sqlite3.connect(served.folder / "people.ledger")) as database:
        ((size,),) = database.execute("select sum(length(lineage)) from entries where analyst = 'ida'").fetchall()
    assert 0.5 * QUOTA < size <= QUOTA


def test_the_size_that_is_foreseen_is_enough(served):
    histogram = {"task": "histogram", "attributes": ["age", "sex"]}
    for place, (task, lines, epsilon, more) in enumerate(
        [
            (histogram, 200, "1", {}),
            (histogram, 200, "1e-11", {"algorithm": "identity"}),
            ({"task": "marginals", "way": 2}, 608, "1", {}),
        ]
    ):
        before, asked = stored(served, "mara"), {"task": task, "epsilon": epsilon, **more}
        reply = served.ask(f"s{place}", asked)
        assert reply[0] == 200, reply[2]
        assert stored(served, "mara") - before <= bytes_of(Fraction(epsilon), lines)


def test_a_budget_that_is_too_small(served):
    status, said = refusal(served.ask("tiny", CELLS | {"epsilon": "1e-13"}, "zoe"))
    assert (status, said["kind"]) == (400, "BadInput")
    assert "at least 0.000000000001" in said["message"]
    assert DataSet.least_epsilon == Fraction(1, 10**6)


def test_work_is_given_back_within_an_hour():
    now = [0.0]
    done = WorkDone(1_000, lambda: now[0])
    done.book("zoe", 900)
    done.book("mara", 1_000)
    with pytest.raises(OverQuota, match="100 of your 1,000"):
        done.book("zoe", 200)
    now[0] = 900.0
    done.book("zoe", 300)
    with pytest.raises(OverQuota, match="Ask for fewer cells"):
        done.book("ben", 1_001)
