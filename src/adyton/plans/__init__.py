"""Plans: every algorithm as a short program of operators."""

from adyton.plans.base import Estimate, ExpectedError, Plan, StrategyPlan, Tasks
from adyton.plans.registry import algorithms, plan_named, register
from adyton.plans.simulation import simulate

__all__ = [
    "Estimate",
    "ExpectedError",
    "Plan",
    "StrategyPlan",
    "Tasks",
    "algorithms",
    "plan_named",
    "register",
    "simulate",
]
