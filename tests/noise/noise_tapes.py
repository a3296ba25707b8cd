"""Tapes with known words, cut into chunks of any size."""

from collections.abc import Iterable

import numpy as np

from adyton.noise.bits import Tape


def tape_of(words: Iterable[int], *, chunk: int = 4096, seed: int = 0) -> Tape:
    """First these words, then seeded random ones, *chunk* at a time. The stream does not depend on the chunk."""
    generator = np.random.default_rng(seed)
    pending = np.array(list(words), dtype=np.uint64)

    def following() -> np.ndarray:
        nonlocal pending
        while pending.size < chunk:
            pending = np.concatenate((pending, generator.integers(0, 2**64, 4096, dtype=np.uint64)))
        head, pending = pending[:chunk], pending[chunk:]
        return head

    return Tape(following)


def poor_words(seed: int, count: int = 4000) -> list[int]:
    """Words whose halves often agree, so that comparisons tie and draws restart far more often than in nature."""
    generator = np.random.default_rng(seed)
    halves = generator.choice(np.array([0, 1, 2**31, 2**31 + 1, 2**32 - 1], dtype=np.uint64), (count, 2))
    poor = halves[:, 0] << np.uint64(32) | halves[:, 1]
    rich = generator.integers(0, 2**64, count, dtype=np.uint64)
    return np.where(generator.random(count) < 0.4, poor, rich).tolist()


def word(upper: int, lower: int) -> int:
    """Two halves of 32 bits."""
    return upper << 32 | lower
