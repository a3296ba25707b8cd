"""Tables, claims, pictures and reports from records whose figures are known by hand."""

import io
import json
import math
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from adyton.errors import BadInput
from adyton_lab.reproduce.evaluation import write_records, write_report
from adyton_lab.reproduce.pythia_regrets import (
    ALGORITHMS,
    CRITERIA,
    DEFAULT,
    GROUPS,
    PYTHIA,
    RUN,
    Record,
    claims,
    gains,
    parts,
)
from adyton_lab.reproduce.pythia_report import all_sheets, draw_fig7, fig4, fig7, fig9_to_11, gains_sheet
from adyton_lab.reproduce.sheets import as_rich


def records(method, regrets, group="1-D identity", experiment="paper", epsilon="1", errors=None):
    """One record for each regret: two data sets in turn, 128 cells for the first two and 256 for the rest."""
    return [
        Record(
            experiment=experiment,
            epsilon=epsilon,
            group=group,
            method=method,
            source="AB"[place % 2],
            cells=128 if place < 2 else 256,
            scale=2 ** (5 + place),
            regret=regret,
            error=errors[place] if errors else 10 * regret,
        )
        for place, regret in enumerate(regrets)
    ]


SOME = [
    *records(PYTHIA, [1, 2, 1, 4]),
    *records("hb", [2, 2, 2, 2]),
    *records("dawa", [1, 1, 1, 9]),
    *records(PYTHIA, [1, 1, 1, 1], "1-D prefix"),
    *records("hb", [3, 3, 3, 3], "1-D prefix"),
    *records("dawa", [1, 2, 3, 4], "1-D prefix"),
]


def by_title(sheets, word):
    [found] = [sheet for sheet in sheets if word in sheet.title]
    return found


def test_fig4_has_means_tails_and_the_paper():
    [sheet] = fig4(parts(SOME)[0])
    assert sheet.columns == ("method", "all", "identity", "prefix", "the paper")
    # identity: 1, 1, 2, 4 → mean 2, and 95 % of the way is 0.85 between the third and the fourth: 2 + 0.85·2
    # all: 1·6, 2, 4 → mean 12/8, position 0.95·7 = 6.65: 2 + 0.65·2
    assert sheet.rows[0] == ("Pythia (group regret)", "1.50 (3.30)", "2.00 (3.70)", "1.00 (1.00)", "prefix 1.27")
    # hb: 20/8 = 2.5; dawa: 12/4 = 3, 10/4 = 2.5, 22/8 = 2.75
    assert [row[:1] + row[4:] for row in sheet.rows[1:]] == [("hb", "all ≤ 10"), ("dawa", "all ≤ 10")]
    assert [[cell.split()[0] for cell in row[1:4]] for row in sheet.rows[1:]] == [
        ["2.50", "2.00", "3.00"],
        ["2.75", "3.00", "2.50"],
    ]
    assert len(sheet.figures) == 9
    assert sheet.figures[0]["mean"] == 1.5
    assert sheet.figures[0]["inputs"] == 8


def test_a_method_on_fewer_inputs_is_marked():
    [sheet] = fig4(parts([*SOME, *records("ahp", [5])])[0])
    assert sheet.rows[-1][:4] == ("ahp", "–", "5.00 (5.00)*", "–")
    assert "not run on all inputs" in sheet.note


def test_only_the_paper_s_setting_is_held_against_the_paper():
    for experiment, epsilon in (("library", "1"), ("paper", "0.1")):
        [sheet] = fig4(parts(records(PYTHIA, [1, 2], "1-D prefix", experiment, epsilon))[0])
        assert sheet.columns == ("method", "prefix")


def test_settings_and_groups_come_in_the_paper_s_order():
    mixed = [
        one
        for experiment in ("library", "paper")
        for epsilon in ("0.1", "1")
        for group in reversed(GROUPS)
        for one in records("hb", [1], group, experiment, epsilon)
    ]
    found = parts(mixed)
    assert [(part.experiment, part.epsilon) for part in found] == [
        ("paper", "1"),
        ("paper", "0.1"),
        ("library", "1"),
        ("library", "0.1"),
    ]
    assert found[0].groups == list(GROUPS)
    assert list(found[0].by_group)[:4] == ["1-D all", "1-D identity", "1-D prefix", "2-D all"]


