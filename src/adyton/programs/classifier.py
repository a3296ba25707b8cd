"""A classifier: a learner on the rows of a table, and the model that it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from adyton.errors import BadInput
from adyton.kernel.sources import TableSource
from adyton.learning.classifier import Classifier, FittedClassifier
from adyton.learning.registry import LEARNERS, Learner
from adyton.learning.tree_growing import repeated
from adyton.programs.base import Answer, Outlook, Program
from adyton.result.misfits import NO_SHARE, MisfitShare
from adyton.schema import Schema
from adyton.tasks.request import Request


@dataclass(frozen=True, eq=False)
class Learning(Program):
    """A learner, and the label that it learns to predict."""

    noun = "a model"
    may_need_less = True
    result = FittedClassifier
    request: Request
    schema: Schema
    """The schema of the whole table, which the model keeps."""
    learner: Learner

    @classmethod
    def of(cls, request: Request, schema: Schema) -> Learning:
        """The program with the method that the classifier names."""
        if request.options or request.algorithm != "auto" or request.misfits:
            raise BadInput('a classifier names its method and options itself: ad.Classifier("ill", method=…).')
        task = request.task
        assert isinstance(task, Classifier)
        task.target(schema)
        return cls(request, schema, task.learner())

    @property
    def looks_at(self) -> tuple[str, ...] | None:
        """None: values that do not match the schema are not counted for a model."""
        return None

    def source(self, table: TableSource) -> TableSource:
        """The label, and the attributes that predict it."""
        task = self.request.task
        assert isinstance(task, Classifier)
        return table if task.attributes is None else table.select(*task.attributes, task.label)

    def check(self, source: TableSource, epsilon: Fraction) -> Callable[[], Answer]:
        """Run the checks of the learner."""
        task, keys = self.request.task, list[int]()
        assert isinstance(task, Classifier)
        learn = self.learner.prepared(source, task.label, epsilon)

        def run() -> Answer:
            with repeated(keys):
                learnt = learn()
            own = {"schema": learnt.model.target.whole, "model": learnt.model, "decisions": learnt.decisions}
            return Answer(learnt.method, own)

        return run

    def outlook(self, misfits: MisfitShare = NO_SHARE) -> LearningOutlook:
        """The outlook for the method: its accuracy depends on the data."""
        return LearningOutlook(self.learner.runs, self.schema)


@dataclass(frozen=True, eq=False)
class LearningOutlook(Outlook):
    """What can be known of a model beforehand: which method would run. How well it predicts depends on the data."""

    method: str
    schema: Schema
    misfits: MisfitShare = field(default=NO_SHARE)
    chooses = False
    ending = "How well a model predicts depends on the data; the report says how well the method did on public tables."

    @property
    def size(self) -> str:
        """The number of attributes."""
        return f"{len(self.schema.names)} attributes"

    def what_it_does(self, name: str) -> str:
        """A short description of a learner."""
        return LEARNERS.what_it_does(name)

    def errors(self, epsilon: Fraction) -> Mapping[str, Any]:
        """Unknown: the accuracy depends on the data."""
        return {self.method: None}
