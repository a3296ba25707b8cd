"""Learned conditionals: places in a program decided by what was learnt from public data; and the trace of visits.

What was learnt for a choice is a model that refuses to extrapolate, the default, and how both did on held-out data
sets. A conditional sees public numbers and words, and values that were measured already: nothing else.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from adyton.choice.checked_file import FileKind
from adyton.choice.formulas import FormulaModel
from adyton.choice.models import Fixed, Look, Model, OutsideError, SimilarRows, TreeModel
from adyton.choice.options import Seen, features_of, seen
from adyton.errors import BadInput
from adyton.messages import listing, no_such, shorten


@dataclass(frozen=True, eq=False)
class Visit:
    """One visit to a place where a program chooses."""

    label: str
    number: int
    """How often the place was visited before."""
    options: tuple[str, ...]
    default: str
    values: Mapping[str, Seen]
    """What the choice could depend on."""
    chosen: str
    regrets: Mapping[str, float]
    """The regret expected of each option; empty where no model was asked."""
    notes: tuple[str, ...]

    def to_plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "label": self.label,
            "visit": self.number,
            "options": list(self.options),
            "default": self.default,
            "values": dict(self.values),
            "chosen": self.chosen,
            "regrets": dict(self.regrets),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        pairs = self.values.items()
        given = [f"{name} = {value if isinstance(value, str) else format(value, '.6g')}" for name, value in pairs]
        ranked = sorted(self.regrets.items(), key=lambda pair: pair[1])
        parts = [f"{self.label}[{self.number}] → {self.chosen}"]
        parts += [f"by {', '.join(given)}"] if given else []
        parts += ["expected regrets " + ", ".join(f"{name} {regret:.3g}" for name, regret in ranked)] if ranked else []
        return "; ".join([*parts, *self.notes])


@dataclass(eq=False)
class Policy:
    """Decides at marked places of one run of a program, and keeps the trace. Visits may be forced to an option."""

    learnt: Mapping[str, Learnt]
    forced: Mapping[tuple[str, int], str] = field(default_factory=dict)
    overrules: bool = False
    """Whether it replaces the policies of the program itself, as in training."""
    outer: Policy | None = None
    """The policy that decides at places which this one does not know."""
    trace: list[Visit] = field(default_factory=list)
    _visits: Counter[str] = field(default_factory=Counter)

    def decide(self, label: str, options: tuple[str, ...], default: str, values: Mapping[str, Seen]) -> Visit:
        """The decision at one visit."""
        number = self._visits[label]
        self._visits[label] += 1
        if label not in self.learnt and self.outer is not None and (label, number) not in self.forced:
            visit = self.outer.decide(label, options, default, values)
        else:
            chosen, regrets, notes = self._verdict((label, number), options, default, values)
            visit = Visit(label, number, options, default, dict(values), chosen, regrets, notes)
        self.trace.append(visit)
        return visit

    def _verdict(
        self, place: tuple[str, int], options: tuple[str, ...], default: str, values: Mapping[str, Seen]
    ) -> Verdict:
        if place in self.forced and self.forced[place] in options:
            return Verdict(self.forced[place], {}, ("forced.",))
        if place[0] not in self.learnt:
            return Verdict(default, {}, (f"the default {default} stands: nothing was learnt for this choice.",))
        learnt = self.learnt[place[0]]
        verdict = learnt.decide(_looks(learnt, values), options)
        if verdict.notes and default != learnt.default:  # the caller's default
            notes = tuple(
                note.replace(f"the default {learnt.default} ", f"the default {default} ") for note in verdict.notes
            )
            return verdict._replace(chosen=default, notes=notes)
        return verdict


def _looks(learnt: Learnt, values: Mapping[str, Seen]) -> Callable[[str], float]:
    """Features by name. A feature that is not there, or a word that was not trained on, is outside of every range."""
    given = features_of(values)
    strange = {
        name for name, value in values.items() if isinstance(value, str) and f"{name} is {value}" not in learnt.ranges
    }

    def look(name: str) -> float:
        if name in given:
            return given[name]
        owner = name.split(" is ", maxsplit=1)[0]
        return 0.0 if owner in values and owner not in strange else float("nan")

    return look


_POLICY: ContextVar[Policy | None] = ContextVar("policy", default=None)


@contextmanager
def followed(policy: Policy, *, yields: bool = False) -> Iterator[list[Visit]]:
    """Within the block, and in this thread alone, the policy decides; its trace grows.

    If it *yields*, it decides only where the policy around the block knows nothing; that policy keeps the trace.
    """
    above = _POLICY.get()
    if above is not None and above.overrules:
        yield above.trace
        return
    if yields and above is not None:
        policy = replace(above, learnt={**policy.learnt, **above.learnt})  # one trace and one count of visits for both
    else:
        policy.outer = above
    token = _POLICY.set(policy)
    try:
        yield policy.trace
    finally:
        _POLICY.reset(token)


def choose(
    label: str,
    options: Sequence[str] | Mapping[str, Callable[[], Any]],
    /,
    *,
    default: str | None = None,
    **values: Any,
) -> Any:
    """Choose inside a running program: by what was learnt for *label*, else the default, which is the first option if
    none is named.

    The values are what the choice may depend on: public numbers and words, and answers that were measured already. From
    a list of names, the chosen one is returned; from a mapping of names to functions, what the chosen function returns.

    >>> import adyton as ad
    >>> ad.choose("how to go on", ["stop", "split"], depth=3)
    'stop'
    >>> ad.choose("how to go on", {"stop": lambda: 0, "split": lambda: 1}, default="split", depth=3)
    1
    """
    names = _names(label, options)
    if default is not None and default not in names:
        raise BadInput(no_such(f"option of {label!r}", default, names))
    standing = names[0] if default is None else default
    given = {name: seen(name, value) for name, value in values.items()}
    policy = _POLICY.get()
    chosen = standing if policy is None else policy.decide(label, names, standing, given).chosen
    return options[chosen]() if isinstance(options, Mapping) else chosen


def _names(label: str, options: Any) -> tuple[str, ...]:
    if not isinstance(label, str) or not label:
        raise BadInput(f"the label of a choice must be a text, given {shorten(label)}.")
    if isinstance(options, str) or not isinstance(options, Mapping | Sequence) or not options:
        raise BadInput(f"the options of {label!r} are a list of names, or functions by name, given {shorten(options)}.")
    names = tuple(options)
    if not all(isinstance(name, str) and name for name in names):
        raise BadInput(f"the options of {label!r} must have texts as names, given {shorten(list(names))}.")
    if len(set(names)) != len(names):
        raise BadInput(
            f"two options of {label!r} have the same name, given {shorten(list(names))}. Name each differently."
        )
    if isinstance(options, Mapping) and not all(map(callable, options.values())):
        raise BadInput(f"the options of {label!r} are functions of no arguments, by name.")
    return names


class Verdict(NamedTuple):
    """The chosen option, the regret expected of each, and why the default stands if it does."""

    chosen: str
    regrets: dict[str, float]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Figures:
    """The mean regret of one way to choose, on public data: by how much its score was below the best option's."""

    in_sample: float
    held_out: float | None
    """On data sets that it was not learnt from; None if there was only one."""
    error: float = 0.0
    """The standard error of the difference from the default, over data sets."""

    def __str__(self) -> str:
        held = "not known" if self.held_out is None else f"{self.held_out:.4g}"
        return f"{self.in_sample:.4g} in sample, {held} held out"


