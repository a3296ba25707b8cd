"""Drawings show the numbers that they are given, and words for those who do not see them."""

import re
import struct
import zlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adyton as ad
from adyton.noise import SimulatedNoise
from adyton.report.axes import display_axis
from adyton.report.charts import Panel, caption, describe, example
from adyton.report.counts import summarise
from adyton.report.page import render
from adyton.report.pictures import draw, heat, png
from adyton.report.svg import nice_ticks, tick_words


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9), st.integers(2, 9))
def test_ticks_are_round_few_and_inside(low, width, count):
    ticks = nice_ticks(low, low + width, count)
    assert all(low - 1e-6 * width <= tick <= low + width * (1 + 1e-6) for tick in ticks) or abs(low) > 1e6 * width
    assert len(ticks) <= 2 * count + 1
    steps = np.diff(ticks)
    assert steps.size == 0 or np.allclose(steps, steps[0], rtol=1e-3) or abs(low) > 1e8 * width
    assert len(tick_words(ticks)) == len(ticks)


def test_bars_start_at_zero_and_go_both_ways():
    three = (np.array(part) for part in ([30.0, -10.0], [25.0, -15.0], [35.0, -5.0]))
    drawing = draw(Panel("bars", "a < b", (), ("up", "down"), *three), 500)
    (up, up_width), (down, down_width) = (
        (float(x), float(width)) for x, width in re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', drawing)
    )
    assert up == pytest.approx(down + down_width, abs=0.11)
    assert up_width == pytest.approx(3 * down_width, abs=0.5)
    assert "<title>a &lt; b</title>" in drawing
    assert ">−10<" in drawing


def test_steps_and_band_have_the_heights_of_the_values():
    values, lower, upper = [4.0, -2.0, 7.0, 1.0], [3.0, -4.0, 5.0, 0.0], [5.0, 0.0, 9.0, 2.0]
    axis = display_axis("n", ad.Integer(0, 2, nulls="level"), 64)
    drawing = draw(Panel("line", "", (axis,), axis.labels, *map(np.array, (values, lower, upper))), 720)
    line = [_heights(path) for path in re.findall(r'<path d="([^"]+)" fill="none"', drawing)]
    bands = [_heights(path) for path in re.findall(r'<path d="([^"]+)Z"', drawing)]
    pixels, known = [*line[0], *line[1]], values
    slope, offset = np.polyfit(known, pixels, 1)
    assert slope < 0
    assert np.allclose(np.polyval([slope, offset], known), pixels, atol=0.11)
    inner = [*upper[:3], *lower[:3][::-1]]
    assert np.allclose(np.polyval([slope, offset], inner), bands[0], atol=0.11)
    assert np.allclose(np.polyval([slope, offset], [upper[3], lower[3]]), bands[1], atol=0.11)
    assert "(null)" in drawing


def _heights(path):
    return [float(height) for height in re.findall(r"V([\d.]+)", path)]


def test_picture_file_holds_its_pixels():
    pixels = np.random.default_rng(0).integers(0, 256, (3, 5, 3)).astype(np.uint8)
    data = png(pixels)
    width, height, depth, colour = struct.unpack(">IIBB", data[16:26])
    assert (width, height, depth, colour) == (5, 3, 8, 2)
    place, packed = 8, b""
    while place < len(data):
        (size,) = struct.unpack(">I", data[place : place + 4])
        kind, body = data[place + 4 : place + 8], data[place + 8 : place + 8 + size]
        assert struct.unpack(">I", data[place + 8 + size : place + 12 + size])[0] == zlib.crc32(kind + body)
        packed += body if kind == b"IDAT" else b""
        place += 12 + size
    rows = np.frombuffer(zlib.decompress(packed), dtype=np.uint8).reshape(3, 16)
    assert (rows[:, 0] == 0).all()
    assert (rows[:, 1:].reshape(3, 5, 3) == pixels).all()


def test_colours_tell_above_from_below_zero_and_darken():
    shares = np.array([-1.0, -0.3, 0.0, 0.3, 1.0])
    red, _, blue = heat(shares).astype(int).T
    assert (red[:2] > blue[:2]).all()
    assert (red[3:] < blue[3:]).all()
    light = heat(np.linspace(0, 1, 20)).astype(int).sum(axis=1)
    assert (np.diff(light) < 0).all()
    assert abs(heat(np.array([0.0])).astype(int) - 247).max() <= 2


