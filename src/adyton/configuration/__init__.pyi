from .family import Candidates as Candidates
from .family import Family as Family
from .family import GreedyFamily as GreedyFamily
from .greedy import Auction as Auction
from .greedy import IndependentSet as IndependentSet
from .greedy import Knapsack as Knapsack
from .max_cut import Lattice as Lattice  # type: ignore[attr-defined]
from .max_cut import MaxCut as MaxCut
from .max_cut import SmoothCurve as SmoothCurve  # type: ignore[attr-defined]
from .max_cut import StepCurve as StepCurve  # type: ignore[attr-defined]
from .problems import Bids as Bids
from .problems import CutGraph as CutGraph
from .problems import Deliveries as Deliveries
from .problems import Items as Items
from .problems import WeightedGraph as WeightedGraph
from .reading import read_instances as read_instances
from .result import Configuration as Configuration
from .result import Guarantee as Guarantee
from .result import planned as planned
from .routing import Routing as Routing
from .tuning import Grid as Grid
