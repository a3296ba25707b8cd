"""The page: complete in one file, harmless whatever the data sets are called, and usable in a real browser."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from adyton.choice.selector import WORKLOADS
from adyton_lab.compare.data_sets import DataSet
from adyton_lab.compare.experiment import Experiment
from adyton_lab.compare.results import WORDS, Comparison, Outcome, Recommendation, ranked, render, write
from browser import Browser, find_chromium

HOSTILE = "</script><b id='evil'>&amp;{{ 7 * 7 }}"


@pytest.fixture(scope="module")
def comparison():
    line = DataSet(HOSTILE, np.bincount([3] * 500 + list(range(64)), minlength=64))
    plane = DataSet("plane", np.arange(64).reshape(8, 8) % 7)
    names = ["identity", "uniform", "workload", "pythia"]
    found = Experiment(datasets=[line, plane], public=True, epsilons=["1", "1/3"], algorithms=names, trials=2).run()
    return _with_failures(found)


def _with_failures(found: Comparison) -> Comparison:
    """In the last case (plane, ε = 1, mixed) one algorithm failed, and the selector did not choose."""
    last = found.cases[-1]
    failed = Outcome(algorithm="workload", failure="<i>too large</i>.")
    outcomes = ranked([failed if one.algorithm == "workload" else one for one in last.outcomes])
    case = replace(last, outcomes=outcomes, recommendation=Recommendation(choices={}, failure="no choice."))
    kept = {key: one for key, one in found.estimates.items() if key != ("plane", "1", "workload", "mixed")}
    assert len(kept) == len(found.estimates) - 1
    return replace(found, cases=[*found.cases[:-1], case], estimates=kept)


@pytest.fixture(scope="module")
def page(comparison, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("compared")
    write(comparison, folder)
    return folder / "compare.html"


class Parts(HTMLParser):
    """All elements with their attributes, and the text of the embedded data."""

    def __init__(self):
        super().__init__()
        self.elements, self.data, self._inside = [], "", False

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._inside = dict(attrs).get("id") == "data"

    def handle_endtag(self, tag):
        self._inside = False

    def handle_data(self, data):
        self.data += data if self._inside else ""


def parts_of(text: str) -> Parts:
    parts = Parts()
    parts.feed(text)
    parts.close()
    return parts


def test_page_is_one_file_that_loads_nothing(page: Path):
    text = page.read_text(encoding="utf-8")
    parts = parts_of(text)
    for tag, attributes in parts.elements:
        assert not {"src", "srcset", "action", "poster"} & set(attributes), tag
        assert attributes.get("href", "data:,") == "data:,"
    assert set(re.findall(r"https?://[^\s\"'`)]+", text)) == {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert not re.search(r"@import|url\(", text)
    policy = next(one["content"] for _, one in parts.elements if "http-equiv" in one)
    assert policy.startswith("default-src 'none'")
    assert "Public data, nothing protected." in text
    assert ("html", {"lang": "en"}) in parts.elements


def test_embedded_data_are_the_comparison_whatever_its_names(page: Path, comparison):
    parts = parts_of(page.read_text(encoding="utf-8"))
    assert not [1 for _, attributes in parts.elements if attributes.get("id") == "evil"]
    found = json.loads(parts.data)
    assert [one["name"] for one in found["datasets"]] == [HOSTILE, "plane"]
    assert found["datasets"][0]["shown"] == comparison.datasets[0].counts.tolist()
    assert found["datasets"][1]["shape"] == [8, 8]
    assert json.loads((page.parent / "compare.json").read_text()) == {
        name: found[name] for name in found if name not in {"words", "looks", "chooser"}
    }
    assert len(found["cases"]) == 2 * (3 + 2)
    assert {one["algorithm"] for one in found["estimates"]} == {"identity", "uniform", "workload", "pythia"}


def test_page_says_how_it_was_made(comparison):
    text = " ".join(render(comparison).split())
    assert "averaged over 2 runs" in text
    assert "seed 0" in text
    assert set(WORDS) == set(WORKLOADS)


@pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium on this machine")
def test_page_in_a_browser(page: Path):
    with Browser() as browser:
        for width in (1280, 390):
            opened = browser.open(page, width)
            assert (opened.complaints, opened.requests, opened.overflows) == ([], [], False)
            assert opened.evaluate("document.querySelectorAll('#all canvas').length") == 4
            assert opened.evaluate("document.querySelectorAll('#picture path').length") == 2
            browser.ask("Page.navigate", url="about:blank")
        opened = browser.open(f"{page.as_uri()}#dataset=plane&epsilon=1%2F3&workload=mixed&algorithm=uniform", 1280)
        assert opened.complaints == []
        assert opened.evaluate("title.textContent") == "uniform on plane at ε\u00a0=\u00a01/3"
        assert opened.evaluate("[dataset.value, epsilon.value, workload.value, algorithm.value]") == [
            "plane", "1/3", "mixed", "uniform",
        ]  # fmt: skip
        assert opened.evaluate("document.querySelectorAll('.maps canvas').length") == 2
        _press(browser, opened)
        opened.evaluate("location.hash = 'epsilon=1'")
        opened.evaluate("new Promise(done => setTimeout(done, 50))")
        assert opened.evaluate("picture.textContent") == "workload gave no estimate: <i>too large</i>."
        assert "The selector's choicenoneno choice." in str(opened.evaluate("verdict.textContent"))


def _press(browser: Browser, page):
    """By keyboard alone: a row of the table is pressed, everything follows, and the focus stays where it was."""
    page.evaluate("document.querySelector('#ranking [data-place=workload]').focus()")
    for kind in ("keyDown", "keyUp"):
        browser.ask("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r", windowsVirtualKeyCode=13)
    assert page.evaluate("title.textContent.split(' ')[0]") == "workload"
    assert page.evaluate("algorithm.value") == "workload"
    assert "algorithm=workload" in str(page.evaluate("location.hash"))
    assert page.evaluate("document.activeElement.dataset.place") == "workload"
    assert page.evaluate("document.querySelector('#all [aria-pressed=true] b').textContent") == "workload"
    assert str(page.evaluate("verdict.textContent")).startswith("Shownworkloaderror ")
    errors = page.evaluate(
        "[...document.querySelectorAll('#ranking tr td:nth-child(2)')].map(td => parseFloat(td.textContent))"
    )
    assert len(errors) == 4
    assert errors == sorted(errors)
