"""Random bits: AES-256 in counter mode under a key of its own for every call, and the tape that samplers read.

Every top-level draw opens a fresh stream keyed by the operating system's generator. Nothing is shared between calls, so
nothing can be repeated: not after a fork, not between threads, not from one call to the next.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Words: TypeAlias = npt.NDArray[np.uint64]
"""Independent uniform 64-bit words."""

WORD_BITS = 64
SMALLEST_CHUNK = 16
LARGEST_CHUNK = 1 << 14  # 128 KiB: stays in the processor's cache between the cipher and the sampler


def cipher_words(chunk: int) -> Callable[[], Words]:
    """A function that returns the next *chunk* words of a fresh AES-256-CTR stream each time it is called."""
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES256
    from cryptography.hazmat.primitives.ciphers.modes import CTR

    encryptor = Cipher(AES256(os.urandom(32)), CTR(os.urandom(16))).encryptor()
    zeros = bytes(chunk * WORD_BITS // 8)  # the cipher text of zeros is the key stream itself

    def following() -> Words:
        return np.frombuffer(encryptor.update(zeros), dtype=np.uint64)

    return following


class Tape:
    """A stream of words that is read forwards, one sampler at a time.

    A sampler that finds the buffer too short asks for more and starts its draw again *from the same words*: the words
    it had read stay in the buffer. (To throw them away would make long draws rarer than they should be.) The draws
    are therefore one function of one infinite stream, however it is cut into chunks.
    """

    __slots__ = ("_following", "position", "words")

    def __init__(self, following: Callable[[], Words]) -> None:
        self._following = following
        self.words: Words = np.empty(0, dtype=np.uint64)
        self.position = 0

    def lengthen(self) -> None:
        """Append the next chunk to the words that have not been used up."""
        self.words = np.concatenate((self.words[self.position :], self._following()))
        self.position = 0

    def word(self) -> int:
        """The next 64 bits."""
        while self.position >= self.words.size:
            self.lengthen()
        word = int(self.words[self.position])
        self.position += 1
        return word

    def integer(self, bits: int) -> int:
        """A uniform integer of this many bits: whole words, the last one cut to its lower bits."""
        value = 0
        for _ in range(bits // WORD_BITS):
            value = value << WORD_BITS | self.word()
        rest = bits % WORD_BITS
        return value << rest | self.word() & ((1 << rest) - 1) if rest else value


def fresh_tape(words: int) -> Tape:
    """A tape on a fresh stream, whose chunks suit a call that will read about this many words."""
    return Tape(cipher_words(min(max(words, SMALLEST_CHUNK), LARGEST_CHUNK)))
