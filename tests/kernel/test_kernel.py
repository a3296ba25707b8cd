"""The kernel from outside: transformations, measurements, charges, and the door."""

import gc
import threading
from fractions import Fraction as F
from functools import partial

import numpy as np
import pytest

import adyton as ad
from adyton.errors import AdytonError, BadInput, BudgetExceeded, KernelFailure, LedgerMismatch
from adyton.kernel.mechanisms import NoisyCount, VectorLaplace
from adyton.kernel.operators import Mechanism, claim, section
from adyton.kernel.shapes import VectorShape
from adyton.kernel.transforms import Vectorize
from adyton.workloads import Explicit, Identity, Partition, Prefix, Total

SHARP = 300  # at this ε the noise is zero except with probability 2·e^(-300)


def exactly(measurement):
    return measurement.answers.tolist()


def test_table_transformations_and_their_charges(kernel):
    root = kernel.root
    assert exactly(root.count(SHARP)) == [8]
    assert exactly(root.where("age >= 50 and sex = 'F'").count(SHARP)) == [3]
    assert exactly(root.select("sex").vectorize().measure(Identity(2), SHARP)) == [4, 3]
    assert kernel.spent == 3 * SHARP


def test_vectorize_in_two_dimensions(kernel):
    vector = kernel.root.select("sex", "age").vectorize()
    assert vector.shape == (2, 10)
    counts = vector.measure(Identity(vector.shape), SHARP).answers.reshape(vector.shape)
    assert counts.sum() == 5
    assert counts[0, 3] == counts[0, 6] == counts[0, 7] == counts[1, 2] == counts[1, 5] == 1


def test_split_costs_as_much_as_one_part(kernel):
    women, men = kernel.root.split("sex")
    assert (exactly(women.count(SHARP)), exactly(men.count(SHARP))) == ([4], [3])
    assert kernel.spent == SHARP


def test_split_by_groups_of_cells(kernel):
    young, old = kernel.root.split("age", Partition([0] * 5 + [1] * 5))
    assert (exactly(young.count(SHARP)), exactly(old.count(SHARP))) == ([3], [3])


def test_group_by_doubles_the_cost(kernel):
    patients = kernel.root.group_by("patient", count="visits", max_count=2)
    assert patients.stability == 2
    assert exactly(patients.count(100)) == [6]
    assert kernel.spent == 200
    visits = patients.select("visits").vectorize()
    assert exactly(visits.measure(Identity(2), 100)) == [4, 2]
    assert kernel.spent == 400


def test_vector_transformations(kernel):
    stays = kernel.root.select("stay").vectorize()
    assert exactly(stays.reduce(Partition([0] * 4 + [-1] * 26 + [1])).measure(Identity(2), 50)) == [6, 1]
    first, second = stays.split(Partition([0] * 4 + [1] * 27))
    assert exactly(first.measure(Prefix(4), 200)) == [1, 2, 3, 6]
    assert exactly(second.measure(Total(27), 200)) == [2]
    assert kernel.spent == 50 + 200
    doubled = stays.map(Explicit.from_rows(2 * np.eye(31, dtype=int)))
    assert doubled.stability == 2
    assert exactly(doubled.measure(Total(31), 50)) == [16]
    assert kernel.spent == 250 + 100


def test_rows_per_unit_multiplies_the_charge(table):
    schema = ad.Schema({"stay": ad.Integer(0, 30)}, rows_per_unit=3)
    kernel = ad.Kernel(table, schema=schema, epsilon=1)
    kernel.root.count(F(1, 3))
    assert kernel.remaining == 0


def test_weights_share_the_noise(kernel):
    ages = kernel.root.select("age").vectorize()
    weighted = ages.measure(Identity(10), "0.5", weights=[4, *[1] * 9])
    plain = ages.measure(Identity(10), "0.5")
    assert weighted.variances[0] == pytest.approx(plain.variances[0])
    assert weighted.variances[1] == pytest.approx(16 * plain.variances[0], rel=0.02)


def test_a_measurement_says_how_noisy_it_is():
    kernel = ad.Kernel.simulated(np.full(20_000, 5), epsilon=1, seed=3)
    measured = kernel.root.measure(Identity(20_000), "0.1")
    assert measured.private is False
    spread = np.var(measured.answers - 5.0)
    assert spread == pytest.approx(measured.variances[0], rel=0.15)  # 15% is 9 standard errors: false alarm < 1e-6
    assert measured.standard_deviations[0] == pytest.approx(14.1, rel=0.01)


