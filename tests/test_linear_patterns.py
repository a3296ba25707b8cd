"""Every regular expression of the package takes time in proportion to a text, however somebody has chosen the text.

The patterns are found in the source, so a new one is tested by being written. For each, hostile texts are made from its
own parts: what leads to a repetition, then many of what it repeats, then what it does not expect. They grow from a few
characters to thousands; a pattern that tries again from the beginning takes a hundred times as long as is allowed.
"""

import ast
import importlib
import re
import time
from functools import cache
from pathlib import Path
from re import _constants as kinds
from re import _parser

import pytest

import adyton
from adyton.kernel.reading.texts import Amounts
from adyton.schema.files import matches
from adyton.schema.reading import Reading
from adyton.schema.time_formats import _shape
from adyton.service.pages.asking.fields import Form
from adyton.service.pages.asking.filters import read_filter
from adyton.service.pages.site import _patterns

SCHEMA = adyton.Schema({"age": adyton.Integer(0, 99)})
PACKAGE = Path(adyton.__file__).parent
SLOW = 0.004
"""Seconds: what takes longer is tried with a text of twice the length, which may take at most three times as long."""
METHODS = ("fullmatch", "match", "search", "sub", "split", "findall", "finditer")
SHORT = {("kernel/reading/csv_reader.py", "_VALUE"): 100}
"""The most characters of a text that a pattern meets, where something else refuses longer ones before."""
MADE = {
    "schema/draft.py": [re.compile(r"=|:\s|\s[-–]\s|,\s"), re.compile(r",(?=[^,=]+=)")],
    "drafts.py": [re.compile(r"\.visits\.toml\.[0-9a-f]{16}\.draft")],
    "kernel/ledger/file.py": [re.compile(r"visits\.ledger\.[0-9a-f]{24}\.new")],
    "kernel/reading/texts.py": [
        Amounts.of(Reading(currency=("$", "USD"), thousands=thousands, decimal=decimal)).shape
        for thousands, decimal in ((",", "."), (" ", ","), ("'", "."))
    ],
    "schema/time_formats.py": [_shape(text) for text in ("%d.%m.%Y %H:%M:%S", "%Y%m%d%H%M", "%d %B %Y %I:%M %p")],
    "service/pages/site.py": [pattern for _, pattern, _ in _patterns()],
}
"""Patterns that are put together when they are used."""
SAMPLES = {
    kinds.CATEGORY_DIGIT: "1",
    kinds.CATEGORY_SPACE: " ",
    kinds.CATEGORY_WORD: "a",
    kinds.CATEGORY_NOT_DIGIT: "a",
    kinds.CATEGORY_NOT_SPACE: "a",
    kinds.CATEGORY_NOT_WORD: "-",
}
REPEATS = (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT)


