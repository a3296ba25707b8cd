"""The picture of a ledger, and its report as plain values."""

import copy
import json
import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from adyton.errors import BadInput
from adyton.kernel.ledger import Ledger, Terms
from adyton.kernel.ledger.plain import report_from_plain, report_to_plain
from adyton.report.spending import drawing_of, spent_over_time, total_over_time


@pytest.fixture
def report(tmp_path):
    with Ledger.open(tmp_path / "visits.ledger", total=1, dataset="visits") as ledger:
        ledger.set_analyst("<b>", part="0.5", aside=True, expires="2030-01-01", consent="olga")
        ledger.debit(Fraction(1, 3), lineage=["visits"], operator="x", terms=Terms(2, "digest", "person", "who"))
        with ledger.on_behalf("<b>", "id-1"):
            ledger.begin_request("<b>", "id-1", body="{}")
            ledger.settle(ledger.debit(Fraction(1, 7), lineage=["visits", "select(<i>)"], operator="y"), "answered")
        ledger.raise_total(2, consent="the owner")
    with Ledger.open(tmp_path / "visits.ledger", total=2, dataset="stays", accept={"add dataset"}) as ledger:
        return ledger.report()


def test_a_report_comes_back_from_its_plain_form(report):
    plain = json.loads(json.dumps(report_to_plain(report)))
    back = report_from_plain(plain)
    assert back.path is None
    assert report_to_plain(back) == report_to_plain(report)
    assert (back.entries, back.events, back.analysts) == (report.entries, report.events, report.analysts)
    assert (back.remaining, back.aside, back.further) == (report.remaining, report.aside, report.further)
    assert back.balance == report.balance


def places(plain, path=()):
    """Every place of a value in plain values."""
    if isinstance(plain, dict | list):
        for key, part in plain.items() if isinstance(plain, dict) else enumerate(plain):
            yield (*path, key)
            yield from places(part, (*path, key))


def test_a_value_of_another_type_is_an_error_anywhere(report):
    plain = report_to_plain(report)
    wrong = {"path": None, "analyst": None}  # these are not read
    for path in [path for path in places(plain) if path[-1] not in wrong]:
        changed = copy.deepcopy(plain)
        place = changed
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = {"no": "value"}
        with pytest.raises(BadInput):
            report_from_plain(changed)
    for given in (None, [], "x", {}, 3):
        with pytest.raises(BadInput):
            report_from_plain(given)


def test_what_was_spent_is_added_up_below_the_total(report):
    assert spent_over_time(report).amounts == (0.0, pytest.approx(1 / 3), pytest.approx(10 / 21))
    assert total_over_time(report).amounts == (1.0, 2.0)
    times = spent_over_time(report).times
    assert list(times) == sorted(times)


@pytest.mark.parametrize("later", [0, 3600, 86_400, 40 * 86_400, 3000 * 86_400, 10**10])
@pytest.mark.parametrize("width", [358, 720])
def test_it_can_be_drawn_at_any_age(report, later, width):
    drawing = drawing_of(report, datetime.now(UTC) + timedelta(seconds=later))
    assert "10/21 of 2" in drawing.caption
    svg = drawing.svg(width)
    for x in re.findall(r'<text x="([^"]*)"', svg):
        assert 0 <= float(x) <= width
    words = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    assert {"total", "spent", "0", "2"} <= set(words)
    assert any(re.search(r"\d{4}", word) for word in words), words  # a date is never without its year


def test_an_empty_ledger_has_a_picture(tmp_path):
    with Ledger.open(None, total="0.0001", dataset="visits") as ledger:
        svg = drawing_of(ledger.report(), datetime.now(UTC)).svg(358)
    assert "0.0001" in svg
    assert "nan" not in svg


def test_a_long_ledger_has_a_short_picture():
    with Ledger.open(None, total=10, dataset="visits") as ledger:
        for _ in range(300):
            ledger.debit(Fraction(1, 100), lineage=["visits"], operator="x")
        report = ledger.report()
    assert len(drawing_of(report, datetime.now(UTC) + timedelta(days=1)).svg(358)) < 20_000
