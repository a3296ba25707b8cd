"""``adyton predict``: rows in, predictions out, in the same order."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adyton.cli.console import notes, print_json, printable, progress
from adyton.cli.options import Data, NoBar
from adyton.cli.prediction_sinks import check_file, sink_for
from adyton.errors import BadInput

_Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="The folder that `adyton fit --out` wrote, or the file of a model.")
]
_File = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Write FILE.csv or FILE.parquet; else CSV is printed."),
]
_Probabilities = Annotated[bool, typer.Option("--probabilities", help="How probable each class is, too.")]
_Keep = Annotated[bool, typer.Option("--keep", help="Repeat all columns of DATA before the prediction.")]
_Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace FILE.")]
_AsJson = Annotated[bool, typer.Option("--json", help="Print JSON: the predictions or, with --out, a summary.")]


def command(
    model: _Model,
    data: Data,
    out_file: _File = None,
    probabilities: _Probabilities = False,
    keep: _Keep = False,
    overwrite: _Overwrite = False,
    as_json: _AsJson = False,
    quiet: NoBar = False,
) -> None:
    """Predict a label for every row of a table, in the order of its rows. Spends nothing.

    DATA needs the columns that the model predicts from; others do not matter. What is predicted for a row is a fact
    about that row, and is not protected.
    """
    if overwrite and out_file is None:
        raise BadInput("--overwrite belongs to --out. Name the file that may be overwritten.")
    if keep and as_json and out_file is None:
        raise BadInput("--keep is for CSV and Parquet. Leave --json out, or give --out FILE.")
    check_file(out_file, (model, data, data.rpartition("#")[0]), overwrite=overwrite)
    from adyton.choice.checked_file import named_format
    from adyton.learning import FittedClassifier, model_file
    from adyton.learning.coding import kept_batches
    from adyton.learning.predictions import Predictions

    bare = not model.is_dir() and named_format(model) == model_file.KIND.format
    learnt = model_file.read(model) if bare else FittedClassifier.load(model).model
    beside, batches = kept_batches(data, learnt.schema, keep=keep)
    found = Predictions(learnt, probabilities=probabilities, beside=beside)
    bar = progress("predicting", quiet=quiet or as_json or out_file is None)
    with bar as advance, sink_for(out_file, found, as_json=as_json) as sink:
        for codes, kept in batches:
            sink.write(found.of(codes, kept))
            advance(len(codes))
        if not found.rows:
            sink.write(found.none())  # a table without rows has columns all the same
    if as_json and out_file is not None:
        print_json({"label": learnt.label, "out": str(out_file), "rows": found.rows, "predicted": found.counted})
    elif out_file is not None and not quiet:
        notes().print(printable(f"{found.rows:,} rows are predicted in {out_file}."), soft_wrap=True)