def test_fig7_compares_the_criteria():
    some = [one for place, name in enumerate(CRITERIA) for one in records(name, [1, 2 + place])]
    [sheet] = fig7(parts(some)[0])
    assert [row[1] for row in sheet.rows] == ["1.500", "2.000", "2.500", "3.000", "3.500"]
    assert fig7(parts(SOME)[0]) == []


def test_figs_9_to_11_split_by_source_cells_and_scale():
    part = parts(SOME)[0]
    sources = by_title(fig9_to_11(part, "fig9"), "1-D identity")
    assert sources.columns == ("data set", "Pythia (group regret)", "hb", "dawa")
    assert sources.rows == (("A", "1.00", "2.00", "1.00"), ("B", "3.00", "2.00", "5.00"))
    cells = by_title(fig9_to_11(part, "fig10"), "1-D identity")
    assert cells.rows == (("128", "1.50", "2.00", "1.00"), ("256", "2.50", "2.00", "5.00"))
    scales = by_title(fig9_to_11(part, "fig11"), "1-D prefix")
    assert [row[0] for row in scales.rows] == ["32", "64", "128", "256"]
    assert [row[scales.columns.index("dawa")] for row in scales.rows] == ["1.00", "2.00", "3.00", "4.00"]


def test_the_gain_is_a_geometric_mean_over_the_same_inputs():
    both = [
        *records(PYTHIA, [1] * 4, errors=[1, 1, 1, 1]),
        *records(RUN, [1] * 4, experiment="library", errors=[10, 10, 10, 0]),
        *records(DEFAULT, [1] * 4, experiment="library", errors=[20, 5, 8, 7]),
        *records(DEFAULT, [1] * 4, experiment="library", group="1-D prefix", errors=[1, 1, 1, 1]),
        *records(DEFAULT, [1] * 4, experiment="library", epsilon="0.1", errors=[1, 1, 1, 1]),
    ]
    (one,) = gains(both)  # the fourth input has no ratio
    assert (one.group, one.epsilon, one.inputs, one.better) == ("1-D identity", "1", 3, 2 / 3)
    assert math.isclose(one.ratio, (2 * 0.5 * 0.8) ** (1 / 3))
    assert math.isclose(one.percentile_95, 0.8 + 0.9 * 1.2)
    assert gains_sheet(both)[0].rows[0][2:4] == ("3", "0.928")
    assert gains_sheet(SOME) == []


def test_claims_are_judged_by_the_records():
    said = {one.paper.split(":")[0] + one.paper[-12:]: one for one in claims(SOME)}
    verdicts = {one.here: one.holds for one in said.values()}
    assert verdicts == {
        "not on 1-D identity (2.00, hb 2.00)": "in part",
        "hb 2.00, dawa 3.00": "yes",
        "dawa 2.50, hb 3.00": "yes",
        "lowest on 1 of 2, at worst number 2": "in part",
        "lowest on 2 of 2, at worst number 1": "yes",
    }
    assert claims(records(PYTHIA, [1], epsilon="0.1")) == []
    assert all_sheets([]) == []


def test_claims_about_numbers():
    """Above ten, the range, and the saving of a criterion, each once kept and once broken."""

    def everything(scale):
        for group in GROUPS:
            yield from records(PYTHIA, [1.2 * scale], group)
            yield from records(CRITERIA[1], [2], group)
            for name in ALGORITHMS[group[:3]]:
                yield from records(name, [11 / scale], group)

    kept = {one.paper[:18]: one.holds for one in claims(list(everything(1)))}
    broken = {one.paper[:18]: one.holds for one in claims(list(everything(2.5)))}
    for start in ("Its mean regret is", "1-D: the mean regr", "2-D: mean regret i"):
        assert (kept[start], broken[start]) == ("yes", "no")


def test_records_are_kept(tmp_path):
    some = [*SOME, *records("näme", [np.float64(1.25)], group="2-D short")]
    write_records(some, tmp_path / "records.jsonl")
    lines = (tmp_path / "records.jsonl").read_text(encoding="utf-8").splitlines()
    assert [Record(**json.loads(line)) for line in lines] == some


