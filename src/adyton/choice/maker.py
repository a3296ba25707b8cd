"""Choice makers: programs that choose among options by metafeatures, run the chosen option, and say why."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.choice.checked_file import FileKind
from adyton.choice.decision import Bought, Decision, Looks
from adyton.choice.formulas import Difference, Synthesiser
from adyton.choice.models import Lessons
from adyton.choice.options import Metafeature, Option, Written, metafeature_of, option_of, valuations
from adyton.choice.policy import Learnt
from adyton.choice.training import (
    Fit,
    Score,
    Trainer,
    budgets,
    learn,
    public_inputs,
    tried_on_twin,
    trusted_among,
    usual_fits,
)
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

    A metafeature is measured once, when the model first asks for it, for a fixed part of the *share*; what is not spent
    on metafeatures goes to the option. Before training, a choice maker uses the predictions of the options'
    programmers, if every option has one, and otherwise the default: the first option, unless another is named.
    :meth:`train` returns a trained choice maker.

    Imola and Yang, "Automatic, fine-grained algorithmic choice for differential privacy", 2018.
    """

    options: tuple[Option, ...]
    informed_by: tuple[Metafeature, ...] = field(default=(), kw_only=True)
    share: Fraction = field(default=Fraction(1, 20), kw_only=True)
    """The most that metafeatures may cost, as a part of ε."""
    score: Score | None = field(default=None, kw_only=True)
    """``score(answer, public)`` says how good an answer is on public data: higher is better."""
    default: str | None = field(default=None, kw_only=True)
    learnt: Learnt | None = field(default=None, kw_only=True, repr=False)
    most: int | None = field(default=None, kw_only=True, repr=False)
    """How many metafeatures the share is divided among."""
    differences: tuple[Difference, ...] = field(default=(), kw_only=True, repr=False)
    """The formulas that synthesis proposes instead of the options' own predictions."""
    trace: deque[Decision] = field(default_factory=lambda: deque(maxlen=_LONGEST_TRACE), init=False, repr=False)
    """The decisions so far, the latest last."""

    def __post_init__(self) -> None:
        options = tuple(map(option_of, _several(self.options, "options")))
        features = tuple(map(metafeature_of, _several(self.informed_by, "informed_by")))
        if not options:
            raise BadInput("a choice maker needs at least one option.")
        names, known = [option.name for option in options], [feature.name for feature in features]
        for kind, given in (("options", names), ("metafeatures", known)):
            if len(set(given)) != len(given):
                raise BadInput(f"two {kind} have the same name, given {listing(given)}. Name each differently.")
        if self.default is not None and self.default not in names:
            raise BadInput(no_such("option", self.default, names))
        written = Written.of(options, known)
        if written is not None and (unknown := written.asked - set(known)):
            raise BadInput(no_such("metafeature", min(unknown), known))
        object.__setattr__(self, "options", options)
        object.__setattr__(self, "informed_by", features)
        object.__setattr__(self, "share", part_of_budget(self.share, "share"))
        object.__setattr__(self, "default", names[0] if self.default is None else self.default)

    # ---- choosing ---------------------------------------------------------------------------------------------------

    def __call__(self, source: Source, *arguments: Any, epsilon: Rational) -> Any:
        """Choose, then run the chosen option: exactly ε in all. The decision is added to the trace."""
        decision = self.decide(source, epsilon=epsilon)
        chosen = next(option for option in self.options if option.name == decision.chosen)
        return chosen(source, *arguments, epsilon=decision.left)

    def decide(self, source: Source, *, epsilon: Rational) -> Decision:
        """Choose without running. The decision says what metafeatures cost; the rest of ε is for the option."""
        amount = positive(epsilon, "epsilon", computed=True)
        self._admit(source, amount)
        features = {feature.name: feature for feature in self.informed_by}
        looks = Looks(lambda name: self._buy(features[name], source, amount))
        chosen, regrets, notes = self._deciding().decide(looks)
        decision = Decision(chosen, amount - looks.spent, looks.bought, regrets, notes)
        self.trace.append(decision)
        return decision

    def _admit(self, source: Source, epsilon: Fraction) -> None:
        """Refuse a choice that cannot be carried out, before spending: metafeatures are tried on an empty
        twin."""
        if not isinstance(source, Source):
            raise BadInput(f"a choice maker needs a source of a kernel, given {shorten(source)}.")
        model = self._deciding().model
        for feature in self.informed_by:
            if model is not None and feature.name in model.asked:
                tried_on_twin(feature, source, epsilon, self._price(epsilon), trusted_among(self.informed_by))
        source.kernel.afford(source, epsilon)

    def _buy(self, feature: Metafeature, source: Source, epsilon: Fraction) -> Bought:
        if feature.free:
            return replace(feature.buy(source, epsilon), spent=Fraction(0), deviation=0.0)
        return feature.buy(source, self._price(epsilon))

    def _price(self, epsilon: Fraction) -> Fraction:
        """What each metafeature costs: no path asks for more of them than the share is divided among."""
        return self.share * epsilon / (self.most or max(1, self._private))

    @property
    def _private(self) -> int:
        """How many metafeatures cost something."""
        return sum(not feature.free for feature in self.informed_by)

    @property
    def _free(self) -> frozenset[str]:
        return frozenset(feature.name for feature in self.informed_by if feature.free)

    def _deciding(self) -> Learnt:
        """What was learnt; before training, the options' predictions, or else the default."""
        if self.learnt is not None:
            return self.learnt
        names = tuple(option.name for option in self.options)
        everywhere = {feature.name: (-np.inf, np.inf) for feature in self.informed_by}
        written = Written.of(self.options, tuple(everywhere))
        assert self.default is not None
        return Learnt(names, self.default, written, everywhere, reason="this choice maker was not trained")

    # ---- learning ---------------------------------------------------------------------------------------------------

    def train(
        self, public: Any, epsilons: Rational | Sequence[Rational] = 1, *, trials: int = 3, seed: int = 0
    ) -> ChoiceMaker:
        """A choice maker trained on public data: counts by the name of the data set, or a list of ``PublicData``.

        Each option runs on each data set at each budget, with the whole budget and with what the share for metafeatures
        leaves; metafeatures are as noisy as they are in use. Models are judged on data sets that were held out.
        """
        if self.score is None:
            raise BadInput("training needs a score: ChoiceMaker(…, score=…), which rates an answer on public data.")
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
        """A choice maker that has learnt from what a trainer measures on public data."""
        assert self.default is not None
        full, free = trainer.scores(Fraction(1)), self._free
        dear = trainer.scores(1 - self.share) if self._private else full
        written = Written.of(self.options, [feature.name for feature in self.informed_by])
        own: dict[str, Fit] = {} if written is None else {"written": lambda _: written}
        for most in range(1, max(1, self._private) + 1):  # the price and the model depend on each other
            lessons = trainer.lessons(most, full, dear)
            learnt = learn(lessons, self.default, usual_fits(lessons) | own, most=most, free=free)
            if learnt.model is None or learnt.model.most(free) <= most:
                break
        return replace(self, learnt=learnt, most=most, differences=self._differences(lessons))

    def _differences(self, lessons: Lessons) -> tuple[Difference, ...]:
        if not lessons.features:
            return ()
        best = Synthesiser(lessons).difference
        return tuple(best(option.name, option.predicts, valuations(option, lessons)) for option in self.options)

    # ---- words and files --------------------------------------------------------------------------------------------

    def explain(self) -> str:
        """What decides, what it costs, and how every way to choose did on public data."""
        names = ", ".join(feature.name for feature in self.informed_by) or "nothing"
        lines = [
            f"A choice {self._deciding().in_words()}",
            f"Informed by {names}, for at most {display(self.share)} of ε.",
        ]
        if self.differences:
            lines += [
                "Formulas that predict by how much an option's score is above the mean of all options:",
                *map(str, self.differences),
            ]
        return "\n".join(lines)

    def save(self, path: str | os.PathLike[str], about: Mapping[str, Any] | None = None) -> None:
        """Write what was learnt to a file: JSON, with a digest that shows later changes. *about* says how it was
        trained."""
        if self.learnt is None:
            raise BadInput("this choice maker was not trained, and there is nothing to save.")
        body = {
            "informed_by": [feature.name for feature in self.informed_by],
            "share": str(self.share),
            "most": self.most,
            "learnt": self.learnt.to_plain(),
            "about": dict(about or {}),
        }
        _KIND.write({**_KIND.head, **body}, path)

    def load(self, path: str | os.PathLike[str]) -> ChoiceMaker:
        """This choice maker with what was saved in a file; the options and metafeatures must have the same names."""
        return _KIND.read(path, self._loaded)

    def _loaded(self, plain: dict[str, Any]) -> ChoiceMaker:
        features = [feature.name for feature in self.informed_by]
        if plain["informed_by"] != features:
            raise BadInput(
                f"it was trained with the metafeatures {listing(plain['informed_by'])}, not {listing(features)}."
            )
        learnt = Learnt.from_plain(plain["learnt"], Written.of(self.options, features))
        names = [option.name for option in self.options]
        if sorted(learnt.options) != sorted(names):
            raise BadInput(f"it chooses among {listing(learnt.options)}, and this program has {listing(names)}.")
        if not isinstance(plain["share"], str):
            raise BadInput(f"the share is a text such as '1/20', given {shorten(plain['share'])}.")
        most = whole(plain["most"], "most", 1)
        if learnt.model is not None and learnt.model.most(self._free) > most:
            raise BadInput("it asks for more metafeatures than its share of the budget is divided among.")
        share = part_of_budget(plain["share"], "share")
        return replace(self, learnt=learnt, most=most, share=share, default=learnt.default, differences=())


def _several(given: Any, name: str) -> Sequence[Any]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise BadInput(f"{name} is a list, given {shorten(given)}.")
    return given
