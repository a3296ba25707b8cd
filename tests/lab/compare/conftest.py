"""Puts the folder of the tests on the path, for the browser."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
