"""All kinds of selectors, by the name under which they are saved."""

from __future__ import annotations

from adyton.selection.closed_form import ClosedForm
from adyton.selection.selector import Selector
from adyton.selection.similar_inputs import SimilarInputs
from adyton.selection.tree_selector import TreeSelector

KINDS: dict[str, type[Selector]] = {kind.kind: kind for kind in (SimilarInputs, TreeSelector, ClosedForm)}
