"""Any result out of its folder: its task says which program answered it, and that which results it can have."""

from __future__ import annotations

import os

from adyton.programs.base import program_type, result_type
from adyton.result.folder import read
from adyton.result.result import Result


def load(folder: str | os.PathLike[str]) -> Result:
    """The result in a folder that ``save`` or ``adyton … --out`` wrote, or in its JSON file, whatever its kind.

    The file is checked as a stranger's would be, and nothing in it is run; the data are not needed.
    """
    return read(folder, lambda task, kind: result_type(program_type(task), kind), "a result")
