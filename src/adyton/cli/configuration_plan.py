"""What a configuration would promise, from public figures alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adyton.cli.console import notes, out, plain_table, print_json
from adyton.exact import as_number, display

if TYPE_CHECKING:
    from adyton.configuration.guarantee import Guarantee

_COUNTS = (50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000)
_WIDTHS = (0.1, 0.01, 0.001)


def print_plan(promise: Guarantee, target: str | None, *, as_json: bool) -> None:
    """How much may be lost on average for some numbers of instances; and how many a target needs."""
    widths = _WIDTHS if promise.points is None else _WIDTHS[:1]  # a grid's points have no neighbourhoods
    losses = {count: [promise.average_loss(count, width=width) for width in widths] for count in _COUNTS}
    needed = None if target is None else [promise.instances_needed(target, width=width) for width in widths]
    if as_json:
        print_json(
            {
                "epsilon": as_number(promise.epsilon),
                "neighbours": promise.neighbours,
                "utility": promise.utility.name,
                "scale": as_number(promise.utility.scale),
                "points": promise.points,
                "has_default": promise.has_default,
                "probability": 0.95,
                "widths": list(widths) if promise.points is None else None,
                "average_losses": [{"instances": count, "losses": found} for count, found in losses.items()],
                "target": target,
                "instances_needed": needed,
            }
        )
        return
    table = plain_table()
    table.title, table.title_justify = (
        f"ε = {display(promise.epsilon)}: average loss, at most, with probability 95%",
        "left",
    )
    table.add_column("instances", justify="right")
    for width in widths:
        table.add_column("the best point" if promise.points else f"{width:.1%} as good", justify="right")
    for count, found in losses.items():
        table.add_row(f"{count:,}", *(_loss(promise, one) for one in found))
    if needed is not None:
        table.add_row(f"for {target}", *(f"{one:,} needed" for one in needed))
    out().print(table)
    notes().print(
        "Against the best point of the grid; nothing is known of what lies between."
        if promise.points
        else "Against any parameter whose whole neighbourhood, so much of the interval, is at least as good.",
        soft_wrap=True,
    )
    if promise.utility.name == "regret":
        clip = display(promise.utility.scale)
        notes().print(f"A loss of more than {clip} on one instance counts as {clip}.", soft_wrap=True)


def _loss(promise: Guarantee, loss: float) -> str:
    return f"{100 * loss:.3g}%" if promise.utility.name == "regret" else f"{loss:.4g}"
