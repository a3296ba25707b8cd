"""No word of a drawing is cut off, and no two collide: told by the letters of a real font, at every width of a page."""

import re
from functools import cache
from html import unescape
from itertools import combinations

import numpy as np
import pytest

import adyton as ad
from adyton.report.axes import KILOMETRES, display_axis, ground_of
from adyton.report.charts import Panel, axes_of_pair, caption, describe, kind_of, kind_of_pair
from adyton.report.pictures import draw
from adyton.report.svg import FONT, cut, length, wrapped

WIDTHS = (358, 560, 640, 720)
LONG = [
    "Diseases of the blood and blood-forming organs and certain disorders involving the immune mechanism",
    "Injury, poisoning and certain other consequences of external causes",
    "Neoplasms",
    "WWWWWWWWWWMMMMMMMMMM" * 4,
    "内分泌、栄養及び代謝疾患" * 4,
]
NUMBERS = {
    "ages": ad.Integer(0, 109, nulls="level", outside="other"),
    "far ages": ad.Integer(18, 97),
    "large numbers": ad.Integer(0, 10**9, step=10**6),
    "negative numbers": ad.Numeric(-1e6, 1e6, bins=77),
    "small numbers": ad.Numeric(0.0001, 0.0009, bins=64),
    "edges": ad.Numeric(edges=[0, 1, 10, 100, 1000, 10_000, 100_000, 1_000_000]),
    "days": ad.Date("2023-03-01", "2024-12-31"),
    "two days": ad.Date("2024-02-28", "2024-02-29"),
    "fortnights": ad.Date("2023-12-15", "2024-12-31", by="week", every=2),
    "months": ad.Date("2023-11-05", "2025-02-11", by="month"),
    "quarters": ad.Date("2010", "2024", by="quarter"),
    "years": ad.Date("1900", "2024", by="year"),
    "hours": ad.Datetime("2024-03-30", "2024-04-02", nulls="level"),
    "a year of hours": ad.Datetime("2024-01-01", "2024-12-31"),
    "hour of day": ad.Datetime(by="hour of day", zone="Europe/Berlin"),
    "weekday": ad.Date(by="weekday", nulls="level"),
    "month of year": ad.Date(by="month of year"),
    "longitude": ad.Longitude(-74.26, -73.7, bins=48),
    "waited": ad.Duration(0, 240, bins=48, unit="minutes"),
}
NAMES = {
    "long names": ad.Categorical(LONG, nulls="level", outside="other"),
    "many names": ad.Categorical([f"district {number:02}" for number in range(30)]),
    "two": ad.Categorical(["women and girls", "men and boys"], nulls="level"),
    "yes or no": ad.Boolean(),
    "five": ad.Categorical(["North", "South", "East", "West", "Centre"], outside="other"),
}
EVERY = NUMBERS | NAMES


@cache
def advance(letter):
    from matplotlib import font_manager, ft2font

    font = ft2font.FT2Font(font_manager.findfont("DejaVu Sans"))
    font.set_size(100, 72)
    if ord(letter) > 0x2E7F:  # it has no Chinese or Japanese letters: they are squares everywhere
        return 1.0
    return font.load_char(ord(letter)).linearHoriAdvance / 65536 / 100


def real_length(words, bold=False):
    return FONT * sum(map(advance, words)) * (1.12 if bold else 1.0)


def boxes(drawing):
    """The words of a drawing, and where each begins and ends."""
    for found in re.finditer(r"<text ([^>]*)>([^<]*)</text>", drawing):
        facts, words = dict(re.findall(r'([\w-]+)="([^"]*)"', found[1])), unescape(found[2])
        if not words.strip():
            continue
        x, y, wide = float(facts["x"]), float(facts["y"]), real_length(words, "font-weight" in facts)
        before = {"start": 0.0, "middle": wide / 2, "end": wide}[facts["text-anchor"]]
        if "transform" in facts:  # it is read upwards, and ends at its place
            yield words, (x - FONT / 2, y, x + FONT / 2, y + wide)
        else:
            yield words, (x - before, y - FONT / 2, x - before + wide, y + FONT / 2)