def test_map_is_laid_out_as_it_is_read():
    across = display_axis("x", ad.Integer(1, 2), 64)
    for up, upwards in ((ad.Integer(7, 9), True), (ad.Categorical(["7", "8", "9"]), False)):
        axes = (across, display_axis("y", up, 64))
        drawing = draw(Panel("map", "", axes, (), np.full((2, 3), 100.0), None, None), 720)
        first, last = (float(re.search(rf'y="([\d.]+)"[^>]*>{word}<', drawing)[1]) for word in ("7", "9"))
        assert (first > last) == upwards
        assert drawing.count(">100<") == 6 + 1  # in every square, and in the legend


def test_cells_are_joined_and_none_is_lost(releases, summaries):
    release, summary = releases["joined"], summaries["joined"]
    panel = summary.panels[0]
    axis = panel.axes[0]
    assert (axis.size, axis.apart, axis.joined) == (302, 2, 2)
    covered = [cell for first, last in zip(axis.first, axis.last, strict=True) for cell in range(first, last + 1)]
    assert covered == list(range(release.estimate.size))
    sums = [release.estimate[first : last + 1].sum() for first, last in zip(axis.first, axis.last, strict=True)]
    assert np.allclose(panel.values, sums)
    assert axis.labels[0] == "-100 to -99"
    assert axis.labels[-2:] == ("(other)", "(null)")
    assert "adds up 2 neighbouring cells of value" in caption(panel)
    (column,) = summary.sheets.sheets[0].columns
    one = (column.upper - column.lower).mean()
    two = (panel.upper - panel.lower)[:300].mean()
    assert 1.2 * one < two < 1.8 * one  # the band of a sum: about √2 times as wide, not twice
    assert "(other)" in draw(panel, 720)


@pytest.mark.parametrize("kind", ["line", "bars", "cdf", "map", "marginals", "queries"])
def test_bounds_are_those_of_the_release(releases, summaries, kind):
    summary, answered = summaries[kind], summaries[kind].interval
    assert np.allclose(summary.queries @ releases[kind].estimate.reshape(-1), answered.estimate)
    told = set(zip(answered.estimate.round(6).tolist(), answered.lower.tolist(), answered.upper.tolist(), strict=True))
    for panel in summary.panels:
        if panel.kind != "map":
            three = (part.ravel().tolist() for part in (panel.values.round(6), panel.lower, panel.upper))
            assert set(zip(*three, strict=True)) <= told
        assert panel.title in draw(panel, 358)
        assert "values from" in describe(panel)


def test_panels_suit_the_task(releases, summaries):
    kinds = {name: [panel.kind for panel in summary.panels] for name, summary in summaries.items()}
    assert kinds["line"] == ["line"]
    assert kinds["bars"] == ["bars"]
    assert kinds["map"] == ["map", "line", "line"]
    assert kinds["marginals"] == ["map", "pyramid", "multiples"]
    assert kinds["mixed map"] == ["pyramid", "bars", "line"]
    assert kinds["cdf"] == ["line", "line"]
    assert kinds["queries"] == ["bars"]
    cumulative = summaries["cdf"].panels[0]
    assert np.allclose(cumulative.values, np.cumsum(releases["cdf"].estimate))
    for panel, others in zip(summaries["marginals"].panels, (2, 1, 0), strict=True):
        sums = releases["marginals"].estimate.sum(axis=others)
        assert np.allclose(panel.values, sums if panel.kind == "map" else sums.T)  # what is ordered comes first
    answers = summaries["queries"]
    assert np.allclose(answers.panels[0].values, releases["queries"].answer(list(releases["queries"].task.queries)))
    assert answers.panels[0].labels == ("age 20 to 29, sex F", "age from 65", "sex F or (null)")
    assert answers.total is None


def test_a_map_of_sums_alone_is_not_drawn(session):
    release = session.release(ad.Marginals(way=1, attrs=["sex", "department"]), epsilon="0.5", algorithm="identity")
    assert [panel.kind for panel in summarise(release).panels] == ["bars", "bars"]


