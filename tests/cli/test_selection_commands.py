"""``adyton train`` and ``adyton explain``: real trainings of the smallest kind, words, pictures, refusals."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from adyton import Boolean, Histogram, Schema, Session
from adyton.choice.decision_tree import Split
from adyton.choice.selector import Selector, Training
from adyton.choice.trained_selectors import SimilarInputs, TreeSelector, bands, winners
from adyton.cli import explain
from adyton.cli.main import app
from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.plans.registry import PLANS, algorithms
from adyton.queries import Prefix
from adyton.report.plot import draw
from adyton.result.folder import KIND
from adyton_lab.training import experiments
from adyton_lab.training.delphi import Delphi

TINY = ("--sides", "8", "--scales", "2,4096", "--epsilon", "1/10", "--trials", "2", "--processes", "1",
        "--algorithm", "identity", "--algorithm", "uniform")  # fmt: skip


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "120"})


def flat(text: str) -> str:
    return " ".join(text.split())


def refused(result, words: str) -> bool:
    """Exit code 2, nothing printed, and one sentence on standard error."""
    return (
        result.exit_code == 2
        and result.stdout == ""
        and words in result.stderr
        and result.stderr.startswith("adyton: ")
        and result.stderr.count("\n") == 1
        and "Traceback" not in result.stderr
    )


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus, and a selector of each kind that the command trained."""
    room = tmp_path_factory.mktemp("selectors")
    (room / "shapes.csv").write_text("bin,flat,peak\n" + "".join(f"{k},1,{10 if k == 3 else 0}\n" for k in range(8)))
    near = run("train", "--public", room / "shapes.csv", "--out", room / "near.json", *TINY, "--json")
    assert (near.exit_code, near.stderr) == (0, "")
    (room / "near.said").write_text(near.stdout)
    tree = run("train", "--out", room / "tree.json", *TINY, "--kind", "tree", "--cache", room / "tree.db")
    assert tree.exit_code == 0
    (room / "tree.said").write_text(tree.stdout)
    (room / "tree.remarks").write_text(tree.stderr)
    return room


def test_training_on_a_corpus(room: Path):
    said = json.loads((room / "near.said").read_text())
    assert said["selector"] == str(room / "near.json")
    assert said["kind"] == "similar-inputs"
    assert said["share"] == {"exact": "1/100", "float": 0.01}
    assert said["training"]["corpus"] == ["flat", "peak"]
    assert (said["training"]["inputs"], said["training"]["epsilons"]) == (4, ["1/10"])
    assert set(said["mean_regrets"]) == {"identity", "prefix"}
    regrets = said["mean_regrets"]["identity"]
    assert min(regrets.values()) >= 1
    assert max(regrets.values()) > 1.5  # 4096 rows in one of 8 cells are not uniform, 2 rows drown in noise
    assert isinstance(Selector.load(room / "near.json"), SimilarInputs)
    assert (room / "near.json.experiments.db").is_file()


def test_a_second_training_measures_nothing(room: Path, monkeypatch: pytest.MonkeyPatch):
    def work(job):
        raise AssertionError("measured again")

    monkeypatch.setattr(experiments._Job, "work", work)
    again = run("train", "--public", room / "shapes.csv", "--out", room / "near.json", *TINY, "--json")
    assert again.stdout == (room / "near.said").read_text()
    learn = ("--kind", "tree", "--depth", "0", "--criterion", "least-regret", "--share", "1/7", "--quiet")
    kept = room / "near.json.experiments.db"
    other = run("train", "--public", room / "shapes.csv", "--out", room / "leaf.json", *TINY, *learn, "--cache", kept)
    assert (other.exit_code, other.stderr) == (0, "")
    leaf = Selector.load(room / "leaf.json")
    assert leaf.share == Fraction(1, 7)
    assert leaf.kind == "tree"


def test_training_without_a_corpus_says_so(room: Path):
    assert "made-up distributions" in flat((room / "tree.remarks").read_text())
    assert f"adyton explain {room / 'tree.json'}" in flat((room / "tree.remarks").read_text())
    said = (room / "tree.said").read_text()
    lines = [line.split() for line in said.splitlines() if line.startswith((" identity", " uniform"))]
    assert sorted(name for name, *_ in lines) == ["identity", "uniform"]
    sums = [sum(map(float, figures)) for _, *figures in lines]
    assert sums == sorted(sums)
    assert str(room / "tree.json") in said.replace("\n", "")
    assert "decay" in Selector.load(room / "tree.json").training.corpus