def problems(drawing):
    width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawing).groups())
    found = list(boxes(drawing))
    outside = [
        words
        for words, (left, top, right, bottom) in found
        if left < -1 or top < -1 or right > width + 1 or bottom > height + 1
    ]
    collided = [
        (one, other)
        for (one, a), (other, b) in combinations(found, 2)
        if a[0] < b[2] - 1 and b[0] < a[2] - 1 and a[1] < b[3] - 1 and b[1] < a[3] - 1
    ]
    return outside, collided


def values_for(shape, scale=12_345.6):
    found = np.random.default_rng(7).exponential(scale, shape)
    found.flat[0] = -0.2 * scale
    return found, found - 0.1 * scale, found + 0.1 * scale


def alone(name, attribute, **more):
    axis = display_axis(name, attribute, 512)
    return Panel(kind_of(axis), f"Rows by {name}", (axis,), axis.labels, *values_for(axis.size), **more)


def together(one, other):
    schema = ad.Schema({one: EVERY[one], other: EVERY[other]})
    kind, turned = kind_of_pair(EVERY[one], EVERY[other])
    axes = axes_of_pair((other, one) if turned else (one, other), schema, kind)
    values, lower, upper = values_for((axes[0].size, axes[1].size))
    return Panel(kind, f"Rows by {one} and {other}", axes, (), values, lower, upper)


def fits(panel, widths=WIDTHS):
    for width in widths:
        drawing = draw(panel, width)
        assert problems(drawing) == ([], []), (panel.title, panel.kind, width)
        assert len(list(boxes(drawing))) > 3


@pytest.mark.parametrize("name", EVERY)
def test_words_of_one_attribute_fit(name):
    fits(alone(name, EVERY[name]))
    wide_unit = "% of all rows of the class that was asked for, and of no other one at all"
    fits(alone(name, EVERY[name], unit=wide_unit), (358,))


@pytest.mark.parametrize("name", EVERY)
def test_words_of_two_attributes_fit(name):
    for other in {"days", "long names", "two", "five"} - {name}:
        fits(together(name, other), (358, 720))


@pytest.mark.full
@pytest.mark.parametrize("name", EVERY)
def test_words_of_any_two_attributes_fit_at_any_width(name):
    for other in EVERY.keys() - {name}:
        fits(together(name, other), range(320, 721, 80))


@pytest.mark.parametrize("name", ["long names", "many names", "five"])
def test_words_of_means_fit(name):
    labels = tuple(map(str, EVERY[name].labels))
    for series in ((), ("25%", "50%", "75%")):
        values, lower, upper = values_for((len(labels), len(series) or 1), 1e6)
        fits(Panel("dots", "Means", (), labels, values, lower, upper, series=series, unit="salary", zero=False))
        fits(Panel("dots", "Means", (), labels, values, lower, upper, series=series, zero=False, within=(0.0, 1e6)))


def test_what_is_said_of_letters_holds():
    for words in ("Diseases of the nervous system", "12,345.6", "73.95° W", "W" * 20, "Dec\n2024", "Ünïcödé"):
        real = max(real_length(line) for line in words.split("\n"))
        assert real - 0.5 <= length(words) <= 1.2 * real + 1
    assert length("…" + LONG[-1]) > 12 * len(LONG[-1])
    for room in (20, 60, 200):
        assert all(real_length(cut(words, room)) <= max(room, 24) for words in LONG)
        assert all(real_length(line) <= max(room, 24) for words in LONG for line in wrapped(words, room, 3))
    assert " ".join(wrapped(LONG[0], 300, 9)) == LONG[0]


