"""Every private → public operator. The kernel runs these and nothing else."""

from adyton.kernel.mechanisms.base import AuditCase, Mechanism
from adyton.kernel.mechanisms.noisy_count import NoisyCount
from adyton.kernel.mechanisms.selection import Selection
from adyton.kernel.mechanisms.vector_laplace import VectorLaplace

MECHANISMS: tuple[type[Mechanism], ...] = (NoisyCount, VectorLaplace)

__all__ = ["MECHANISMS", "AuditCase", "Mechanism", "NoisyCount", "Selection", "VectorLaplace"]
