"""What all commands share: where they print, how they end, and how they show progress.

Exit codes: 0 done, 1 refused or failed, 2 bad input (nothing was spent), 130 interrupted, 143 terminated. An
error is one sentence on standard error.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from typer import Abort

from adyton import messages, odds
from adyton.errors import AdytonError, BadInput, LargeBudget, RowsChanged, UnfinishedRelease
from adyton.interrupts import Terminated

printable = messages.printable
DONE, REFUSED, BAD_INPUT, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143

_WIDTH_WITHOUT_TERMINAL = 120
_SPENDING = ("release", "plan")
"""The commands for which there is advice on unknown options."""


class InterruptedRelease(AdytonError):
    """Ctrl-C or a termination request, while something was released."""

    def __init__(self, message: str, interrupt: KeyboardInterrupt) -> None:
        super().__init__(message)
        self.code = TERMINATED if isinstance(interrupt, Terminated) else INTERRUPTED


def out() -> Console:
    """The console for results. To a file or a pipe it writes wide, plain lines."""
    return Console(
        highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else _width_without_terminal()
    )


def notes() -> Console:
    """The console for everything that is not a result: progress and remarks, on standard error."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def say(text: str) -> None:
    """Print a line of a result without wrapping it."""
    out().print(printable(text), soft_wrap=True)


def remark(text: str) -> None:
    """Print a remark on standard error; a warning in red."""
    notes().print(printable(text), soft_wrap=True, style="bold red" if text.startswith("WARNING") else None)


def print_json(value: object, stream: TextIO | None = None) -> None:
    """Write *value* to standard output, or another stream, as JSON, and nothing else."""
    stream = stream or sys.stdout
    readable = (stream.encoding or "").lower().replace("-", "") == "utf8"
    stream.write(json.dumps(value, indent=2, ensure_ascii=not readable, allow_nan=False) + "\n")


_closed: set[str] = set()
"""The streams that were closed when the program started."""


def open_streams() -> None:
    """Replace standard streams that were closed (``>&-``): otherwise the next file to be opened would get their number,
    and printed text would be written into it."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
            _closed.add(name)


def output_is_open() -> bool:
    """Whether standard output was open when the program started."""
    return "stdout" not in _closed


def say_first(sentences: Iterable[str]) -> None:
    """Print what everybody has to know, such as which rows were counted, before any number."""
    sys.stdout.writelines(f"{printable(said)}\n" for said in sentences)


def make_folder(folder: Path) -> None:
    """Make a folder to write to; one that cannot be written to is refused before hours of work begin."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BadInput(
            f"{folder} cannot be written to ({error.strerror or error}). Give --out a folder that you may write to."
        ) from None


def check_file(file: Path, used: Iterable[str | Path | None] = (), *, overwrite: bool, option: str = "--out") -> None:
    """Refuse a file that cannot be written, or that is an input of the command."""
    if any(path and file.resolve() == Path(path).resolve() for path in used):
        raise BadInput(f"{file} is an input of this command. Give {option} another file.")
    if file.is_dir() or not file.resolve().parent.is_dir():
        raise BadInput(f"{file} cannot be written: it is a folder, or its folder does not exist. Give {option} a file.")
    if file.exists() and not overwrite:
        raise BadInput(f"{file} exists already. Give {option} another file, or --overwrite.")


def plain_table() -> Table:
    """A table with a line under its header and nothing else."""
    return Table(box=box.SIMPLE_HEAD, pad_edge=False)


def complain(message: str) -> None:
    """Say what went wrong, in one line on standard error."""
    sys.stderr.write(f"adyton: {printable(' '.join(message.split()))}\n")


def accept_large(epsilon: Fraction, what: str, unit: str, *, yes: bool, quiet: bool = False) -> None:
    """Say on standard error what a large budget means for a *unit*; refuse a very large one without *yes*."""
    words = odds.remark(epsilon, what, unit)
    if words is None:
        return
    if epsilon > odds.VERY_LARGE and not yes:
        raise BadInput(f"{words} Ask for less, or add --yes if this is intended.")
    if not quiet:
        remark(f"Remark: {words}")


def exit_code(error: AdytonError) -> int:
    """The exit code, which tells a script what kind of error occurred."""
    if isinstance(error, InterruptedRelease):
        return error.code
    return BAD_INPUT if isinstance(error, BadInput) else REFUSED


