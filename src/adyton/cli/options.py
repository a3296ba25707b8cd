"""Options that several commands have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SchemaFile = Annotated[Path, typer.Option(help="The schema file: what is public about the table.")]
Trials = Annotated[int, typer.Option(min=1, help="How many runs each error is averaged over.")]
FiguresAsJson = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]
NoBar = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress bar.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress bar and no remarks.")]
