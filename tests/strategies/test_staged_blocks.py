"""Blocks measured in stages: the exact cost, the cells each stage covers, and the error."""

from fractions import Fraction

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.plans.hierarchies import measure_in_stages, measure_levels, run_stages
from adyton.queries import AllRange, Partition, Prefix, RandomRanges
from adyton.queries.domain_trees import halved_boxes, layout, tree_of_halves
from adyton.solving.trees import BlockAnswers
from adyton.strategies.optimal_levels import (
    LevelWeights,
    denoised_levels,
    halving_energies,
    level_energy_of,
    optimal_levels,
    prefix_energy,
    quadtree_stages,
    squared_error,
)
from adyton.strategies.staged_blocks import (
    CROWDING,
    SPREADS,
    StagedBlocks,
    expected_error,
    level_costs,
    stage_levels,
)
from over_cases import over

SIZES = [1, 2, 3, 7, 1000, 4097]


@over(SIZES, ["0.001", "1", "1000"], [0, 3, 10**12])
def test_spends_exactly_what_it_was_given(cells, epsilon, count):
    counts = np.random.default_rng(cells).integers(0, count + 1, cells)
    kernel = Kernel.simulated(counts, epsilon=epsilon, seed=1)
    known = measure_in_stages(kernel.root, prefix_energy(cells), Fraction(epsilon), float(counts.sum()))
    assert kernel.remaining == 0
    assert np.isfinite(known.cells()).all()
    if epsilon == "1000":
        assert known.cells().sum() == pytest.approx(counts.sum(), abs=1)


@over([(1, 1), (1, 7), (5, 3), (33, 16)], [0, 3, 10**12])
def test_trees_of_any_sides(domain, count):
    """Sides that are no powers of two leave blocks that cannot be halved; stages and whole levels pass over them."""
    cells = domain[0] * domain[1]
    counts, tree = np.random.default_rng(cells).integers(0, count + 1, domain), halved_boxes(domain)
    boxes, none = RandomRanges(domain, 10, seed=0), BlockAnswers.none(tree)
    for run in (
        lambda x: run_stages(x, none, quadtree_stages(boxes, 0.1), halving_energies(boxes), Fraction(1000)),
        lambda x: measure_levels(x, none, denoised_levels(boxes), Fraction(1000)),
    ):
        kernel = Kernel.simulated(counts, epsilon=1000, seed=1)
        known = run(kernel.root.reduce(Partition(tree.unordered(np.arange(cells)))))
        assert kernel.remaining == 0
        assert known.cells().sum() == pytest.approx(counts.sum(), abs=1)
        blocks = np.flatnonzero(known.precisions)
        sums = np.concatenate([[0], np.cumsum(tree.ordered(counts.reshape(-1)))])
        expected = sums[layout(tree).starts[blocks] + layout(tree).sizes[blocks]] - sums[layout(tree).starts[blocks]]
        assert known.answers[blocks] == pytest.approx(expected, abs=1)


class _Answers:
    def __init__(self, answers, variance):
        self.answers, self.variances = np.array(answers), np.full(len(answers), variance)


@pytest.mark.parametrize("cells", [7, 1000, 4096])
def test_every_stage_covers_the_open_cells_once(cells):
    """Any answers at all: no cell is measured twice in a stage, and none is forgotten before it is finished."""
    random = np.random.default_rng(cells)
    for scale in (1.0, 1e3, 1e6):
        energy, none = prefix_energy(cells), BlockAnswers.none(tree_of_halves(cells))
        state = StagedBlocks.begin(none, stage_levels(cells, energy, scale), energy, 1.0)
        open_cells = np.arange(cells)
        stages = 0
        while state.blocks.size:
            step = state.step()
            flags = (
                step.split.labels
                if step.split is not None
                else np.full(open_cells.size, 1 if step.going_on.size else 0)
            )
            assert flags.size == open_cells.size
            for number, (blocks, groups) in enumerate(zip((step.finished, step.going_on), step.groups, strict=True)):
                mine = open_cells[flags == number]
                covered = [_cells(block, state.known.tree) for block in blocks]
                assert np.concatenate([np.zeros(0, int), *covered]).tolist() == mine.tolist()
                if groups is not None:
                    assert groups.sizes.tolist() == [part.size for part in covered]
            answers = [_Answers(random.normal(0, scale, blocks.size), 8.0) for blocks in (step.finished, step.going_on)]
            open_cells = open_cells[flags == 1]
            state = state.after(step, *answers)
            stages += 1
        assert open_cells.size == 0
        assert stages == len(state.stages.weights) or state.left > 0