def test_simulation_is_repeatable_and_marked():
    def run():
        return ad.Kernel.simulated([5, 6, 7], epsilon=1, seed=1).root.measure(Identity(3), 1)

    assert exactly(run()) == exactly(run())
    assert not run().private


def test_real_answers_are_marked_private_and_differ():
    measured = [ad.Kernel.on_vector([0] * 50, epsilon=1).root.measure(Identity(50), 1) for _ in range(2)]
    assert all(m.private for m in measured)
    assert exactly(measured[0]) != exactly(measured[1])  # equal with probability < 1e-15


@pytest.mark.parametrize("name", ["exact", "opendp"])
def test_noise_sources_can_be_chosen(name, table, schema):
    if name == "opendp":
        pytest.importorskip("opendp")
    noise = ad.noise.ExactNoise() if name == "exact" else ad.noise.OpenDPNoise()
    kernel = ad.Kernel(table, schema=schema, epsilon=1000, noise=noise)
    answer = kernel.root.count(SHARP)
    assert exactly(answer) == [8]
    assert answer.private


def test_counts_near_the_end_of_64_bits_are_exact():
    huge = np.array([2**62, 2**62, 2**62])
    kernel = ad.Kernel.on_vector(huge, epsilon=1000)
    assert exactly(kernel.root.measure(Total(3), SHARP)) == [3 * 2**62]
    mapped = kernel.root.map(Explicit.from_rows([[2**20, -1, 0]]))
    answer = mapped.measure(Identity(1), F(1, 2**12)).value
    assert abs(answer - (2**20 - 1) * 2**62) < 2**12 * 60  # false alarm 2·e^-60


def test_a_tiny_budget_gives_enormous_noise_and_still_works():
    kernel = ad.Kernel.on_vector([1], epsilon=1)
    assert abs(kernel.root.measure(Identity(1), "1e-40").value) > 2**64  # false alarm 1e-20


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda k: k.root.count(float("nan")), "finite number, given nan"),
        (lambda k: k.root.count(float("inf")), "finite number, given inf"),
        (lambda k: k.root.count(-1), "greater than 0, given -1"),
        (lambda k: k.root.count(0), "greater than 0"),
        (lambda k: k.root.count("much"), "given 'much'"),
        (lambda k: k.root.count(None), "given None"),
        (lambda k: k.root.count(True), "given True"),
        (lambda k: k.root.where("income > 3"), "income"),
        (lambda k: k.root.where("length(sex) > 3"), "function"),
        (lambda k: k.root.where("age > 3; drop table t"), ""),
        (lambda k: k.root.where(None), ""),
        (lambda k: k.root.select("wealth"), "no attribute 'wealth'"),
        (lambda k: k.root.select(), "no attributes"),
        (lambda k: k.root.vectorize(), "identifier"),
        (lambda k: k.root.split("patient"), "identifier"),
        (lambda k: k.root.split("sex", Partition([0, 1, 1])), "has 2 cells"),
        (lambda k: k.root.group_by("patient", count="n", max_count=0), "max_count"),
        (lambda k: k.root.group_by("patient", count="patient", max_count=3), "patient"),
        (lambda k: k.root.select("sex").vectorize().measure(Identity(3), 1), "has 2 cells"),
        (lambda k: k.root.select("sex").vectorize().measure(Identity(2), 1, weights=[1, -1]), "greater than 0"),
        (lambda k: k.root.select("sex").vectorize().measure(Identity(2), 1, weights=[1]), "one per query"),
        (lambda k: k.root.select("sex").vectorize().measure(Identity(2), 1, weights=["a", "b"]), "one per query"),
        (lambda k: k.root.select("sex").vectorize().measure(Identity(2), 1, weights=[1, 0]), "one per query"),
        (lambda k: k.root.select("sex").vectorize().reduce(Partition([0])), "has 2 cells"),
        (lambda k: k.root.select("sex").vectorize().split(Partition([0, 0], groups=2)), "no cells"),
        (lambda k: k.root.select("sex").vectorize().map(Identity(3)), "has 2 cells"),
        (lambda k: k.measure(k.root, VectorLaplace(Identity(2)), 1), "works on a vector"),
        (lambda k: k.measure(k.root, Vectorize(), 1), "not a mechanism"),
        (lambda k: k.transform(k.root, NoisyCount()), "not a transform"),
        (lambda k: k.transform("root", Vectorize()), "given 'root'"),
        (lambda k: k.transform(ad.Kernel.on_vector([1], epsilon=1).root, Vectorize()), "another kernel"),
        (lambda k: k.measure(k.root, "noisy count", 1), "does not accept the operator str"),
    ],
)  # fmt: skip
def test_bad_requests_spend_nothing(kernel, ask, message):
    with pytest.raises(BadInput) as caught:
        ask(kernel)
    assert message in str(caught.value)
    assert kernel.spent == 0
    assert kernel.ledger.entries() == []