def written_patterns():
    """(file, name or text, pattern, methods) of each pattern in the source; None for one that is put together."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "import re\n" not in text:
            continue
        tree, place = ast.parse(text), path.relative_to(PACKAGE).as_posix()
        module = importlib.import_module(".".join(("adyton", *path.relative_to(PACKAGE).with_suffix("").parts)))
        names = {
            id(node.value): ast.unparse(node.targets[0])
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in [f"re.{own}" for own in ("compile", *METHODS)]:
                yield place, *_written(node, names.get(id(node), ""), text, vars(module))


def _written(node, name, text, known):
    more = [*node.args[1:], *(word.value for word in node.keywords)]
    flags = [ast.unparse(own) for own in more if re.fullmatch(r"re\.[A-Z]+( \| re\.[A-Z]+)*", ast.unparse(own))]
    try:
        pattern = re.compile(eval(ast.unparse(node.args[0]), known), *(eval(own, known) for own in flags))
    except NameError:
        return name, None, ()
    method = ast.unparse(node.func).removeprefix("re.")
    within = text if f"{name}." in text else every_line()
    used = [own for own in METHODS if f"{name}.{own}(" in within] if name else []
    used = used or re.findall(rf"(?<!re)\.({'|'.join(METHODS)})\(", text.replace(".split(", ""))
    return name or ast.unparse(node.args[0]), pattern, (method,) if method in METHODS else sorted(set(used))


@cache
def every_line():
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py")))


def sample(items):
    """A text that parts of a pattern match, mostly."""
    return "".join(map(_sample, items))


def _sample(item):
    kind, own = item
    if kind is kinds.LITERAL:
        return chr(own)
    if kind is kinds.IN:
        return _members(own)[0]
    if kind in (kinds.ANY, kinds.NOT_LITERAL):
        return "a" if own != ord("a") else "b"
    if kind in REPEATS:
        return sample(own[2]) * max(own[0], 1)
    if kind is kinds.BRANCH:
        return sample(own[1][0])
    return sample(own[-1]) if kind is kinds.SUBPATTERN else sample(own) if kind is kinds.ATOMIC_GROUP else ""


def _members(items):
    found = [
        chr(own) if kind is kinds.LITERAL else chr(own[0]) if kind is kinds.RANGE else SAMPLES[own]
        for kind, own in items
        if kind in (kinds.LITERAL, kinds.RANGE, kinds.CATEGORY)
    ]
    if items[0][0] is kinds.NEGATE:
        return [character for character in "a1 -~" if character not in found]
    return found


def parts_of(items, before, leads, pumps):
    """Collect what leads to each repetition, and what may be repeated: its insides, and what lies between two."""
    between = ""
    for kind, own in items:
        if kind in REPEATS:
            leads.add(before)
            pumps |= {sample(own[2]), between}
            between = ""
            parts_of(own[2], before, leads, pumps)
        else:
            between += _sample((kind, own))
        if kind is kinds.IN:
            pumps |= set(_members(own)[:3])
        inner = [own[-1]] if kind is kinds.SUBPATTERN else [own] if kind is kinds.ATOMIC_GROUP else []
        for branch in own[1] if kind is kinds.BRANCH else inner:
            parts_of(branch, before, leads, pumps)
        before += _sample((kind, own))
    pumps.add(between)


@cache
def hostile(pattern):
    """(beginning, what is repeated, end) of hostile texts for a pattern."""
    leads, pumps = {""}, {" ", "1"}
    parts_of(_parser.parse(pattern.pattern, pattern.flags), "", leads, pumps)
    singles = sorted(filter(None, pumps), key=len)[:10]
    pairs = {one + other for one in singles[:4] for other in singles[:4]}
    return [
        (lead, pump, end) for lead in sorted(leads, key=len)[-4:] for pump in {*singles, *pairs} for end in ("", "\0")
    ]


def slow_text(pattern, method, longest=None):
    """A hostile text for which a method takes too long; None if there is none."""
    done = getattr(pattern, method) if method != "sub" else lambda text: pattern.sub(text[:0], text)
    for lead, pump, end in hostile(pattern):
        for size in (16, 19, 22, 25, 28, 31, 64, 128, 600, 4800):
            text = lead + pump * max(1, size // len(pump)) + end
            if longest is not None and len(text) > longest:
                break
            if isinstance(pattern.pattern, bytes):
                text = text.encode()
            if (seconds := _seconds(done, text)) > SLOW:
                twice = text[: len(text) - len(end)] + text[len(lead) :] if isinstance(text, str) else text * 2
                if size < 64 or seconds > 25 * SLOW or _seconds(done, twice) > 3 * seconds:
                    return lead, pump, end, size, seconds
    return None


def _seconds(done, text):
    """The least of a few measurements: other processes only make it longer."""
    least = 1.0
    for _ in range(4):
        begun = time.thread_time()
        found = done(text)
        if hasattr(found, "__next__"):
            list(found)
        least = min(least, time.thread_time() - begun)
        if not SLOW < least < 25 * SLOW:
            break
    return least


def test_every_pattern_is_linear():
    found, slow = 0, []
    for place, name, pattern, methods in written_patterns():
        if pattern is None:
            assert place in MADE, f"add an example of {name or 'the pattern'} of {place} to MADE"
            continue
        for method in methods:
            found += 1
            if text := slow_text(pattern, method, SHORT.get((place, name))):
                slow.append((place, name, method, *text))
    for place, patterns in MADE.items():
        for pattern in patterns:
            if text := slow_text(pattern, "search" if place == "schema/draft.py" else "fullmatch"):
                slow.append((place, pattern.pattern, *text))
    assert found > 80
    assert not slow, "\n".join(map(str, slow))


@pytest.mark.parametrize(
    "pattern",
    [
        r"\s*(.+?)\s+to\s+(.+?)\s*",
        r"\d+\.?\d*",
        r"(a|a)*b",
        r"(a+)+b",
        r"\s*([^,;]+?)\s*[,;]\s*([^,;]+?)\s*",
        r"(.+) and (.+): x",
    ],
)
def test_a_slow_pattern_is_found(pattern):
    assert slow_text(re.compile(pattern), "fullmatch")


@pytest.mark.parametrize(
    "text", [" " * 9_000 + "x", "1," * 4_500, "1 to" * 2_000, " to " * 2_000, "1-" * 4_500, "x" * 10**6]
)
def test_hostile_ends_of_a_range(text):
    """The same where no single pattern reads the text: the ends of "is between" in the form of a browser."""
    fields = {"condition": ["age"], "comparison": ["between"], "value": [text]}
    begun = time.thread_time()
    assert read_filter(Form(fields), SCHEMA).problems
    assert time.thread_time() - begun < 0.1


def test_ends_of_a_range():
    for text in ("20 to 29", "20  and\t29", "20–29", "20 .. 29", "20 - 29", "20-29", "20; 29", " 20,29 "):
        fields = {"condition": ["age"], "comparison": ["between"], "value": [text]}
        assert read_filter(Form(fields), SCHEMA).where == "age between 20 and 29", text


def test_names_that_match_a_pattern_of_a_schema():
    begun = time.thread_time()
    assert not matches("*a" * 50, "a" * 50_000 + "b")
    assert time.thread_time() - begun < 0.1
    assert [matches(pattern, "abcab") for pattern in ("a*b", "*", "abcab*", "a*c*b", "*ab*ab", "abc*bcab", "b*")] == (
        [True, True, True, True, True, False, False]
    )