def test_an_interrupted_training_says_how_to_go_on(room: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Delphi, "measure", interrupted)
    result = run("train", "--public", room / "shapes.csv", "--out", room / "never.json", *TINY)
    assert result.exit_code == 130
    assert f"kept in {room / 'never.json.experiments.db'}: the same command continues" in flat(result.stderr)
    assert result.stderr.endswith("adyton: interrupted.\n")
    assert not (room / "never.json").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--algorithm", "identiti"], "Did you mean 'identity'?"),
        (["--algorithm", "cdf", "--dimensions", "2"], "cdf does not serve 2 dimensions"),
        (["--workload", "prefixes"], "Did you mean 'prefix'?"),
        (["--workload", "prefix", "--dimensions", "2", "--algorithm", "identity"], "there is no workload 'prefix'"),
        (["--kind", "forest"], "There are 'similar-inputs', 'tree'"),
        (["--criterion", "gini"], "there is no criterion 'gini'"),
        (["--scales", "24:5"], "the smaller one first, such as 5:24"),
        (["--scales", "5:99"], "such as 5:24"),
        (["--scales", "a:b"], "such as 5:24"),
        (["--scales", "100,,5"], "--scales takes whole numbers"),
        (["--scales", "0"], "--scales takes whole numbers"),
        (["--sides", "8x8"], "--sides takes whole numbers"),
        (["--epsilon", "-1"], "--epsilon must be greater than 0"),
        (["--share", "1"], "--share must be greater than 0 and less than 1"),
        (["--trials", "1"], "--trials"),
        (["--dimensions", "3"], "--dimensions"),
        (["--plan", "nowhere.py"], "nowhere.py is not a Python script"),
        (["--dimensions", "2"], "there is no two-dimensional distribution"),
    ],
)
def test_bad_options_are_refused_before_anything_is_measured(room: Path, monkeypatch, options: list[str], words: str):
    monkeypatch.delattr(Delphi, "measure")
    assert refused(run("train", "--public", room / "shapes.csv", "--out", room / "no.json", *options), words)
    assert not list(room.glob("no.json*"))


def test_an_output_that_cannot_be_written_is_refused_before_anything_is_measured(room: Path, monkeypatch):
    monkeypatch.delattr(Delphi, "measure")
    corpus = room / "shapes.csv"
    assert refused(
        run("train", "--public", corpus, "--out", room / "nowhere" / "a.json"), "cannot be written (No such file"
    )
    assert refused(run("train", "--public", corpus, "--out", corpus / "a.json"), "cannot be written (Not a directory)")
    assert refused(run("train", "--public", corpus, "--out", room), "cannot be written (Is a directory)")
    before = corpus.read_bytes()
    assert refused(run("train", "--public", corpus, "--out", corpus), "exists and is not a selector")
    assert corpus.read_bytes() == before


def test_a_corpus_without_a_shape_is_refused(room: Path, tmp_path: Path):
    (tmp_path / "empty.csv").write_text("bin,a\n0,0\n1,0\n")
    result = run("train", "--public", tmp_path, "--out", room / "no.json", *TINY)
    assert refused(result, "there is no one-dimensional distribution in")
    assert refused(run("train", "--public", tmp_path / "nothing", "--out", room / "no.json", *TINY), "cannot be read")
    assert refused(
        run(
            "train",
            "--public",
            room / "shapes.csv",
            "--out",
            room / "no.json",
            *TINY,
            "--cache",
            tmp_path / "empty.csv",
        ),
        "cannot hold experiments",
    )


OWN_PLAN = """
from __future__ import annotations
from dataclasses import dataclass
import numpy as np
from adyton.plans.base import Plan, Tasks
from adyton.plans.registry import register

@register
@dataclass(frozen=True, kw_only=True)
class Nothing(Plan):
    '''Answers 0 and throws the budget away.'''
    name = "answers-nothing"
    serves = Tasks(dimensions=(1,), data_dependent=True)
    simulates_many = False

    def run(self, x, workload, epsilon):
        from adyton.queries import Total
        x.measure(Total(x.shape), epsilon)
        return np.zeros(x.cells)
"""


