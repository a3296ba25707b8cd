"""The histograms of DPBench, which published evaluations use: two files in a folder."""

from __future__ import annotations

import os
from pathlib import Path

from adyton.errors import BadInput
from adyton_lab.corpus.shapes import Shape, read_corpus

FILES = {1: "dpbench_1d.csv", 2: "dpbench_2d.csv.gz"}
"""Their names, by the number of axes."""


def dpbench_corpus(folder: str | os.PathLike[str], ndim: int, *, public: bool) -> list[Shape]:
    """Those with so many axes. *public* says that what the folder holds is public: nothing here is protected."""
    path = Path(folder) / FILES[ndim]
    if not path.is_file():
        raise BadInput(f"there is no {path.name} in {folder}. Give the folder that holds the DPBench histograms.")
    return read_corpus(path, ndim, public=public)
