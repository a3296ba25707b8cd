"""Winners of a combinatorial auction, found greedily: the largest price/|bundle|^ρ comes first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adyton.arrays import Places
from adyton.configuration import made_up
from adyton.configuration.conflicts import in_conflict, neighbours_of
from adyton.configuration.exact_order import clamped, logarithms
from adyton.configuration.problems import Bids
from adyton.configuration.sweep import Reached, SweptFamily


@dataclass(frozen=True, kw_only=True)
class Auction(SweptFamily[Bids]):
    """Bids accepted greedily by price/|bundle|^ρ, so that no good is sold twice; the value is the revenue.

    Lehmann, O'Callaghan and Shoham, "Truth revelation in approximately efficient combinatorial auctions", JACM 2002:
    ρ = ½ has the best guarantee in the number of goods.

    >>> bids = Bids(prices=[10, 6, 6], bundles=[(0, 1), (0,), (1,)])
    >>> Auction().run(bids, 0.5), Auction().run(bids, 1.0)
    (10.0, 12.0)
    """

    name = "auction"
    interval = (0.0, 2.0)
    default = 0.5
    kind = Bids

    def examples(self) -> Sequence[Bids]:
        """Made-up auctions of every kind."""
        return [made_up.bids(kind, goods=8, count=14, seed=1) for kind in made_up.BID_KINDS]

    def reached(self, instance: Bids) -> Reached:
        """The revenue, and until where the same bids win."""
        prices = clamped(instance.prices)
        offered = np.flatnonzero(prices > 0)
        bundles = [instance.bundles[bid] for bid in offered]
        goods = instance.goods
        sizes = [len(bundle) if goods is None else sum(0 <= good < goods for good in bundle) for bundle in bundles]
        a, b = logarithms(prices[offered]), logarithms(np.maximum(np.array(sizes, dtype=np.float64), 1.0))
        starts, neighbours = neighbours_of(len(bundles), _sharing(bundles))
        return in_conflict(a, b, starts, neighbours, prices[offered])


def _sharing(bundles: Sequence[Sequence[int]]) -> Places:
    """Pairs of bids that want a good in common."""
    from scipy.sparse import csr_array

    goods, starts = [good for bundle in bundles for good in bundle], np.cumsum([0, *map(len, bundles)])
    known, columns = np.unique(np.array(goods, dtype=np.int64), return_inverse=True)
    wants = csr_array((np.ones(len(goods), dtype=np.int32), columns, starts), shape=(len(bundles), len(known)))
    pairs: Places = np.stack((wants @ wants.T).nonzero(), axis=1).astype(np.int64)
    return pairs[pairs[:, 0] < pairs[:, 1]]
