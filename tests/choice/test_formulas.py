"""Formulas: read, written, enumerated without duplicates, and found again by synthesis."""

import numpy as np
import pytest

from adyton.choice.formulas import Synthesiser, enumerated, names_in, parsed, shown, size_of, value_of
from adyton.choice.models import Lessons
from adyton.errors import BadInput

RANDOM = np.random.default_rng(3)
COLUMNS = {"uniformity": RANDOM.random(120), "sparsity": RANDOM.random(120)}


def lessons(first, second, names=tuple(f"set {place % 6}" for place in range(120))):
    scores = np.stack([first, second], axis=1)
    return Lessons(
        ("uniformity", "sparsity"),
        ("dawa", "mwem"),
        np.stack(list(COLUMNS.values()), axis=1),
        scores,
        scores,
        names,
        np.ones(120),
    )


def test_every_formula_is_read_back_as_it_was():
    formulas, sizes, values = enumerated(COLUMNS).all()
    assert 2_000 < len(formulas) <= 6_000
    assert sizes == sorted(sizes) == list(map(size_of, formulas))
    for formula, value in list(zip(formulas, values, strict=True))[::7]:
        assert parsed(shown(formula)) == formula
        assert np.allclose(value_of(formula, COLUMNS.__getitem__), value)


def test_no_two_formulas_have_the_same_values():
    _, _, values = enumerated(COLUMNS).all()
    values = values[np.abs(values).max(axis=1) > 0]
    scaled = values / np.abs(values).max(axis=1, keepdims=True)
    gaps = np.abs(scaled[:400, None] - scaled[None, :400]).max(axis=2) + np.eye(400)
    close = np.argwhere(gaps < 1e-10)
    assert all(abs(np.abs(values[a]).max() / np.abs(values[b]).max() - 1) > 1e-7 for a, b in close)


def test_at_most_as_many_as_wanted():
    assert len(enumerated(COLUMNS, most=50).all()[0]) == 50


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 + 3 * 4 ^ 2", 50),
        ("-2 ^ 2", -4),
        ("(-2) ^ 2", 4),
        ("2 ^ -1", 0.5),
        ("8 - 4 - 2", 2),
        ("2 ^ 3 ^ 0", 2),
        ("min(3, max(1, 2)) / 4", 0.5),
        ("log2(sqrt(16))", 2),
        ("1e2 * .5", 50),
        ("`kind is leaf` - 1", 0),
    ],
)
def test_values(text, value):
    formula = parsed(text)
    assert float(value_of(formula, {"kind is leaf": 1.0}.__getitem__)) == value
    assert parsed(shown(formula)) == formula


@pytest.mark.parametrize("text", ["1 / 0", "log2(0)", "sqrt(0 - 1)", "(0 - 2) ^ 0.5", "2 ^ 9"])
def test_no_value(text):
    assert np.isnan(float(value_of(parsed(text), {}.__getitem__)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 +",
        "(1",
        "1 2",
        "x(1)",
        "min(1)",
        "a.b",
        "x if y",
        "__import__('os')",
        "1;2",
        "(" * 99 + "1" + ")" * 99,
        "x" * 2000,
        3,
    ],
)
def test_what_is_no_formula(text):
    with pytest.raises(BadInput):
        parsed(text)


def test_synthesis_finds_the_formula_of_the_thesis():
    sparsity = COLUMNS["sparsity"]
    noise = RANDOM.normal(0, 0.01, 120)
    found = Synthesiser(lessons(np.zeros(120), 2 * (0.9 - sparsity**1.5) + noise))
    difference = found.difference("mwem", "1 - sparsity ^ 2", 1 - sparsity**2)
    assert names_in(difference.new) == {"sparsity"}
    assert "sparsity ^ 1.5" in shown(difference.new)
    assert difference.new_loss < 0.2 * difference.old_loss
    assert str(difference).splitlines()[1].startswith("- 1 - sparsity ^ 2")
    assert str(difference).splitlines()[2].startswith("+ 0.9")


def test_the_simplest_of_nearly_equal_formulas():
    noise = RANDOM.normal(0, 0.3, (2, 120))
    model = Synthesiser(lessons(COLUMNS["uniformity"] + noise[0], noise[1])).fit(
        lessons(COLUMNS["uniformity"] + noise[0], noise[1])
    )
    assert all(size_of(formula) <= 5 for formula in model.formulas.values())
    assert model.asked == {"uniformity"}


def test_noise_has_no_formula():
    """Held out, a constant is as good as any formula for scores that do not depend on features."""
    random = np.random.default_rng(5)
    model = Synthesiser(lessons(random.normal(0, 1, 120), np.zeros(120))).fit(
        lessons(random.normal(0, 1, 120), np.zeros(120))
    )
    assert model.asked == frozenset()


def test_the_loss_is_that_of_held_out_data_sets():
    """Against a loop that fits and judges one data set after the other."""
    table = lessons(COLUMNS["uniformity"] ** 2, np.zeros(120))
    found = Synthesiser(table).difference("dawa", "uniformity", COLUMNS["uniformity"])
    target, losses = table.advantages[:, 0], []
    for source in table.names:
        out = table.of(source)
        slope, intercept = np.polyfit(COLUMNS["uniformity"][~out], target[~out], 1)
        losses.append(np.square(target[out] - intercept - slope * COLUMNS["uniformity"][out]).mean())
    assert found.old_loss == pytest.approx(np.mean(losses), rel=1e-9)