@pytest.fixture
def registry():
    """Whatever is registered during a test is forgotten afterwards."""
    algorithms()
    before = dict(PLANS)
    yield
    PLANS.clear()
    PLANS.update(before)


@pytest.mark.usefixtures("registry")
def test_a_plan_of_ones_own_takes_part(room: Path, tmp_path: Path):
    script = tmp_path / "own.py"
    script.write_text(OWN_PLAN)
    result = run("train", "--public", room / "shapes.csv", "--out", tmp_path / "own.json", *TINY,
                 "--algorithm", "answers-nothing", "--plan", script, "--workload", "identity", "--json")  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["training"]["algorithms"] == ["identity", "uniform", "answers-nothing"]
    assert json.loads(result.stdout)["mean_regrets"]["identity"]["answers-nothing"] > 1


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import math", "registers no plan"),
        ("1 / 0", "failed: ZeroDivisionError"),
        ("def (", "failed: SyntaxError"),
        ("raise SystemExit(0)", "failed: SystemExit"),
        (OWN_PLAN.replace("answers-nothing", "hb"), "there is already a plan named 'hb'"),
    ],
)
def test_scripts_that_register_nothing_are_refused(room: Path, tmp_path: Path, text: str, words: str):
    script = tmp_path / "script.py"
    script.write_text(text)
    assert refused(
        run("train", "--public", room / "shapes.csv", "--out", room / "no.json", *TINY, "--plan", script), words
    )


def test_explaining_a_tree(room: Path):
    selector = Selector.load(room / "tree.json")
    assert isinstance(selector, TreeSelector)
    assert any(isinstance(tree, Split) for tree in selector.trees.values())
    result = run("explain", room / "tree.json")
    assert result.exit_code == 0
    assert flat(str(selector)) in flat(result.stdout)
    assert selector.in_words() in result.stdout.replace(" \n", "\n")
    for words in ("decay, spikes, steps", "date", selector.training.date, "1/10", "trials"):
        assert words in flat(result.stdout)


def test_explaining_similar_inputs(room: Path):
    result = run("explain", room / "near.json", "--dimensions", "1", "--json")
    found = json.loads(result.stdout)
    assert found["training"]["algorithms"] == ["identity", "uniform"]
    assert found["in_words"] == Selector.load(room / "near.json").in_words()
    lines = found["in_words"].splitlines()
    assert lines[0].startswith("identity: ")
    assert lines[1].split() == ["cells", "\\", "ε·rows", "below", "256", "256", "to", "4,096"]
    assert lines[2].split()[:2] == ["8", "uniform"]


