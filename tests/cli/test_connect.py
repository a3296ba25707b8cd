"""Commands that ask a service instead of opening a table."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import adyton as ad
from adyton.cli.main import app
from small_service import TOKEN, SmallService, listening

SCHEMA = ad.Schema({"age": ad.Integer(0, 9), "sex": ad.Categorical(["F", "M"])})


@pytest.fixture
def service(tmp_path, monkeypatch):
    monkeypatch.setenv("ADYTON_TOKEN", TOKEN)
    codes = np.random.default_rng(3).integers(0, [10, 2], (500, 2))
    service = SmallService(ad.Kernel.simulated_table(codes, SCHEMA, epsilon=1, seed=7))
    with listening(service, tmp_path / "s") as service.url:
        yield service


def ran(*words):
    done = CliRunner().invoke(app, [*map(str, words)])
    return done.exit_code, done.stdout, done.stderr


def test_release_and_fit(service, tmp_path):
    at = ("--connect", service.url, "--dataset", "visits")
    code, printed, _ = ran("release", *at, "--histogram", "sex", "--epsilon", "0.25", "--json")
    assert code == 0
    assert json.loads(printed)["epsilon"]["exact"] == "1/4"
    assert ran("release", *at, "--count", "--epsilon", "0.25", "--out", tmp_path / "out")[0] == 0
    assert ad.load(tmp_path / "out").epsilon * 4 == 1
    assert ran("fit", *at, "--label", "sex", "--epsilon", "0.25", "--json", "--method", "naive-bayes")[0] == 0
    assert service.kernel.spent * 4 == 3
    code, _, said = ran("release", *at, "--count", "--epsilon", "0.5")
    assert (code, "0.25 of 1 is left" in said) == (1, True)


def test_plan_and_rehearse(service, tmp_path):
    code, printed, _ = ran("plan", "--connect", service.url, "--histogram", "age", "--json")
    assert code == 0
    assert json.loads(printed)["errors"]
    at = ("plan", "--connect", service.url, "--count", "--rehearse")
    code, printed, said = ran(*at, "--epsilon", "0.5", "--out", tmp_path / "out")
    assert (code, "NOT private" in said) == (0, True)
    assert ad.load(tmp_path / "out").receipt.dataset == "rehearsal of simulation"
    assert (ran(*at)[0], service.kernel.spent) == (2, 0)
    assert ran("plan", "--connect", service.url, "--count", "--out", "x")[0] == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--schema", "x.toml"], "Leave '--schema' out"),
        (["--ledger", "x", "--total", "1"], "Leave '--ledger', '--total' out"),
        (["--token-file", "nowhere"], "cannot be read"),
        (["--dataset", "others"], "no such data set"),
    ],
)
def test_what_does_not_belong_together(service, words, said):
    code, _, message = ran("release", "--connect", service.url, "--count", "--epsilon", "0.5", *words)
    assert code in (1, 2)
    assert said in " ".join(message.split())


def test_a_token_in_a_file(service, tmp_path, monkeypatch):
    monkeypatch.delenv("ADYTON_TOKEN")
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    asked = ("release", "--connect", service.url, "--count", "--epsilon", "0.1")
    assert ran(*asked)[0] == 2
    assert ran(*asked, "--token-file", tmp_path / "token")[0] == 0


def test_without_a_table_or_a_service():
    code, _, said = ran("release", "--count", "--epsilon", "1")
    assert (code, "DATA --schema FILE; or a service" in " ".join(said.split())) == (2, True)
