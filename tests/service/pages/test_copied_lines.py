"""The lines that a page offers to copy, carried out as they are: by a new Python, and by a shell.

On a table of ``adyton open`` they open the same table with the same ledger; on a table of a service they ask the
service. Each asks for what the page asks, is paid for, and prints what was returned.
"""

import html
import json
import os
import re
import subprocess
import sys
import time
from fractions import Fraction

import pytest

import adyton as ad
from adyton.kernel.ledger import Ledger
from adyton.service.pages.requests import again_path
from adyton.tasks.request import Request
from service.pages.opened import Opened
from service.pages.visiting import Visiting
from service.whole import write_data

pytestmark = pytest.mark.full
PRICE = "0.02"
REQUESTS = [
    Request.of(ad.Count(), PRICE, where="age >= 65 and sex = 'F'"),
    Request.of(ad.Histogram("ward", "sex"), PRICE, algorithm="identity", misfits=False),
    Request.of(ad.Ranges("age"), PRICE),
    Request.of(ad.Summary("age", by="ward"), PRICE),
    Request.of(ad.Quantiles("age", ["0.1", "0.5"]), PRICE),
    Request.of(ad.Marginals(way=2, attrs=["age", "sex", "ward"]), PRICE),
    Request.of(ad.Classifier("sex"), PRICE),
]


def copied(visitor, table, request):
    """The line of Python and the command of the shell on the page of a question, under what they are called there."""
    path, host = again_path(table, request.to_dict()), {"Host": visitor.place}
    page = visitor.get(path, headers=host)
    for _ in range(1200):
        if "The same in Python or a shell" in page.words:
            break
        time.sleep(0.1)
        page = visitor.get(path, headers=host)
    boxes = re.findall(r'<div class="copyhead"><span>(.*?)</span>.*?<code>(.*?)</code>', page.html, re.S)
    lines = {html.unescape(name): html.unescape(text) for name, text in boxes}
    assert list(lines) == ["In Python", "In a shell"]
    return lines["In Python"], lines["In a shell"]


def carried_out(line, folder, **more):
    """What is printed by a line of Python, or by a command in a shell where ``adyton`` is this one."""
    shell = ["sh", "-c", f'adyton() {{ "$PYTHON" -m adyton "$@"; }}\n{line}']
    command = [sys.executable, "-c", line] if line.startswith("import adyton") else shell
    environment = {**os.environ, "PYTHON": sys.executable, **more}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_printed(said, line):
    """That there is something to read: numbers, and from Python the price, too."""
    assert re.search(r"\d", said), said
    assert " object at 0x" not in said
    if line.startswith("import adyton"):
        assert f"ε = {PRICE}" in said


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("copied")
    write_data(folder, kind="csv")
    with Opened(folder, "people.csv", "--total", "3") as service:
        service.visitor, _ = service.enter()
        yield service
    assert "Traceback" not in service.complaints


@pytest.mark.parametrize("request_", REQUESTS, ids=str)
def test_on_a_table_of_this_machine(mine, request_):
    """Both spend on the ledger of the table, as the page would."""
    spent = []
    for line in copied(mine.visitor, "people.csv", request_):
        before = Ledger.read(mine.folder / "people.ledger").spent
        check_printed(carried_out(line, mine.folder), line)
        spent.append(Ledger.read(mine.folder / "people.ledger").spent - before)
    assert spent == [Fraction(PRICE)] * 2


@pytest.fixture(scope="module")
def analyst(served, address):
    """A visitor who has signed in at an address that Python and the shell find, too."""
    visitor = Visiting(address.partition("://")[2])
    visitor.sign_in(served.tokens["zoe"])
    return visitor


@pytest.mark.parametrize("request_", REQUESTS, ids=str)
def test_on_a_table_of_a_service(served, analyst, address, request_, tmp_path):
    """Both are requests of the analyst whose token is in the environment, and ask what the page asks."""
    for line in copied(analyst, "people", request_):
        assert address in line
        known, before = ids(served), served.connect("zoe").spent
        check_printed(carried_out(line, tmp_path, ADYTON_TOKEN=served.tokens["zoe"]), line)
        (new,) = [row for row in rows_of(served) if row["id"] not in known]
        assert new["status"] == "done"
        assert Request.from_dict(new["request"]) == request_
        assert served.connect("zoe").spent - before == Fraction(PRICE)


def rows_of(served):
    return json.loads(served.call("GET", "/v1/datasets/people/requests", who="zoe")[2])["requests"]


def ids(served):
    return {row["id"] for row in rows_of(served)}
