"""``adyton release`` as a person uses it: answers, messages, exit codes, and nothing spent when it is refused."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app, every_command
from adyton.interrupts import Terminated

EXAMPLES = Path(__file__).parents[2] / "examples"
DATA, SCHEMA = str(EXAMPLES / "visits.csv"), str(EXAMPLES / "visits.toml")


def run(*arguments):
    return CliRunner().invoke(app, ["release", *arguments])


def test_histogram_as_json(tmp_path):
    ledger = tmp_path / "visits.ledger"
    done = run(DATA, "--schema", SCHEMA, "--histogram", "department,sex", "--epsilon", "0.5", "--total", "2",
               "--ledger", str(ledger), "--algorithm", "identity", "--misfits", "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    release = json.loads(done.stdout)
    assert release["axes"]["sex"] == ["F", "M", "(other)", "(null)"]
    assert len(release["estimate"]) == 6
    assert len(release["estimate"][0]) == 4
    assert abs(sum(sum(row) for row in release["estimate"]) - 5000) < 400  # 24 draws of scale 2: 20 deviations
    record = release["record"]
    assert record["private"] is True
    assert [record[name]["exact"] for name in ("total", "spent", "remaining")] == ["2", "1/2", "3/2"]
    assert [entry["epsilon"]["exact"] for entry in record["entries"]] == ["1/100", "49/100"]
    assert release["misfits"]["epsilon"]["exact"] == "1/100"
    assert ad.Ledger.read(ledger).spent == 0.5


def test_an_algorithm_is_chosen_or_named():
    ask = (DATA, "--schema", SCHEMA, "--histogram", "age", "--epsilon", "0.5")
    release = json.loads(run(*ask, "--json").stdout)
    assert release["algorithm"] == release["choice"]["algorithm"]
    assert release["record"]["spent"]["exact"] == "1/2"
    assert abs(sum(release["estimate"]) - 5000) < 1000
    named = json.loads(run(*ask, "--algorithm", "identity", "--option", "total=5000", "--json").stdout)
    assert (named["algorithm"], named["choice"], named["options"]) == ("identity", None, {"total": 5000})
    assert sum(named["estimate"]) == pytest.approx(5000)
    done = run(*ask)
    assert "Algorithm: " in done.stderr
    assert "this release cost ε = 0.5" in done.stderr
    assert "95% interval" in done.stdout
    assert run(*ask, "--quiet").stderr == ""


def test_every_task(tmp_path):
    queries = tmp_path / "queries.json"
    queries.write_text('[{"age": {"from": 20, "to": 29}, "sex": "F"}, {"age": {"from": 65}}]')
    ask = (DATA, "--schema", SCHEMA, "--epsilon", "1", "--algorithm", "identity")
    cumulative = run(*ask, "--cdf", "stay_days", "--integer", "--nonnegative", "--quiet").stdout.splitlines()
    lines = [line.split() for line in cumulative if line[:3].strip().isdigit()]
    assert [line[0] for line in lines] == [str(day) for day in range(31)]
    counts = [int(line[1].replace(",", "")) for line in lines]
    assert counts == sorted(counts)
    assert abs(counts[-1] - 5000) < 300
    tables = run(*ask, "--marginals", "2", "--attributes", "sex,department,stay_days", "--quiet").stdout
    assert tables.count("95% interval") == 3
    assert "more lines" not in tables
    assert "5" in run(*ask, "--ranges", "age,sex", "--quiet").stdout
    release = json.loads(run(*ask, "--queries", str(queries), "--option", "reduce=true", "--json").stdout)
    assert release["expected_error"]["queries"] == 2
    assert release["task"]["queries"][1] == {"age": {"from": 65}}


def test_a_refused_release_leaves_no_folder(tmp_path):
    ask = (DATA, "--schema", SCHEMA, "--histogram", "sex", "--ledger", str(tmp_path / "a.ledger"), "--total", "1")
    done = run(*ask, "--epsilon", "0.6", "--algorithm", "identity", "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["estimate.csv", "release.json", "report.html"]
    assert "report.html" in done.stderr
    loaded = ad.Release.load(tmp_path / "out")
    written = json.loads((tmp_path / "out" / "release.json").read_text(encoding="utf-8"))
    assert loaded.to_dict() == written
    assert loaded.answer(["F", ["M", "(null)"]]).sum() == pytest.approx(loaded.estimate.sum() - loaded.estimate[2])
    refused = run(*ask, "--epsilon", "0.6", "--algorithm", "identity", "--out", str(tmp_path / "late"))
    assert refused.exit_code == 1
    assert "0.4 of 1 is left" in refused.stderr
    again = run(*ask, "--epsilon", "0.1", "--algorithm", "identity", "--out", str(tmp_path / "out"))
    assert (again.exit_code, "holds files already" in again.stderr) == (2, True)
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith("a.ledger")) == ["out"]
    assert ad.Ledger.read(tmp_path / "a.ledger").spent == ad.Release.load(tmp_path / "out").epsilon


def test_attributes_may_be_called_like_columns(tmp_path):
    (tmp_path / "t.csv").write_text("count,lower\nx,3\ny,4\n")
    (tmp_path / "t.toml").write_text(
        '[attributes.count]\ntype = "categorical"\nlevels = ["x", "y"]\n'
        '[attributes.lower]\ntype = "integer"\nmin = 3\nmax = 4\n'
    )
    ask = (str(tmp_path / "t.csv"), "--schema", str(tmp_path / "t.toml"), "--epsilon", "300", "--yes",
           "--algorithm", "identity", "--quiet")  # fmt: skip
    for words in (("--histogram", "count,lower"), ("--marginals", "1"), ("--cdf", "lower"), ("--histogram", "count")):
        done = run(*ask, *words)
        assert done.exit_code == 0, done.output
    cumulative = run(*ask, "--cdf", "lower").stdout.splitlines()[4:6]
    assert [line.split()[:2] for line in cumulative] == [["3", "1.0"], ["4", "2.0"]]


def test_odd_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("link").symlink_to("empty")
    Path("nowhere").symlink_to("later")
    Path("here").mkdir()
    ask = (DATA, "--schema", SCHEMA, "--histogram", "sex", "--epsilon", "0.5", "--algorithm", "identity", "--quiet")
    for folder in ("link", "nowhere", "deep/er"):
        assert run(*ask, "--out", folder).exit_code == 0
        assert ad.Release.load(folder).algorithm == "identity"
    monkeypatch.chdir("here")
    inside = run(*ask, "--ledger", "x/l.ledger", "--total", "1", "--out", "x")
    assert (inside.exit_code, "Give --out another folder" in inside.stderr) == (2, True)
    for folder, message in (
        (".", "in one step"),
        ("a" * 300, "cannot be written to"),
        ("new/one", "more than --total"),
    ):
        done = run(*ask, "--total", "0.1" if folder == "new/one" else "1", "--out", folder)
        assert (done.exit_code, message in done.stderr) == (2, True), done.stderr
    assert list(Path().iterdir()) == []


def test_an_interrupt_before_there_is_an_answer_leaves_a_valid_ledger_and_no_output(tmp_path, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("adyton.kernel.kernel.run", interrupt)
    done = run(DATA, "--schema", SCHEMA, "--histogram", "sex", "--ledger", str(tmp_path / "a.ledger"), "--total", "1",
               "--no-misfits", "--epsilon", "0.5", "--algorithm", "identity", "--out", f"{tmp_path}/out")  # fmt: skip
    assert done.exit_code == 130
    assert "interrupted; ε = 0.5 was charged already" in done.stderr
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("a.ledger")] == []
    assert ad.Ledger.read(tmp_path / "a.ledger").spent == 0.5


@pytest.mark.parametrize(("interrupt", "code"), [(KeyboardInterrupt, 130), (Terminated, 143)])
def test_an_interrupt_before_the_charge(monkeypatch, interrupt, code):
    def interrupted(*arguments, **options):
        raise interrupt

    monkeypatch.setattr("adyton.cli.release.Session", interrupted)
    done = run(DATA, "--schema", SCHEMA, "--histogram", "sex", "--epsilon", "1")
    assert (done.exit_code, done.stderr) == (code, "adyton: interrupted.\n")


def test_a_folder_with_a_release_is_replaced_if_that_is_allowed(tmp_path):
    out, ledger = tmp_path / "out", tmp_path / "a.ledger"
    ask = (DATA, "--schema", SCHEMA, "--epsilon", "0.25", "--ledger", str(ledger), "--total", "1", "--algorithm",
           "identity", "--quiet", "--out", str(out))  # fmt: skip
    assert run(*ask, "--marginals", "1", "--attributes", "sex,department").exit_code == 0
    assert set(pd.read_csv(out / "tables.csv")["table"]) == {"sex", "department"}
    refused = run(*ask, "--histogram", "sex")
    assert (refused.exit_code, "overwrite" in refused.stderr) == (2, True)
    assert run(*ask, "--histogram", "sex", "--overwrite").exit_code == 0
    assert sorted(path.name for path in out.iterdir()) == ["estimate.csv", "release.json", "report.html"]
    (out / "notes.txt").write_text("mine")
    kept = run(*ask, "--histogram", "sex", "--overwrite")
    assert (kept.exit_code, "notes.txt" in kept.stderr) == (2, True)
    alone = run(*ask[:-2], "--histogram", "sex", "--overwrite")
    assert (alone.exit_code, "belongs to --out" in alone.stderr) == (2, True)
    assert ad.Ledger.read(ledger).spent == 0.5
    assert (out / "notes.txt").exists()


def test_no_table_is_taken_for_a_release(tmp_path):
    """A private table may be called as a file of a release is."""
    table, copy = tmp_path / "survey" / "answers.csv", tmp_path / "copy.csv"
    table.parent.mkdir()
    for file in (table, copy):
        file.write_text("sex\nF\n")
    schema = tmp_path / "s.toml"
    schema.write_text('[attributes.sex]\ntype = "categorical"\nlevels = ["F", "M"]\n')
    ask = ("--schema", str(schema), "--histogram", "sex", "--epsilon", "1", "--out", str(table.parent), "--overwrite")
    for data, message in ((table, "Give --out another folder"), (copy, "does not belong to a saved release")):
        done = run(str(data), *ask)
        assert (done.exit_code, message in done.stderr) == (2, True)
    assert [path.name for path in table.parent.iterdir()] == ["answers.csv"]


def test_what_was_asked_is_what_is_written(tmp_path):
    ask = (DATA, "--schema", SCHEMA, "--epsilon", "1", "--algorithm", "identity", "--quiet", "--out")
    assert run(*ask, str(tmp_path / "cdf"), "--cdf", "stay_days").exit_code == 0
    cumulative = pd.read_csv(tmp_path / "cdf" / "estimate.csv")
    assert list(cumulative) == ["stay_days", "cumulative_count", "lower", "upper"]
    release = ad.Release.load(tmp_path / "cdf")
    assert np.allclose(cumulative["cumulative_count"], np.cumsum(release.estimate))
    assert (
        run(*ask, str(tmp_path / "two"), "--marginals", "2", "--attributes", "sex,department,stay_days").exit_code == 0
    )
    release = ad.Release.load(tmp_path / "two")
    assert release.estimate.ndim == 3  # complete
    whole = pd.read_csv(tmp_path / "two" / "tables.csv")
    assert list(whole) == ["table", "sex", "department", "stay_days", "count", "lower", "upper"]
    for names in (("sex", "department"), ("sex", "stay_days"), ("department", "stay_days")):
        table = whole[whole["table"] == " × ".join(names)]
        assert table[[name for name in ("sex", "department", "stay_days") if name not in names]].isna().all(axis=None)
        assert np.allclose(table["count"], release.to_frame(names)["count"])
        assert ((table["lower"] < table["count"]) & (table["count"] < table["upper"])).all()


@pytest.mark.parametrize("words", [("--histogram", "age"), ("--cdf", "age"), ("--marginals", "1")])
def test_whole_numbers_lie_in_their_own_intervals(tmp_path, words):
    """With a public total the counts are fractions; with hardly any noise their bounds are nearer than 1 to them."""
    rows = "".join(f"{age},{sex}\n" for age in range(30) for sex in "FM")
    (tmp_path / "t.csv").write_text(f"age,sex\n{rows}")
    (tmp_path / "t.toml").write_text(
        '[attributes.age]\ntype = "integer"\nmin = 0\nmax = 49\n'
        '[attributes.sex]\ntype = "categorical"\nlevels = ["F", "M"]\n'
    )
    done = run(str(tmp_path / "t.csv"), "--schema", str(tmp_path / "t.toml"), *words, "--epsilon", "100", "--algorithm",
               "identity", "--option", "total=77", "--yes", "--integer", "--nonnegative", "--quiet", "--out",
               str(tmp_path / "out"))  # fmt: skip
    assert done.exit_code == 0, done.output
    lines = [line.replace(",", "").split() for line in done.stdout.splitlines()[1:] if " to " in line]
    printed = [(float(line[-4]), float(line[-3]), float(line[-1])) for line in lines]
    files = list((tmp_path / "out").rglob("*.csv"))
    written = [row for file in files for row in pd.read_csv(file).iloc[:, -3:].itertuples(index=False)]
    assert len(printed) == 50 + 2 * (words[0] == "--marginals")
    assert all(low <= count <= high for count, low, high in [*printed, *written])
    assert all(float(number).is_integer() for row in [*printed, *written] for number in row)


def test_two_processes_cannot_spend_the_same_budget(tmp_path):
    """Both ask for 0.6 of 1 at the same time: one is answered, the other is refused and writes nothing."""
    program = Path(sys.executable).parent / "adyton"
    words = [program, "release", DATA, "--schema", SCHEMA, "--histogram", "sex", "--ledger", tmp_path / "a.ledger",
             "--total", "1", "--epsilon", "0.6", "--algorithm", "identity", "--no-misfits", "--quiet"]  # fmt: skip
    folders = [tmp_path / "one", tmp_path / "two"]
    both = [subprocess.Popen([*words, "--out", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for folder in folders]  # fmt: skip
    messages = [process.communicate()[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 1], messages
    assert [folder.exists() for folder in folders] == [process.returncode == 0 for process in both]
    assert ad.Ledger.read(tmp_path / "a.ledger").spent == ad.Release.load(folders[both[0].returncode]).epsilon


@pytest.mark.full
def test_ctrl_c_at_any_moment(tmp_path):
    """Real interrupts, from the first instant to the end: the ledger stays valid, and a folder that is there holds what
    was paid for. The first run is not interrupted; it tells how long one takes here."""
    program = Path(sys.executable).parent / "adyton"
    finished, whole = 0, None
    for attempt in range(21):
        ledger, folder = tmp_path / f"{attempt}.ledger", tmp_path / f"out{attempt}"
        words = [program, "release", DATA, "--schema", SCHEMA, "--ranges", "age", "--ledger", ledger, "--total", "1",
                 "--epsilon", "0.5", "--algorithm", "hb", "--out", folder]  # fmt: skip
        start = time.monotonic()
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if whole is not None:
            time.sleep(whole * attempt / 20)
            process.send_signal(signal.SIGINT)
        message = process.communicate()[1]
        whole = whole or time.monotonic() - start
        assert process.returncode in {0, 130, -signal.SIGINT, 1}, message
        if ledger.exists():
            assert ad.Ledger.read(ledger).spent in {0, 0.5}
        assert folder.exists() or "The release is in" not in message
        if folder.exists():
            assert ad.Release.load(folder).epsilon == ad.Ledger.read(ledger).spent
            finished += 1
    assert 0 < finished < 21


def test_count_for_people(tmp_path):
    done = run(DATA, "--schema", SCHEMA, "--count", "--where", "age >= 65", "--epsilon", "10")
    assert done.exit_code == 0
    assert 1000 < int(done.stdout) < 4000
    assert "this count cost ε = 10; 0 of 10 is left" in " ".join(done.stderr.split())
    assert "meets no comparison with it" in " ".join(done.stderr.split())


def test_long_histograms_are_cut_only_where_a_folder_has_all_lines(tmp_path):
    ask = (DATA, "--schema", SCHEMA, "--histogram", "cost", "--epsilon", "1", "--algorithm", "identity", "--quiet")
    done = run(*ask)
    assert len(done.stdout.splitlines()) == 4 + 512
    assert done.stderr == ""
    cut = run(*ask, "--out", str(tmp_path / "out")).stdout.splitlines()
    assert len(cut) == 4 + 60 + 1
    assert cut[-1] == f"… and 452 more lines: {tmp_path / 'out'} has them all."
    assert cut[0].startswith("Only rows with a known value of cost are in this table. About ")
    assert cut[1] == ""


def test_a_thousand_tables_are_printed(tmp_path):
    names = [f"a{number}" for number in range(14)]
    (tmp_path / "t.csv").write_text(",".join(names) + "\n")
    (tmp_path / "t.toml").write_text("".join(f'[attributes.{one}]\ntype = "boolean"\n' for one in names))
    ask = ("--schema", str(tmp_path / "t.toml"), "--marginals", "4", "--epsilon", "1", "--algorithm", "identity")
    done = run(str(tmp_path / "t.csv"), *ask, "--quiet")
    assert (done.exit_code, done.stdout.count("count")) == (0, 1001), done.output


def test_json_has_what_was_asked():
    ask = (DATA, "--schema", SCHEMA, "--epsilon", "1", "--algorithm", "identity", "--json", "--integer")
    released = json.loads(run(*ask, "--cdf", "age", "--nonnegative").stdout)
    answers = released["answers"]
    table = answers["tables"][0]
    assert (answers["integer"], answers["nonnegative"], answers["confidence"]) == (True, True, 0.95)
    assert (table["what"], table["labels"]["age"][:3]) == ("cumulative_count", [0, 1, 2])
    counts = table["counts"]
    assert counts == sorted(counts)
    assert all(isinstance(count, int) for count in counts)
    assert all(low <= count <= high for low, count, high in zip(table["lower"], counts, table["upper"], strict=True))
    tables = json.loads(run(*ask, "--marginals", "1", "--attributes", "sex,department").stdout)["answers"]["tables"]
    assert [list(one["labels"]) for one in tables] == [["sex"], ["department"]]


def test_rows_per_unit_is_paid_from_the_same_epsilon(tmp_path):
    text = Path(SCHEMA).read_text().replace("rows_per_unit = 1", "rows_per_unit = 4")
    schema = tmp_path / "visits.toml"
    schema.write_text(text)
    done = run(DATA, "--schema", str(schema), "--count", "--epsilon", "2", "--json")
    assert json.loads(done.stdout)["record"]["spent"] == {"exact": "2", "float": 2.0}
    assert json.loads(done.stdout)["variance"] == pytest.approx(7.83, rel=0.01)  # the noise of ε = 1/2


def test_the_ledger_goes_on(tmp_path):
    ledger = str(tmp_path / "visits.ledger")
    ask = (DATA, "--schema", SCHEMA, "--count", "--ledger", ledger, "--epsilon")
    assert run(*ask, "0.6", "--total", "1").exit_code == 0
    refused = run(*ask, "0.6")
    assert refused.exit_code == 1
    assert "0.4 of 1 is left" in refused.stderr
    assert run(*ask, "0.4").exit_code == 0
    assert ad.Ledger.read(ledger).remaining == 0


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        ({"data": "missing.csv"}, 2, "does not exist"),
        ({"data": "empty.csv"}, 2, "is empty"),
        ({"data": "notes.txt.zip"}, 2, "does not exist"),
        ({"--schema": "missing.toml"}, 2, "does not exist"),
        ({"--schema": "typo.toml"}, 2, "unknown key 'mini'"),
        ({"--schema": "backwards.toml"}, 2, "min must not exceed max"),
        ({"--schema": "nolevels.toml"}, 2, "levels is empty"),
        ({"--schema": "nocolumn.toml"}, 2, "wealth"),
        ({"--histogram": "wealth"}, 2, "no attribute 'wealth'"),
        ({"--histogram": ""}, 2, "no attribute"),
        ({"--where": "wealth > 3"}, 2, "no attribute 'wealth'"),
        ({"--where": "length(sex) > 3"}, 2, "function"),
        ({"--epsilon": "0"}, 2, "greater than 0"),
        ({"--epsilon": "nan"}, 2, "given 'nan'"),
        ({"--epsilon": "-1"}, 2, "greater than 0"),
        ({"--epsilon": "1e9"}, 2, "more than --total 1"),
        ({"--epsilon": "1e9", "--total": "1e9"}, 2, "protects nothing"),
        ({"--total": "abc"}, 2, "--total must be"),
        ({"--total": None}, 2, "for example --total 1"),
        ({"--histogram": "age,sex,department,stay_days,cost"}, 2, "41,902,080 cells"),
        ({"--epsilon": "much"}, 2, "given 'much'"),
        ({"--total": "0.1"}, 2, "more than --total 0.1"),
        ({"--count": None}, 2, "one thing"),
        ({"--algorithm": "daw"}, 2, "dawa"),
        ({"--algorithm": "adaptive-grid"}, 2, "serves 2 dimensions"),
        ({"--algorithm": "hb", "--count": None, "--histogram": None}, 2, "not for a count"),
        ({"--misfits": None, "--integer": None, "--count": None, "--histogram": None}, 2, "not for a count: misfits"),
        ({"--accept": "foo"}, 2, "--accept takes one of the words"),
        ({"--algorithm": "dawa", "--option": "centre=foo"}, 2, "centre must be"),
        ({"--option": "depth"}, 2, "KEY=VALUE"),
        ({"--algorithm": "hb", "--option": "depth=3"}, 2, "no option 'depth'"),
        ({"--option": "depth=3"}, 2, "not 'depth'"),
        ({"--ranges": "age"}, 2, "one thing at a time"),
        ({"--histogram": None, "--ranges": "sex"}, 2, "has no order"),
        ({"--histogram": None, "--cdf": "sex"}, 2, "has no order"),
        ({"--histogram": None, "--marginals": "9"}, 2, "way cannot be 9"),
        ({"--histogram": None, "--marginals": "0"}, 2, "way must be"),
        ({"--attributes": "age"}, 2, "belongs to --marginals"),
        ({"--histogram": None, "--queries": "missing.json"}, 2, "does not exist"),
        ({"--histogram": None, "--queries": "empty.csv"}, 2, "is not JSON"),
        ({"--histogram": None, "--queries": "odd.json"}, 2, "no attribute 'wealth'"),
        ({"--schema": "text.toml", "--histogram": "age"}, 2, "levels"),
        ({"--out": "empty.csv"}, 2, "is a file"),
        ({"--out": "empty.csv/out"}, 2, "cannot be written to"),
        ({"--out": "full"}, 2, "holds files already"),
        ({"--colour": "red"}, 2, "colour"),
        ({"--ledger": "folder"}, 1, "folder"),
        ({"--ledger": "corrupt.ledger"}, 1, "corrupt.ledger"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_costs_nothing(tmp_path, monkeypatch, change, code, message):
    monkeypatch.chdir(tmp_path)
    Path("empty.csv").touch()
    Path("folder").mkdir()
    Path("corrupt.ledger").write_bytes(b"this is no ledger at all" * 100)
    Path("typo.toml").write_text('[attributes.age]\ntype = "integer"\nmini = 0\nmax = 9\n')
    Path("backwards.toml").write_text('[attributes.age]\ntype = "integer"\nmin = 9\nmax = 0\n')
    Path("nolevels.toml").write_text('[attributes.sex]\ntype = "categorical"\nlevels = []\n')
    Path("odd.json").write_text('[{"wealth": 3}]')
    Path("text.toml").write_text('[attributes.age]\ntype = "categorical"\nlevels = "young"\n')
    Path("full").mkdir()
    Path("full/notes.txt").touch()
    Path("nocolumn.toml").write_text('[attributes.wealth]\ntype = "boolean"\n')
    options = {
        "--schema": SCHEMA,
        "--histogram": "sex",
        "--epsilon": "0.5",
        "--ledger": "visits.ledger",
        "--total": "1",
    }
    data = change.pop("data", DATA)
    options.update(change)
    flags = [name for name in ("--count", "--misfits", "--integer") if name in options]
    words = flags + [word for name, value in options.items() if value is not None for word in (name, value)]
    done = run(data, *words)
    assert done.exit_code == code, done.output
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    left_behind = Path("visits.ledger").exists()
    assert left_behind == ("--where" in change)  # a predicate is only read once the table is open
    if left_behind:
        assert ad.Ledger.read("visits.ledger").spent == 0


def test_schema_command_never_reads_values():
    done = CliRunner().invoke(app, ["schema", DATA])
    assert done.exit_code == 0
    assert "[attributes.department]" in done.stdout
    assert "cardiology" not in done.stdout


def test_schema_command_asks_before_it_shows_a_row(tmp_path):
    (tmp_path / "t.csv").write_text("Meier,41\n")
    done = CliRunner().invoke(app, ["schema", str(tmp_path / "t.csv")])
    assert done.exit_code == 2
    assert "say so with --header" in done.stderr
    assert "Meier" not in done.output
    assert "[attributes.Meier]" in CliRunner().invoke(app, ["schema", str(tmp_path / "t.csv"), "--header"]).stdout


@pytest.mark.parametrize("command", list(every_command()))
def test_every_command_has_help(command):
    done = CliRunner().invoke(app, [command, "--help"])
    assert done.exit_code == 0
    assert "Usage" in done.stdout


def test_unknown_benchmark_and_profile():
    for words, advice in ((["bench", "everything"], "There are"), (["audit", "--profile", "deep"], "Choose one of")):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2
        assert advice in done.stderr


def test_known_totals_and_what_is_held_back(tmp_path):
    totals = tmp_path / "totals.csv"
    totals.write_text("department,count\nsurgery,900\neye,30\n", encoding="utf-8")
    how = (DATA, "--schema", SCHEMA, "--epsilon", "0.5", "--algorithm", "identity", "--histogram", "department")
    done = run(*how, "--known", str(totals), "--hold-back-below", "50", "--json")
    assert done.exit_code == 0, done.output
    release = json.loads(done.stdout)
    assert release["estimate"][1] == 900
    (sheet,) = release["answers"]["tables"]
    assert sheet["counts"][5] is None
    assert sheet["columns"][0]["held_back"] == [False] * 5 + [True]
    totals.write_text("department,count\nsurgery,900\nsurgery,800\n", encoding="utf-8")
    refused = run(*how, "--known", str(totals), "--out", str(tmp_path / "out"))
    assert refused.exit_code != 0
    assert "given twice" in refused.output
    assert not (tmp_path / "out").exists()


def test_shrunk_means():
    how = (DATA, "--schema", SCHEMA, "--epsilon", "0.5", "--shrink")
    done = run(*how, "--mean", "age", "--by", "department")
    assert "Shrunk means" in done.output, done.output
    assert "for means by groups" in run(*how, "--histogram", "age").output
