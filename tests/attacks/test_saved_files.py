"""What is saved, in the hands of strangers and of the next process: padded, nested, changed, mistaken, left behind."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import adyton as ad
from adyton import drafts
from adyton.choice.checked_file import FOLDERS, named_format
from adyton.errors import BadInput, LedgerError
from adyton.kernel.ledger import Ledger
from adyton.learning.model import Model
from adyton.programs.base import result_in
from adyton.result.folder import says_so
from earlier_ledgers import THIRD
from fixtures.make import chooser

OLD = Path(__file__).parents[1] / "fixtures" / "0.1.0"
FILES = {
    "release": (OLD / "releases/complete/release.json", ad.Release.load),
    "combined": (OLD / "releases/combined/release.json", ad.Release.load),
    "tables": (OLD / "tables/all-pairs/tables.json", ad.TablesRelease.load),
    "numbers": (OLD / "numbers/mean/numbers.json", ad.NumbersRelease.load),
    "classifier": (OLD / "classifiers/majority/classifier.json", ad.FittedClassifier.load),
    "model": (OLD / "models/tree.json", Model.load),
    "selector": (OLD / "selectors/tree.json", ad.Selector.load),
    "configuration": (OLD / "configurations/auction.json", ad.Configuration.load),
    "learned choices": (OLD / "learnt/learned_choices.json", ad.LearnedChoices.load),
    "choice maker": (OLD / "learnt/method_choice.json", chooser().load),
}
SCHEMA = ad.Schema({"age": ad.Integer(0, 9)})
MUCH = 2_000_000


@pytest.fixture(scope="module")
def release():
    table = pd.DataFrame({"age": np.arange(100) % 10})
    return ad.Session(table, schema=SCHEMA, epsilon=1).release(ad.Histogram("age"), 1, algorithm="identity")


def padded(text: str, how: str) -> str:
    """The same file with a lot in it that means nothing."""
    opened = text.replace("{", "{" + {"blanks": " " * MUCH, "text": f'"a": "{"x" * MUCH}",'}.get(how, ""), 1)
    if how == "nested":
        opened = text.replace("{", '{"a": ' + "[" * 100_000 + "]" * 100_000 + ",", 1)
    if how == "numbers":
        opened = text.replace("{", '{"a": [' + "1," * MUCH + "1],", 1)
    return opened + " " * (MUCH if how == "end" else 0)


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        pytest.param(kind, how, marks=[] if kind == "release" or how in ("nested", "text") else pytest.mark.full)
        for kind in FILES
        for how in ("blanks", "text", "nested", "numbers", "end")
    ],
)
def test_padding_is_refused_before_it_is_read(kind, how, tmp_path):
    file, load = FILES[kind]
    load(file)
    other = tmp_path / file.name
    other.write_text(padded(file.read_text("utf-8"), how), "utf-8")
    words = "nested too deeply" if how == "nested" else "longer than|blanks in a row"
    with pytest.raises(BadInput, match=words) as refused:
        load(other)
    assert refused.value.__suppress_context__
    assert str(other) in str(refused.value)


@pytest.mark.parametrize("part", ["schema", "task", "record", "axes"])
def test_padding_inside_a_part_of_a_release_is_refused(part, tmp_path):
    plain = json.loads(FILES["release"][0].read_text("utf-8"))
    plain[part]["padding"] = "x" * MUCH
    (tmp_path / "release.json").write_text(json.dumps(plain), "utf-8")
    with pytest.raises(BadInput, match=f"{part}|padding"):
        ad.Release.load(tmp_path)


def test_a_release_has_a_digest(release, tmp_path):
    release.save(tmp_path / "out")
    file = tmp_path / "out" / "release.json"
    plain = json.loads(file.read_text("utf-8"))
    assert len(plain["digest"]) == 64
    file.write_text(json.dumps(plain, indent=3, sort_keys=True), "utf-8")  # another layout, the same release
    assert ad.Release.load(file).to_dict() == release.to_dict()
    for part, value in (("estimate", [0.0] * 10), ("where", "age > 3"), ("axes", {"age": [0] * 10}), ("digest", "0")):
        file.write_text(json.dumps({**plain, part: value}), "utf-8")
        with pytest.raises(BadInput, match="was changed after it was written"):
            ad.Release.load(file)
    del plain["digest"]
    file.write_text(json.dumps(plain), "utf-8")
    with pytest.raises(BadInput, match="was changed after it was written"):
        ad.Release.load(file)


@pytest.mark.parametrize("before", [0, 7, 9_970, 25_000])
def test_ten_thousand_blanks_in_a_row_are_refused_wherever_they_stand(before, release):
    head, rest = release.to_text().split(",\n", 1)
    padded = f'{{"padding": "{"x" * before}",{head[1:]},'
    for blanks, why in ((9_999, "digest does not fit"), (10_000, "blanks in a row")):
        with pytest.raises(BadInput, match=why):
            result_in(f"{padded}{' ' * blanks}{rest.lstrip()}", "this")


def test_older_releases_need_no_digest(tmp_path):
    plain = json.loads(FILES["release"][0].read_text("utf-8"))
    plain.pop("digest", None)
    (tmp_path / "release.json").write_text(json.dumps(plain), "utf-8")
    assert ad.Release.load(tmp_path).to_dict() == ad.Release.load(FILES["release"][0]).to_dict()


def test_another_kind_is_named_with_what_opens_it(tmp_path):
    for kind, (file, _) in FILES.items():
        for other, (_, load) in FILES.items():
            if {kind, other} == {"release", "combined"} or kind == other:
                continue
            given = file.parent if file.name in FOLDERS else file
            with pytest.raises(BadInput, match=r"It holds .*: open it with ") as refused:
                load(given)
            assert "combined" in (kind, other) or kind.split()[-1] in str(refused.value).lower().replace("what a ", "")
    with pytest.raises(BadInput, match="open it with ad.Ledger.read"):
        ad.Release.load(OLD / "ledgers/rows.ledger")
    with pytest.raises(BadInput, match="does not exist"):
        ad.Release.load(tmp_path)


# ---- what a killed process leaves ------------------------------------------------------------------------------------

CHILD = """
import sys, time
from pathlib import Path
from adyton.result.folder import staged
from adyton.drafts import replaced
place, how = Path(sys.argv[1]), sys.argv[2]
with staged(place) as draft, replaced(place.with_name("a.json")):
    if how == "paid":
        (draft.folder / "release.json").write_text('{"format": "adyton release"}')
    if how == "half":
        (draft.folder / "release.json").write_text('{"format": "adyton release", ')
    print("ready", flush=True)
    time.sleep(60)