@pytest.mark.parametrize("epsilon", [float("nan"), 0, -1, "inf", 1e9, 10**50, None])
def test_bad_totals_are_refused(table, schema, tmp_path, epsilon):
    path = tmp_path / "x.ledger"
    with pytest.raises(BadInput, match="epsilon|total"):
        ad.Kernel(table, schema=schema, epsilon=epsilon, ledger=path)
    assert not path.exists()


def test_exceeding_the_total_spends_nothing(table, schema):
    kernel = ad.Kernel(table, schema=schema, epsilon="0.2")
    kernel.root.count("0.15")
    with pytest.raises(BudgetExceeded) as caught:
        kernel.root.count("0.1")
    assert (caught.value.asked, caught.value.left, caught.value.total) == (F("0.1"), F("0.05"), F("0.2"))
    assert kernel.remaining == F("0.05")
    kernel.root.count("0.05")
    assert kernel.remaining == 0


def test_the_advice_after_a_refusal_can_be_followed(table):
    kernel = ad.Kernel(table, schema=ad.Schema({"stay": ad.Integer(0, 30)}, rows_per_unit=4), epsilon="0.2")
    with pytest.raises(BudgetExceeded, match="Ask for at most 0.05 here"):
        kernel.root.count("0.1")
    kernel.root.count("0.05")
    assert kernel.remaining == 0


@pytest.mark.parametrize("rows", [0, -1, 2.5, "2", (3, 4), None, True])
def test_bad_rows_per_unit(rows, tmp_path):
    path = tmp_path / "x.ledger"
    with pytest.raises(BadInput, match="rows_per_unit"):
        ad.Kernel.on_vector([1], epsilon=1, rows_per_unit=rows, ledger=path)
    assert not path.exists()


class Liar(Explicit):
    """Queries that claim to be harmless."""

    def sensitivity(self, weights=None):
        return 0

    def column_sums(self, weights=None):
        return np.zeros(self.cells, dtype=np.int64)


def test_queries_that_declare_their_own_sensitivity_stay_out(kernel):
    vector = kernel.root.select("sex").vectorize()
    liar = Liar(2, [0], [0], [10**6], 1)
    for ask in (lambda: vector.measure(liar, "0.001"), lambda: vector.map(liar)):
        with pytest.raises(BadInput, match="queries of type Liar"):
            ask()
    assert kernel.spent == 0


class Cheap(VectorLaplace):
    """A mechanism that charges nothing.

    Claim.  None.
    Proof.  None.  ∎
    """

    def cost(self, epsilon):
        return F(0)


def test_mechanisms_from_outside_stay_out(kernel):
    vector = kernel.root.select("sex").vectorize()
    with pytest.raises(BadInput, match="does not accept the operator Cheap"):
        kernel.measure(vector, Cheap(Identity(2)), 1)
    assert kernel.spent == 0


def test_a_mechanism_needs_a_claim_and_a_proof():
    with pytest.raises(TypeError, match="has no Claim. and no Proof."):

        class Silent(Mechanism):
            """Trust me."""

            takes = VectorShape
            check = draw = publish = audit_cases = __str__ = None

    assert claim(NoisyCount).startswith("ε-DP")
    assert "shifted by 1" in section(NoisyCount, "Proof.", "∎")


def test_a_failure_inside_stays_charged_and_says_nothing(kernel, monkeypatch):
    def explode(self):
        raise RuntimeError("the secret is 42")

    monkeypatch.setattr("adyton.kernel.counting.table.PrivateTable.count", explode)
    with pytest.raises(KernelFailure) as caught:
        kernel.root.count(1)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert "42" not in str(caught.value)
    assert kernel.spent == 1
    assert [entry.status for entry in kernel.ledger.entries()] == ["failed"]


def test_an_interruption_inside_stays_charged(kernel, monkeypatch):
    def interrupt(self):
        raise KeyboardInterrupt

    monkeypatch.setattr("adyton.kernel.counting.table.PrivateTable.count", interrupt)
    with pytest.raises(KeyboardInterrupt):
        kernel.root.count(1)
    assert kernel.spent == 1


