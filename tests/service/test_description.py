"""Requests made up from the description of the service at ``/openapi.json``, by schemathesis, against a real service.

It is no part of the extra ``test``: ``pip install schemathesis``, then
``ADYTON_EXAMPLES=500 pytest -m full tests/service/test_description.py -s`` is the long run.
"""

import base64
import csv
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from adyton.kernel.ledger import Ledger
from adyton.service.access import Access

pytestmark = pytest.mark.full
pytest.importorskip("schemathesis")
EXAMPLES = os.environ.get("ADYTON_EXAMPLES", "30")
SHIPPED = Path(__file__).parents[2] / "examples"
CANARY = "QUOKKA"
CONFIG = """
[http]
listen = "127.0.0.1:{port}"
requests_per_minute = 1000000
audit = "audit.log"
[timing]
on = false
[curators]
names = ["olga"]
[datasets.visits]
data = "visits.csv"
schema = "visits.toml"
ledger = "visits.ledger"
anchor = "visits.anchor"
total = 5
[datasets.visits.analysts.mara]
[datasets.visits.analysts.ben]
part = 1
consent_above = 0.01
"""
CHECKS = """
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", 503]
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 409, 410, 503]
"""
"""A reply of 503 is described: too much is under way. 410 is that of a door that there is not."""
UNCHECKED = "positive_data_acceptance,ensure_resource_availability"
"""What is well-formed may still be refused for what it says, such as an id that is taken; and what is under way may be
refused after its reply of 202."""
NAMES = ["age", "sex", "department", "stay_days", "cost", "name", "AGE"]
REQUEST = {
    "type": "object",
    "required": ["task", "epsilon"],
    "properties": {
        "task": {
            "anyOf": [
                {"enum": ["count", "histogram", "units"]},
                {
                    "type": "object",
                    "required": ["task"],
                    "properties": {
                        "task": {"enum": ["count", "histogram", "mean", "sum", "ranges", "quantiles", "summary"]},
                        "attributes": {"type": "array", "items": {"enum": NAMES}, "maxItems": 2},
                        "attribute": {"enum": NAMES},
                        "by": {"type": "array", "items": {"enum": ["sex", "department"]}, "maxItems": 1},
                    },
                },
            ]
        },
        "epsilon": {"anyOf": [{"enum": ["0.001", 0.001, "1/1000", "-1", "1e400", 7]}, {}]},
        "where": {"anyOf": [{"enum": ["age >= 30", "sex = 'F' and cost < 100", "name = 'a'", None]}, {}]},
        "algorithm": {"enum": ["identity", "uniform", None, "os:system", "../../etc/passwd"]},
        "known": {"enum": [None, "/etc/passwd", {"age": 1}]},
    },
}
OPERATORS = [
    '{"NoisyCount": {}}',
    '{"Where": {"predicate": "age > 64"}}',
    '{"Select": {"names": ["age"]}}',
    '{"Vectorize": {}}',
    '{"Popen": {"args": "id"}}',
    "null",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A service of the example, whose rows have a canary in a column that the schema does not have."""
    folder = tmp_path_factory.mktemp("described")
    with (SHIPPED / "visits.csv").open(newline="") as source, (folder / "visits.csv").open("w", newline="") as target:
        first, *rows = csv.reader(source)
        lines = csv.writer(target)
        lines.writerow([*first, "name"])
        lines.writerows([*row, f"{CANARY}-{number}"] for number, row in enumerate(rows))
    (folder / "visits.toml").write_text((SHIPPED / "visits.toml").read_text())
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "service.toml").write_text(CONFIG.format(port=port))
    (folder / "schemathesis.toml").write_text(CHECKS)
    (folder / "address").write_text(f"http://127.0.0.1:{port}")
    with (folder / "serve.log").open("w") as log:
        command = [sys.executable, "-m", "adyton", "serve", "service.toml"]
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        try:
            while "Serving" not in (said := (folder / "serve.log").read_text()):
                assert process.poll() is None, said
                time.sleep(0.1)
            yield folder
        finally:
            process.terminate()
            process.wait(60)


def fetched(folder, path, token=None, **body):
    """What a call returns, as JSON."""
    head = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    data = json.dumps(body).encode() if body or path.endswith("/door") else None
    with urllib.request.urlopen(
        urllib.request.Request((folder / "address").read_text() + path, data, head), timeout=60
    ) as reply:
        return json.load(reply)


def described(folder, token):
    """The description, and in it what a client knows: the data set, an id, doors, and how requests look."""
    description = fetched(folder, "/openapi.json")
    place = "/v1/datasets/visits"
    try:
        fetched(folder, f"{place}/requests", token, id="first", request={"task": "count", "epsilon": "0.001"})
        doors = [fetched(folder, f"{place}/door", token)["door"] for _ in range(8)]
    except urllib.error.HTTPError:  # who needs consent has no door
        doors = ["none"]
    known = {"name": ["visits"], "id": ["first", "second", "none"], "door": doors}
    for methods in description["paths"].values():
        for about in methods.values():
            for parameter in about.get("parameters", ()):
                if parameter["in"] == "path":
                    parameter["schema"] = {"enum": known[parameter["name"]]}
    shapes = description["components"]["schemas"]
    shapes["Ask"]["properties"]["request"] = {"anyOf": [REQUEST, {"type": "object"}]}
    shapes["Ask"]["properties"]["id"]["anyOf"].append({"enum": known["id"]})
    shapes["Ask"]["properties"]["wait"]["maximum"] = 3
    shapes["Consent"]["properties"]["analyst"] = {"anyOf": [{"enum": ["mara", "ben"]}, {"type": "string"}]}
    for name in ("Transform", "Measure"):
        shapes[name]["properties"]["operator"] = {"anyOf": [{"enum": OPERATORS}, {"type": "string"}]}
        shapes[name]["properties"]["source"] = {"anyOf": [{"enum": [0, 1, 2]}, {"type": "integer"}]}
    (folder / "description.json").write_text(json.dumps(description))
    return folder / "description.json"


@pytest.mark.parametrize("who", ["mara", "ben", "olga", None])
def test_whatever_the_description_allows_and_forbids(folder, who):
    """No defect, every reply as it is described, and in none a path of the server or anything of a row."""
    paths, head = ["--include-path-regex", "^/(metrics|health)$"], []
    description = f"{(folder / 'address').read_text()}/openapi.json"
    if who is not None:
        token = Access(folder / "access.sqlite").make(who, "curator" if who == "olga" else "analyst")
        paths, head = ["--exclude-path", "/metrics"], ["-H", f"Authorization: Bearer {token}"]
        description = described(folder, token)
    replies = folder / f"{who}.ndjson"
    done = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml", "--no-color", "run",
         str(description), "--url", (folder / "address").read_text(), *paths, *head, "-n", EXAMPLES, "--checks", "all",
         "--exclude-checks", UNCHECKED,
         "--continue-on-failure", "--no-shrink", "--report", "ndjson", "--report-ndjson-path", str(replies)],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:]
    bodies, statuses = list(responses(replies)), {}
    for status, body in bodies:
        statuses[status] = statuses.get(status, 0) + 1
        assert not re.search(f"{CANARY}|Traceback|site-packages|{folder}", body), body
    sys.stdout.write(f"\n{who}: {dict(sorted(statuses.items()))}\n")
    assert len(bodies) > (int(EXAMPLES) if who else 10)
    assert statuses.get(200), statuses
    log = (folder / "serve.log").read_text()
    assert "ended" not in log, log
    assert "in a call" not in log, log
    with Ledger.open(folder / "visits.ledger", total=5, dataset="visits") as ledger:
        assert ledger.spent <= 5
        paid = {(entry.analyst, entry.request) for entry in ledger.entries()}
        assert all(ledger.request(*whose).finished for whose in paid)


def responses(file):
    """The status and the body of every reply that schemathesis has written down."""
    for line in file.read_text().splitlines():
        ended = json.loads(line).get("ScenarioFinished")
        for call in ended["recorder"].get("interactions", {}).values() if ended else ():
            if reply := call["response"]:
                content = base64.b64decode((reply["content"] or {}).get("$base64", ""))
                yield reply["status_code"], content.decode(errors="replace")
