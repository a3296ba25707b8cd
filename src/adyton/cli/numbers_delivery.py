"""What comes of a release of numbers once it is paid for: it reaches the person, whatever happens next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from adyton.cli.console import InterruptedRelease, notes, out, plain_table, print_json, printable
from adyton.cli.delivery import print_anything
from adyton.errors import AdytonError
from adyton.exact import display
from adyton.interrupts import deferred

if TYPE_CHECKING:
    from adyton.release.staging import Place
    from adyton.statistics.numbers_release import NumbersRelease
    from adyton.statistics.numbers_saving import SavedNumbers

_SHOWN = 200
"""How many groups are printed of what stands in a folder. Without one, all of them are."""


def deliver_numbers(
    release: NumbersRelease,
    place: Place | None,
    *,
    as_json: bool,
    quiet: bool,
    interrupt: KeyboardInterrupt | None = None,
) -> None:
    """Write what was measured, then what follows from it, then print it; after an interrupt, only the first."""
    print_anything()
    saved = _put_down(release, place)
    try:
        if interrupt is not None:
            raise interrupt
        problems = [] if saved is None else saved.finish()
        with deferred():
            if as_json:
                _print(release)
            elif not quiet or place is None:
                show(release, None if place is None else _SHOWN)
    except BrokenPipeError:
        raise
    except (KeyboardInterrupt, Exception) as came:  # whatever it is: what was paid for must not be lost over it
        if place is None:
            _print_measured(release)
        if isinstance(came, KeyboardInterrupt):
            raise InterruptedRelease(f"interrupted. {_kept(release, place)}", came) from None
        raise AdytonError(f"not all could be made of it ({type(came).__name__}). {_kept(release, place)}") from None
    if not (quiet or as_json):
        _remark(release, place)
    for problem in problems:
        notes().print(printable(problem), soft_wrap=True)
    if release.unfinished is not None:
        raise AdytonError(f"{release.unfinished} {_kept(release, place)}")


def show(release: NumbersRelease, most: int | None = None) -> None:
    """A line for each group: its labels, then every statistic with its bounds."""
    from adyton.report.scales import figure

    table = plain_table()
    for name in release.task.by:
        table.add_column(printable(name))
    figures = release.figures()
    for one in figures:
        table.add_column(printable(one.name), justify="right")
        table.add_column("95% bounds", justify="right")
    for line, group in enumerate(release.groups[:most]):
        cells = [printable(str(label)) for label in group]
        for one in figures:
            cells.append(figure(float(one.estimate[line])) if one.known else "–")
            bounds = f"{figure(float(one.lower[line]))} … {figure(float(one.upper[line]))}"
            cells.append(bounds if one.known else "–")
        table.add_row(*cells)
    out().print(table)
    left = len(release.groups) - (most or len(release.groups))
    if left > 0:
        out().print(f"… and {left:,} more groups; the folder has all of them.")


def explain_numbers(file: Path, *, as_json: bool) -> None:
    """Why a program ran, how far off the numbers are, and all of them."""
    from adyton.statistics.numbers_release import NumbersRelease
    from adyton.statistics.numbers_saving import answers

    release = NumbersRelease.load(file)
    if as_json:
        print_json({"explanation": list(release.explain().paragraphs), "answers": answers(release)})
        return
    for paragraph in release.explain().paragraphs:
        out().print(printable(paragraph), soft_wrap=True)
    show(release, _SHOWN)


def _put_down(release: NumbersRelease, place: Place | None) -> SavedNumbers | None:
    """Have what was measured where nothing can happen to it: in the folder, or else on standard output."""
    from adyton.statistics.numbers_saving import save

    try:
        return None if place is None else save(release, place)
    except KeyboardInterrupt as interrupt:
        if place is None or not place.settled:
            _print_measured(release)
        raise InterruptedRelease(f"interrupted. {_kept(release, place)}", interrupt) from None
    except Exception as error:
        if place is not None and place.settled:  # all of it is on the disk, and the message says where
            raise
        _print_measured(release)
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise AdytonError(
            f"the release could not be written ({reason}). It is paid for, so that all of it was printed instead: keep "
            "that."
        ) from None


def _print_measured(release: NumbersRelease) -> None:
    with deferred():
        print_json(release.to_dict())


def _print(release: NumbersRelease) -> None:
    from adyton.statistics.numbers_saving import answers

    print_json({**release.to_dict(), "answers": answers(release)})


def _remark(release: NumbersRelease, place: Place | None) -> None:
    for paragraph in release.explain().paragraphs[1:]:
        loud = "bold red" if paragraph.startswith("WARNING") else None
        notes().print(printable(paragraph), soft_wrap=True, style=loud)
    if place is not None:
        notes().print(printable(f"Everything is in {place.given}."), soft_wrap=True)


def _kept(release: NumbersRelease, place: Place | None) -> str:
    where = "printed"
    if place is not None and place.settled:
        where = f"in {place.given if place.folder == place.goal else place.folder}"
    return f"What was measured is {where}; ε = {display(release.epsilon)} was charged for it and stays spent."
