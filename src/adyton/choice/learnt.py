"""What was learnt for one choice: a model that refuses to extrapolate, the default, and how both did held out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from adyton.choice.kinds import MODELS
from adyton.choice.model import Look, Model, OutsideError
from adyton.errors import BadInput
from adyton.messages import listing, shorten


class Verdict(NamedTuple):
    """The option, what the model expects of each, and why the default stands if it does."""

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
    """The standard error of the difference to the default, over data sets."""

    def __str__(self) -> str:
        held = "not known" if self.held_out is None else f"{self.held_out:.4g}"
        return f"{self.in_sample:.4g} in sample, {held} held out"


@dataclass(frozen=True, eq=False)
class Learnt:
    """Decides by a model inside of what it was trained on, and by the default everywhere else."""

    options: tuple[str, ...]
    default: str
    model: Model | None
    """None if the default stands everywhere."""
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """What was seen of each feature in training."""
    barred: tuple[str, ...] = ()
    """Options that did not beat the default where the model took them, on held-out data: the default stands there."""
    figures: Mapping[str, Figures] = field(default_factory=dict)
    """By the kind of model, and for the default and the best single option."""
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
        low, high = self.ranges.get(name, (np.inf, -np.inf))
        if not low <= value <= high:
            raise OutsideError(f"{name} = {value:.6g} lies outside of {low:.6g} to {high:.6g}, all that was trained on")
        return value

    def _stands(self, regrets: dict[str, float], why: str) -> Verdict:
        return Verdict(self.default, regrets, (f"the default {self.default} stands: {why}.",))

    def in_words(self) -> str:
        """What decides, and what every way to choose did on public data."""
        lines = [f"among {', '.join(self.options)}; the default is {self.default}."]
        if self.model is None:
            lines.append(f"The default stands: {self.reason}.")
        else:
            lines += [f"Decided by the model “{self.model.kind}”: {self.reason}.", self.model.in_words()]
            lines += [f"{name} gives way to the default: it did not beat it held out." for name in self.barred]
            seen = (f"{name} from {low:.4g} to {high:.4g}" for name, (low, high) in self.ranges.items())
            lines.append(f"Trained on {', '.join(seen) or 'no features'}; the default stands outside of that.")
        return "\n".join([*lines, *(f"  mean regret of {name}: {one}" for name, one in self.figures.items())])

    def to_plain(self) -> dict[str, Any]:
        """For JSON."""
        model = None if self.model is None else {"kind": self.model.kind, "learnt": self.model.learnt()}
        return {
            "options": list(self.options),
            "default": self.default,
            "model": model,
            "ranges": {name: list(pair) for name, pair in self.ranges.items()},
            "barred": list(self.barred),
            "figures": {name: [one.in_sample, one.held_out, one.error] for name, one in self.figures.items()},
            "reason": self.reason,
        }

    @classmethod
    def from_plain(cls, plain: Any, written: Model | None = None) -> Learnt:
        """What :meth:`to_plain` wrote, checked as a stranger's. *written* is the model that stands in the program."""
        options, barred = _names(plain["options"]), _names(plain["barred"])
        default, reason = plain["default"], plain["reason"]
        if len(set(options)) != len(options) or default not in options or not set(barred) < set(options):
            raise BadInput("the options of a choice have names of their own, and the default is one of them.")
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
            raise BadInput("why a model was taken is said in words.")
        return cls(options, default, model, ranges, barred, figures, reason)


def _model(plain: Any, options: tuple[str, ...], written: Model | None) -> Model:
    kind = plain["kind"]
    if written is not None and kind == written.kind:
        return written
    if kind not in MODELS:
        raise BadInput(f"this program has no model {shorten(kind)}. There are {listing(MODELS)}.")
    return MODELS[kind].from_learnt(plain["learnt"], options)


def _names(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(name, str) and name for name in given):
        raise BadInput(f"options are names, given {shorten(given)}.")
    return tuple(given)


def _real(given: Any) -> float:
    if type(given) not in (int, float) or not np.isfinite(given):
        raise BadInput(f"a figure of a choice is a finite number, given {shorten(given)}.")
    return float(given)
