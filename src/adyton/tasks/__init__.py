"""What a curator can ask for, in terms of the table's attributes: tasks, requests and questions.

Start with :class:`~adyton.tasks.request.Task` and :class:`~adyton.tasks.request.Request`; the kinds of tasks are in
``counts``, ``marginals`` and ``numbers``, and ``questions`` turns "age from 20 to 29" into queries about cells.
"""

from adyton.tasks.counts import Cdf as Cdf
from adyton.tasks.counts import Count as Count
from adyton.tasks.counts import Histogram as Histogram
from adyton.tasks.counts import QueryList as QueryList
from adyton.tasks.counts import Ranges as Ranges
from adyton.tasks.counts import RowsLeftOut as RowsLeftOut
from adyton.tasks.counts import RowsPerUnit as RowsPerUnit
from adyton.tasks.counts import Units as Units
from adyton.tasks.marginals import Marginals as Marginals
from adyton.tasks.numbers import Mean as Mean
from adyton.tasks.numbers import NumbersTask as NumbersTask
from adyton.tasks.numbers import Quantiles as Quantiles
from adyton.tasks.numbers import Sum as Sum
from adyton.tasks.numbers import Summary as Summary
from adyton.tasks.numbers import Variance as Variance
from adyton.tasks.questions import as_queries as as_queries
from adyton.tasks.request import Option as Option
from adyton.tasks.request import Request as Request
from adyton.tasks.request import Task as Task
from adyton.tasks.request import as_task as as_task
from adyton.tasks.request import register as register
from adyton.tasks.request import task_from_dict as task_from_dict
