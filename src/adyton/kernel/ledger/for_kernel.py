"""The ledger that a kernel charges: opened for it, or given to it open."""

from __future__ import annotations

import os
from fractions import Fraction

from adyton.errors import BadInput, LedgerMismatch
from adyton.exact import display
from adyton.grid import rounded_down
from adyton.kernel.ledger import arguments
from adyton.kernel.ledger.ledger import Ledger
from adyton.kernel.ledger.tally import Tally


def ledger_for(
    given: Ledger | Tally | str | os.PathLike[str] | None,
    total: Fraction,
    dataset: str | None,
    otherwise: str,
    *,
    private: bool,
) -> Ledger | Tally:
    """The ledger of a data set, called *otherwise* if it has no name.

    One that is open already must have been opened for the same total and data set.
    """
    if isinstance(given, Tally) and private:
        raise BadInput("the tally of a simulation is no ledger. Give the path of a ledger, or none.")
    if dataset is not None:
        arguments.text(dataset, "dataset")
    if isinstance(given, Ledger | Tally):
        ledger = given
    else:
        ledger = Ledger.open(given, total=total, dataset=otherwise if dataset is None else dataset)
    held = ledger.total if isinstance(ledger, Tally) else rounded_down(ledger.total)
    for word, here, there in (("total", total, held), ("dataset", dataset, ledger.dataset)):
        if here not in (None, there):
            raise LedgerMismatch(
                f"the ledger is open for the {word} {_shown(there)}, the kernel was asked for {_shown(here)}. Give "
                "both the same."
            )
    return ledger


def _shown(term: Fraction | str | None) -> str:
    return display(term) if isinstance(term, Fraction) else str(term)
