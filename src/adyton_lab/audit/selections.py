"""Do selections give away more than ε? Their own code is run once for every way its random choices can fall."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction

from adyton.kernel.audit_cases import claim
from adyton.kernel.mechanisms import AuditCase
from adyton_lab.audit.enumeration import EnumeratingSource, Run, largest_loss
from adyton_lab.audit.findings import Finding
from adyton_lab.audit.mechanisms import EPSILONS
from adyton_lab.audit.pairs import Counts, Pair, signed_pairs, vector_pairs

TOLERANCE = 1e-9


def audit_selection_exactly(case: AuditCase, *, pairs: int, advance: Callable[[], None] = lambda: None) -> Finding:
    """The largest loss of one audit case at every ε, exactly: over *pairs* neighbouring pairs and some below zero."""
    worst = 0.0
    neighbours = vector_pairs(case.domain, count=pairs) + signed_pairs(case.domain, count=max(1, pairs // 4))
    neighbours += [Pair("searched", left, right) for left, right in case.searched]
    for epsilon in EPSILONS:
        loss, pair = selection_loss(case, epsilon, neighbours)
        advance()
        worst = max(worst, loss / float(epsilon))
        if loss > float(epsilon) + TOLERANCE:
            name = "no pair" if pair is None else pair.name
            detail = f"loses {loss:.6g} at ε = {float(epsilon):g} on “{name}”."
            return Finding("selections", case.name, False, detail, {"loss/ε": worst})
    figures = {"claim": claim(case.mechanism), "largest/ε": round(worst, 4), "pairs": len(neighbours)}
    return Finding("selections", case.name, True, f"exactly at most {worst:.3f} of ε.", figures)


def selection_loss(case: AuditCase, epsilon: Fraction, pairs: Iterable[Pair]) -> tuple[float, Pair | None]:
    """The largest privacy loss of one case on these pairs, and the pair that has it."""

    def run_on(side: Counts) -> Run:
        def run(source: EnumeratingSource) -> Hashable:
            return tuple(case.mechanism.draw(case.prepare(side), epsilon, source, 1)[0].reshape(-1).tolist())

        return run

    return largest_loss(run_on, pairs)
