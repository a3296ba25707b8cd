"""Texts that only rows have are looked for wherever rows must not be: in replies, pages, files and other processes."""

import contextlib
import json
import os
import re
import time
from pathlib import Path

import pytest

import adyton as ad
from service.pages.visiting import Visiting
from service.whole import CANARY, Served

SCHEMA = """
unit = "person"
rows_per_unit = 2
[attributes.age]
type = "integer"
min = 0
max = 99
[attributes.sex]
type = "categorical"
levels = ["F", "M"]
[attributes.ward]
type = "categorical"
levels = ["eye", "ear", "heart", "hand"]
outside = "other"
"""
LINES = [
    "person,age,sex,ward,name",
    *(
        f"{CANARY}-{number // 2},{number % 100 if number % 7 else f'{CANARY} years'},{'FM'[number % 2]},"
        f"{['eye', 'ear', 'heart', f'{CANARY} ward'][number % 4]},{CANARY} {number}"
        for number in range(2000)
    ),
    f"{CANARY}-few,3",
    f"{CANARY}-many,3,F,eye,x,y,{CANARY}",
    f'{CANARY}-quoted,"3 {CANARY}"x,F,eye,n',
]
"""They are in the column of the unit, in values that the schema does not have, in a column that it does not name, and
in lines that are no rows of this table."""
TABLE = "/tables/people"
PUBLIC = ("web", "pages.site", "keeper")
"""The modules of all processes that have no rows."""


class Marked(Served):
    """A service of a table with canaries."""

    def __init__(self, folder):
        super().__init__(folder)
        (self.folder / "people.parquet").unlink()
        (self.folder / "people.csv").write_text("\n".join(LINES))
        (self.folder / "people.toml").write_text(SCHEMA)
        self.config.write_text(self.config.read_text().replace("people.parquet", "people.csv"))


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with Marked(tmp_path_factory.mktemp("marked")) as service:
        while Visiting(service.socket).get("/enter").status == 503:
            time.sleep(0.1)
        yield service


def memory(process):
    """Everything that a process may read or write, in pieces; of the files that it has mapped, what it has changed."""
    with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb", 0) as content:
        for line in maps:
            span, rights, *_ = line.split()
            if not rights.startswith("rw") or "[v" in line:
                continue
            start, end = (int(number, 16) for number in span.split("-"))
            with contextlib.suppress(OSError):
                content.seek(start)
                yield content.read(end - start)


def has(process, wanted):
    return any(wanted.encode() in piece for piece in memory(process))


def open_files(process):
    with contextlib.suppress(OSError):
        for number in os.listdir(f"/proc/{process}/fd"):
            with contextlib.suppress(OSError):
                yield os.readlink(f"/proc/{process}/fd/{number}")


def asked(served):
    """Requests of every kind, some of which are refused: what was sent back."""
    session = served.connect()
    session.count("0.01"), session.count_units("0.01")
    session.release(ad.Histogram("ward"), epsilon="0.01")
    session.release(ad.Ranges("age"), epsilon="0.01")
    session.release(ad.Quantiles("age", "median"), epsilon="0.01")
    session.release(ad.Marginals(way=2), epsilon="0.01")
    session.fit(ad.Classifier("ward", ["age", "sex"]), epsilon="0.01")
    for part in session.kernel.root.where("age >= 3").split("ward"):
        part.count(epsilon="0.01")
    for number, task in enumerate(({"task": "histogram", "attributes": ["name"]}, {"task": "count", "by": "person"})):
        yield served.ask(f"wrong-{number}", {"task": task, "epsilon": "0.01"})[2]
    yield served.ask("filtered", {"task": "count", "epsilon": "0.01", "where": "name = 'a' or person = 'b'"})[2]
    for who in ("mara", "olga"):
        for row in json.loads(served.call("GET", "/v1/datasets/people/requests", who=who)[2])["requests"]:
            place = f"/v1/datasets/people/requests/{row['id']}"
            yield served.call("GET", place + ("" if who == "mara" else "?analyst=mara"), who=who)[2]
    for path in ("/v1/datasets/people", "/v1/datasets/people/ledger", "/metrics", "/openapi.json"):
        yield served.call("GET", path)[2]


def visited(served):
    """All pages that links lead to, and the files on them: an analyst's, and what a curator has beside these; forms
    with mistakes; and rehearsals."""
    for who in ("mara", "olga"):
        visitor = Visiting(served.socket)
        visitor.sign_in(served.tokens[who])
        known, left = set(), ["/", f"{TABLE}/ask?question=each&where=name+%3D+1", f"{TABLE}/ask?question=pairs"]
        while left:
            path = left.pop()
            page = visitor.get(path)
            yield page.body
            links = re.findall(r'(?:href|src|data-refresh)="(/[^"#]*)"', page.html if b"\0" not in page.body else "")
            links = [link.replace("&amp;", "&") for link in links if "/ask?request=" not in link]
            if who == "olga":
                links = [link for link in links if "/results/" not in link]
            left += [link for link in dict.fromkeys(links) if link not in known]
            known |= set(left)
        assert len(known) > 20
        form = {"question": "each", "first": "ward", "epsilon": "0.5", "id": "x"}
        for epsilon in ("0.5", "none"):
            yield visitor.post(f"{TABLE}/rehearse", **form | {"epsilon": epsilon}).body


@pytest.mark.skipif(os.geteuid() != 0, reason="reading the memory of other processes needs root")
def test_no_canary_reaches_a_reply_a_page_a_log_or_another_process(served):
    """The rows are counted in one process, and in no other is anything of them."""
    replies = [*asked(served), *visited(served)]
    assert len(replies) > 100
    assert not [reply[:200] for reply in replies if CANARY.encode() in reply]
    files = [file for file in served.folder.iterdir() if file.is_file() and file.name != "people.csv"]
    assert {"serve.log", "audit.log", "people.ledger", "people.anchor", "access.sqlite"} <= {
        file.name for file in files
    }
    assert not [file.name for file in files if CANARY.encode() in file.read_bytes()]
    (worker,) = served.processes("worker")
    processes = {module: served.processes(module) for module in PUBLIC} | {"serve": [served.process.pid]}
    for module, numbers in processes.items():
        (number,) = numbers
        assert has(number, "people"), f"the search finds nothing in {module}"
        assert not has(number, CANARY), module
        assert not [file for file in open_files(number) if "people.csv" in file], module
        assert CANARY.encode() not in Path(f"/proc/{number}/environ").read_bytes()
        assert number != worker
    (pages,) = processes["pages.site"]
    assert not [file for file in open_files(pages) if ".ledger" in file]
    assert has(pages, "filtered"), "the pages have had the list of requests"
