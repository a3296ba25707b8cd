"""Short blocks without quotes are split by Python, with the same result as the loop."""

import numpy as np
import pytest

from adyton.kernel.reading import csv_reader


class Looped(bytes):
    """Bytes of which nobody can tell that there is no quote in them."""

    def __contains__(self, what):
        return True


@pytest.mark.parametrize("longest", [csv_reader.LONGEST_LINE, 6])
def test_both_ways_give_the_same(monkeypatch, longest):
    monkeypatch.setattr(csv_reader, "LONGEST_LINE", longest)
    random = np.random.default_rng(4)
    for _ in range(300):
        columns = int(random.integers(1, 5))
        block = "".join(random.choice(list("ab, ;\n\té1"), random.integers(0, 60))).encode() + b"\n"
        wanted = random.permutation(columns)[: random.integers(1, columns + 1)]
        slots = np.full(columns, -1)
        slots[wanted] = range(len(wanted))
        options = {"multiline": bool(random.integers(2)), "delimiter": ord(","), "slots": slots, "swift": False}
        split, looped = (csv_reader._cut(kind(block), True, **options) for kind in (bytes, Looped))
        assert len(split[0]) == len(looped[0]), block
        assert all(own.equals(other) for own, other in zip(split[0], looped[0], strict=True)), block
        assert split[1] == looped[1] == len(block)
