"""What every test shares: one thread of linear algebra, signals that are not ignored, doctests, who runs which file.

The workers of ``pytest -n`` fill the cores. With a second thread each, matrices of the size that tests use cost several
times as much: threads wait for one another by spinning. Read when NumPy is loaded, hence set here, and passed on to the
processes that tests start; what somebody has set already is left as it is.

A runner in the background, or without a terminal, may have been started with interrupts or hang-ups ignored; or told to
keep no compiled modules, which every process that a test starts would pay for again.

Doctests are looked for where there are some: importing every other module once a worker costs more than most tests do.
With ``-n``, the tests of a file run in one worker, which makes its fixtures, loads its libraries and prepares its plans
once.
"""

import gc
import os
import signal
import sys

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(name, "1")

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False  # asserts are rewritten once, not in every run

for name, handler in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
    number = getattr(signal, name, None)
    if number is not None and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")  # how long a draw takes is a matter of the machine

gc.disable()  # until everything is collected: of modules and tests nothing is garbage

TOGETHER = ("tests/kernel/engines/", "tests/report/", "tests/service/pages/")
"""Folders whose tests share more than a file's: servers, and releases of every kind."""


def pytest_configure(config):
    """Hypothesis takes no constants from our source but in the long run: reading all of it takes it eight seconds."""
    if config.option.markexpr == "not full" and hasattr(providers, "_get_local_constants"):
        providers._get_local_constants = lambda: providers._local_constants


def pytest_collect_file(file_path, parent):
    """The doctests of a module, if it has any."""
    if file_path.suffix == ".py" and b">>> " in file_path.read_bytes():
        return DoctestModule.from_parent(parent, path=file_path)
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Workers collect one after another: what the first one compiles, the others load."""
    if fcntl is None or not hasattr(session.config, "workerinput"):
        return (yield)
    with open(__file__, encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # until it is closed
        return (yield)


def pytest_collection_finish():
    """From here on garbage is swept up, less often than usual; what is there already is not looked at again."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()


@pytest.fixture(autouse=True, scope="module")
def swept():
    """What earlier files left behind is swept up once: a test that sweeps up by itself does not look at it again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """By files, in their order (the long ones come early, single doctests last), unless ``--dist`` says otherwise."""
    if config.option.dist != "load":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Files(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.split("::", 1)[0]
            return next((folder for folder in TOGETHER if file.startswith(folder)), file)

    config.option.loadscopereorder = False
    return Files(config, log)