def test_kinds_suit_the_attributes():
    kinds = {name: kind_of(display_axis(name, attribute, 512)) for name, attribute in EVERY.items()}
    assert {name for name, kind in kinds.items() if kind == "trend"} == {
        "days", "two days", "fortnights", "months", "quarters", "years", "hours", "a year of hours",
    }  # fmt: skip
    assert kinds["hour of day"] == kinds["ages"] == "line"
    assert kinds["weekday"] == kinds["edges"] == kinds["long names"] == "bars"
    pairs = {
        ("ages", "two"): ("pyramid", False),
        ("yes or no", "ages"): ("pyramid", True),
        ("five", "ages"): ("multiples", True),
        ("days", "two"): ("multiples", False),
        ("ages", "days"): ("map", False),
        ("five", "two"): ("map", False),
        ("ages", "many names"): ("map", False),
    }
    assert {pair: kind_of_pair(*(EVERY[name] for name in pair)) for pair in pairs} == pairs


def test_dates_are_lines_and_not_bars():
    drawing = draw(alone("months", NUMBERS["months"]), 720)
    assert "<rect" not in drawing
    line = re.search(r'<path d="(M[^"]+)" fill="none"', drawing)[1]
    assert line.count("L") == NUMBERS["months"].size - 1
    assert ">2024<" in drawing
    assert ">Jan<" in drawing


def test_people_are_whole():
    for name in ("five", "two", "long names"):
        panel = together("ages" if name == "two" else "yes or no", name)
        shown = [words for words, _ in boxes(draw(panel, 720))] + [caption(panel), describe(panel)]
        assert not [words for words in shown if re.search(r"\d\.\d", words)]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_map_has_its_true_aspect_and_a_scale(width):
    schema = ad.Schema({"home": ad.Point(box=(13.0, 52.3, 13.8, 52.7), grid=(40, 30))})
    names = schema.names
    axes = axes_of_pair(names, schema, "map")
    for order in (axes, axes[::-1]):
        values = values_for((order[0].size, order[1].size))[0]
        drawing = draw(Panel("map", "Rows by home", order, (), values, None, None), width)
        assert problems(drawing) == ([], [])
        wide, high = map(float, re.search(r'<image [^>]*width="([\d.]+)" height="([\d.]+)"', drawing).groups())
        assert high / wide == pytest.approx(0.4 / (0.8 * np.cos(np.radians(52.5))), rel=0.01)
        bar = re.search(r'<line x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="\2"[^>]*stroke-width="2"', drawing)
        kilometres = float(re.search(r">(\d+) km<", drawing)[1])
        across = 0.8 * np.cos(np.radians(52.5)) * KILOMETRES
        assert (float(bar[3]) - float(bar[1])) / wide == pytest.approx(kilometres / across, rel=0.01)
    assert ground_of(*axes).scale()[1] == "20 km"
    assert "° E<" in drawing
    assert "° N<" in drawing


def test_pyramid_has_a_side_for_each_level():
    panel = together("ages", "two")
    drawing = draw(panel, 720)
    bars = [tuple(map(float, one)) for one in re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"', drawing)]
    size = panel.axes[0].size
    left, right = bars[:size], bars[size:]
    assert (panel.values[:, :2] < 0).any()
    for side, (some, way) in enumerate(((left, -1), (right, 1))):
        values, (begins, _, widths) = panel.values[:, side], np.array(some).T
        zeros = np.where((values < 0) == (way > 0), begins + widths, begins)  # values below zero go the other way
        assert np.ptp(zeros) < 0.21
        assert np.allclose(widths / widths.max(), np.abs(values) / np.abs(values).max(), atol=2e-3)
    assert left[0][1] > left[1][1] > left[2][1]  # the young are at the bottom
    assert "Not drawn: two (null)" in caption(panel)


@pytest.mark.parametrize("kind", ["bars", "line", "pyramid", "multiples", "map"])
def test_intervals_are_called_what_they_are(kind):
    panel = {"bars": alone("five", NAMES["five"]), "line": alone("ages", NUMBERS["ages"])}.get(kind)
    panel = panel or together(*{"pyramid": ("ages", "two"), "multiples": ("ages", "five")}.get(kind, ("ages", "days")))
    assert panel.kind == kind
    facts = {name: getattr(panel, name) for name in ("kind", "title", "axes", "labels", "values", "lower", "upper")}
    assert "approximate 95% interval" in caption(Panel(**facts, approximate=True))
    assert "approximate" not in caption(Panel(**facts))
    assert "95% interval" in caption(Panel(**facts))
