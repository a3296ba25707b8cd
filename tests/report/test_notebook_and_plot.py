"""What notebooks show, and pictures for papers."""

import re
import sys
from html import unescape

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.report.counts import summarise
from adyton.report.page import to_html
from adyton.report.pictures import draw
from adyton.report.plot import WIDTH, plot
from adyton.report.svg import people


@pytest.mark.parametrize("kind", ["line", "bars", "map", "queries"])
def test_notebook_shows_a_picture_a_few_lines_and_the_budget(releases, kind):
    release = releases[kind]
    shown = release._repr_html_()
    assert shown == to_html(release)
    assert shown.count("<svg") == 1
    assert shown.count("<tr>") <= 13
    assert "<style" not in shown
    assert "<script" not in shown
    if kind == "line":
        assert f">{people(float(release.estimate[0]))}</td>" in shown
    assert "Spent ε" in shown


def test_notebook_escapes_names(releases):
    assert "<script" not in to_html(releases["hostile"])


@pytest.mark.parametrize("kind", ["bars", "map", "mixed map", "joined"])
def test_plot_draws_every_panel(releases, kind):
    panels = summarise(releases[kind]).panels
    axes = plot(releases[kind]).axes
    assert [one.get_title(loc="left") for one in axes] == [panel.title for panel in panels]
    for one, panel in zip(axes, panels, strict=True):
        words = re.findall(r"<text[^>]*>([^<]*)</text>", draw(panel, WIDTH))
        assert [text.get_text() for text in one.texts] == [unescape(text) for text in words]
        assert len(one.images) == draw(panel, WIDTH).count("<image")
        if panel.kind == "bars":
            widths = np.array([bar.get_width() for bar in one.patches])
            assert np.allclose(widths / widths.max(), np.abs(panel.values) / np.abs(panel.values).max(), atol=1e-3)
        elif panel.kind == "line":
            lines = [patch.get_path().vertices for patch in one.patches if not patch.get_fill()]
            pixels = np.concatenate([line[1::2, 1] for line in lines])
            scale = np.polyfit(panel.values, pixels, 1)
            assert np.allclose(np.polyval(scale, panel.values), pixels, atol=0.11)
            band = next(patch.get_path().vertices for patch in one.patches if patch.get_fill())
            upper = panel.upper[: len(lines[0]) // 2]
            assert np.allclose(np.polyval(scale, upper), band[1 : 2 * len(upper) : 2, 1], atol=0.5)


def test_plot_is_written_where_it_is_wanted(releases, tmp_path):
    releases["bars"].plot(tmp_path / "picture.svg")
    assert "<svg" in (tmp_path / "picture.svg").read_text(encoding="utf-8")
    with pytest.raises(BadInput, match="ends with"):
        plot(releases["bars"], tmp_path / "picture.txt")
    with pytest.raises(BadInput, match="cannot be written"):
        plot(releases["bars"], tmp_path / "nowhere" / "picture.png")


def test_plot_says_what_is_missing(releases, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(BadInput, match=r"adyton\[plots\]"):
        plot(releases["bars"])
