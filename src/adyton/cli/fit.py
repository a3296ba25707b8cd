"""``adyton fit``: learn a classifier from a table under differential privacy."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from adyton.cli.console import remark
from adyton.cli.delivery import deliver, delivered
from adyton.cli.options import (
    Accept,
    Connect,
    Dataset,
    LedgerFile,
    Quiet,
    SchemaOrNone,
    Table,
    TablesOrNone,
    TokenFile,
    Total,
    Where,
    Yes,
    files_of,
    table_of,
)
from adyton.cli.request import allowed_total, check_accepted, check_folder, options_of, schema_for
from adyton.errors import BadInput
from adyton.exact import budget
from adyton.interrupts import termination_interrupts
from adyton.learning import Classifier, learners
from adyton.learning.classifier import ACCURACY, METRICS
from adyton.result.folder import staged
from adyton.result.sheets import AS_IT_IS
from adyton.session import Session
from adyton.tasks.request import names_of


def _methods() -> list[str]:
    return ["auto", *learners()]


_Label = Annotated[str, typer.Option(metavar="ATTRIBUTE", help="What to predict: categorical or boolean.")]
_Epsilon = Annotated[str, typer.Option(help="The privacy budget of this model, for example 1.")]
_Attributes = Annotated[
    str | None, typer.Option(metavar="A,B…", help="Predict from these attributes; by default from all others.")
]
_Method = Annotated[
    str,
    typer.Option(
        help="A method, such as naive-bayes; auto is profiled-tree, on merged cells.", autocompletion=_methods
    ),
]
_Metric = Annotated[
    str,
    typer.Option(
        help="What predictions are to be good at: accuracy, auc or 'balanced accuracy', which also finds rare classes.",
        autocompletion=lambda: list(METRICS),
    ),
]
_Option = Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of the method.")]
_Folder = Annotated[
    Path | None, typer.Option("--out", metavar="FOLDER", help="Write the model and a report here.", show_default=False)
]
_Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a model in FOLDER.")]
_AsJson = Annotated[bool, typer.Option("--json", help="Print the model as JSON.")]


def command(
    label: _Label,
    epsilon: _Epsilon,
    data: TablesOrNone = None,
    schema: SchemaOrNone = None,
    attributes: _Attributes = None,
    method: _Method = "auto",
    metric: _Metric = ACCURACY,
    option: _Option = None,
    table: Table = None,
    where: Where = None,
    ledger: LedgerFile = None,
    total: Total = None,
    dataset: Dataset = None,
    accept: Accept = None,
    connect: Connect = None,
    token_file: TokenFile = None,
    out_folder: _Folder = None,
    overwrite: _Overwrite = False,
    yes: Yes = False,
    as_json: _AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn a classifier under differential privacy. The model is public; `adyton predict` uses it free of charge."""
    if out_folder is None and not as_json:
        raise BadInput("give --out FOLDER or --json. Otherwise the model would be paid for and lost.")
    names = None if attributes is None else names_of(attributes)
    classifier = Classifier(label, names, method, metric=metric, **options_of(option))
    at_service = {"ledger": ledger, "total": total, "accept": accept}
    declared, remote = schema_for(connect, dataset, token_file, data, schema, table, **at_service)
    classifier.target(declared)
    check_accepted(accept or ())
    amount = budget(epsilon, "--epsilon")
    check_folder(out_folder, (*files_of(data), schema, ledger), overwrite=overwrite)
    allowed = allowed_total(amount, total, declared, ledger, yes=yes, quiet=quiet, what="a model", remote=remote)
    folder = nullcontext() if out_folder is None else staged(out_folder, overwrite=overwrite)
    with termination_interrupts(), folder as place:
        session = remote or Session(
            table_of(data or []),
            table=table,
            schema=declared,
            epsilon=allowed,
            ledger=ledger,
            dataset=dataset,
            accept=accept or (),
        )
        ask = partial(session.fit, classifier, amount, where=where)
        hand_over = partial(deliver, place=place, look=AS_IT_IS, as_json=as_json, quiet=quiet)
        delivered(session, ask, hand_over, "learning", place=place, quiet=quiet or as_json)
    if not (quiet or as_json):
        remark(f"`adyton predict {out_folder} DATA` predicts with it, at no cost in privacy.")
