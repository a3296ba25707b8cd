"""All kinds of models that can be kept in a file, by name."""

from __future__ import annotations

from adyton.choice.formula_model import FormulaModel
from adyton.choice.model import Fixed, Model, TreeModel
from adyton.choice.similar_rows import SimilarRows

MODELS: dict[str, type[Model]] = {kind.kind: kind for kind in (Fixed, TreeModel, SimilarRows, FormulaModel)}
