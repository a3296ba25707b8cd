"""``adyton configure`` and ``adyton configure plan`` as a person uses them: files in, a parameter out."""

import json

import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app


def run(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture(scope="module")
def bids(tmp_path_factory):
    """Confidential bids of forty rounds, in two houses: small bundles are worth more for each good."""
    place = tmp_path_factory.mktemp("bids")
    for number in range(40):
        house = place / ("north" if number % 2 else "south")
        house.mkdir(exist_ok=True)
        lines = ["goods 6", "bids 4", f"0 {10 + number % 3} 0 #", "1 9 1 2 #", "2 14 0 1 2 3 #", "3 8 4 5 #"]
        (house / f"{number}.txt").write_text("\n".join(lines))
    return place


def test_from_files_to_a_parameter(bids, tmp_path):
    ledger, file, page = tmp_path / "bids.ledger", tmp_path / "config.json", tmp_path / "page.html"
    done = run(
        "configure", "--family", "auction", "--instances", f"{bids}/*/*.txt", "--epsilon", "0.5", "--ledger", ledger,
        "--total", 1, "--default", "today", "--out", file, "--report", page,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "Tuned: auction, to the parameter " in done.stdout
    assert "Half of the prior was on today's value, 0.5." in done.stdout
    assert "cost ε = 0.5; 0.5 of 1 is left, in bids.ledger" in done.stdout
    assert f"The configuration is in {file}" in done.stderr.replace("\n", "")
    found = ad.Configuration.load(file)
    assert 0 <= found.parameter <= 2
    assert found.default == 0.5
    html = page.read_text()
    assert "<svg" in html
    assert "The mean utility of the instances" not in html
    assert "<script" not in html
    assert "The data in bids" in html
    assert "stays hidden" in html
    assert ad.Ledger.read(ledger).spent == ad.Ledger.read(ledger).total / 2


def test_files_that_a_shell_has_listed(bids):
    files = sorted(map(str, bids.glob("north/*.txt")))
    done = run("configure", "--family", "auction", "--instances", *files, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["record"]["dataset"] == "north"


@pytest.mark.parametrize("owners", ["folder", "file", "list"])
def test_owners(bids, tmp_path, owners):
    (tmp_path / "owners.txt").write_text("ab\n" * 40)
    given = tmp_path / "owners.txt" if owners == "list" else owners
    done = run("configure", "--family", "auction", "--instances", f"{bids}/*/*.txt", "--owner-from", given, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["record"]["unit"] == "owner"


def test_public_instances_show_their_curve(bids, tmp_path):
    page = tmp_path / "page.html"
    arguments = ("configure", "--family", "auction", "--instances", f"{bids}/*/*.txt", "--public", "--seed", 3)
    done = run(*arguments, "--report", page)
    assert done.exit_code == 0, done.output
    assert "NOT PRIVATE" in done.stdout
    html = page.read_text()
    assert "The mean utility of the instances" in html
    assert "stays hidden" not in html
    assert "The budget" not in html
    again = run(*arguments, "--json")
    assert json.loads(again.stdout) == json.loads(run(*arguments, "--json").stdout)


def test_a_plan_needs_no_files():
    done = run("configure", "plan", "--epsilon", 1, "--target", "0.002")
    assert done.exit_code == 0, done.output
    assert "1,000" in done.stdout
    assert "needed" in done.stdout
    plain = json.loads(run("configure", "plan", "--target", "0.002", "--neighbours", "replace", "--json").stdout)
    needed = json.loads(run("configure", "plan", "--target", "0.002", "--json").stdout)["instances_needed"]
    assert plain["instances_needed"][0] == pytest.approx(2 * needed[0], abs=2)
    grid = run("configure", "plan", "--points", 64, "--utility", "value", "--bound", 10, "--default", 1)
    assert "the best point" in grid.stdout


WRONG = {
    "no family": (("--instances", "x"), "name what to tune"),
    "no files": (("--family", "auction"), "name what to tune"),
    "unknown family": (("--family", "auctions", "--instances", "x"), "Did you mean 'auction'"),
    "missing file": (("--family", "auction", "--instances", "nowhere.txt"), "does not exist"),
    "no match": (("--family", "auction", "--instances", "nowhere/*.txt"), "no file matches"),
    "zero": (("--family", "auction", "--instances", "x", "--epsilon", "0"), "must be greater than 0"),
    "huge": (("--family", "auction", "--instances", "x", "--epsilon", "50"), "add --yes"),
    "interval": (("--family", "auction", "--instances", "x", "--interval", "0"), "two numbers"),
    "default": (("--family", "auction", "--instances", "x", "--default", "now"), "the word today"),
    "option": (("--family", "auction", "--instances", "x", "--option", "speed=3"), "option"),
    "target": (("--family", "auction", "--instances", "x", "--target", "1"), "belong to a plan"),
    "overwrite": (("--family", "auction", "--instances", "x", "--overwrite"), "belongs to --out"),
    "folder": (("--family", "auction", "--instances", "x", "--report", "no/where.html"), "folder does not exist"),
    "plan": (("plan", "--target", "0"), "target must be greater than 0"),
    "plan relation": (("plan", "--neighbours", "x"), "no relation of neighbours"),
}


@pytest.mark.parametrize(("arguments", "said"), WRONG.values(), ids=WRONG)
def test_mistakes_are_one_sentence(arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("configure", *arguments)
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_mistakes_that_come_later(bids, tmp_path):
    """A file that is there, an interval of no length, a relation that is none, a new ledger without a total."""
    file = tmp_path / "config.json"
    file.write_text("mine")
    ask = ("configure", "--family", "auction", "--instances", f"{bids}/*/*.txt")
    for more, said in (
        (("--out", file), "exists. Give another name"),
        (("--interval", "1,1"), "from a number to a greater one"),
        (("--neighbours", "x"), "no relation of neighbours"),
        (("--clip", "3"), "clip must be"),
        (("--utility", "value"), "needs a bound"),
        (("--ledger", tmp_path / "new.ledger"), "does not exist yet"),
        (("--public", "--total", "1"), "need no ledger"),
        (("--owner-from", tmp_path / "none.txt"), "--owner-from takes"),
    ):
        done = run(*ask, *more)
        assert (done.exit_code, said in done.stderr) == (2, True), done.output
    assert file.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


@pytest.mark.parametrize("kept", [True, False])
def test_an_interrupt_does_not_lose_what_was_paid_for(bids, tmp_path, monkeypatch, kept):
    from adyton.cli import configure as module

    whole = module.configure

    def interrupted(*arguments, **options):
        whole(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "configure", interrupted)
    file = tmp_path / "config.json"
    ask = ("configure", "--family", "auction", "--instances", f"{bids}/north/*.txt", *(("--out", file) if kept else ()))
    done = run(*ask)
    assert done.exit_code == 130, done.output
    assert f"The configuration is {f'in {file}' if kept else 'printed'}; ε = 1 was charged" in done.stderr
    found = ad.Configuration.load(file) if kept else ad.Configuration.from_dict(json.loads(done.stdout))
    assert found.family == "auction"


def test_what_cannot_be_written_is_printed(bids, tmp_path, monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("adyton.result.result.write_json", full)
    done = run(
        "configure", "--family", "auction", "--instances", f"{bids}/north/*.txt", "--out", tmp_path / "config.json"
    )
    assert done.exit_code == 1, done.output
    assert "could not be written" in done.stderr
    assert ad.Configuration.from_dict(json.loads(done.stdout)).family == "auction"
