"""What the README shows is run, in a copy of the examples."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import adyton as ad

ROOT = Path(__file__).parent.parent
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def test_the_shell_commands(workplace):
    commands = [code for language, code in BLOCKS if language == "bash" and code.startswith("adyton")]
    assert len(commands) == 3
    for command in commands:
        done = subprocess.run(["bash", "-euc", command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout


def test_the_set_up_command_releases_the_example(workplace):
    command = next(line for _, code in BLOCKS for line in code.splitlines() if line.startswith("python3 -m venv"))
    release = command.split("&&")[-1].replace(".venv/bin/", "")
    done = subprocess.run(["bash", "-euc", release], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "cardiology" in done.stdout


def test_the_python_examples(workplace, capsys):
    namespace = {}
    for code in [code for language, code in BLOCKS if language == "python"]:
        exec(compile(code, "README.md", "exec"), namespace)
    assert "7/10" in capsys.readouterr().out


def test_the_example_table_is_the_script_s(workplace):
    before = Path("examples/visits.csv").read_bytes()
    Path("examples/visits.csv").unlink()
    subprocess.run([sys.executable, "examples/make_visits.py"], check=True)
    assert Path("examples/visits.csv").read_bytes() == before


def test_the_page_on_schemas(capsys):
    page = (ROOT / "docs" / "schema.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"^```(\w+)\n(.*?)^```", page, re.MULTILINE | re.DOTALL))
    schema = ad.Schema.from_toml(blocks["toml"])
    assert schema.attributes["stay"].size == 53
    exec(compile(blocks["python"], "schema.md", "exec"), {})
    assert "rows_per_unit = 2" in capsys.readouterr().out


def test_values_are_read_as_the_page_on_schemas_says(tmp_path):
    rows = ["true", "T", "yes", "Y", "1", "false", "f", "No", "n", "0", "maybe", ""]
    numbers = ["34.9", " 34 ", "3.4e1", "169,6", "unknown", "nan", "120", "119.9", "-1", "", "34", "33.999"]
    lines = [f'{flag},"{number}"' for flag, number in zip(rows, numbers, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["flag,age", *lines]) + "\n")
    schema = ad.Schema({"flag": ad.Boolean(nulls="level"), "age": ad.Integer(0, 119, nulls="level")})
    root = ad.Kernel(tmp_path / "t.csv", schema=schema, epsilon=1000).root
    assert root.select("flag").vectorize().measure(ad.workloads.Identity(3), 300).answers.tolist() == [5, 5, 1]
    ages = root.select("age").vectorize().measure(ad.workloads.Identity(121), 300).answers
    assert {place: int(ages[place]) for place in ages.nonzero()[0]} == {33: 1, 34: 4, 119: 1, 120: 4}


def test_the_page_on_algorithms(workplace, capsys):
    page = (ROOT / "docs" / "algorithms.md").read_text(encoding="utf-8")
    for _, code in re.findall(r"^```(python)\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        exec(compile(code, "algorithms.md", "exec"), {})
    assert "(exact)" in capsys.readouterr().out
    table = page.split("## The catalogue")[1].split("\n\n")[1]
    named = {name for line in table.splitlines()[2:] for name in re.findall(r"`([^`]+)`", line.split("|")[1])}
    assert named == set(ad.algorithms())


def test_the_page_on_choosing(workplace, capsys):
    page = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|bash)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    commands = "".join(code for language, code in blocks if language == "bash")
    done = subprocess.run(["bash", "-euc", commands], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert Path("map.svg").read_text(encoding="utf-8").startswith("<?xml")
    namespace = {}
    for code in [code for language, code in blocks if language == "python"]:
        exec(compile(code, "choosing.md", "exec"), namespace)
    assert "1/2" in capsys.readouterr().out
    assert namespace["estimate"].shape == (64,)
