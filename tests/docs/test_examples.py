"""The scripts and the notebook of the examples are run."""

import ast
import json
import runpy
import sys
from pathlib import Path

import pytest

SCRIPTS = {
    "release_visits.py": ("65 or older: about", "Saved in"),
    "compare_public.py": ("round numbers", "pythia"),
    "marginals.py": ("maternity", "stays of a week or longer"),
    "classify_visits.py": ("Learnt: 'department'", "Visit 1: maternity", "this model cost ε = 1"),
    "own_plan.py": ("every-tenth, chosen",),
    "tune_auction.py": ("Tuned: auction", "this configuration cost ε = 1", "ρ = 1/2, from the books: 8", "tuned: 9"),
}


TABLES = ("visits", "salaries", "calls")


LONG = ("tune_auction.py",)
"""What it does is on the page about configuration, which every run of the tests carries out."""


@pytest.mark.parametrize(
    "script", [pytest.param(script, marks=[pytest.mark.full] if script in LONG else []) for script in SCRIPTS]
)
def test_a_script(script, workplace, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [script])
    runpy.run_path(f"examples/{script}", run_name="__main__")
    printed = capsys.readouterr().out
    for expected in SCRIPTS[script]:
        assert expected in printed
    if script == "release_visits.py":
        assert Path("visits-out/ages/report.html").is_file()


def test_no_script_is_forgotten(workplace):
    assert {path.name for path in Path("examples").glob("*.py")} == {
        *SCRIPTS,
        *(f"make_{table}.py" for table in TABLES),
    }


@pytest.mark.parametrize("table", TABLES)
def test_the_example_table_is_the_script_s(table, workplace):
    before = Path(f"examples/{table}.csv").read_bytes()
    Path(f"examples/{table}.csv").unlink()
    runpy.run_path(f"examples/make_{table}.py", run_name="__main__")
    assert Path(f"examples/{table}.csv").read_bytes() == before


def test_the_notebook(workplace, capsys):
    """Cell by cell; what a cell ends with is shown, as a notebook does."""
    pytest.importorskip("matplotlib").use("agg")
    notebook = json.loads(Path("examples/tour.ipynb").read_text(encoding="utf-8"))
    namespace, shown = {}, []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
            shown.append(_show(_value_of("".join(cell["source"]), namespace)))
    printed = capsys.readouterr().out
    assert sum("<" in text for text in shown) >= 4  # preview, release, explanation, ledger
    assert "this request costs ε = 0.5" in printed
    assert shown[-1] == "Fraction(1, 5)"


def _value_of(code, namespace):
    """Run a cell; the value of its last line, if that is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "tour.ipynb", "exec"), namespace)
    return None if last is None else eval(compile(ast.Expression(last.value), "tour.ipynb", "eval"), namespace)


def _show(value):
    html = getattr(value, "_repr_html_", lambda: None)()
    return repr(value) if html is None else html
