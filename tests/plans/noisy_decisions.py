"""What a plan measured, in order: for tests of plans that decide on noisy answers."""

from adyton.kernel.kernel import Kernel
from adyton.kernel.sources import VectorSource
from adyton.plans import plan_named
from adyton.queries import Identity


def watch(monkeypatch):
    """A list that fills up with every measurement that is made from now on."""
    seen = []
    honest = VectorSource.measure

    def measure(self, *arguments, **options):
        seen.append(honest(self, *arguments, **options))
        return seen[-1]

    monkeypatch.setattr(VectorSource, "measure", measure)
    return seen


def run(name, x, epsilon=1, seed=0, **options):
    """The kernel after a run of a plan, and the estimate."""
    kernel = Kernel.simulated(x, epsilon=epsilon, seed=seed)
    return kernel, plan_named(name, **options).estimate(kernel.root, Identity(x.shape), epsilon)
