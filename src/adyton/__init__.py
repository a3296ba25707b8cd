"""Adyton: differentially private data release.

Names are looked up in their rooms when first used, so that importing the package stays fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_ROOMS = {
    "Boolean": "adyton.schema",
    "Categorical": "adyton.schema",
    "Date": "adyton.schema",
    "Datetime": "adyton.schema",
    "Duration": "adyton.schema",
    "Identifier": "adyton.schema",
    "Integer": "adyton.schema",
    "Latitude": "adyton.schema",
    "Longitude": "adyton.schema",
    "Numeric": "adyton.schema",
    "FileFormat": "adyton.schema",
    "LookUp": "adyton.schema",
    "Point": "adyton.schema",
    "Reading": "adyton.schema",
    "ReportWords": "adyton.schema",
    "Schema": "adyton.schema",
    "Classifier": "adyton.learning",
    "FittedClassifier": "adyton.learning",
    "Cdf": "adyton.tasks",
    "Histogram": "adyton.tasks",
    "Marginals": "adyton.tasks",
    "QueryList": "adyton.tasks",
    "Ranges": "adyton.tasks",
    "Mean": "adyton.tasks",
    "Quantiles": "adyton.tasks",
    "Sum": "adyton.tasks",
    "Summary": "adyton.tasks",
    "Variance": "adyton.tasks",
    "RowsPerUnit": "adyton.tasks",
    "Count": "adyton.tasks",
    "Units": "adyton.tasks",
    "Number": "adyton.result.number",
    "Request": "adyton.tasks",
    "Result": "adyton.result.result",
    "Release": "adyton.result",
    "NumbersRelease": "adyton.statistics.numbers_release",
    "Session": "adyton.session",
    "TablesRelease": "adyton.marginals.tables_release",
    "Delphi": "adyton_lab.delphi",
    "Pythia": "adyton.selection.pythia",
    "Selector": "adyton.selection.selector",
    "Kernel": "adyton.kernel.kernel",
    "Measurement": "adyton.queries",
    "Partition": "adyton.queries",
    "Ledger": "adyton.kernel.ledger",
    "Configuration": "adyton.configuration.result",
    "ChoiceMaker": "adyton.choice.maker",
    "LearnedChoices": "adyton.choice.learn_choices",
    "PublicData": "adyton.choice.training",
    "choose": "adyton.choice.policy",
    "combine": "adyton.result.combining",
    "configure": "adyton.configuration.configure",
    "cut_off": "adyton.result.number",
    "learn_choices": "adyton.choice.learn_choices",
    "load": "adyton.programs",
    "metafeature": "adyton.choice.metafeatures",
    "option": "adyton.choice.options",
    "algorithms": "adyton.plans",
    "draft_schema": "adyton.checking.declared",
    "simulate": "adyton.plans",
}

__all__ = [
    "Boolean",
    "Categorical",
    "Cdf",
    "ChoiceMaker",
    "Classifier",
    "Configuration",
    "Count",
    "Date",
    "Datetime",
    "Delphi",
    "Duration",
    "FileFormat",
    "FittedClassifier",
    "Histogram",
    "Identifier",
    "Integer",
    "Kernel",
    "Latitude",
    "LearnedChoices",
    "Ledger",
    "Longitude",
    "LookUp",
    "Marginals",
    "Mean",
    "Measurement",
    "Number",
    "NumbersRelease",
    "Numeric",
    "Partition",
    "Point",
    "PublicData",
    "Pythia",
    "Quantiles",
    "QueryList",
    "Ranges",
    "Reading",
    "Release",
    "ReportWords",
    "Request",
    "Result",
    "RowsPerUnit",
    "Schema",
    "Selector",
    "Session",
    "Sum",
    "Summary",
    "TablesRelease",
    "Units",
    "Variance",
    "algorithms",
    "choose",
    "combine",
    "configuration",
    "configure",
    "cut_off",
    "draft_schema",
    "errors",
    "learn_choices",
    "learning",
    "load",
    "metafeature",
    "noise",
    "option",
    "simulate",
    "workloads",
]

if TYPE_CHECKING:
    from adyton import configuration as configuration
    from adyton import errors as errors
    from adyton import learning as learning
    from adyton import noise as noise
    from adyton import workloads as workloads
    from adyton.checking.declared import draft_schema as draft_schema
    from adyton.choice.learn_choices import LearnedChoices as LearnedChoices
    from adyton.choice.learn_choices import learn_choices as learn_choices
    from adyton.choice.maker import ChoiceMaker as ChoiceMaker
    from adyton.choice.metafeatures import metafeature as metafeature
    from adyton.choice.options import option as option
    from adyton.choice.policy import choose as choose
    from adyton.choice.training import PublicData as PublicData
    from adyton.configuration.configure import configure as configure
    from adyton.configuration.result import Configuration as Configuration
    from adyton.kernel.kernel import Kernel as Kernel
    from adyton.kernel.ledger import Ledger as Ledger
    from adyton.learning import Classifier as Classifier
    from adyton.learning import FittedClassifier as FittedClassifier
    from adyton.marginals.tables_release import TablesRelease as TablesRelease
    from adyton.plans import algorithms as algorithms
    from adyton.plans import simulate as simulate
    from adyton.programs import load as load
    from adyton.queries import Measurement as Measurement
    from adyton.queries import Partition as Partition
    from adyton.result import Release as Release
    from adyton.result.combining import combine as combine
    from adyton.result.number import Number as Number
    from adyton.result.number import cut_off as cut_off
    from adyton.result.result import Result as Result
    from adyton.schema import Boolean as Boolean
    from adyton.schema import Categorical as Categorical
    from adyton.schema import Date as Date
    from adyton.schema import Datetime as Datetime
    from adyton.schema import Duration as Duration
    from adyton.schema import FileFormat as FileFormat
    from adyton.schema import Identifier as Identifier
    from adyton.schema import Integer as Integer
    from adyton.schema import Latitude as Latitude
    from adyton.schema import Longitude as Longitude
    from adyton.schema import LookUp as LookUp
    from adyton.schema import Numeric as Numeric
    from adyton.schema import Point as Point
    from adyton.schema import Reading as Reading
    from adyton.schema import ReportWords as ReportWords
    from adyton.schema import Schema as Schema
    from adyton.selection.pythia import Pythia as Pythia
    from adyton.selection.selector import Selector as Selector
    from adyton.session import Session as Session
    from adyton.statistics.numbers_release import NumbersRelease as NumbersRelease
    from adyton.tasks import Cdf as Cdf
    from adyton.tasks import Count as Count
    from adyton.tasks import Histogram as Histogram
    from adyton.tasks import Marginals as Marginals
    from adyton.tasks import Mean as Mean
    from adyton.tasks import Quantiles as Quantiles
    from adyton.tasks import QueryList as QueryList
    from adyton.tasks import Ranges as Ranges
    from adyton.tasks import Request as Request
    from adyton.tasks import RowsPerUnit as RowsPerUnit
    from adyton.tasks import Sum as Sum
    from adyton.tasks import Summary as Summary
    from adyton.tasks import Units as Units
    from adyton.tasks import Variance as Variance
    from adyton_lab.delphi import Delphi as Delphi


def __getattr__(name: str) -> Any:
    if name in ("configuration", "errors", "learning", "noise", "workloads"):
        return import_module(f"adyton.{name}")
    if name in _ROOMS:
        return getattr(import_module(_ROOMS[name]), name)
    raise AttributeError(f"module 'adyton' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
