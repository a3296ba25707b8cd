"""Plans: every algorithm for counts, as a short program of operators; ``published`` has those that auto never chooses.

Start with :class:`adyton.plans.base.Plan`; :mod:`adyton.plans.registry` lists all plans by name.
"""

from adyton.plans.algorithm import Positive, Share, Whole, Within
from adyton.plans.base import Estimate, ExpectedError, Plan, Tasks
from adyton.plans.registry import algorithms, plan_named, plan_type, register, simulate
from adyton.plans.strategy_plan import StrategyPlan

__all__ = [
    "Estimate",
    "ExpectedError",
    "Plan",
    "Positive",
    "Share",
    "StrategyPlan",
    "Tasks",
    "Whole",
    "Within",
    "algorithms",
    "plan_named",
    "plan_type",
    "register",
    "simulate",
]