def _cells(block, tree):
    return np.arange(layout(tree).starts[block], layout(tree).starts[block] + layout(tree).sizes[block])


def test_expected_error_by_hand():
    """A block of 8 cells, measured in blocks of 2 with precision 0.5 and in cells with precision 0.1."""
    rows, costs = 60.0, np.array([1.0, 3.0, 7.0])
    added = np.array([0.1, 0.5, 0.0, 0.0])
    model = np.concatenate([[CROWDING], *((tau**2, weight) for tau, weight in SPREADS)])
    expected = 11.0 / (0.2 + 0.1 / 8 + 0.5 / 4)
    for level, precision in ((0, 0.1 / 2), (1, 0.1 / 4 + 0.5 / 2), (2, 0.1 / 8 + 0.5 / 4)):
        depth = 2 - level
        held, blocks = rows * (CROWDING / 2) ** depth, (2 / CROWDING) ** depth
        for tau, weight in SPREADS:
            signal = tau**2 * held**2 + held
            expected += costs[level] * blocks * weight * signal / (1 + signal * precision)
    assert expected_error(rows, 3, added, 0.2, 11.0, model, costs) == pytest.approx(expected)


@pytest.mark.parametrize("workload", [Prefix(64), AllRange(64)], ids=str)
def test_costs_weigh_every_level(workload):
    """With the costs per block, the error of an even tree is the closed form."""
    energy = np.array(level_energy_of(workload))
    costs = level_costs(tree_of_halves(64), energy)
    variance = 2.0 * 64 / np.array([64.0 / 2 ** (level + 1) for level in range(6)])  # of differences, from cells alone
    blocks = 2.0 ** (5 - np.arange(6))
    total = (costs[:-1] * blocks * variance).sum() * 1.0 + costs[-1] * 2.0 * 64
    assert total == pytest.approx(squared_error(LevelWeights((1,), (1.0,)), energy))


def test_little_data_spends_more_on_coarse_blocks():
    energy = prefix_energy(4096)
    best = optimal_levels(4096, energy)
    few = stage_levels(4096, energy, 100.0)
    assert few.block_sizes == best.block_sizes
    assert few.weights[-1] > 1.3 * best.weights[-1]
    assert sum(few.weights) == pytest.approx(1.0)
    assert stage_levels(4096, energy, 1e9).weights == pytest.approx(best.weights)
    assert stage_levels(1, [1.0], -5.0).weights == (1.0,)


@pytest.mark.parametrize(("rows", "factor"), [(1_000, 0.6), (1_000_000, 0.6)])
def test_closer_than_the_best_fixed_levels(rows, factor):
    """Data on a tenth of the domain: least squares alone, on 20 seeds. Both factors are about 0.45."""
    random = np.random.default_rng(0)
    counts = np.zeros(4096, dtype=np.int64)
    counts[1000:1400] = random.multinomial(rows, random.dirichlet(np.full(400, 0.5)))
    energy = prefix_energy(4096)
    errors = []
    for seed in range(20):
        kernel = Kernel.simulated(counts, epsilon=1, seed=seed)
        estimate = measure_in_stages(kernel.root, energy, Fraction(1), float(counts.sum())).cells()
        errors.append(np.linalg.norm(np.cumsum(estimate - counts)))
    fixed = np.sqrt(squared_error(optimal_levels(4096, energy), energy))
    assert np.mean(errors) < factor * fixed


def test_no_worse_than_the_best_fixed_levels_where_all_cells_matter():
    random = np.random.default_rng(0)
    counts = random.integers(0, 10**6, 1024)
    energy = prefix_energy(1024)
    errors = []
    for seed in range(40):
        kernel = Kernel.simulated(counts, epsilon=1, seed=seed)
        estimate = measure_in_stages(kernel.root, energy, Fraction(1), float(counts.sum())).cells()
        errors.append(np.square(np.cumsum(estimate - counts)).sum())
    assert np.sqrt(np.mean(errors)) < 1.15 * np.sqrt(squared_error(optimal_levels(1024, energy), energy))


def test_refusal():
    kernel = Kernel.simulated([1, 2, 3], epsilon=1, seed=0)
    with pytest.raises(BadInput, match="level_energy must be 3 numbers"):
        measure_in_stages(kernel.root, [1.0, 2.0], Fraction(1), 6.0)
    assert kernel.remaining == 1
