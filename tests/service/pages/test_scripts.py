"""Lines to copy: Python and the shell ask for the same request, whatever names are made of."""

import contextlib
import subprocess
from types import SimpleNamespace

import pytest
import typer

import adyton as ad
from adyton.cli.main import app
from adyton.service.pages.asking.scripts import in_python, in_shell, lines_for
from adyton.tasks.request import Request

FILES = {"data": ["a b.csv", "-c.csv"], "schema": "s.toml", "ledger": "l.ledger"}
TASKS = [
    ad.Histogram("age", "sex"), ad.Ranges("age"), ad.Cdf("cost"), ad.Count(), ad.Units(), ad.RowsPerUnit(12),
    ad.Summary("cost", by="sex"), ad.Mean("cost", rows=1000), ad.Sum("age", by=["sex", "ward"]), ad.Variance("age"),
    ad.Quantiles("cost", [0.1, 0.9]), ad.Marginals(way=2), ad.Marginals(way=2, attrs=["age", "sex"], cells=10),
    ad.Marginals(sets=[("age", "sex")], weights={("age", "sex"): 2.0}), ad.Classifier("ill"),
    ad.RowsPerUnit(3, "visits"),
]  # fmt: skip

REQUESTS = [
    *(Request.of(task, "0.5") for task in TASKS),
    Request.of(ad.Histogram("age"), "1/3", where="sex = 'F' and \"age\" > 3", algorithm="hb", misfits=True),
    Request.of(ad.Histogram("age"), "1/3", algorithm="mwem", misfits=False, options={"rounds": 4, "share": "1/4"}),
    Request.of(ad.Marginals(sets=[("age", "sex"), ("ward",)], ranges=["age"], totals=["sex"]), "0.1"),
    Request.of(ad.Histogram("--evil", "$(rm -rf)", "it's", '"\\', "`x`; #"), "0.1"),
    Request.of(ad.Histogram("new\nline", "\u202e", "\x1b[2J"), "0.1"),
    Request.of(ad.QueryList([{"age": (20, None), "sex": ["F"]}]), "2"),
    Request.of(ad.Classifier("a b", ["x"], "naive-bayes", model="gaussian"), "2", where="age > 3"),
]


class Asked(Exception):
    """What the lines asked for."""


class Taking:
    """Takes what it is asked, as a session does."""

    def __init__(self, place, **more):
        self.place = place

    def release(self, task, epsilon, *, algorithm="auto", where=None, misfits=None, known=None, **options):
        raise Asked(Request.of(task, epsilon, where=where, algorithm=algorithm, misfits=misfits, options=options))

    def fit(self, task, epsilon, *, where=None):
        raise Asked(Request.of(task, epsilon, where=where))


@pytest.mark.parametrize("request_", REQUESTS, ids=str)
@pytest.mark.parametrize("files", [None, FILES])
def test_the_python_lines_ask_for_the_same(request_, files, monkeypatch):
    monkeypatch.setattr(ad, "connect", Taking)
    monkeypatch.setattr(ad, "Session", Taking)
    with pytest.raises(Asked) as asked:
        exec(in_python(request_, "people", "https://h:1", files), {})
    assert asked.value.args[0] == request_


@pytest.fixture
def shell(monkeypatch):
    """A function that runs a command up to where it would ask, and returns what it was given."""
    given = {}

    def schema_for(connect, dataset, token, data, *more, **rest):
        given.update(connect=connect, dataset=dataset, data=data)
        return ad.Schema({"age": ad.Integer(0, 9)}), None if connect is None else Taking("")

    program = SimpleNamespace(known_totals=lambda: None, outlook=lambda: None, result=None, lines=1)
    for name in ("release", "fit"):
        place = f"adyton.cli.{name}"
        monkeypatch.setattr(f"{place}.schema_for", schema_for)
        monkeypatch.setattr(f"{place}.allowed_total", lambda *own, **more: 1)
        monkeypatch.setattr(f"{place}.check_folder", lambda *own, **more: None)
        monkeypatch.setattr(f"{place}.staged", lambda *own, **more: contextlib.nullcontext())
        monkeypatch.setattr(f"{place}.Session", lambda *own, **more: given.update(more) or Taking(""))
        monkeypatch.setattr(f"{place}.delivered", lambda session, ask, *own, **more: ask())
    monkeypatch.setattr("adyton.cli.release.program_of", lambda *own: program)
    monkeypatch.setattr(ad.Classifier, "target", lambda *own: None)

    def run(text):
        script = f"adyton() {{ printf '%s\\0' \"$@\"; }}\n{text}"
        words = subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout.decode().split("\0")[:-1]
        with pytest.raises(Asked) as asked:
            typer.main.get_command(app).main(words, standalone_mode=False)
        return asked.value.args[0], given

    return run


def without_shell(request):
    """Whether the command line has no option for a part of a request."""
    task = request.task
    named = isinstance(task, ad.RowsPerUnit) and task.attributes != ("rows",)
    plain = all(map(str.isprintable, getattr(task, "attributes", None) or ()))
    return isinstance(task, ad.QueryList) or named or not plain or getattr(task, "weights", None) is not None


@pytest.mark.parametrize("request_", REQUESTS, ids=str)
@pytest.mark.parametrize("files", [None, FILES])
def test_the_shell_command_asks_for_the_same(request_, files, shell):
    text = in_shell(request_, "people", "https://h:1", files)
    assert (text == "") == without_shell(request_)
    if text:
        asked, given = shell(text)
        assert asked == request_
        assert given["dataset"] == "people"
        if files is None:
            assert given["connect"] == "https://h:1"
        else:
            assert (given["data"], given["ledger"]) == (["a b.csv", "./-c.csv"], files["ledger"])


def test_a_name_that_the_shell_would_split_has_python_only():
    request = Request.of(ad.Histogram("a,b"), "0.5")
    assert in_shell(request, "people", "https://h:1", None) == ""
    assert "a,b" in in_python(request, "people", "https://h:1", None)


@pytest.mark.parametrize(
    ("host", "secure", "url"),
    [
        ("127.0.0.1:8472", False, "http://127.0.0.1:8472"),
        ("data.example", True, "https://data.example:443"),
        ("data.example:9", False, "https://data.example:9"),  # TLS ends before the service
        ("[::1]:80", False, "http://[::1]:80"),
        ('x"); import os #', True, "https://HOST:8472"),
        ("", False, "https://HOST:8472"),
    ],
)
def test_the_address_is_the_one_that_the_browser_has(host, secure, url):
    visit = SimpleNamespace(host=host, secure=secure, site=SimpleNamespace(settings={"workplace": None}))
    for _, text in lines_for(visit, "people", Request.of(ad.Count(), 1)):
        assert url in text


def test_a_table_of_this_machine_is_opened_from_its_files():
    site = SimpleNamespace(settings={"workplace": "s"})
    place = {"file": "v.csv", "open": "visits", "schema": "visits.toml", "ledger": "own.ledger"}
    visit = SimpleNamespace(host="127.0.0.1:1", secure=False, site=site, person=SimpleNamespace(is_curator=True))
    visit.local = {"tables": {"tables": [{**place, "file": "w.csv", "open": None}, place]}}.get
    python, shell = (text for _, text in lines_for(visit, "visits", Request.of(ad.Count(), 1)))
    assert 'ad.Session("v.csv", schema="visits.toml", ledger="own.ledger", dataset="visits")' in python
    assert "release v.csv --schema visits.toml --count --epsilon 1 --ledger own.ledger" in shell