@dataclass(frozen=True, eq=False)
class Learnt:
    """Decides by a model within what it was trained on, and by the default everywhere else."""

    options: tuple[str, ...]
    default: str
    model: Model | None
    """None if the default stands everywhere."""
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """The range of each feature in training."""
    barred: tuple[str, ...] = ()
    """Options that did not beat the default where the model chose them, on held-out data: the default stands there."""
    figures: Mapping[str, Figures] = field(default_factory=dict)
    """For each kind of model, the default and the best single option."""
    reason: str = ""
    """Why this model, or the default, was taken."""

    def decide(self, look: Look, options: Sequence[str] | None = None) -> Verdict:
        """Ask the model, which looks at what it needs."""
        if options is not None and set(options) != set(self.options):
            return self._stands({}, f"the choice was learnt among {listing(self.options)}, not among these options")
        if self.model is None:
            return self._stands({}, self.reason)
        try:
            regrets = self.model.regrets(lambda name: self._seen(name, look(name)))
        except OutsideError as outside:
            return self._stands({}, str(outside))
        chosen = min(self.options, key=regrets.__getitem__)
        if chosen in self.barred:
            return self._stands(regrets, f"{chosen} did not beat it on held-out public data")
        return Verdict(chosen, regrets, ())

    def _seen(self, name: str, value: float) -> float:
        if name not in self.ranges:
            raise OutsideError(f"{name} was not seen in training")
        low, high = self.ranges[name]
        if not low <= value <= high:
            raise OutsideError(f"{name} = {value:.6g} lies outside of {low:.6g} to {high:.6g}, the range in training")
        return value

    def _stands(self, regrets: dict[str, float], why: str) -> Verdict:
        return Verdict(self.default, regrets, (f"the default {self.default} stands: {why}.",))

    def in_words(self) -> str:
        """What decides, and how every way to choose did on public data."""
        lines = [f"among {', '.join(self.options)}; the default is {self.default}."]
        if self.model is None:
            lines.append(f"The default stands: {self.reason}.")
        else:
            lines += [f"Decided by the model “{self.model.kind}”: {self.reason}.", self.model.in_words()]
            lines += [f"{name} is barred: it did not beat the default on held-out data." for name in self.barred]
            seen = (f"{name} from {low:.4g} to {high:.4g}" for name, (low, high) in self.ranges.items())
            lines.append(f"Trained on {', '.join(seen) or 'no features'}; the default stands outside of that.")
        return "\n".join([*lines, *(f"  mean regret of {name}: {figures}" for name, figures in self.figures.items())])

    def to_plain(self) -> dict[str, Any]:
        """For JSON."""
        model = None if self.model is None else {"kind": self.model.kind, "learnt": self.model.learnt()}
        return {
            "options": list(self.options),
            "default": self.default,
            "model": model,
            "ranges": {name: list(pair) for name, pair in self.ranges.items()},
            "barred": list(self.barred),
            "figures": {name: list(asdict(figures).values()) for name, figures in self.figures.items()},
            "reason": self.reason,
        }

    @classmethod
    def from_plain(cls, plain: Any, written: Model | None = None) -> Learnt:
        """What :meth:`to_plain` wrote; nothing in it is trusted. *written* is the program's own model."""
        options, barred = _option_names(plain["options"]), _option_names(plain["barred"])
        default, reason = plain["default"], plain["reason"]
        if len(set(options)) != len(options) or default not in options or not set(barred) < set(options):
            raise BadInput("options of a choice must have different names, and the default must be one of them.")
        ranges = {}
        for name, (low, high) in plain["ranges"].items():
            ranges[str(name)] = (_real(low), _real(high))
        figures = {}
        for name, (inside, held, error) in plain["figures"].items():
            figures[str(name)] = Figures(_real(inside), None if held is None else _real(held), _real(error))
        model = None
        if plain["model"] is not None:
            model = _model(plain["model"], options, written)
            if not model.asked <= ranges.keys():
                raise BadInput("a model asks for features that it was not trained on.")
        if not isinstance(reason, str):
            raise BadInput("the reason why a model was taken must be a text.")
        return cls(options, default, model, ranges, barred, figures, reason)


