"""Choice makers: from options and what informs the choice among them to one program that chooses, runs and says why."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.choice.checked_file import FileKind
from adyton.choice.decision import Bought, Decision, Looks
from adyton.choice.judging import learn, usual_fits
from adyton.choice.metafeatures import Metafeature, metafeature_of
from adyton.choice.model import Lessons
from adyton.choice.options import Option, Written, option_of, valuations
from adyton.choice.policy import Learnt
from adyton.choice.synthesis import Difference, Synthesiser
from adyton.choice.training import Score, Trainer, budgets, public_inputs, tried, trusted_among, twin
from adyton.errors import BadInput
from adyton.exact import Rational, display, positive
from adyton.exact import share as part_of_budget
from adyton.kernel.sources import Source
from adyton.messages import listing, no_such, shorten
from adyton.whole import whole

_KIND = FileKind("adyton choice maker", 1, "a choice maker", "ChoiceMaker.save writes such files.")
_LONGEST_TRACE = 10_000


@dataclass(frozen=True, eq=False)
class ChoiceMaker:
    """Chooses among options by noisy metafeatures, and runs the choice with what is left: exactly ε in all.

    A metafeature is measured when the model asks for it, once, for a fixed part of the *share*; what is not spent on
    them goes to the option. Before it is trained, a choice maker goes by what the options' programmers predict, if all
    do, and else by the default, the first option if none is named. :meth:`train` returns a trained one.

    Imola and Yang, "Automatic, fine-grained algorithmic choice for differential privacy", 2018.
    """

    options: tuple[Option, ...]
    informed_by: tuple[Metafeature, ...] = field(default=(), kw_only=True)
    share: Fraction = field(default=Fraction(1, 20), kw_only=True)
    """The most that metafeatures may cost, as a part of ε."""
    score: Score | None = field(default=None, kw_only=True)
    """``score(answer, public)`` says how good an answer is on public data: the higher the better."""
    default: str | None = field(default=None, kw_only=True)
    learnt: Learnt | None = field(default=None, kw_only=True, repr=False)
    most: int | None = field(default=None, kw_only=True, repr=False)
    """How many metafeatures the share is divided among."""
    differences: tuple[Difference, ...] = field(default=(), kw_only=True, repr=False)
    """What synthesis proposes in the place of the options' own predictions."""
    trace: deque[Decision] = field(default_factory=lambda: deque(maxlen=_LONGEST_TRACE), init=False, repr=False)
    """What was chosen so far, and why; the last choice is the last entry."""

    def __post_init__(self) -> None:
        options = tuple(option_of(one) for one in _several(self.options, "options"))
        features = tuple(metafeature_of(one) for one in _several(self.informed_by, "informed_by"))
        if not options:
            raise BadInput("a choice maker needs at least one option.")
        for kind, names in (
            ("options", [one.name for one in options]),
            ("metafeatures", [one.name for one in features]),
        ):
            if len(set(names)) != len(names):
                raise BadInput(f"two {kind} have one name, given {listing(names)}. Name each differently.")
        names = [one.name for one in options]
        if self.default is not None and self.default not in names:
            raise BadInput(no_such("option", self.default, names))
        written = Written.of(options, [one.name for one in features])
        if written is not None and not written.asked <= {one.name for one in features}:
            strange = min(written.asked - {one.name for one in features})
            raise BadInput(no_such("metafeature", strange, [one.name for one in features]))
        object.__setattr__(self, "options", options)
        object.__setattr__(self, "informed_by", features)
        object.__setattr__(self, "share", part_of_budget(self.share, "share"))
        object.__setattr__(self, "default", names[0] if self.default is None else self.default)

    # ---- choosing ---------------------------------------------------------------------------------------------------

    def __call__(self, source: Source, *arguments: Any, epsilon: Rational) -> Any:
        """Choose, then run the choice: ε in all. The decision is added to the trace."""
        amount = positive(epsilon, "epsilon", computed=True)
        self.admit(source, amount)
        decision = self._decide(source, amount)
        self.trace.append(decision)
        return self._option(decision.chosen)(source, *arguments, epsilon=decision.left)

    def decide(self, source: Source, *, epsilon: Rational) -> Decision:
        """Choose only, spending on metafeatures what the decision says; the rest is for the option."""
        amount = positive(epsilon, "epsilon", computed=True)
        self.admit(source, amount)
        decision = self._decide(source, amount)
        self.trace.append(decision)
        return decision

    def admit(self, source: Source, epsilon: Fraction) -> None:
        """Refuse what cannot be carried out, before anything is spent: metafeatures are tried on an empty twin."""
        if not isinstance(source, Source):
            raise BadInput(f"a choice maker needs a source of a kernel, given {shorten(source)}.")
        for one in self._asked():
            tried(
                one, lambda amount: twin(source, amount, trusted_among(self.informed_by)), epsilon, self._price(epsilon)
            )
        source.kernel.afford(source, epsilon)

    def _decide(self, source: Source, epsilon: Fraction) -> Decision:
        features = {one.name: one for one in self.informed_by}
        looks = Looks(lambda name: self._buy(features[name], source, epsilon))
        chosen, regrets, notes = self._deciding().decide(looks)
        return Decision(chosen, epsilon - looks.spent, looks.bought, regrets, notes)

    def _buy(self, one: Metafeature, source: Source, epsilon: Fraction) -> Bought:
        if one.free:
            return replace(one.buy(source, epsilon), spent=Fraction(0), deviation=0.0)
        return one.buy(source, self._price(epsilon))

    def _price(self, epsilon: Fraction) -> Fraction:
        """What each metafeature costs: no path asks for more of them than the share is divided among."""
        private = [one for one in self.informed_by if not one.free]
        return self.share * epsilon / (self.most or max(1, len(private)))

    def _asked(self) -> list[Metafeature]:
        model = self._deciding().model
        return [] if model is None else [one for one in self.informed_by if one.name in model.asked]

    def _deciding(self) -> Learnt:
        """What was learnt; before that, what the options predict; else the default."""
        if self.learnt is not None:
            return self.learnt
        names = tuple(one.name for one in self.options)
        everywhere = {one.name: (-np.inf, np.inf) for one in self.informed_by}
        written = Written.of(self.options, tuple(everywhere))
        assert self.default is not None
        return Learnt(names, self.default, written, everywhere, reason="this choice maker was not trained")

    def _option(self, name: str) -> Option:
        return next(one for one in self.options if one.name == name)

    # ---- learning ---------------------------------------------------------------------------------------------------

    def train(
        self, public: Any, epsilons: Rational | Sequence[Rational] = 1, *, trials: int = 3, seed: int = 0
    ) -> ChoiceMaker:
        """A choice maker that knows public data: counts by the name of the data set, or a list of ``PublicData``.

        Each option runs on each of them at each budget, with all of it and with what the share for metafeatures leaves;
        the metafeatures are as noisy as they will be. What is learnt is judged on data sets that were held out.
        """
        if self.score is None:
            raise BadInput("training needs a score: ChoiceMaker(…, score=…), how good an answer is on public data.")
        inputs, amounts = public_inputs(public), budgets(epsilons)
        trainer = Trainer(
            self.options,
            self.informed_by,
            self.share,
            self.score,
            inputs,
            amounts,
            whole(trials, "trials", 1),
            whole(seed, "seed", 0),
        )
        return self.taught(trainer)

    def taught(self, trainer: Trainer) -> ChoiceMaker:
        """A choice maker that knows what a trainer measures on public data."""
        private = [one for one in self.informed_by if not one.free]
        full = trainer.scores(Fraction(1))
        dear = trainer.scores(1 - self.share) if private else full
        free = frozenset(one.name for one in self.informed_by if one.free)
        for most in range(
            1, max(1, len(private)) + 1
        ):  # the price follows from the model, and the model from the price
            lessons = trainer.lessons(most, full, dear)
            learnt = self._learn(lessons, most, free)
            if learnt.model is None or learnt.model.most(free) <= most:
                break
        return replace(self, learnt=learnt, most=most, differences=self._differences(lessons))

    def _learn(self, lessons: Lessons, most: int, free: frozenset[str]) -> Learnt:
        written = Written.of(self.options, lessons.features)
        fits: dict[str, Callable[[Lessons], Any]] = dict(usual_fits(lessons))
        if written is not None:
            fits["written"] = lambda _: written
        assert self.default is not None
        return learn(lessons, self.default, fits, most=most, free=free)

    def _differences(self, lessons: Lessons) -> tuple[Difference, ...]:
        if not lessons.features:
            return ()
        synthesiser = Synthesiser(lessons)
        return tuple(synthesiser.difference(one.name, one.predicts, valuations(one, lessons)) for one in self.options)

    # ---- words and files --------------------------------------------------------------------------------------------

    def explain(self) -> str:
        """What decides, what it costs, and what every way to choose did on public data."""
        names = ", ".join(one.name for one in self.informed_by) or "nothing"
        lines = [
            f"A choice {self._deciding().in_words()}",
            f"Informed by {names}, for at most {display(self.share)} of ε.",
        ]
        if self.differences:
            lines += [
                "Formulas for by how much an option's score is above the mean of all:",
                *map(str, self.differences),
            ]
        return "\n".join(lines)

    def save(self, path: str | os.PathLike[str], about: Mapping[str, Any] | None = None) -> None:
        """Write what was learnt to a file: JSON, with a digest that shows later changes. *about* says where it is
        from."""
        if self.learnt is None:
            raise BadInput("this choice maker was not trained, and there is nothing to save.")
        features = [one.name for one in self.informed_by]
        body: dict[str, Any] = {
            "informed_by": features,
            "share": str(self.share),
            "most": self.most,
            "learnt": self.learnt.to_plain(),
        }
        body["about"] = dict(about or {})
        _KIND.write({**_KIND.head, **body}, path)

    def load(self, path: str | os.PathLike[str]) -> ChoiceMaker:
        """This choice maker, with what was saved by one whose options and metafeatures have the same names."""
        return _KIND.read(path, self._loaded)

    def _loaded(self, plain: dict[str, Any]) -> ChoiceMaker:
        features = [one.name for one in self.informed_by]
        if plain["informed_by"] != features:
            raise BadInput(
                f"it was trained with the metafeatures {listing(plain['informed_by'])}, not {listing(features)}."
            )
        learnt = Learnt.from_plain(plain["learnt"], Written.of(self.options, features))
        names = [one.name for one in self.options]
        if sorted(learnt.options) != sorted(names):
            raise BadInput(f"it chooses among {listing(learnt.options)}, and this program has {listing(names)}.")
        if not isinstance(plain["share"], str):
            raise BadInput(f"the share is a text such as '1/20', given {shorten(plain['share'])}.")
        most = whole(plain["most"], "most", 1)
        free = frozenset(one.name for one in self.informed_by if one.free)
        if learnt.model is not None and learnt.model.most(free) > most:
            raise BadInput("it asks for more metafeatures than its share of the budget is divided among.")
        share = part_of_budget(plain["share"], "share")
        return replace(self, learnt=learnt, most=most, share=share, default=learnt.default, differences=())


def _several(given: Any, name: str) -> Sequence[Any]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise BadInput(f"{name} is a list, given {shorten(given)}.")
    return given
