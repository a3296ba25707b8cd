"""What every test shares: one thread of linear algebra for each process.

The workers of ``pytest -n`` fill the cores. With a second thread each, matrices of the size that tests use cost several
times as much: threads wait for one another by spinning. Read when NumPy is loaded, hence set here, and passed on to the
processes that tests start; what somebody has set already is left as it is.
"""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(name, "1")

collect_ignore_glob = ["conftest.py", "*/conftest.py"]
"""Doctests are looked for in every file, but one process can import only one module of this name."""
