"""What a curator can ask for: tasks, and questions in the words of the table."""

from adyton.tasks.base import Option as Option
from adyton.tasks.base import Task as Task
from adyton.tasks.marginals import Marginals as Marginals
from adyton.tasks.named import Cdf as Cdf
from adyton.tasks.named import Histogram as Histogram
from adyton.tasks.named import QueryList as QueryList
from adyton.tasks.named import Ranges as Ranges
from adyton.tasks.numbers import Mean as Mean
from adyton.tasks.numbers import NumbersTask as NumbersTask
from adyton.tasks.numbers import Quantiles as Quantiles
from adyton.tasks.numbers import Sum as Sum
from adyton.tasks.numbers import Summary as Summary
from adyton.tasks.numbers import Variance as Variance
from adyton.tasks.questions import as_queries as as_queries
from adyton.tasks.request import Request as Request
from adyton.tasks.request import as_task as as_task
from adyton.tasks.request import register as register
from adyton.tasks.request import task_from_dict as task_from_dict
from adyton.tasks.units import Count as Count
from adyton.tasks.units import RowsLeftOut as RowsLeftOut
from adyton.tasks.units import RowsPerUnit as RowsPerUnit
from adyton.tasks.units import Units as Units