def selector_of(sizes, signals, logs, *, dimensions: int = 1, workloads=("identity",)) -> SimilarInputs:
    names = tuple(f"plan-{number}" for number in range(np.shape(logs)[1]))
    about = Training(dimensions=dimensions, algorithms=names, workloads=workloads, corpus=("a",), epsilons=("1",),
                     inputs=len(sizes) // len(workloads), trials=2, date="2026-11-15", adyton="0")  # fmt: skip
    zeros = [0.0] * len(sizes)
    table = {"sizes": sizes, "reaches": zeros, "epsilons": zeros, "signals": signals, "sources": zeros, "logs": logs}
    return SimilarInputs.from_learnt(about, Fraction(1, 50), table)


def test_winners_have_the_least_mean_regret_of_their_group():
    log = np.log
    selector = selector_of(
        [12, 12, 12, 4, 12, 12, 12, 4],
        [300.0, 310.0, 2.0**22, 0.0] * 2,
        [[log(1), log(3)], [log(2.5), log(1)], [log(1), log(2)], [log(5), log(1)], *[[0.0, -1.0]] * 4],
        dimensions=2,
        workloads=("short", "long"),
    )
    short, long = winners(selector, bands)
    assert (short.workload, short.sizes, short.signals) == ("short", (16, 4096), (8, 12, 24))
    assert short.best[4096, 12] == ("plan-0", pytest.approx(1.75))  # (1 + 2.5)/2 against (3 + 1)/2
    assert short.best[4096, 24] == ("plan-0", 1.0)
    assert short.best[16, 8] == ("plan-1", 1.0)
    assert {name for name, _ in long.best.values()} == {"plan-1"}
    assert selector.in_words().split("\n\n")[0].splitlines()[1:] == [
        "  cells \\ ε·rows  below 256    256 to 4,096  from 1,048,576",
        "  4 × 4           plan-1 1.00  –             –",
        "  64 × 64         –            plan-0 1.75   plan-0 1.00",
    ]


def test_bands_begin_where_they_say():
    ends = bands(np.log2([0.5, 255, 256, 4095, 4096, 2**20 - 1, 2**20, 2**40]))
    assert ends.tolist() == [8, 8, 12, 12, 16, 20, 24, 24]


def test_pictures(room: Path, tmp_path: Path):
    result = run("explain", room / "tree.json", "--picture", tmp_path / "tree.svg", "--json")
    assert json.loads(result.stdout)["picture"] == str(tmp_path / "tree.svg")
    drawn = (tmp_path / "tree.svg").read_text()
    for words in ("Workload: identity", "Workload: prefix", "all inputs", "at most", "above", "uniform"):
        assert f"<!-- {words}" in drawn
    assert ", regret 1." in drawn
    many = selector_of([3.0] * 10, 2.0 ** np.arange(10), 1 - np.eye(10))  # more winners than colours
    draw(many, tmp_path / "map.svg")
    drawn = (tmp_path / "map.svg").read_text()
    for words in ("Workload: identity", "1 plan-", "10 plan-", "ε times the number of rows", "cells of the domain"):
        assert f"<!-- {words}" in drawn
    draw(many, tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text() == drawn
    run("explain", room / "near.json", "--picture", tmp_path / "near.PNG")
    assert (tmp_path / "near.PNG").read_bytes().startswith(b"\x89PNG")


def test_pictures_that_cannot_be_drawn(room: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    near = room / "near.json"
    assert refused(run("explain", near, "--picture", tmp_path / "near.txt"), "ends with .svg, .png, .pdf")
    with pytest.raises(BadInput, match="cannot be written: No such file"):
        draw(Selector.load(near), tmp_path / "nowhere" / "near.svg")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(BadInput, match=r"pip install 'adyton\[plots\]'"):
        draw(Selector.load(near), tmp_path / "near.svg")


def test_files_that_are_no_selectors(room: Path, tmp_path: Path):
    plain = json.loads((room / "near.json").read_text())
    file = tmp_path / "selector.json"
    for change, words in (
        ({"version": 9}, "version 9; this program reads 1"),
        ({"share": "1/2"}, "was changed after it was written"),
        ({"format": "poem"}, "is not a selector"),
    ):
        file.write_text(json.dumps(plain | change))
        assert refused(run("explain", file), words)
    file.write_text("{")
    assert refused(run("explain", file), "is not a JSON file")
    assert refused(run("explain", tmp_path / "none.json"), "there is no file or folder")
    assert refused(run("explain", room / "near.json", "--dimensions", "2"), "is for 1 dimensions")


def test_the_selector_that_comes_with_adyton(room: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(explain, "shipped_selector", lambda ndim: Selector.load(room / f"none{ndim}.json"))
    assert refused(run("explain", "--dimensions", "2"), "for 2 dimensions that comes with Adyton cannot be read")
    monkeypatch.setattr(explain, "shipped_selector", lambda ndim: Selector.load(room / "near.json"))
    assert "similar-inputs selector" in run("explain").stdout


def test_why_a_release_used_its_algorithm(room: Path, tmp_path: Path):
    x = np.array([0, 0, 0, 5000, 0, 0, 0, 0])
    kernel = Kernel.simulated(x, epsilon=Fraction(1, 2), seed=np.random.SeedSequence(0))
    trained = Selector.load(room / "near.json")
    few, many = [[0.0, -2.0]] * 20, [[0.0, 3.0]] * 20  # an even spread wins where rows are few
    table = {
        "sizes": [3.0] * 40,
        "reaches": [0.7] * 40,
        "epsilons": [0.0] * 40,
        "signals": [9.0] * 20 + [9e5] * 20,
        "sources": [0, 1] * 20,
    }
    selector = SimilarInputs.from_learnt(trained.training, trained.share, {**table, "logs": few + many})
    choice = selector.choose(kernel.root, Prefix(8), Fraction(1, 2))
    plain = choice.to_plain()
    assert plain["left"] == {"exact": "99/200", "float": 0.495}
    (bought,) = plain["bought"]
    assert bought["epsilon"]["exact"] == "1/200"
    assert bought["value"] == choice.bought[0].value
    assert set(plain["regrets"]) == set(plain["errors"]) == {"identity", "uniform"}
    people = pd.DataFrame({"smokes": [True, False, False]})
    session = Session(people, schema=Schema({"smokes": Boolean()}), epsilon=1)
    release = session.release(Histogram("smokes"), Fraction(1, 2), algorithm="identity")
    noted = replace(choice, notes=("\x1b[2Jsomething is missing.",))
    chosen = replace(release, choice=noted, algorithm=choice.algorithm).to_dict()
    file = tmp_path / "release.json"
    file.write_text(json.dumps(chosen))
    said = run("explain", file).stdout
    assert said.startswith("Released: histogram of smokes; 2 cells. Only rows with a known value of smokes are in ")
    assert f"Chosen: {choice.algorithm}, after measuring 1 noisy feature of the data.\n" in said
    row = next(line for line in said.splitlines() if line.startswith(" ε times the number of rows"))
    assert row.split()[6:] == [f"{bought['value']:,.4g}", "±", f"{bought['deviation']:,.3g}", "0.005"]
    ranked = [line.split() for line in said.splitlines() if line.startswith((" identity", " uniform"))]
    assert [name for name, *_ in ranked] == sorted(choice.regrets, key=choice.regrets.__getitem__)
    assert ranked[0] == [choice.algorithm, "1.00", "chosen"]
    assert f"ε = 0.495 was left for {choice.algorithm}." in said
    assert r"Note: \x1b[2Jsomething is missing." in said
    assert json.loads(run("explain", tmp_path, "--json").stdout)["choice"]["bought"] == plain["bought"]
    assert refused(run("explain", file, "--picture", tmp_path / "a.svg"), "is a release")
    file.write_text(json.dumps(release.to_dict()))
    assert "Algorithm: identity, as asked." in run("explain", file).stdout
    for broken in ({}, plain | {"left": "1/2"}, plain | {"bought": [{}]}, plain | {"regrets": [1]}):
        body = {name: part for name, part in chosen.items() if name != "digest"} | {"choice": broken}
        file.write_text(json.dumps({"digest": KIND.digest(body), **body}))
        assert refused(run("explain", file), "is not a result that can be used")


def test_what_would_be_chosen(room: Path):
    near = room / "near.json"
    ask = ("explain", near, "--workload", "identity", "--cells", "8", "--epsilon", "1/10", "--json", "--rows")
    few, many = (json.loads(run(*ask, rows).stdout) for rows in (2, 4096))
    assert few["algorithm"] == "uniform"
    assert many["algorithm"] == "identity"
    assert (few["bought"], few["left"]["exact"]) == ([], "1/10")
    assert "from public information" in run(*ask[:-2], "--rows", "2").stdout
    assert refused(run(*ask[:-2]), "give all of --workload, --cells and --rows")
    assert refused(run("explain", near, "--workload", "prefx", "--cells", "8", "--rows", "2"), "Did you mean 'prefix'?")
    assert refused(run(*ask, "2", "--epsilon", "0"), "--epsilon must be greater than 0")


def test_what_would_be_chosen_is_not_said_where_it_depends_on_the_data(room: Path):
    tree = Split("non-zeros", 3.0, *Selector.load(room / "tree.json").trees.values())
    selector = TreeSelector(Selector.load(room / "tree.json").training, Fraction(1, 10), {"identity": tree})
    selector.save(room / "looks.json")
    result = run("explain", room / "looks.json", "--workload", "identity", "--cells", "8", "--rows", "9")
    assert refused(result, "that depends on the data: this selector would buy non-zeros")
