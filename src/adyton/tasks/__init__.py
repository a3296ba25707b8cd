"""What a curator can ask for: tasks, and questions in the words of the table."""

from adyton.tasks.questions import as_queries as as_queries
from adyton.tasks.task import Cdf as Cdf
from adyton.tasks.task import Histogram as Histogram
from adyton.tasks.task import Marginals as Marginals
from adyton.tasks.task import QueryList as QueryList
from adyton.tasks.task import Ranges as Ranges
from adyton.tasks.task import Task as Task
from adyton.tasks.task import as_task as as_task
from adyton.tasks.task import task_from_dict as task_from_dict
