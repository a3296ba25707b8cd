"""``adyton combine``: one release out of several of the same thing, for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.cli.charges import check_folder
from adyton.cli.console import notes, out, printable
from adyton.cli.options import Quiet

_Releases = Annotated[
    list[Path], typer.Argument(metavar="FOLDER…", help="Folders that `adyton release --out` wrote, two or more.")
]
_Folder = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Write the release that comes out here.")]
_Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a release in FOLDER.")]


def command(releases: _Releases, out_folder: _Folder, overwrite: _Overwrite = False, quiet: Quiet = False) -> None:
    """Put releases of the same thing together, each by how little noise it has. Spends nothing, and needs no data.

    They must be of the same attributes of the same rows. What comes out has less noise than each of them.
    """
    from adyton.programs import load
    from adyton.result.combining import combine

    check_folder(out_folder, [one / "release.json" for one in releases], overwrite=overwrite)
    parts: list[Any] = [load(one) for one in releases]
    combined = combine(parts)
    combined.save(out_folder, overwrite=overwrite)
    for paragraph in combined.explain().paragraphs:
        out().print(printable(paragraph), soft_wrap=True)
    if not quiet:
        notes().print(printable(f"Everything is in {out_folder}; begin with report.html."), soft_wrap=True)
