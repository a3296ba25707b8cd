"""What a request returns: estimates with their labels, intervals, explanations and files.

Start with ``result.py``, the base of every result; ``release.py`` is the result of counts, and ``shown.py`` what it
shows. ``combining.py`` makes one release out of several, ``noise_model.py`` computes errors of answers, ``sheets.py``
holds what is shown, ``folder.py`` writes it. Pages are made in ``report``.
"""

from adyton.result.intervals import Interval as Interval
from adyton.result.misfits import Misfits as Misfits
from adyton.result.release import Release as Release
