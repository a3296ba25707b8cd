"""``adyton predict``: predict a label for every row of a table, with a model that ``adyton fit`` has learnt."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer
from pyarrow import csv, parquet

from adyton.choice.checked_file import named_format
from adyton.cli.console import check_file, print_json, progress, remark
from adyton.cli.options import Data, NoBar
from adyton.drafts import replaced
from adyton.errors import AdytonError, BadInput
from adyton.learning import FittedClassifier
from adyton.learning.coding import kept_batches
from adyton.learning.model import KIND, Model, Predictions
from adyton.messages import harmless
from adyton.result.folder import harmless_column

_CSV, _PARQUET = ".csv", (".parquet", ".pq")
_Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="The folder that `adyton fit --out` wrote, or a model file.")
]
_File = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Write FILE.csv or FILE.parquet. Otherwise CSV is printed."),
]
_Probabilities = Annotated[bool, typer.Option("--probabilities", help="Also write how probable each class is.")]
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

    DATA needs the columns that the model predicts from; others are ignored. The rows of DATA are not protected: a
    prediction for a row is a fact about that row.
    """
    if overwrite and out_file is None:
        raise BadInput("--overwrite belongs to --out. Name the file that may be overwritten.")
    if keep and as_json and out_file is None:
        raise BadInput("--keep is for CSV and Parquet. Leave --json out, or give --out FILE.")
    if out_file is not None:
        if out_file.suffix.lower() not in (_CSV, *_PARQUET):
            raise BadInput(f"--out is FILE.csv or FILE.parquet, given {out_file}.")
        check_file(out_file, (model, data, data.rpartition("#")[0]), overwrite=overwrite)
    bare = not model.is_dir() and named_format(model) == KIND.format
    fitted = None if bare else FittedClassifier.load(model)
    learnt, weights = (Model.load(model), None) if fitted is None else (fitted.model, fitted.weights)
    beside, batches = kept_batches(data, learnt.schema, keep=keep)
    predictions = Predictions(learnt, probabilities=probabilities, beside=beside, weights=weights)
    bar = progress("predicting", quiet=quiet or as_json or out_file is None)
    with bar as advance, _sink(out_file, predictions, as_json=as_json) as write:
        for codes, kept in batches:
            write(predictions.of(codes, kept))
            advance(len(codes))
        if not predictions.rows:
            write(predictions.none())  # columns, even without rows
    if as_json and out_file is not None:
        print_json(
            {"label": learnt.label, "out": str(out_file), "rows": predictions.rows, "predicted": predictions.counted}
        )
    elif out_file is not None and not quiet:
        remark(f"The predictions for {predictions.rows:,} rows are in {out_file}.")


# ---- where predictions go: a file that appears when it is complete, or standard output, row by row -------------------


@contextmanager
def _sink(file: Path | None, predictions: Predictions, *, as_json: bool) -> Iterator[Callable[[pa.Table], None]]:
    """A function that takes tables of predictions, one after the other. A file is put in place only if the block
    ends well."""
    if file is None and as_json:
        yield from _printed_json(predictions)
    elif file is None:
        yield _csv_lines(lambda lines: sys.stdout.write(lines.decode()), predictions)
    else:
        try:
            with replaced(file.resolve()) as draft:
                if file.suffix.lower() in _PARQUET:
                    yield from _parquet_groups(draft)
                else:
                    with draft.open("wb") as opened:
                        yield _csv_lines(opened.write, predictions)
        except OSError as error:
            raise AdytonError(f"{file} could not be written: {error.strerror or error}.") from None


def _csv_lines(write: Callable[[bytes], object], predictions: Predictions) -> Callable[[pa.Table], None]:
    """Lines of CSV, with a header. Labels and names that a spreadsheet would run as formulas are made harmless; kept
    columns stay as they are."""
    names, headed = set(predictions.names), True

    def write_table(table: pa.Table) -> None:
        nonlocal headed
        columns = [
            harmless_column(column) if name in names and pa.types.is_string(column.type) else column
            for name, column in zip(table.column_names, table.columns, strict=True)
        ]
        heads = [harmless(name) if name in names else name for name in table.column_names]
        buffer = pa.BufferOutputStream()
        options = csv.WriteOptions(include_header=headed, quoting_style="needed")
        try:
            csv.write_csv(pa.Table.from_arrays(columns, names=heads), buffer, options)
        except pa.ArrowException as problem:
            raise BadInput(f"the kept columns cannot be written as CSV ({problem}). Give --out FILE.parquet.") from None
        headed = False
        write(buffer.getvalue().to_pybytes())

    return write_table


def _parquet_groups(file: Path) -> Iterator[Callable[[pa.Table], None]]:
    """A Parquet file with a row group for each table; the first table says what the columns are."""
    writer: Any = None

    def write_table(table: pa.Table) -> None:
        nonlocal writer
        writer = writer or parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)

    yield write_table
    writer.close()


def _printed_json(predictions: Predictions) -> Iterator[Callable[[pa.Table], None]]:
    """One JSON object on standard output: the label, its classes, and a list of predictions, or of objects with class
    and probabilities."""
    about = {"label": predictions.model.label, "classes": list(predictions.model.classes)}
    sys.stdout.write(f'{json.dumps(about, ensure_ascii=True)[:-1]}, "predictions": [')
    comma = ""

    def write_table(table: pa.Table) -> None:
        nonlocal comma
        labels: list[Any] = table.column(0).to_pylist()
        if predictions.probabilities:
            rows = zip(*(column.to_pylist() for column in table.columns[1:]), strict=True)
            labels = [{"class": label, "probabilities": row} for label, row in zip(labels, rows, strict=True)]
        for label in labels:
            sys.stdout.write(f"{comma}\n{json.dumps(label)}")
            comma = ","

    yield write_table
    sys.stdout.write("\n]}\n")
