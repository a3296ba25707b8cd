"""What comes of a release of numbers once it is paid for: it reaches the person, whatever happens next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from adyton.cli.console import notes, out, plain_table, print_json, printable, say_counted
from adyton.cli.delivery import print_anything
from adyton.cli.paid import Paid, reason_of
from adyton.errors import AdytonError

if TYPE_CHECKING:
    from adyton.result.staging import Place
    from adyton.statistics.numbers_release import NumbersRelease

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
    from adyton.statistics.numbers_saving import save

    print_anything()
    paid = Paid("the release", "What was measured is", release.epsilon, place, release.to_dict)
    saved = paid.put_down(lambda: None if place is None else save(release, place))
    try:
        if interrupt is not None:
            raise interrupt
        problems = [] if saved is None else saved.finish()
        if as_json:
            paid.show(lambda: _print(release))
        elif not quiet or place is None:
            paid.show(lambda: show(release, None if place is None else _SHOWN))
    except (AdytonError, BrokenPipeError):
        raise
    except (KeyboardInterrupt, Exception) as came:  # whatever it is: what was paid for must not be lost over it
        if place is None:
            paid.print()
        if isinstance(came, KeyboardInterrupt):
            raise paid.interrupted(came) from None
        raise AdytonError(f"not all could be made of it ({reason_of(came)}). {paid.kept()}") from None
    if not (quiet or as_json):
        _remark(release, place)
    for problem in problems:
        notes().print(printable(problem), soft_wrap=True)
    if release.unfinished is not None:
        raise AdytonError(f"{release.unfinished} {paid.kept()}")


def show(release: NumbersRelease, most: int | None = None) -> None:
    """A line for each group: its labels, then every statistic with its bounds."""
    from adyton.report.scales import figure

    say_counted(release.counted.first(release.where))
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


def _print(release: NumbersRelease) -> None:
    from adyton.statistics.numbers_saving import answers

    print_json({**release.to_dict(), "answers": answers(release)})


def _remark(release: NumbersRelease, place: Place | None) -> None:
    for paragraph in release.explain().paragraphs[1:]:
        loud = "bold red" if paragraph.startswith("WARNING") else None
        notes().print(printable(paragraph), soft_wrap=True, style=loud)
    if place is not None:
        notes().print(printable(f"Everything is in {place.given}."), soft_wrap=True)
