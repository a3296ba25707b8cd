"""What comes out: estimates with their labels, intervals, explanations and files."""

from adyton.release.interval import Interval as Interval
from adyton.release.misfits import Misfits as Misfits
from adyton.release.release import Release as Release
