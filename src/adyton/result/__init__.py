"""What a request returns: estimates with their labels, intervals, explanations and files.

Start with ``result.py``, what every result is; ``release.py`` is the result of counts. ``noise_model.py`` says how far
off its answers are, ``sheets.py`` what is shown and written, ``folder.py`` where. Pages and pictures are in ``report``.
"""

from adyton.result.intervals import Interval as Interval
from adyton.result.misfits import Misfits as Misfits
from adyton.result.release import Release as Release
