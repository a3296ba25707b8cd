"""Pairs in groups of cells: the groups, estimates from them, what is decided, and files."""

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.marginals.estimating import estimated
from adyton.marginals.program import DEPENDENCE, IN_GROUPS, TableSet, program_named
from adyton.marginals.resolution import FEW, FEWEST, CellGroups, bearable, maps_of, merged, plain_maps, spread
from adyton.marginals.tables_release import table_interval
from adyton.noise import SimulatedNoise
from adyton.queries import Partition
from adyton.queries.measurement import MeasuredTable

ROWS = 6000


def table(bins, rows=ROWS, seed=1):
    """Six attributes: a number that depends on a kind, a kind that depends on it in turn, and three numbers that depend
    on nothing, in so many cells."""
    random = np.random.default_rng(seed)
    kind = random.choice(4, rows, p=[0.4, 0.3, 0.2, 0.1])
    pay = np.clip(random.normal(50 + 40 * kind, 12, rows), 0, 199).astype(int)
    ward = np.where(random.random(rows) < 0.85, kind, random.integers(0, 6, rows))
    others = [np.minimum((random.random(rows) ** power * bins).astype(int), bins - 1) for power in (1, 2, 3)]
    attributes = {"kind": ad.Integer(0, 3), "pay": ad.Integer(0, 199), "ward": ad.Categorical([*"abcdef"])}
    attributes |= {name: ad.Integer(0, bins - 1) for name in "xyz"}
    return ad.Schema(attributes), np.stack([kind, pay, ward, *others], axis=1)


def run(name, bins, epsilon, seed=1, **options):
    schema, codes = table(bins)
    wanted = TableSet.of(schema, list(itertools.combinations(schema.names, 2)))
    kernel = Kernel.simulated_table(codes, schema, epsilon=Fraction(epsilon), seed=seed)
    program = program_named(name, **options)
    outcome = program.measure(kernel.root, wanted, Fraction(epsilon))
    assert kernel.remaining == 0
    return wanted, codes, outcome, estimated(wanted.sides, outcome.measured, ordered=wanted.ordered).model


def off(model, wanted, codes, pair):
    """The total variation of a pair whose attributes depend on each other, in its cells."""
    first, second = (list(wanted.sides).index(name) for name in pair)
    shape = tuple(wanted.sides[name] for name in pair)
    truth = np.bincount(codes[:, first] * shape[1] + codes[:, second], minlength=shape[0] * shape[1]).reshape(shape)
    guess = model.pair(pair)[0]
    return float(np.abs(guess / guess.sum() - truth / truth.sum()).sum()) / 2


# ---- groups ----------------------------------------------------------------------------------------------------------


def test_groups_are_nested_and_about_equal():
    random = np.random.default_rng(4)
    singles = {"number": random.exponential(50, 300), "level": random.pareto(1, 40) * 10, "few": np.ones(FEW)}
    groups = CellGroups(singles, {"number"})
    assert groups.of("few", FEWEST) is None
    for name in ("number", "level"):
        finer = groups.of(name, 32)
        for most in (16, 8, 4):
            coarser = groups.of(name, most)
            assert {*coarser.labels.tolist()} == set(range(coarser.groups))
            assert len({*zip(finer.labels.tolist(), coarser.labels.tolist(), strict=True)}) == finer.groups
            finer = coarser
    mass = merged(singles["number"], groups.at(("number",), 8))
    assert mass.max() / mass.min() < 1.3
    assert (
        np.sort(np.argsort(-singles["level"])[:7]).tolist() == np.flatnonzero(groups.of("level", 8).labels < 7).tolist()
    )


def test_a_table_has_as_many_cells_as_it_can_bear():
    groups = CellGroups({"a": np.ones(500), "b": np.ones(3), "c": np.ones(500)}, {"a", "c"})
    assert [groups.cells(("a", "b"), groups.maps(("a", "b"), most)) for most in (1, 24, 100, 1e9)] == [12, 24, 96, 1500]
    assert [groups.cells(("a", "c"), groups.maps(("a", "c"), most)) for most in (1, 64, 1e9)] == [16, 64, 250_000]
    assert bearable(100, 10) == 2.5
    assert bearable(1e6, 10) > 1e6 / 10 / 4
    assert [len(step) for step in groups.steps()] == [3] * 8