@pytest.mark.parametrize(
    ("attribute", "labels", "ticks"),
    [
        (ad.Integer(0, 109), "0 to 1", [(0.25, "0"), (25.25, "50"), (50.25, "100")]),
        (ad.Numeric(0, 25600, bins=128), "[0, 400)", [(0.0, "0"), (25.0, "10k"), (50.0, "20k")]),
        (ad.Categorical(["a", "b", "c"]), "a", [(0.5, "a"), (1.5, "b"), (2.5, "c")]),
        (ad.Numeric(edges=[0, 1, 10, 100]), "[0, 1)", [(0.0, "0"), (2.0, "10")]),
        (ad.Boolean(nulls="level"), "False", [(0.5, "False"), (1.5, "True")]),
    ],
    ids=lambda one: getattr(one, "kind", None),
)
def test_axes_place_their_ticks_where_the_values_are(attribute, labels, ticks):
    axis = display_axis("x", attribute, 64)
    assert axis.labels[0] == labels
    assert axis.ticks(3) == ticks


def _dots(values, lower, upper, **more):
    """A picture of two statistics of groups."""
    three = (np.array(part, dtype=float) for part in (values, lower, upper))
    labels = tuple(f"group {place}" for place in range(len(values)))
    return Panel("dots", "", (), labels, *three, unit="cost", series=("25%", "75%"), zero=False, **more)


def test_values_outside_the_picture_are_arrows_with_their_numbers():
    panel = _dots([[20, 30], [25, 144.5]], [[18, 28], [0, 0]], [[22, 35], [150, 150]], within=(17.0, 47.0))
    drawing = draw(panel, 720)
    dots = [float(x) for x in re.findall(r'<circle cx="([\d.]+)" cy="(?!9")', drawing)]
    scale, offset = np.polyfit([20, 30, 25], dots, 1)
    left, right = scale * 17 + offset, scale * 47 + offset
    ((tip, back),) = re.findall(r'<path d="M([\d.]+) [\d.]+L([\d.]+) ', drawing)  # no dot for 144.5
    assert float(tip) == pytest.approx(right, abs=0.3)
    assert float(back) < float(tip)
    assert ">144<" in drawing or ">145<" in drawing
    lines = [tuple(map(float, line)) for line in re.findall(r'<line x1="([^"]+)" y1="([^"]+)" x2="([^"]+)"', drawing)]
    assert all(left - 0.3 <= x <= right + 0.3 for line in lines for x in (line[0], line[2]))
    caps = [x1 for x1, _, x2 in lines if x1 == x2]
    assert not any(abs(cap - edge) < 0.5 for cap in caps for edge in (left, right))  # ends outside have no cap
    assert "an open arrow at the edge" in caption(panel)
    assert "A filled arrow" in caption(panel)
    assert "arrow" not in caption(_dots([[1, 2]], [[0, 1]], [[2, 3]]))


def test_each_series_has_its_own_line_and_colour():
    drawing = draw(_dots([[20, 20], [25, 25]], [[10, 10], [10, 10]], [[40, 40], [40, 40]]), 720)
    whiskers = [
        (y, colour)
        for x1, y, x2, colour in re.findall(
            r'<line x1="(\S+)" y1="(\S+)" x2="(\S+)" y2="\S+" style="stroke:(\S+)"', drawing
        )
        if x1 != x2
    ]
    assert len(whiskers) == len({y for y, _ in whiskers}) == 4
    assert len({colour for _, colour in whiskers}) == 2


def test_intervals_too_narrow_to_be_seen_are_not_announced():
    axis = display_axis("n", ad.Integer(0, 19), 64)
    values = np.linspace(0, 1000, 20)
    for far, words in ((0.5, "is too narrow to be seen, at most ± 0.5"), (80.0, "The shaded band is")):
        panel = Panel("line", "", (axis,), axis.labels, values, values - far, values + far)
        assert words in caption(panel)
        assert ("shaded band" in caption(panel)) == (far > 1)
    wide = np.where(values > 500, 80.0, 0.5)
    assert "where it is wide enough" in caption(
        Panel("line", "", (axis,), axis.labels, values, values - wide, values + wide)
    )


def test_ends_of_intervals_differ_or_are_not_given():
    def said(low, high, unit):
        three = (np.array([part]) for part in (21.7, low, high))
        return example(Panel("dots", "Mean", (), ("all",), *three, unit=unit, zero=False))

    assert "reaches from 21.68 to 21.72" in said(21.68, 21.72, "cost")
    assert "reaches from 21.6 to 21.8" in said(21.6, 21.8, "rows")
    assert "contains no other number" in said(21.7, 21.7, "cost")


def test_labels_that_begin_alike_stay_different():
    names = [f"a district with number {place}" for place in range(70)]
    axis = display_axis("district", ad.Categorical(names), 512)
    drawing = draw(Panel("line", "", (axis,), axis.labels, np.arange(70.0), None, None), 720)
    labels = re.findall(r"rotate[^>]+>([^<]+)<", drawing)
    assert len(labels) == len(set(labels)) > 20


