"""What is refused, with which message, and by every source alike."""

import sys
from fractions import Fraction
from importlib.util import find_spec

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.noise import ExactNoise, OpenDPNoise, Ratio, SimulatedNoise

SOURCES = [ExactNoise(), SimulatedNoise(1), *([OpenDPNoise()] if find_spec("opendp") else [])]

BAD = {
    "zero scale": (lambda s: s.discrete_laplace(3, 0), "scale must be greater than 0"),
    "negative scale": (lambda s: s.discrete_laplace(3, "-1/2"), "scale must be greater than 0"),
    "nan": (lambda s: s.discrete_laplace(3, float("nan")), "scale must be a finite number"),
    "infinite": (lambda s: s.discrete_laplace(3, float("inf")), "scale must be a finite number"),
    "bool scale": (lambda s: s.discrete_laplace(3, True), "scale must be a finite number"),
    "none scale": (lambda s: s.discrete_laplace(3, None), "scale must be a finite number"),
    "bytes scale": (lambda s: s.discrete_laplace(3, b"1"), "scale must be a finite number"),
    "text scale": (lambda s: s.discrete_laplace(3, "wide"), "scale must be a finite number"),
    "complex": (lambda s: s.discrete_laplace(3, 1j), "scale must be a finite number"),
    "long scale": (lambda s: s.discrete_laplace(3, Fraction(2**20000)), "too many digits"),
    "one bad of many": (lambda s: s.discrete_laplace(3, [1, 2, 0]), "scale must be greater than 0"),
    "nan array": (lambda s: s.discrete_laplace(2, np.array([1.0, np.nan])), "scale must be a finite number"),
    "zero array": (lambda s: s.discrete_laplace(2, np.array([1, 0])), "scale must be greater than 0"),
    "zero denominator": (lambda s: s.discrete_laplace(2, Ratio(np.array([1, 1]), np.array([1, 0]))), "greater than 0"),
    "negative ratio": (lambda s: s.discrete_laplace(2, Ratio(np.array([-1, 1]), np.array([1, 1]))), "greater than 0"),
    "both negative": (lambda s: s.discrete_laplace(1, Ratio(np.array([-1]), np.array([-1]))), "greater than 0"),
    "float ratio": (lambda s: s.discrete_laplace(2, Ratio(np.array([0.5, 1]), np.array([1, 1]))), "whole numbers"),
    "bool ratio": (lambda s: s.discrete_laplace(1, Ratio(np.array([True]), np.array([1]))), "whole numbers"),
    "ratio shapes": (lambda s: s.discrete_laplace(3, Ratio(np.ones(2, int), np.ones(3, int))), "broadcast together"),
    "three scales for four": (lambda s: s.discrete_laplace(4, [1, 2, 3]), r"\(3,\) does not broadcast to size \(4,\)"),
    "scales from the left": (lambda s: s.discrete_laplace((3, 2), [1, 2, 3]), "does not broadcast"),
    "more dimensions": (lambda s: s.discrete_laplace(2, np.ones((2, 2), int)), "does not broadcast"),
    "no scales": (lambda s: s.discrete_laplace(2, []), "does not broadcast"),
    "one for none": (lambda s: s.discrete_laplace((), [1, 2]), "does not broadcast"),
    "negative size": (lambda s: s.discrete_laplace(-1, 1), "size must be a whole number of at least 0"),
    "negative length": (lambda s: s.discrete_laplace((2, -1), 1), "size must be a whole number of at least 0"),
    "real size": (lambda s: s.discrete_laplace(2.0, 1), "size must be a whole number of at least 0"),
    "text size": (lambda s: s.discrete_laplace("3", 1), "size must be a whole number of at least 0"),
    "bool size": (lambda s: s.discrete_laplace(True, 1), "size must be a whole number of at least 0"),
    "no size": (lambda s: s.uniform_integers(None, 1), "size must be a whole number of at least 0"),
    "zero bound": (lambda s: s.uniform_integers(3, 0), "bound must be a whole number of at least 1"),
    "negative bound": (lambda s: s.uniform_integers(1, -5), "bound must be a whole number of at least 1"),
    "real bound": (lambda s: s.uniform_integers(3, 2.0), "bound must be a whole number of at least 1"),
    "bool bound": (lambda s: s.uniform_integers(1, True), "bound must be a whole number of at least 1"),
    "negative gamma": (lambda s: s.bernoulli_exp(-1), "gamma must be at least 0"),
    "negative fraction": (lambda s: s.bernoulli_exp(Fraction(-1, 9)), "gamma must be at least 0"),
    "nan gamma": (lambda s: s.bernoulli_exp(float("nan")), "gamma must be a finite number"),
    "no scores": (lambda s: s.permute_and_flip([], 1), "at least one candidate"),
    "empty array": (lambda s: s.permute_and_flip(np.array([], dtype=int), 1), "at least one candidate"),
    "real scores": (lambda s: s.permute_and_flip([0.5, 1], 1), "whole numbers or fractions"),
    "real array": (lambda s: s.permute_and_flip(np.array([0.5, 1]), 1), "whole numbers or fractions"),
    "bool scores": (lambda s: s.permute_and_flip(np.array([True, False]), 1), "whole numbers or fractions"),
    "text scores": (lambda s: s.permute_and_flip("12", 1), "sequence of whole numbers"),
    "number as scores": (lambda s: s.permute_and_flip(7, 1), "sequence of whole numbers"),
    "table of scores": (lambda s: s.permute_and_flip(np.ones((2, 2), int), 1), "one dimension"),
    "zero sharpness": (lambda s: s.permute_and_flip([1, 2], 0), "sharpness must be greater than 0"),
    "nan sharpness": (lambda s: s.permute_and_flip([1, 2], float("nan")), "sharpness must be a finite number"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_by_every_source(name):
    call, message = BAD[name]
    for source in SOURCES:
        with pytest.raises(BadInput, match=message):
            call(source)


@pytest.mark.parametrize("seed", [-1, 1.5, "7", True, [1, 2], np.float64(3)])
def test_bad_seeds(seed):
    with pytest.raises(BadInput, match="seed must be"):
        SimulatedNoise(seed)


def test_a_seed_must_be_given():
    with pytest.raises(TypeError):
        SimulatedNoise()


def test_messages_never_show_a_score():
    for scores in ([123456, 0.5], np.array([123456.5]), ["123456", 1]):
        with pytest.raises(BadInput) as caught:
            ExactNoise().permute_and_flip(scores, 1)
        assert "123456" not in str(caught.value)


def test_opendp_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp.measurements", None)
    with pytest.raises(BadInput, match="pip install opendp"):
        OpenDPNoise()


def test_opendp_refuses_scales_beyond_its_integers():
    pytest.importorskip("opendp")
    with pytest.raises(BadInput, match="too large for OpenDP"):
        OpenDPNoise().discrete_laplace(2, [1, 2**58])


def test_unsigned_and_large_ratios():
    large = Ratio(np.array([2**64 - 2], dtype=np.uint64), np.array([2**100], dtype=object))
    assert not ExactNoise().discrete_laplace(4, large).any()
    same = Ratio(np.array([2**63 + 2**62], dtype=np.uint64), np.array([2**62]))
    assert ExactNoise().discrete_laplace((1000, 1), same).any()