@pytest.mark.parametrize("regret", [math.inf, math.nan, -1.0, "1", True])
def test_a_record_needs_a_finite_regret(regret):
    with pytest.raises(BadInput, match="must be finite"):
        records("hb", [regret], errors=[1.0])


def test_pictures_and_report(tmp_path):
    pytest.importorskip("matplotlib")
    from adyton_lab.reproduce.pythia import EVALUATION

    some = [one for place, name in enumerate(CRITERIA) for one in records(name, [1, 2 + place])]
    path = tmp_path / "fig7.svg"
    assert draw_fig7(parts(some)[0], path)
    assert (tmp_path / "fig7.png").read_bytes()[:4] == b"\x89PNG"
    sheets = all_sheets([*some, *records("<b>&", [2, 2])])
    order = {"chapters": EVALUATION.chapters, "main": EVALUATION.main}
    write_report(tmp_path / "report.html", "A & B", ["1 < 2"], sheets, [path], **order)
    page = (tmp_path / "report.html").read_text()
    assert "<title>A &amp; B</title>" in page
    assert "<td>&lt;b&gt;&amp;</td>" in page
    assert "<b>&" not in page
    assert page.count("<svg") == page.count("</svg>") == 1
    assert "<?xml" not in page
    assert not re.search(r'(src|href)="https?:', page)
    assert page.index('id="fig4"') < page.index('id="fig7"') < page.index('id="fig11"')
    assert "1.500" in page


@pytest.mark.parametrize("as_json", [False, True])
def test_the_command_writes_everything_and_prints_the_main_tables(tmp_path, monkeypatch, as_json):
    from adyton.cli.main import app
    from adyton_lab.commands import reproduce
    from adyton_lab.reproduce import pythia

    monkeypatch.setattr(reproduce, "need_plots", lambda: None)
    monkeypatch.setattr(pythia, "all_figures", lambda records, folder: [])
    monkeypatch.setattr(pythia, "run", lambda *given, **options: SOME)
    monkeypatch.setattr(pythia, "all_settings", lambda *given, **options: [])
    folder = tmp_path / "out"
    given = ["reproduce", "pythia", "--data", str(tmp_path), "--public", "--out", str(folder), "--quiet"]
    done = CliRunner().invoke(app, given + ["--json"] * as_json)
    assert done.exit_code == 0, done.output
    assert {path.name for path in folder.iterdir()} >= {"records.jsonl", "tables.json", "tables.txt", "report.html"}
    assert "Fig. 9" in (folder / "tables.txt").read_text()
    if as_json:
        assert json.loads(done.stdout)[1]["figures"][0]["mean"] == 1.5
    else:
        assert "1.50 (3.30)" in done.stdout
        assert "Fig. 9" not in done.stdout


def test_the_command_refuses_before_it_measures(tmp_path, monkeypatch):
    from adyton.cli.main import app
    from adyton_lab import pages

    def code_and_words(*given):
        done = CliRunner().invoke(app, ["reproduce", *given])
        return done.exit_code, done.output

    out = ["--out", str(tmp_path / "out"), "--public"]
    assert "no paper to reproduce 'pithia'" in code_and_words("pithia", "--data", str(tmp_path), *out)[1]
    assert "is not a folder" in code_and_words("pythia", "--data", str(tmp_path / "none"), *out)[1]
    (tmp_path / "file").touch()
    assert (
        "cannot be written to"
        in code_and_words("pythia", "--data", str(tmp_path), "--out", str(tmp_path / "file"), "--public")[1]
    )
    monkeypatch.setattr(pages, "import_module", lambda name: (_ for _ in ()).throw(ImportError(name)))
    code, said = code_and_words("pythia", "--data", str(tmp_path), *out)
    assert code == 2
    assert "pip install 'adyton[plots]'" in said
    assert not (tmp_path / "out").exists()


def test_tables_for_a_terminal_show_names_as_they_are():
    from rich.console import Console

    console = Console(width=100, file=io.StringIO())
    console.print(as_rich(fig4(parts(records("[red]odd", [1, 3]))[0])[0]))
    assert "[red]odd" in console.file.getvalue()