@pytest.fixture(scope="module")
def weights():
    """Means by year of which most years have no rows; the noise is always the same."""
    random = np.random.default_rng(3)
    year = np.concatenate([random.integers(1975, 1984, 4000), random.integers(2002, 2015, 6000)])
    rows = pd.DataFrame({"year": year, "weight": 3000 + 8 * (year - 1975), "born": year - 20, "sex": "F"})
    schema = ad.Schema(
        {
            "year": ad.Integer(1970, 2014),
            "weight": ad.Numeric(0, 6000, bins=600),
            "born": ad.Integer(1940, 2000),
            "sex": ad.Categorical(["F", "M"]),
        }
    )
    return ad.Session(rows, schema=schema, epsilon=20, noise=SimulatedNoise(5))


def test_groups_of_which_nothing_is_known_leave_gaps(weights):
    release = weights.release(ad.Mean("weight", by="year"), 1)
    panel = release.drawings()[0].panel
    drawn = ~np.isnan(panel.values)
    known = np.isin(np.arange(1970, 2015), [*range(1975, 1984), *range(2002, 2015)])
    assert (drawn == known).all()
    assert 2900 < panel.ends[0] < 3000
    assert 3310 < panel.ends[1] < 3450
    assert "Little is known of 1970, 1971, 1972, 1973, 1974 and 18 more" in caption(panel)
    assert re.search(r"year (19[78]\d|20[01]\d): about 3,\d\d\d", example(panel))
    for width in (390, 900):
        picture = release.drawings()[0].svg(width)
        assert "nan" not in picture
        assert picture.count('stroke-width="1.6"') == 2  # a line on each side of the gap


def test_the_picture_leaves_out_the_groups_of_which_the_page_says_that_little_is_known():
    """Of a group without rows, the interval is by chance a bit smaller than what is possible; still it says little."""
    wards = [f"w{place:02}" for place in range(44)]
    rows = pd.DataFrame({"ward": np.repeat(wards[:22], 600), "cost": 2200.0})
    schema = ad.Schema({"ward": ad.Categorical(wards), "cost": ad.Numeric(0, 20000, bins=200)})
    session = ad.Session(rows, schema=schema, epsilon=20, noise=SimulatedNoise(3))
    for _ in range(5):
        release = session.release(ad.Mean("cost", by="ward"), 1)
        numbers = release.to_frame()
        little = numbers["mean_upper"] - numbers["mean_lower"] > 10_000
        panel = release.drawings()[0].panel
        assert panel.labels == tuple(numbers["ward"][~little])
        assert f"Little is known of {numbers['ward'][little].iloc[0]}," in caption(panel)
        assert f"little is known of {little.sum()} of them" in render(release)


def test_a_chart_stays_where_numbers_are_held_back(weights):
    """And nothing that is said of it names a number that is not shown."""
    release = weights.release(ad.Mean("weight", by="year"), 1).held_back(wider_than="10%")
    held = release.to_frame()["mean_held_back"].to_numpy()
    (drawing,) = release.drawings()
    assert (np.isnan(drawing.panel.values) == held).all()
    assert f"Held back: {held.sum()}." in drawing.caption
    assert "At a bound" not in str(release.explain())
    assert "Small groups" not in str(release.explain())
    for task in (ad.Histogram("year"), ad.Histogram("year", "sex")):  # a line, and bars to two sides
        counts = weights.release(task, 1, algorithm="identity").held_back(wider_than="50%")
        panel = counts.drawings()[0].panel
        assert panel.kind == ("line" if task == ad.Histogram("year") else "pyramid")
        assert np.isnan(panel.values).sum() > 10
        assert "nan" not in counts.drawings()[0].svg(600)
        assert ("held back" in counts.drawings()[0].svg(600)) == (panel.kind == "pyramid")


def test_years_have_no_commas(weights):
    counts = weights.release(ad.Histogram("year"), 1, algorithm="identity")
    pages = [render(counts)]
    for task in (ad.Mean("born", by="sex"), ad.Mean("born", by="year"), ad.Summary("born")):
        release = weights.release(task, 1)
        pages += [render(release), str(release), str(release.explain())]
    for page in pages:
        assert not re.findall(r".{40}\b(?:1,9|2,0)\d\d\b(?! rows).{40}", page)
    assert "1975" in counts.drawings()[0].svg(600)
