"""What every test shares: one thread of linear algebra for each process, and signals that are not ignored.

The workers of ``pytest -n`` fill the cores. With a second thread each, matrices of the size that tests use cost several
times as much: threads wait for one another by spinning. Read when NumPy is loaded, hence set here, and passed on to the
processes that tests start; what somebody has set already is left as it is.

A runner in the background, or without a terminal, may have been started with interrupts or hang-ups ignored; or told to
keep no compiled modules, which every process that a test starts would pay for again.
"""

import os
import signal

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(name, "1")

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

for name, handler in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
    number = getattr(signal, name, None)
    if number is not None and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

collect_ignore_glob = ["conftest.py", "*/conftest.py"]
"""Doctests are looked for in every file, but one process can import only one module of this name."""