def guard(run: Callable[[], Any]) -> int:
    """Call *run* and return the exit code; an error of Adyton or of the command line is printed as one sentence.

    Any other error is a defect, and its traceback is shown.
    """
    try:
        with warnings.catch_warnings():
            for kind in (LargeBudget, RowsChanged, UnfinishedRelease):  # the command line has its own words for these
                warnings.simplefilter("ignore", kind)
            code = run()
        sys.stdout.flush()
    except AdytonError as error:
        complain(str(error))
        return exit_code(error)
    except (KeyboardInterrupt, Abort):  # Abort comes from a prompt
        code = INTERRUPTED
    except BrokenPipeError:  # the reader, such as head, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return REFUSED
    except UnicodeEncodeError:
        complain("the output has characters that cannot be written here. Set PYTHONIOENCODING=utf-8, or use --json.")
        return REFUSED
    except OSError as error:
        complain(f"the output could not be written: {error.strerror or error}. What was charged stays charged.")
        return REFUSED
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        context = getattr(error, "ctx", None)
        unknown = getattr(error, "option_name", "") if hasattr(error, "possibilities") else ""
        way = instead_of(unknown or error.format_message()) if context and context.info_name in _SPENDING else None
        advice = f"Instead: {way}." if way else f"Try {context.command_path if context else 'adyton'} --help."
        said = error.format_message().rstrip(".")
        complain(f"{said}{'' if said.endswith('?') else '.'} {advice}")
        return BAD_INPUT
    if code == INTERRUPTED:
        complain("interrupted.")
    return code if isinstance(code, int) else DONE


@contextmanager
def progress(
    description: str, total: int | None = None, *, quiet: bool = False, kept: Path | None = None
) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error; the block gets a function that advances it by a number of steps.

    Nothing is shown if standard error is not a terminal, or with *quiet* (set it for ``--quiet`` and ``--json``). If
    work that is *kept* in a file is interrupted, a remark says that it can be continued.
    """
    try:
        if quiet or not sys.stderr.isatty():
            yield lambda steps: None
            return
        from rich.progress import Progress

        with Progress(console=notes(), transient=True) as bar:
            task = bar.add_task(description, total=total)
            yield lambda steps: bar.advance(task, steps)
    except KeyboardInterrupt:
        if kept is not None and not quiet:
            remark(f"What was measured is kept in {kept}: the same command continues from there.")
        raise


def _width_without_terminal() -> int:
    columns = os.environ.get("COLUMNS", "")
    return max(20, int(columns)) if columns.isascii() and columns.isdigit() else _WIDTH_WITHOUT_TERMINAL


# ---- advice in place of options that do not exist -------------------------------------------------------------------


_WAYS: Mapping[tuple[str, ...], str] = {
    ("average", "avg"): "--mean A gives the mean of an attribute, and --by B those of groups",
    ("median", "quantile", "percentile", "percentiles", "quartiles", "deciles"): (
        "--quantiles A --at median gives the median; --at quartiles, deciles or 0.1,0.9 gives others"
    ),
    ("min", "max", "minimum", "maximum"): (
        "the smallest or largest value belongs to one person; release --cdf A and read where the counts begin and end"
    ),
    ("std", "deviation", "stdev"): "--variance A also gives the standard deviation",
    ("group-by", "groupby", "group"): (
        "name several attributes together, as in --histogram department,sex; for numbers, --mean A --by department,sex"
    ),
    ("filter", "query"): '--where "age >= 65" selects some of the rows',
    ("eps", "budget", "privacy"): "the budget is --epsilon 0.5",
    ("output", "folder", "directory"): "--out FOLDER writes a report, a CSV and a JSON file",
    ("csv", "format"): "--out FOLDER writes estimate.csv, and --json prints everything",
    ("bins", "levels", "columns"): "bins and levels are declared in the schema file",
    ("seed", "random-state"): "there is no seed: noise that can be repeated does not protect anybody",
    ("delta",): "there is no δ: all releases are private with ε alone",
    ("force", "confirm"): "--yes accepts a large budget",
}
COMMAS = "attributes of one option are separated by commas, without spaces, as in --histogram age,sex"


def instead_of(option: str) -> str | None:
    """What to use in place of an unknown option or an extra argument; None if there is no advice.

    >>> instead_of("--eps")
    'the budget is --epsilon 0.5'
    """
    if "unexpected extra argument" in option:
        return COMMAS
    asked = option.lstrip("-").lower().replace("_", "-")
    return next((way for names, way in _WAYS.items() if asked in names), None)
