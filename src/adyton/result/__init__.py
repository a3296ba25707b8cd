"""What a request returns: estimates with their labels, intervals, explanations and files."""

from adyton.result.intervals import Interval as Interval
from adyton.result.misfits import Misfits as Misfits
from adyton.result.release import Release as Release