def test_the_debit_is_durable_before_the_data_are_touched(table, schema, tmp_path, monkeypatch):
    path = tmp_path / "visits.ledger"
    kernel = ad.Kernel(table, schema=schema, epsilon=1, ledger=path, dataset="visits")
    seen = []
    count = type(kernel._kept[kernel.root.node].data).count
    monkeypatch.setattr(
        "adyton.kernel.counting.table.PrivateTable.count",
        lambda self: seen.append(ad.Ledger.read(path).spent) or count(self),
    )
    kernel.root.count("0.25")
    assert seen == [F(1, 4)]


def test_nothing_is_read_before_a_measurement(kernel, monkeypatch):
    reads = []
    table = type(kernel._kept[kernel.root.node].data)
    vectorize = table.vectorize
    monkeypatch.setattr(table, "vectorize", lambda self: reads.append(1) or vectorize(self))
    vector = kernel.root.where("age > 3").select("sex").vectorize()
    parts = vector.split(Partition([0, 1]))
    assert reads == []
    for part in parts:
        part.measure(Identity(1), 1)
    assert reads == [1]


def test_data_go_when_their_handles_go(kernel):
    before = len(kernel._kept)
    vector = kernel.root.select("sex").vectorize()
    assert len(kernel._kept) > before
    del vector
    gc.collect()
    assert len(kernel._kept) == before


def test_threads_share_one_budget():
    kernel = ad.Kernel.on_vector([1, 2, 3, 4], epsilon=1)
    parts = kernel.root.split(Partition([0, 0, 1, 1]))
    outcomes = []

    def ask(part):
        for _ in range(40):
            try:
                part.measure(Identity(2), F(1, 50))
                outcomes.append(True)
            except BudgetExceeded:
                outcomes.append(False)

    threads = [threading.Thread(target=ask, args=(part,)) for part in parts * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert kernel.spent == 1
    assert sum(outcomes) == 100  # 50 for each part: siblings pay only their excess
    assert len(outcomes) == 240


def test_two_kernels_at_once_on_one_ledger(table, schema, tmp_path):
    path = tmp_path / "visits.ledger"
    first, second = (ad.Kernel(table, schema=schema, epsilon=1, ledger=path, dataset="visits") for _ in range(2))
    first.root.count("0.75")
    assert second.remaining == F(1, 4)
    with pytest.raises(BudgetExceeded, match=r"asks for ε = 0.5, but 0.25 of 1 is left in visits.ledger"):
        second.root.count("0.5")
    second.root.count("0.25")
    assert first.spent == second.spent == 1
    assert [entry.status for entry in first.ledger.entries()] == ["answered", "answered"]


def test_a_frame_needs_a_name_for_its_ledger(table, schema, tmp_path):
    with pytest.raises(BadInput, match="dataset="):
        ad.Kernel(table, schema=schema, epsilon=1, ledger=tmp_path / "x.ledger")
    assert not (tmp_path / "x.ledger").exists()


def test_lineage_names_the_parts(kernel):
    women, _ = kernel.root.split("sex")
    assert women.where("age>50").lineage[1:] == ("split(sex = F)", 'where("age" > 50)')
    assert kernel.root.select(["sex", "age"]).schema.names == ("sex", "age")


def test_ledger_survives_and_refuses_strangers(table, schema, tmp_path):
    path = tmp_path / "visits.ledger"
    ad.Kernel(table, schema=schema, epsilon=1, ledger=path, dataset="visits").root.count("0.75")
    again = ad.Kernel(table, schema=schema, epsilon=1, ledger=path, dataset="visits")
    assert again.remaining == F(1, 4)
    for options in ({"epsilon": 2, "dataset": "visits"}, {"epsilon": 1, "dataset": "other"}):
        with pytest.raises(AdytonError):
            ad.Kernel(table, schema=schema, ledger=path, **options)
    for options in ({"epsilon": 2}, {"epsilon": 1, "dataset": "other"}):
        with pytest.raises(LedgerMismatch, match="Give both the same"):
            ad.Kernel(table, schema=schema, ledger=again.ledger, **options)


@pytest.mark.parametrize("counts", [[0.5, 1.0], [], 3, ["1"], [True]])
def test_a_vector_of_counts_is_an_array_of_whole_numbers(counts):
    for opened in (ad.Kernel.on_vector, partial(ad.Kernel.simulated, seed=0)):
        with pytest.raises(BadInput, match="is an array of whole numbers"):
            opened(counts, epsilon=1)


def test_a_query_that_no_row_moves_is_answered():
    """With noise like any other: nothing may fail after the debit."""
    kernel = ad.Kernel.on_vector([1, 2], epsilon=1)
    assert kernel.root.measure(Explicit.from_rows([[0, 0]]), 1).answers.shape == (1,)
    assert kernel.spent == 1
