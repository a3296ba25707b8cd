"""What the pages show is run, and what they say about the library is compared with it."""

import re
import subprocess
import sys
from pathlib import Path

import page_blocks
import pytest

import adyton as ad
from adyton.kernel.mechanisms import MECHANISMS
from adyton.kernel.transforms import TRANSFORMS

ROOT = page_blocks.ROOT
SAID = {
    "docs/index.md": ("cardiology", "1/2"),
    "docs/tutorial.md": ("[attributes.age]", "1/2", "would cost ε = 0.2", "this request costs ε = 0.4", "3/10"),
    "docs/how-to/epsilon.md": ("at most 2.7%", "at most 99.6%", "ranges of age"),
    "docs/how-to/real-files.md": (
        "regions.csv has 2 keys, each with one value",
        "The table can be opened with this schema.",
        "2 of 3 rows fit",
        "us-states: ",
    ),
    "docs/how-to/salaries.md": ("The table can be opened", "Library: women", "earn more than $100,000"),
    "docs/how-to/calls-by-hour.md": ("certain", "2024-W12", "50%_lower"),
    "docs/how-to/comparisons.md": (
        "of sex F are department cardiology",
        "times as many",
        "chance",
        "per 1,000 of 52,000",
    ),
    "docs/how-to/maps.md": ["(20, 18)"],
    "docs/how-to/several-requests.md": ("costs mean of cost", "count ± ", "Fraction(2, 5)"),
    "docs/how-to/weekly.md": ("data set calls", "at most 3 rows each", "mean_upper"),
    "docs/how-to/notebooks.md": ("7/10", "[68, 72]"),
    "docs/how-to/report.md": ("histogram of department",),
    "docs/how-to/classifier.md": ("department = maternity", "of the rows", "this model cost ε = 1", "1/2"),
    "docs/how-to/configure.md": ("Tuned: auction", "at most 74%", "at most 0.38% of the best value", "761"),
    "docs/how-to/ask.md": ("(null)", "95% interval"),
    "docs/how-to/numbers.md": ("95% interval", "exact bounds", "shares, which shares out each row", "standard errors"),
    "docs/how-to/service.md": (),
    "docs/how-to/remote.md": ("NOT private", "by shares, ε = 0.2"),
    "docs/how-to/known-totals.md": ("1681 to 1681", "ε does not cover them", "True"),
    "docs/how-to/time-and-place.md": ["(32, 32)"],
    "docs/how-to/units.md": (
        "at most 3 of its rows count",
        "certain patient",
        "with a visit to surgery",
        "At most 5 rows of each patient are counted.",
        "rows_per_unit = 5: cuts at least about",
        "spent",
    ),
    "docs/how-to/tables.md": ("2-way marginals of all attributes", "Tables: ", "Every pair of attributes"),
    "docs/how-to/ledger.md": (
        "noisy histogram of 4 cells",
        "this request costs ε = 0.95",
        "changed='total'",
        "another schema",
        "'schema'",
        "# Privacy statement: visits.csv",
    ),
    "docs/how-to/compare.md": ("staged-hierarchy", "(exact)", "rising"),
    "docs/how-to/plan.md": ("cells-and-blocks", "(110,) 1/2"),
    "docs/how-to/choices.md": (
        "1/2",
        "The default dawa stands",
        "- 1 - sparsity ^ 2",
        "held-out loss",
        "support at most",
        "detail[0] → ",  # what is chosen depends on noise
    ),
    "docs/how-to/selector.md": ("every-tenth", "(64,)", "similar-inputs selector"),
    "docs/algorithms.md": ("(exact)",),
    "docs/choosing.md": ("1/2", "similar-inputs selector"),
    "docs/privacy.md": ("but 0 of 1 is left",),
    "docs/intervals.md": ("cardiology", "in 100 have the true count", "exact"),
    "docs/schema.md": (
        "rows_per_unit = 2",
        "1/50 of what this release cost",
        "cost unreadable left out",
        "q60 (text): a whole number",
        "The table can be opened with this schema.",
        'missing = [-9] [attributes.sex] # Sex of the respondent type = "categorical" levels = {male = ["1"], ',
    ),
}
SHOWN = [
    page
    for page in page_blocks.PAGES
    if any(b.language in ("python", "bash") for b in page_blocks.blocks(page)) and not page.endswith("questions.md")
]  # those have a test of their own


CALLS = ("calls-by-hour", "maps", "time-and-place", "weekly")
"""About the table of calls, which the page of questions asks about in every run, too."""
LONG = tuple(f"docs/how-to/{page}.md" for page in (*CALLS, "choices", "configure", "selector", "tables", "salaries"))
"""What the others do is done in every run by the tests of their commands."""


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.full] if page in LONG else []) for page in SHOWN]
)
def test_what_a_page_shows(page, workplace):
    printed = " ".join(page_blocks.run(page).split())
    for expected in SAID[page]:
        assert expected in printed


def test_few_blocks_are_not_run():
    left_out = [
        block for page in ["README.md", *page_blocks.PAGES] for block in page_blocks.blocks(page) if block.reason
    ]
    assert len(left_out) <= 12
    assert all(re.search("pip install|pytest", block.code) or "a service" in block.reason for block in left_out)


