"""No two calls share randomness, wherever they run; and what is imported when."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from adyton.noise import ExactNoise, bits, exact

SCALE = 2**40  # two independent draws are equal with probability below 2⁻⁴⁰


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_parent_and_child_draw_different_values():
    noise = ExactNoise()
    noise.discrete_laplace(10, SCALE)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, json.dumps([int(one) for one in noise.discrete_laplace(40, SCALE)]).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        theirs = json.loads(pipe.read())
    os.waitpid(child, 0)
    ours = noise.discrete_laplace(40, SCALE).tolist()
    assert len(theirs) == 40
    assert not set(ours) & set(theirs)


def test_threads_draw_different_values():
    noise = ExactNoise()
    with ThreadPoolExecutor(8) as pool:
        samples = list(pool.map(lambda size: noise.discrete_laplace(size, SCALE).tolist(), [3, 200] * 40))
    values = [one for sample in samples for one in sample]
    assert len(set(values)) == len(values)


def test_every_call_has_a_key_of_its_own(monkeypatch):
    asked = []
    original = os.urandom
    monkeypatch.setattr(bits.os, "urandom", lambda count: asked.append(count) or original(count))
    noise = ExactNoise()
    calls = [
        lambda: noise.discrete_laplace(5, 1),
        lambda: noise.uniform_integers(5, 6),
        lambda: noise.uniform_integers(1, 6),
        lambda: noise.bernoulli_exp(1),
        lambda: noise.permute_and_flip([1, 2], 1),
    ]
    for call in calls:
        asked.clear()
        call()
        assert sorted(asked) == [16, 32]


def test_the_stream_is_aes_256_in_counter_mode(monkeypatch):
    """The known answer of NIST SP 800-38A, F.5.5: zeros encrypt to the key stream, the text xor its cipher."""
    key = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    counter = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
    monkeypatch.setattr(bits.os, "urandom", lambda count: key if count == 32 else counter)
    text, cipher = 0x6BC1BEE22E409F96E93D7E117393172A, 0x601EC313775789A5B7A7F504BBF3D228
    words = bits.cipher_words(2)()
    assert words.tobytes() == (text ^ cipher).to_bytes(16)


def test_words_look_uniform():
    """Each of the 64 bits is set in half of the words, to six standard deviations."""
    words = bits.cipher_words(2**14)()
    set_bits = np.unpackbits(words.view(np.uint8)).reshape(-1, 64).mean(axis=0)
    assert np.abs(set_bits - 0.5).max() < 6 * 0.5 / 2**7


def fresh_python(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True)
    return done.stdout.split()


def test_importing_is_light_and_a_single_count_does_not_load_numba():
    program = """
import sys, adyton.noise
print(*(name for name in ("numba", "cryptography", "opendp", "scipy") if name in sys.modules))
print("|")
adyton.noise.discrete_laplace(1, "2.5"), adyton.noise.permute_and_flip([1, 2, 3], 1)
print(*(name for name in ("numba", "opendp", "scipy") if name in sys.modules))
"""
    assert fresh_python(program) == ["|"]


def test_samplers_are_compiled_once_drawing_without_them_has_cost_enough(monkeypatch):
    monkeypatch.setattr(exact, "_drawn_in_python", 0)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    half = exact.DRAWS_BEFORE_NUMBA // 2
    assert [exact.compiled_pays(half) for _ in range(3)] == [False, False, True]
    assert exact.compiled_pays(exact.SMALLEST_COMPILED_SAMPLE)
    assert not exact.compiled_pays(exact.SMALLEST_COMPILED_SAMPLE - 1)


def test_samplers_are_compiled_sooner_where_numba_is_loaded(monkeypatch):
    monkeypatch.setattr(exact, "_drawn_in_python", 0)
    monkeypatch.setitem(sys.modules, "numba", object())
    half = exact.DRAWS_BEFORE_COMPILING // 2
    assert [exact.compiled_pays(half) for _ in range(3)] == [False, False, True]