"""


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.endswith((".partial", ".new")))


def child(*words: object) -> subprocess.Popen:
    started = subprocess.Popen([sys.executable, "-c", CHILD, *map(str, words)], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    return started


@pytest.mark.parametrize("how", ["half", "paid"])
def test_leftovers_of_the_dead_are_cleared_and_those_of_the_living_are_not(how, release, tmp_path):
    mine = tmp_path / ".out.0123456789abcdef01234567.partial.txt"
    earlier = tmp_path / ".out.01234567.partial"
    mine.write_text("mine")
    earlier.mkdir()
    process = child(tmp_path / "out", how)
    try:
        assert len(leftovers(tmp_path)) == 3
        release.save(tmp_path / "out")
        assert len(leftovers(tmp_path)) == 3
    finally:
        process.kill()
        process.wait()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        release.save(tmp_path / "out", overwrite=True)
        with drafts.replaced(tmp_path / "a.json") as file:
            file.write_text("{}")
    kept = [path for path in leftovers(tmp_path) if path != earlier.name]
    assert len(kept) == (how == "paid")  # what was paid for is nobody's to throw away
    assert any("had paid for when it was killed" in str(warning.message) for warning in said) == (how == "paid")
    assert mine.read_text() == "mine"
    assert earlier.is_dir()
    assert ad.Release.load(tmp_path / "out").to_dict() == release.to_dict()


def test_a_draft_that_is_cleared_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    """The moment between the making of a draft and its lock: whoever clears it then costs nothing."""
    honest, cleared = os.open, []

    def slow(path, flags, *more, **options):
        if str(path).endswith(".partial") and not flags & os.O_CREAT and not cleared:
            cleared.append(path)
            os.unlink(path)
        return honest(path, flags, *more, **options)

    monkeypatch.setattr(os, "open", slow)
    with drafts.replaced(tmp_path / "a.txt") as draft:
        draft.write_text("all")
    assert cleared
    assert (tmp_path / "a.txt").read_text() == "all"
    assert leftovers(tmp_path) == []


def test_two_processes_that_save_to_one_place_do_not_harm_each_other(release, tmp_path):
    """Many at once, some of them killed: what is in place in the end is whole."""
    code = (
        "import sys, adyton as ad, warnings\n"
        "warnings.simplefilter('ignore')\n"
        f"release = ad.Release.load({str(FILES['release'][0])!r})\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        f"    try: release.save({str(tmp_path / 'out')!r}, overwrite=True)\n"
        "    except (ad.errors.AdytonError, OSError) as error: print(error, file=sys.stderr, flush=True)\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in running:
        process.stdout.readline()
    time.sleep(0.5)
    for process in running:
        process.send_signal(signal.SIGKILL)
    said = [process.communicate()[1] for process in running]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release.save(tmp_path / "out", overwrite=True)
    assert ad.Release.load(tmp_path / "out").to_dict() == release.to_dict()
    assert not any("Traceback" in words for words in said), said
    for left in leftovers(tmp_path):  # whole releases that were never put in place, and nothing else
        assert says_so(tmp_path / left)


# ---- ledgers ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    shutil.copy(OLD / "ledgers/changed.ledger", tmp_path / "people.ledger")
    Ledger.open(tmp_path / "people.ledger", total=10, dataset="people").close()  # of the present format
    return tmp_path / "people.ledger"


TAMPERED = [
    ("UPDATE entries SET lineage = ?", "[" * 50_000),
    ("UPDATE entries SET lineage = ?", "[" * 400 + "]" * 400),
    ("UPDATE entries SET lineage = ?", '["' + "x" * (1 << 24) + '"]'),
    ("UPDATE entries SET terms = ?", "[" * 50_000),
    ("UPDATE entries SET terms = ?", '{"unit": null}'),
    ("UPDATE entries SET terms = ?", '{"unit": 1, "rows_per_unit": 1, "schema": "", "column": null}'),
    ("UPDATE entries SET terms = ?", '{"unit": null, "rows_per_unit": 0, "schema": "", "column": null}'),
    ("UPDATE entries SET operator = ?", b"\xff"),
    ("UPDATE entries SET time = ?", b"\xff"),
    ("UPDATE entries SET process = ?", "many"),
    ("UPDATE events SET old = ?", b"\xff"),
    ("UPDATE events SET consent = ?", b"\xff"),
    ("UPDATE terms SET value = ? WHERE part = 'rows_per_unit'", "9" * 5000),
    ("UPDATE terms SET value = ? WHERE part = 'rows_per_unit'", "٣"),
    ("UPDATE terms SET value = ? WHERE part = 'schema'", b"\xff"),
    ("UPDATE terms SET value = ? WHERE part = 'unit'", b"\xff"),
]


@pytest.mark.parametrize(
    ("change", "earlier"),
    [
        (change, earlier)
        for change in TAMPERED
        for earlier in (False, True)
        if not earlier or "SET terms" not in change[0]
    ],
)
def test_tampered_ledgers_are_damaged_and_nothing_else(path, change, earlier):
    connection = sqlite3.connect(path, isolation_level=None)
    if earlier:  # as the second format was
        for statement in THIRD:
            connection.execute(statement)
        connection.execute("ALTER TABLE entries DROP COLUMN terms")
        connection.execute("DELETE FROM terms WHERE part = 'column'")
        connection.execute("PRAGMA user_version = 2")
    connection.execute(change[0], (change[1],))
    connection.close()
    for way in (lambda: Ledger.read(path), lambda: Ledger.open(path, total=10, dataset="people")):
        with pytest.raises(LedgerError, match="is damaged") as refused:
            way()
        assert refused.value.__suppress_context__


def test_drafts_of_ledgers_are_cleared(path):
    """One that nobody holds, one that is held, one of an earlier version, and one that is the ledger's second name."""
    dead, living, early, second = (
        path.with_name(f"{path.name}.{token}.new") for token in ("a" * 24, "b" * 24, "c" * 16, "d" * 24)
    )
    for draft in (dead, living, early):
        shutil.copy(path, draft)
    dead.with_name(f"{dead.name}-wal").write_bytes(b"")
    os.link(path, second)
    with living.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        Ledger.open(path, total=10, dataset="people").close()
        assert sorted(file.name for file in path.parent.iterdir()) == sorted([path.name, living.name, early.name])
    path.unlink()
    Ledger.open(path, total=1, dataset="people").close()
    assert sorted(file.name for file in path.parent.iterdir()) == sorted([path.name, early.name])


def test_a_file_says_what_it_is_without_being_read(tmp_path):
    file = tmp_path / "a.json"
    file.write_text('{"format": "adyton release", "rest": ', "utf-8")
    assert named_format(file) == "adyton release"
    assert named_format(file, whole=True) is None
