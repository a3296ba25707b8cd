"""The public names, and where each of them is."""

import adyton_lab.training.choices
import adyton_lab.training.delphi

from . import configuration as configuration
from . import errors as errors
from . import learning as learning
from . import noise as noise
from . import workloads as workloads
from .choice.maker import ChoiceMaker as ChoiceMaker
from .choice.options import metafeature as metafeature
from .choice.options import option as option
from .choice.policy import LearnedChoices as LearnedChoices
from .choice.policy import choose as choose
from .choice.pythia import Pythia as Pythia
from .choice.selector import Selector as Selector
from .choice.training import PublicData as PublicData
from .configuration.configure import configure as configure
from .configuration.result import Configuration as Configuration
from .kernel.checking import draft_schema as draft_schema
from .kernel.kernel import Kernel as Kernel
from .kernel.ledger import Ledger as Ledger
from .learning import Classifier as Classifier
from .learning import FittedClassifier as FittedClassifier
from .marginals.tables_release import TablesRelease as TablesRelease
from .plans import algorithms as algorithms
from .plans import simulate as simulate
from .programs import load as load
from .queries import Measurement as Measurement
from .queries import Partition as Partition
from .result import Release as Release
from .result.combining import combine as combine
from .result.comparing import change as change
from .result.number import Number as Number
from .result.number import cut_off as cut_off
from .result.result import Result as Result
from .schema import Boolean as Boolean
from .schema import Categorical as Categorical
from .schema import Date as Date
from .schema import Datetime as Datetime
from .schema import Duration as Duration
from .schema import FileFormat as FileFormat
from .schema import Identifier as Identifier
from .schema import Integer as Integer
from .schema import Latitude as Latitude
from .schema import Longitude as Longitude
from .schema import LookUp as LookUp
from .schema import Numeric as Numeric
from .schema import Point as Point
from .schema import Reading as Reading
from .schema import ReportWords as ReportWords
from .schema import Schema as Schema
from .session import Session as Session
from .session.remote import RemoteSession as RemoteSession
from .session.remote import connect as connect
from .statistics.numbers_release import NumbersRelease as NumbersRelease
from .tasks import Cdf as Cdf
from .tasks import Count as Count
from .tasks import Histogram as Histogram
from .tasks import Marginals as Marginals
from .tasks import Mean as Mean
from .tasks import Quantiles as Quantiles
from .tasks import QueryList as QueryList
from .tasks import Ranges as Ranges
from .tasks import Request as Request
from .tasks import RowsPerUnit as RowsPerUnit
from .tasks import Sum as Sum
from .tasks import Summary as Summary
from .tasks import Units as Units
from .tasks import Variance as Variance

__version__: str
Delphi = adyton_lab.training.delphi.Delphi
learn_choices = adyton_lab.training.choices.learn_choices
