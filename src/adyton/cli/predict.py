"""``adyton predict``: rows in, predictions out, in the same order."""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from adyton.cli.console import notes, print_json, printable, progress
from adyton.cli.options import Data, NoBar
from adyton.errors import AdytonError, BadInput

if TYPE_CHECKING:
    import pyarrow as pa

    from adyton.learning.model import Predictions

_CSV, _PARQUET = (".csv",), (".parquet", ".pq")
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
    from adyton.learning import FittedClassifier
    from adyton.learning.coding import kept_batches
    from adyton.learning.model import KIND, Model, Predictions

    bare = not model.is_dir() and named_format(model) == KIND.format
    learnt = Model.load(model) if bare else FittedClassifier.load(model).model
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


# ---- where predictions go: a file that appears when it is complete, or standard output, row by row -------------------


class PredictionSink(ABC):
    """Takes tables of predictions, one after the other; all have the same columns."""

    @abstractmethod
    def write(self, table: pa.Table) -> None:
        """Take some rows."""

    def close(self) -> None:
        """There are no more rows."""
        return


class CsvSink(PredictionSink):
    """Lines of CSV, with a header."""

    def __init__(self, file: IO[bytes] | None, predicted: Iterable[str]) -> None:
        self._file, self._predicted, self._begun = file, set(predicted), False

    def write(self, table: pa.Table) -> None:
        """As text; a class that a spreadsheet would run as a formula is made harmless."""
        import pyarrow as pa
        from pyarrow import csv

        buffer = pa.BufferOutputStream()
        options = csv.WriteOptions(include_header=not self._begun, quoting_style="needed")
        try:
            csv.write_csv(_harmless(table, self._predicted), buffer, options)
        except pa.ArrowException as problem:
            raise BadInput(f"the kept columns cannot be written as CSV ({problem}). Give --out FILE.parquet.") from None
        self._begun = True
        if self._file is None:
            sys.stdout.write(buffer.getvalue().to_pybytes().decode())
        else:
            self._file.write(buffer.getvalue())


class ParquetSink(PredictionSink):
    """A Parquet file, with a group of rows for each table."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: Any = None

    def write(self, table: pa.Table) -> None:
        """The first table says what the columns are."""
        from pyarrow import parquet

        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        """Write the end of the file."""
        if self._writer is not None:
            self._writer.close()


class JsonSink(PredictionSink):
    """One JSON object: the classes, and a list of what was predicted."""

    def __init__(self, found: Predictions) -> None:
        self._found, self._comma = found, ""
        head = json.dumps({"label": found.model.label, "classes": list(found.model.classes)}, ensure_ascii=True)
        sys.stdout.write(f'{head[:-1]}, "predictions": [')

    def write(self, table: pa.Table) -> None:
        """The labels or, with probabilities, objects that have both."""
        labels: list[Any] = table.column(0).to_pylist()
        if self._found.probabilities:
            rows = zip(*(column.to_pylist() for column in table.columns[1:]), strict=True)
            labels = [{"class": one, "probabilities": row} for one, row in zip(labels, rows, strict=True)]
        for one in labels:
            sys.stdout.write(f"{self._comma}\n{json.dumps(one)}")
            self._comma = ","

    def close(self) -> None:
        """The end of the object."""
        sys.stdout.write("\n]}\n")


def check_file(file: Path | None, used: Iterable[str | Path], *, overwrite: bool) -> None:
    """Refuse a file that cannot be written, or is one that is read."""
    if file is None:
        return
    if file.suffix.lower() not in _CSV + _PARQUET:
        raise BadInput(f"--out is FILE.csv or FILE.parquet, given {file}.")
    if any(one and file.resolve() == Path(one).resolve() for one in used):
        raise BadInput(f"{file} is read: predictions cannot be written to it. Give --out another file.")
    if file.is_dir() or not file.resolve().parent.is_dir():
        raise BadInput(f"{file} cannot be written: it is a folder, or lies in none. Give --out a file.")
    if file.exists() and not overwrite:
        raise BadInput(f"{file} exists already. Give --out another file, or --overwrite.")


@contextmanager
def sink_for(file: Path | None, found: Predictions, *, as_json: bool) -> Iterator[PredictionSink]:
    """Where predictions go. A file is put in place when the block ends well, and else there is none."""
    if file is None:
        sink: PredictionSink = JsonSink(found) if as_json else CsvSink(None, found.names)
        yield sink
        sink.close()
        return
    from adyton.drafts import replaced

    try:
        with replaced(file.resolve()) as draft:
            if file.suffix.lower() in _PARQUET:
                sink = ParquetSink(draft)
                yield sink
                sink.close()
            else:
                with draft.open("wb") as opened:
                    yield CsvSink(opened, found.names)
    except OSError as error:
        raise AdytonError(f"{file} could not be written: {error.strerror or error}.") from None


def _harmless(table: pa.Table, names: set[str]) -> pa.Table:
    """The same with labels and names that no spreadsheet takes for formulas; what was kept stays as it is."""
    import pyarrow as pa

    from adyton.messages import harmless
    from adyton.result.folder import harmless_column

    columns = [
        harmless_column(column) if name in names and pa.types.is_string(column.type) else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, names=[harmless(one) if one in names else one for one in table.column_names])