def test_the_figures_for_epsilon_are_those_of_the_page_s_own_code(workplace):
    page = (ROOT / "docs/how-to/epsilon.md").read_text(encoding="utf-8")
    printed = page_blocks.run("docs/how-to/epsilon.md")
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+) \| ([\d.]+%) \|", page, re.MULTILINE)
    assert len(rows) == 6
    for epsilon, factor, most in rows:
        words = next(line for line in printed.splitlines() if line.startswith(f"ε = {epsilon} ")).split()
        assert float(words[5]) == float(factor)
        assert words[-1] == most


def test_the_schemas_are_schemas():
    for page in ("docs/schema.md", "docs/tutorial.md"):
        (toml,) = (block.code for block in page_blocks.blocks(page) if block.language == "toml")
        schema = ad.Schema.from_toml(toml)
        assert schema.attributes["age"].min == 0
    assert ad.Schema.from_toml(ROOT / "examples/visits.toml").attributes["age"] == schema.attributes["age"]


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


def test_the_guide_to_algorithms_names_no_others():
    page = (ROOT / "docs/algorithms.md").read_text(encoding="utf-8")
    guide = page.split("## The kinds of algorithms")[1].split("\n\n")[2]
    named = {name for line in guide.splitlines()[2:] for name in re.findall(r"`([^`]+)`", line)}
    assert named <= set(ad.algorithms())
    assert set(ad.algorithms()) - named <= {"mwem*", "mwem-b", "mwem-c", "mwem-d"}  # the relatives


@pytest.fixture
def hooks(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs/_hooks"))


def test_the_catalogue_is_the_registry(hooks):
    from catalogue import catalogue

    page = catalogue()
    for name in ad.algorithms():
        assert len(re.findall(rf"^## `{re.escape(name)}`(?: \{{|$)", page, re.MULTILINE)) == 1
        assert page.count(f"| [`{name}`](#") == 1
    assert "| `partition_share` | `0.85` | The share of the budget that finds the groups: ρ in the paper. |" in page
    assert re.search(r"\[`hb`\]\(#hb\) \| any \| no \| exact \|", page)
    assert re.search(r"\[`dawa`\]\(#dawa\) \| 1 or 2 \| yes \| no \|", page)
    assert "\n*Source:* Zhang et al., " in page
    assert not re.search(r"^\| `\w+` \| [^|]* \|  \|$", page, re.MULTILINE), "an option says nothing about itself"


def test_every_mechanism_and_transformation_is_on_the_page_of_proofs(hooks):
    from proofs import proofs

    page, claims = proofs(), len(MECHANISMS) + len(TRANSFORMS) + 2  # and the rows of a unit, here and in servers
    for operator in (*MECHANISMS, *TRANSFORMS):
        assert f"## {operator.__name__}\n" in page
    assert page.count("**Claim.**") == claims
    assert page.count("**Proof.**") == claims + page.count("**Lemma.**") == claims + 4


def test_every_command_is_on_the_page_of_commands(hooks):
    from commands import commands

    from adyton.cli.main import every_command

    page = commands()
    for name in every_command():
        assert f"## adyton {name}\n" in page
    assert "| `--schema …` | The schema file" in page
    assert "| `--histogram A[,B…]` | Count the rows of every cell. |" in page


def test_what_is_written_from_the_code_is_written_anew():
    """Also where no site is built. In a process of its own: pages that were run here leave traces."""
    check = (
        "import gc; gc.disable()\n"
        "from write_pages import pages\n"
        "print([page.name for page, text in pages().items() if page.read_text() != text])"
    )
    given = [sys.executable, "-X", "utf8", "-c", check]
    done = subprocess.run(given, cwd=ROOT / "docs/_hooks", capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == "[]", "run python docs/_hooks/write_pages.py"
    assert "### preview" in (ROOT / "docs/api/session.md").read_text(encoding="utf-8")


def test_nothing_is_installed_from_an_index_that_does_not_have_it():
    """Adyton is installed from a checkout: pip install '.[service]'."""
    for page in ["README.md", "CHANGELOG.md", *page_blocks.PAGES]:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert not re.findall(r"pip install [^`\n&]*(?<![\w/.])adyton\b", text), page


def test_links_between_pages_lead_somewhere():
    for page in ["README.md", *page_blocks.PAGES]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / page).read_text(encoding="utf-8")):
            assert (ROOT / Path(page).parent / target).exists(), f"{page} links to {target}"


def test_the_table_of_dependencies_has_all():
    """Those of the package and of every extra, but for tests and pages."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: wanted for name, wanted in project["optional-dependencies"].items() if name not in ("test", "docs")}
    page = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8")
    rows = [tuple(cell.strip(" `") for cell in line.split("|")[1:-1]) for line in page.splitlines() if line[:2] == "| "]
    listed = {(name, extra) for name, extra, _, licence in rows[1:] if licence}
    wanted = {(re.match(r"[\w.-]+", one)[0], "") for one in project["dependencies"]}
    wanted |= {(re.match(r"[\w.-]+", one)[0], extra) for extra, some in extras.items() for one in some}
    assert listed == wanted