def _model(plain: Any, options: tuple[str, ...], written: Model | None) -> Model:
    kind = plain["kind"]
    if written is not None and kind == written.kind:
        return written
    if kind not in MODELS:
        raise BadInput(f"this program has no model {shorten(kind)}. There are {listing(MODELS)}.")
    return MODELS[kind].from_learnt(plain["learnt"], options)


def _option_names(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(name, str) and name for name in given):
        raise BadInput(f"options are names, given {shorten(given)}.")
    return tuple(given)


def _real(given: Any) -> float:
    if type(given) not in (int, float) or not np.isfinite(given):
        raise BadInput(f"a figure of a choice is a finite number, given {shorten(given)}.")
    return float(given)


MODELS: dict[str, type[Model]] = {kind.kind: kind for kind in (Fixed, TreeModel, SimilarRows, FormulaModel)}


_KIND = FileKind("adyton learned choices", 1, "a file of learned choices", "LearnedChoices.save writes such files.")


@dataclass(frozen=True)
class Gain:
    """The mean score of the whole program over public data sets, by the default and by what was learnt."""

    default: float
    in_sample: float
    held_out: float | None
    """By what was learnt from the other data sets; None if there was only one."""
    error: float
    """The standard error of the held-out difference, over data sets."""

    def __str__(self) -> str:
        held = "not known" if self.held_out is None else f"{self.held_out:.4g} ± {self.error:.2g}"
        return f"mean score {self.default:.4g} by defaults, {self.in_sample:.4g} learnt in sample, {held} held out"


@dataclass(frozen=True, eq=False)
class LearnedChoices:
    """What was learnt from public data for the marked places of a program, by label."""

    learnt: Mapping[str, Learnt]
    gain: Gain | None = None

    @contextmanager
    def followed(self, *, yields: bool = False) -> Iterator[list[Visit]]:
        """Within the block, in this thread, the places are decided by what was learnt; the trace grows.

        With *yields*, places that the choices around this block know too are left to them, and they keep the trace.
        """
        with followed(Policy(self.learnt), yields=yields) as trace:
            yield trace

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was learnt to a file: JSON, with a digest that shows later changes."""
        gain = None if self.gain is None else asdict(self.gain)
        learnt = {label: choice.to_plain() for label, choice in self.learnt.items()}
        _KIND.write({**_KIND.head, "learnt": learnt, "gain": gain}, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> LearnedChoices:
        """What :meth:`save` wrote. Nothing in the file is trusted."""
        return _KIND.read(path, _loaded)

    def explain(self) -> str:
        """What is decided where, and what it was worth on public data."""
        parts = [f"{label}: {choice.in_words()}" for label, choice in self.learnt.items()]
        return "\n\n".join([*parts, *([] if self.gain is None else [f"The whole program: {self.gain}."])])

    def __str__(self) -> str:
        return self.explain()


def _loaded(plain: dict[str, Any]) -> LearnedChoices:
    learnt = {str(label): Learnt.from_plain(choice) for label, choice in plain["learnt"].items()}
    saved = plain["gain"]
    if saved is None:
        return LearnedChoices(learnt)
    held = None if saved["held_out"] is None else float(saved["held_out"])
    gain = Gain(float(saved["default"]), float(saved["in_sample"]), held, float(saved["error"]))
    if not np.isfinite([gain.default, gain.in_sample, held or 0.0, gain.error]).all():
        raise BadInput("the mean scores of learned choices are finite numbers.")
    return LearnedChoices(learnt, gain)