def test_sums_and_cells_are_inverse():
    random = np.random.default_rng(2)
    maps = (Partition([2, 0, 1, 1, 0]), None)
    counts, single = random.random((3, 4)), random.random(5)
    fine = spread(counts, maps, (single, np.ones(4)))
    assert fine.shape == (5, 4)
    assert merged(fine, maps) == pytest.approx(counts)
    assert fine[2] / fine[3] == pytest.approx(single[2] / single[3])


@pytest.mark.parametrize("labels", [[0, 0, 2], [0, 1], [True, False, 0], [0.0, 1, 1], "001", [-1, 0, 1]])
def test_groups_of_strangers(labels):
    with pytest.raises(ValueError, match="maps"):
        maps_of([labels, None], [3, 2])
    assert plain_maps(maps_of([[0, 1, 1], None], [3, 2])) == [[0, 1, 1], None]


# ---- estimates -------------------------------------------------------------------------------------------------------


def test_estimates_from_groups():
    """The dependence comes from the table of groups, the cells inside from the 1-way table, which learns from it."""
    random = np.random.default_rng(3)
    truth = np.outer(np.repeat([10.0, 40.0], 6), [1.0, 1.0]) * np.repeat([[1.8, 0.2], [0.2, 1.8]], 6, axis=0)
    maps = (Partition(np.repeat([0, 1], 6)), None)
    scale = 30.0
    noisy = [
        MeasuredTable(("a",), truth.sum(axis=1) + random.laplace(0, scale, 12), 2 * scale**2),
        MeasuredTable(("b",), truth.sum(axis=0) + random.laplace(0, scale, 2), 2 * scale**2),
    ]
    exact = MeasuredTable(("a", "b"), merged(truth, maps), 0.01, maps)
    model = estimated({"a": 12, "b": 2}, [*noisy, exact]).model
    assert merged(model.pairs["a", "b"], maps) == pytest.approx(merged(truth, maps), rel=0.01)
    assert merged(model.singles["a"], maps[:1]) == pytest.approx([120.0, 480.0], rel=0.01)
    assert model.singles["b"] == pytest.approx(truth.sum(axis=0), rel=0.01)
    whole = MeasuredTable(("a", "b"), truth, 0.01)
    both = estimated({"a": 12, "b": 2}, [*noisy, exact, whole]).model
    assert both.pairs["a", "b"] == pytest.approx(truth, abs=0.5)
    assert not both.maps


# ---- what is measured ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["auto", "select-pairs"])
@pytest.mark.parametrize("epsilon", ["1/20", "1", "20"])
def test_all_of_the_budget_is_spent(name, epsilon):
    wanted, _, outcome, model = run(name, 64, epsilon)
    assert outcome.bought[1].name.endswith(IN_GROUPS)
    for part in outcome.measured:
        sides = [wanted.sides[name] for name in part.group]
        maps = part.maps or (None,) * len(sides)
        kept = [side if groups is None else groups.groups for side, groups in zip(sides, maps, strict=True)]
        assert np.shape(part.counts) == tuple(kept)
    assert all(pair.shape == tuple(wanted.sides[name] for name in names) for names, pair in model.all_pairs().items())


def test_what_does_not_matter_does_not_matter():
    """The cells of attributes that depend on nothing do not decide whether the dependence of others is found."""
    errors = {}
    for bins in (16, 1024):
        runs = [run("auto", bins, "1", seed) for seed in range(3)]
        errors[bins] = [
            np.mean([off(model, wanted, codes, pair) for wanted, codes, _, model in runs])
            for pair in (("kind", "pay"), ("kind", "ward"), ("pay", "ward"))
        ]
    assert np.mean(errors[1024]) < 1.25 * np.mean(errors[16])
    assert max(errors[1024]) < 0.3  # independence is .6 off


def test_a_number_of_pairs_as_asked():
    _, _, outcome, _ = run("select-pairs", 64, "1", pairs=3)
    assert len([part for part in outcome.measured if len(part.group) == 2]) == 3
    assert "3 pairs, as asked for" in outcome.why


def test_few_cells_are_measured_one_by_one():
    schema = ad.Schema({name: ad.Integer(0, FEW - 1) for name in "abcde"})
    kernel = Kernel.simulated_table(np.zeros((50, 5), dtype=int), schema, epsilon=1, seed=1)
    wanted = TableSet.of(schema, list(itertools.combinations("abcde", 2)))
    outcome = program_named("auto").measure(kernel.root, wanted, Fraction(1))
    assert outcome.bought[1].name == DEPENDENCE
    assert not any(part.maps for part in outcome.measured)


