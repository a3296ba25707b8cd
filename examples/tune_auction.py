"""An auction house tunes how it finds winners, on bids that nobody may learn about.

    python examples/tune_auction.py

Bidders offer a price for a bundle of goods, all or nothing. The house accepts bids greedily by price/|bundle|^ρ.
Books say ρ = ½. What is best for its own customers, their past bids can tell: privately, so that the published ρ gives
away no auction. Whether it pays is seen on new auctions, beside the best winners that there are (by HiGHS, slowly).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

import adyton as ad
from adyton.configuration import Auction, Bids, made_up


def best_revenue(bids: Bids) -> float:
    """The largest revenue that any set of bids has in which no good is sold twice."""
    bid_of = [bid for bid, bundle in enumerate(bids.bundles) for _ in bundle]
    goods = [good for bundle in bids.bundles for good in bundle]
    wanted = csr_array((np.ones(len(goods)), (goods, bid_of)), shape=(max(goods) + 1, len(bids.bundles)))
    all_or_nothing = np.ones(len(bids.prices))
    found = milp(
        -bids.prices, constraints=LinearConstraint(wanted, ub=1), integrality=all_or_nothing, bounds=Bounds(0, 1)
    )
    return float(-found.fun)


def main() -> None:
    """Tune, and compare on auctions that were not there."""
    past = made_up.several(made_up.bids, 250, "regions", seed=1, goods=40, count=200)
    new = made_up.several(made_up.bids, 25, "regions", seed=2, goods=40, count=200)

    found = ad.configure(Auction(), past, epsilon=1)
    print(found.explain())

    optimum = np.array([best_revenue(bids) for bids in new])
    print(f"\nRevenue of {len(new)} new auctions, in % of the best that there is:")
    for name, parameter in (("ρ = 1/2, from the books", 0.5), (f"ρ = {found.parameter:.3f}, tuned", found.parameter)):
        reached = np.array([Auction().run(bids, parameter) for bids in new])
        print(f"  {name}: {100 * (reached / optimum).mean():.1f}")


if __name__ == "__main__":
    main()
