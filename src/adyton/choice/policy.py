"""Learned conditionals: places in a program that are decided by what public data taught, and the trace of visits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from adyton.choice.learnt import Learnt, Verdict
from adyton.choice.values import Seen, features_of, seen
from adyton.errors import BadInput
from adyton.messages import no_such, shorten


@dataclass(frozen=True, eq=False)
class Visit:
    """One visit of a place where a program chooses."""

    label: str
    number: int
    """How often the place was visited before."""
    options: tuple[str, ...]
    default: str
    values: Mapping[str, Seen]
    """What the choice was told."""
    chosen: str
    regrets: Mapping[str, float]
    """What the model expects of each option; empty where none was asked."""
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
        words = {name: one if isinstance(one, str) else f"{one:.6g}" for name, one in self.values.items()}
        told = [f"{name} = {word}" for name, word in words.items()]
        ranked = sorted(self.regrets.items(), key=lambda pair: pair[1])
        parts = [f"{self.label}[{self.number}] → {self.chosen}"]
        parts += [f"by {', '.join(told)}"] if told else []
        parts += ["expected regrets " + ", ".join(f"{name} {regret:.3g}" for name, regret in ranked)] if ranked else []
        return "; ".join([*parts, *self.notes])


@dataclass(eq=False)
class Policy:
    """Decides at marked places of one run of a program, and keeps the trace. Forced visits come first."""

    learnt: Mapping[str, Learnt]
    forced: Mapping[tuple[str, int], str] = field(default_factory=dict)
    overrules: bool = False
    """Whether it decides in the place of policies that the program itself brings along, as in training."""
    outer: Policy | None = None
    """Who decides at places that this one does not know."""
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
        found = learnt.decide(_looks(learnt, values), options)
        return found._replace(chosen=default) if found.notes else found  # the default of this very place


def _looks(learnt: Learnt, values: Mapping[str, Seen]) -> Callable[[str], float]:
    """Features by name. What is not there, or is a word that was not trained on, lies outside of every range."""
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

    If it *yields*, it decides only where the policy around the block knows nothing, in whose trace all visits are.
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

    The values are what the choice may depend on: public numbers and words, and answers that were measured already. Of a
    list of names the chosen one is returned; of a mapping from names to functions, what the chosen function returns.

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
    told = {name: seen(name, value) for name, value in values.items()}
    policy = _POLICY.get()
    chosen = standing if policy is None else policy.decide(label, names, standing, told).chosen
    return options[chosen]() if isinstance(options, Mapping) else chosen


def _names(label: str, options: Any) -> tuple[str, ...]:
    if not isinstance(label, str) or not label:
        raise BadInput(f"a choice has a label, which is a text, given {shorten(label)}.")
    if isinstance(options, str) or not isinstance(options, Mapping | Sequence) or not options:
        raise BadInput(f"the options of {label!r} are a list of names, or functions by name, given {shorten(options)}.")
    names = tuple(options)
    if not all(isinstance(name, str) and name for name in names):
        raise BadInput(f"the options of {label!r} have names, which are texts, given {shorten(list(names))}.")
    if len(set(names)) != len(names):
        raise BadInput(f"two options of {label!r} have one name, given {shorten(list(names))}. Name each differently.")
    if isinstance(options, Mapping) and not all(callable(one) for one in options.values()):
        raise BadInput(f"the options of {label!r} are functions of no arguments, by name.")
    return names
