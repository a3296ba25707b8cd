"""The whole service on a ledger that was rolled back under it, and on one whose anchor is not there."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing

import pytest

from adyton.kernel.ledger import Ledger
from service.whole import Served


def test_no_budget_is_spent_twice(tmp_path):
    ledger, anchor, copy = (tmp_path / name for name in ("people.ledger", "people.anchor", "copy.ledger"))

    def asked(service, id, epsilon):
        return service.ask(id, {"task": {"task": "count"}, "epsilon": epsilon})[0]

    def backed_up(source, target):
        with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
            old.backup(new)

    service = Served(tmp_path, total=8, analysts="[datasets.people.analysts.mara]")
    with service:
        assert asked(service, "first", 1) == 200
        backed_up(ledger, copy)
        assert asked(service, "second", 7) == 200
        noted = anchor.read_text()
        assert json.loads(noted.splitlines()[1])["spent"] == "8/1"
        backed_up(copy, ledger)  # while it runs
        assert asked(service, "again", 7) >= 400
        assert (anchor.read_text(), Ledger.read(ledger).spent) == (noted, 1)
    assert "was rolled back or replaced: compared with the anchor" in (tmp_path / "serve.log").read_text()
    assert anchor.read_text() == noted
    anchor.unlink()  # its disk is not mounted
    with pytest.raises(AssertionError, match=re.escape(f"the anchor {anchor} of {ledger} is missing")):
        service.__enter__()
    assert not anchor.exists()