# ---- releases and their files ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def release():
    import pandas

    schema, codes = table(64)
    frame = pandas.DataFrame(codes, columns=schema.names)
    frame["ward"] = [*map("abcdef".__getitem__, frame["ward"])]
    session = ad.Session(frame, schema=schema, epsilon=1, noise=SimulatedNoise(5))
    return session.release(ad.Marginals(way=2), epsilon=1)


def test_a_release_says_how_finely_it_was_measured(release):
    errors = release.errors().set_index("table")
    assert {*errors["measured_in"]} > {""}
    measured = [part for part in release.measured if any(part.maps)]
    for part in measured:
        shape = np.shape(part.counts)
        assert errors.loc[" × ".join(part.group), "measured_in"] == " × ".join(map(str, shape))
        assert release.measured_in(part.group[::-1]) == " × ".join(map(str, shape[::-1]))
        bounds = table_interval(release, part.group, 0.95)
        assert np.isfinite(bounds.upper).all()
        assert "groups" in bounds.note
        turned = table_interval(release, part.group[::-1], 0.95)
        assert np.array_equal(turned.upper, bounds.upper.T)
    assert measured
    assert np.isfinite(table_interval(release, ("pay",), 0.95).upper).all()


def test_cells_have_at_most_what_their_group_has(release):
    """Over all cells of measured pairs: 95% intervals hold in 99 of 100, since most cells are far below their group."""
    schema, codes = table(64)
    held, narrow = [], []
    for part in release.measured:
        if any(part.maps):
            first, second = (list(schema.names).index(name) for name in part.group)
            shape = tuple(schema.shape[place] for place in (first, second))
            truth = np.bincount(codes[:, first] * shape[1] + codes[:, second], minlength=shape[0] * shape[1])
            bounds = table_interval(release, part.group, 0.95)
            held += ((bounds.lower.ravel() <= truth) & (truth <= bounds.upper.ravel())).tolist()
            narrow.append(bounds.upper.min() < 200)
    assert np.mean(held) > 0.97
    assert all(narrow)


def test_it_is_read_back(release, tmp_path):
    release.save(tmp_path / "r")
    again = ad.load(tmp_path / "r")
    for pair in release.groups:
        assert np.array_equal(again.table(*pair).counts, release.table(*pair).counts)
        assert again.wrong(pair) == release.wrong(pair)
        assert again.measured_in(pair) == release.measured_in(pair)
    assert [plain_maps(part.maps) for part in again.measured] == [plain_maps(part.maps) for part in release.measured]
    both = release.combined_with([again])
    assert both.table("kind", "pay").counts.shape == (4, 200)


@pytest.mark.parametrize("damage", ["gap", "long", "words", "on one attribute"])
def test_files_with_wrong_groups_are_refused(release, tmp_path, damage):
    release.save(tmp_path / "r")
    file = tmp_path / "r" / "release.json"
    content = json.loads(file.read_text())
    place = next(place for place, part in enumerate(content["measured"]) if "maps" in part)
    part = content["measured"][place]
    axis = next(axis for axis, labels in enumerate(part["maps"]) if labels is not None)
    match damage:
        case "gap":
            part["maps"][axis] = [label + 1 for label in part["maps"][axis]]
        case "long":
            part["maps"][axis].append(0)
        case "words":
            part["maps"] = "none"
        case _:
            content["measured"][0]["maps"] = [[0] * len(content["measured"][0]["counts"])]
    content.pop("digest", None)
    file.write_text(json.dumps(content))
    with pytest.raises((BadInput, ad.errors.AdytonError)):
        ad.load(tmp_path / "r")


@pytest.mark.parametrize("epsilon", ["1/100000", "1/100", "1"])
@pytest.mark.parametrize("options", [{"pairs": 1}, {"pairs": 15}, {"label": "kind"}, {}])
def test_whatever_noise_says_the_budget_is_spent(epsilon, options):
    """Nothing fails after the first debit, however little is known then."""
    for name in ("select-pairs",) if "pairs" in options else ("auto", "select-pairs"):
        for seed in range(2):
            run(name, 20, epsilon, seed, **options)
