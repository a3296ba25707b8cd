"""What to expect of a request before anything is spent: the error in numbers, in words and as a picture.

An outlook depends on the schema and the request, not on its budget; it is kept, with the errors that it has computed,
because a form asks for the same one again whenever somebody moves ε.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from threading import Event, Lock, RLock, Thread
from weakref import WeakKeyDictionary

from markupsafe import Markup

from adyton import odds
from adyton.errors import BadInput
from adyton.exact import display
from adyton.learning.classifier import Classifier
from adyton.marginals.program import what_it_does
from adyton.plans.registry import algorithms
from adyton.programs.base import Outlook, least_known, program_of
from adyton.programs.numbers import NumbersOutlook
from adyton.programs.targets import EPSILONS, Epsilon, Target, shown
from adyton.report.plot import errors_drawing
from adyton.schema import Boolean, Integer, Schema
from adyton.schema.misfits import Misfit, misfits_of
from adyton.schema.predicates import attributes_of, parse_predicate
from adyton.session.remote import RemoteSession
from adyton.session.run import Preview
from adyton.tasks import Histogram, Marginals, NumbersTask, Ranges
from adyton.tasks.request import AUTO, Request

_MOST, _MOST_BUDGETS = 64, 64
"""How many outlooks are kept, and for how many budgets the errors of each."""
_NAMED = 4
"""How many attributes are named in a sentence."""
_SLOW, _FEW = 0.3, 4
"""From how many seconds on for one budget a picture has points at every fourth budget only."""
_WIDTH = 420.0
_KINDS = {
    "missing": "blank",
    "no level": "undeclared",
    "unreadable": "unreadable",
    "no time": "unreadable",
    "out of bounds": "out-of-range",
}
"""What people call a value that does not match the schema, by the reason."""
_ORDER = tuple(dict.fromkeys(_KINDS.values()))
_FATES = {
    "left out": "are left out",
    "unmatched": "are left out",
    "counted as missing": "count as missing",
    "counted as other": "count as other values",
    "clamped": "count in the nearest cell",
}
"""What becomes of a row that does not match the schema."""


@dataclass(frozen=True)
class Expected:
    """What a page says of a request beforehand."""

    preview: Preview
    big: str
    """The half-width of the 95% interval; empty where it is unknown."""
    each: str
    """What that is for, in small letters."""
    sentence: str
    typical: str
    by: str
    """The algorithm with that typical error."""
    picture: Markup | None
    instead: str
    """Why there is no picture."""
    head: tuple[str, ...]
    candidates: tuple[tuple[str, ...], ...]
    """The algorithms that could run, below a header."""
    notes: tuple[str, ...]
    odds: str
    large: str
    """The warning about a large budget; empty if it is not."""


class _Known:
    """An outlook with a lock: what it computes is computed once."""

    def __init__(self, outlook: Outlook) -> None:
        self.lock, self.outlook = RLock(), _remembering(outlook)
        self.expected: OrderedDict[Fraction, Expected] = OrderedDict()


def _remembering(outlook: Outlook) -> Outlook:
    """The outlook, which from now on keeps the errors that it has computed."""
    for name in ("errors", "half_width", "error_at"):
        object.__setattr__(outlook, name, lru_cache(_MOST_BUDGETS)(getattr(outlook, name)))
    return outlook


_known: OrderedDict[str, _Known] = OrderedDict()
_lock, _warm = Lock(), Event()
_digests: WeakKeyDictionary[RemoteSession, str] = WeakKeyDictionary()


def _of(session: RemoteSession, request: Request) -> _Known:
    """The outlook for a request; refused if its release would be refused."""
    plain = {**request.to_dict(), "epsilon": None}
    key = json.dumps([_digest(session), plain], sort_keys=True)
    with _lock:
        if key in _known:
            _known.move_to_end(key)
            return _known[key]
    made = _Known(session._outlook(replace(request, epsilon=Fraction(1))))
    with _lock:
        made = _known.setdefault(key, made)
        while len(_known) > _MOST:
            _known.popitem(last=False)
    return made


def _digest(session: RemoteSession) -> str:
    """What an outlook depends on beside the request."""
    if session not in _digests:
        root = session.kernel.root
        about = [session.schema.to_dict(), session.unit, root.from_text, root.stability]
        _digests[session] = hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()
    return _digests[session]


def warm_up() -> None:
    """Load what most outlooks need, behind the page on which a question is chosen: the first one then comes soon."""
    if not _warm.is_set():
        _warm.set()
        Thread(target=_warmed_up, daemon=True).start()


def _warmed_up() -> None:
    schema = Schema({"number": Integer(0, 99), "kind": Boolean(), "other": Boolean()})
    for task in (Histogram("number"), Ranges("number", "kind"), Marginals(way=2)):
        program = program_of(Request.of(task, 1), schema)
        outlook = program.outlook()
        outlook.curves(EPSILONS[:1])
    for name in algorithms():  # forms offer them, with what they do
        what_it_does(name)


def check(session: RemoteSession, request: Request) -> None:
    """Make all checks of a request that need neither a row nor the service."""
    _of(session, request)


def least_epsilon(session: RemoteSession, request: Request, error: str, of: str) -> Epsilon:
    """The least ε for a target, as ``session.epsilon_for`` finds it."""
    known = _of(session, request)
    with known.lock:
        rows = session.schema.rows if request.where is None else None
        target = Target.of(error, known.outlook, of or None, rows)
        return Epsilon.reaching(target, known.outlook, str(request.task))


def expected(session: RemoteSession, request: Request) -> Expected:
    """What to expect of a request."""
    known, epsilon = _of(session, request), request.epsilon
    with known.lock:
        if epsilon not in known.expected:
            preview = session._previewed(request, known.outlook, session.kernel.known_budget.remaining)
            known.expected[epsilon] = _expected(preview, request, session.unit)
            while len(known.expected) > _MOST_BUDGETS:
                known.expected.popitem(last=False)
        made = known.expected[epsilon]
    return replace(made, preview=replace(made.preview, remaining=session.kernel.known_budget.remaining))


def _expected(preview: Preview, request: Request, unit: str) -> Expected:
    outlook, epsilon, began = preview.outlook, preview.epsilon, time.monotonic()
    half, sentence = _half_width(outlook, epsilon), preview.outcome
    typical, by = _typical(outlook, epsilon)
    budgets: Sequence[Fraction] = EPSILONS if time.monotonic() - began < _SLOW else EPSILONS[::_FEW]
    picture, instead = None, ""
    try:
        drawing = errors_drawing(preview.task, outlook, budgets, epsilon, None, briefly=True)
        picture = Markup(drawing.svg(_WIDTH))  # nosec B704 # svg escapes its texts
    except BadInput:
        instead = _no_picture(outlook, request)
    head, *lines = preview.lines() or [()]
    return Expected(
        preview=preview,
        big="" if half is None else f"± {shown(half)}",
        each=_each(outlook, request),
        sentence=sentence,
        typical=typical,
        by=by,
        picture=picture,
        instead=instead,
        head=head,
        candidates=tuple(lines),
        notes=_notes(preview, request),
        odds=odds.in_words(epsilon, unit),
        large=odds.remark(epsilon, "A release", unit) or "",
    )


def _each(outlook: Outlook, request: Request) -> str:
    unit = " rows" * (outlook.column == "count" and not outlook.unit and not request.task.per_unit)
    of = f" of {request.task.attribute}" if isinstance(request.task, NumbersTask) else ""
    which = "this" if outlook.answers.startswith("this") else "each"
    return f"{outlook.unit or unit} for {which} {_noun(outlook)}{of}"


def _noun(outlook: Outlook) -> str:
    """What an answer is, such as "count"."""
    return outlook.answers.rpartition(" ")[2].removesuffix("s")


def _notes(preview: Preview, request: Request) -> tuple[str, ...]:
    """What else is known, with what becomes of rows that do not match the schema, in the words of this page."""
    misfits, epsilon = preview.outlook.misfits, preview.epsilon
    known = preview.notes[: len(preview.notes) - len(misfits.notes(epsilon))]
    counted = f"Of the budget, {display(epsilon * preview.misfits)} is for counting them." if preview.misfits else ""
    if not counted and misfits.notes(epsilon):
        counted = "How many there are is not counted, because at this ε the count would be too noisy to use."
    words = _misfits_in_words(preview.schema, request)
    left_out = (f"{words} {counted}",) if counted and words else ()
    return (*known, *_rank_in_words(preview), *_choice_in_words(preview), *left_out)


def _rank_in_words(preview: Preview) -> tuple[str, ...]:
    """What an error in rank means; between which percentiles a median lies, where the rows of a group are known."""
    outlook = preview.outlook
    if not isinstance(outlook, NumbersOutlook) or not outlook.unit:
        return ()
    half, rows = outlook.half_width(preview.epsilon), outlook.even_share(preview.rows) if preview.rows else None
    rows = outlook.numbers.task.rows or rows
    said = (
        f"A rank is a place in the order of {outlook.numbers.task.attribute}: the true number may be up to "
        f"{shown(half)} rows further up or down in this order than the published one."
    )
    if rows is None:
        return (f"{said} With more rows, that is a smaller part of them.",)
    part = min(50.0, 100 * half / rows)
    return (f"{said} A published median then lies between the percentiles {50 - part:.3g} and {50 + part:.3g}.",)


def _choice_in_words(preview: Preview) -> tuple[str, ...]:
    """That the chosen algorithm may have other intervals than those that are promised, and how to avoid that."""
    best = least_known(preview.outlook.errors(preview.epsilon)) if preview.chosen and preview.outlook.adapts else None
    if best is None or best[1].kind == "upper mark":
        return ()
    return (
        "The algorithm is chosen when you release. One that adapts to the data may be chosen: it is usually more exact,"
        " but its intervals are approximate, without a formal guarantee. For intervals with one, choose the algorithm "
        "that is marked so under “Algorithm and other choices”.",
    )


def _misfits_in_words(schema: Schema, request: Request) -> str:
    """Which rows do not match the schema, and what becomes of them where that is the same for all; empty if all
    rows are counted as they are. A value that is blank matches where the schema counts missing ones."""
    counted = program_of(request, schema).looks_at or ()
    seen = () if request.where is None else attributes_of(parse_predicate(request.where, schema))
    ways = misfits_of(schema, counted, [name for name in seen if name not in counted])
    fates: dict[str, list[Misfit]] = {}
    for way in ways:
        fates.setdefault(_FATES[way.fate], []).append(way)
    return " ".join(f"Rows with {_values_in_words(some)} {fate}." for fate, some in fates.items())


def _values_in_words(ways: Sequence[Misfit]) -> str:
    """Such as "a blank or undeclared sex, or a blank age"."""
    reasons: dict[str, dict[str, None]] = {}
    for way in ways:
        reasons.setdefault(way.attribute, {})[_KINDS[way.reason]] = None
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, own in reasons.items():
        alike.setdefault(tuple(kind for kind in _ORDER if kind in own), []).append(name)
    if len(reasons) > _NAMED:
        kinds = [kind for kind in _ORDER if any(kind in own for own in alike)]
        return f"{_one_of(kinds)} value"
    return ", or ".join(f"{_one_of(kinds)} {' or '.join(names)}" for kinds, names in alike.items())


def _one_of(kinds: Sequence[str]) -> str:
    *first, last = kinds
    words = f"{', '.join(first)} or {last}" if first else last
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def together(session: RemoteSession, request: Request, other: Fraction) -> str:
    """What a request and the same one at another budget give together, in a sentence; empty if that is not known."""
    if isinstance(request.task, NumbersTask | Classifier) or request.algorithm != AUTO:
        return ""
    known = _of(session, request)
    with known.lock:
        halves = [_half_width(known.outlook, epsilon) for epsilon in (request.epsilon, other)]
        if None in halves or 0 in halves:
            return ""
        both = sum(float(half or 0) ** -2 for half in halves) ** -0.5
        return f"Both together, combined under “Compare”, are good to about ± {shown(both)}{known.outlook.unit}."


def certain(session: RemoteSession, request: Request | None) -> str:
    """The best algorithm whose intervals have a formal guarantee, where others may be chosen; empty otherwise."""
    if request is None:
        return ""
    known = _of(session, request)
    with known.lock:
        best = least_known(known.outlook.errors(request.epsilon)) if known.outlook.adapts else None
    return "" if best is None or best[1].kind == "upper mark" else best[0]


def _half_width(outlook: Outlook, epsilon: Fraction) -> float | None:
    try:
        return outlook.half_width(epsilon)
    except BadInput:
        return None


def _typical(outlook: Outlook, epsilon: Fraction) -> tuple[str, str]:
    """The typical error that is known beforehand, and by which algorithm; for numbers, the notes have that of each
    statistic."""
    best = None if isinstance(outlook, NumbersOutlook) else least_known(outlook.errors(epsilon))
    if best is None:
        return "", ""
    name, error = best
    most = "at most about " if error.kind == "upper mark" else ""
    return f"The typical error of an answer is {most}± {shown(error.per_query)}.", name


def _no_picture(outlook: Outlook, request: Request) -> str:
    """Why no error is known beforehand, and what to do."""
    if isinstance(request.task, NumbersTask):
        return (
            "The error falls with the number of rows of a group. If a smallest number of rows is public, give it as "
            "the rows of a group, and you see the error here."
        )
    if isinstance(request.task, Classifier):
        return "How well a classifier predicts depends on the data, so it is not known beforehand. A rehearsal is free."
    return (
        f"The error of {' or '.join(outlook.errors(request.epsilon))} depends on the data, so it is not known "
        "beforehand. Leave the algorithm to auto, or choose one whose error is known."
    )
