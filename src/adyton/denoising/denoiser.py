"""The one form of everything that takes noise out again."""

from __future__ import annotations

from typing import Protocol

import numpy.typing as npt

from adyton.arrays import Reals


class Denoiser(Protocol):
    """Likely cells from noisy numbers: a function of this room, bound by ``functools.partial`` to all that it needs to
    know beside them.

    =====================================================  ================================  =========================
    function                                               noisy numbers                     what it needs to know
    =====================================================  ================================  =========================
    ``empirical_bayes``                                    every cell                        ε
    ``with_neighbours``                                    every cell                        ε, the domain
    ``change_points``                                      every cell                        ε, ways through the cells
    ``top_down``                                           blocks of whole levels of a tree  the tree, variances
    ``james_stein``, ``polya_tree``                        least squares from some levels    their sizes, variances
    ``monotone_prefix``                                    any estimate                      nothing
    ``threshold``, ``clip_and_rescale``, ``cut_to_total``  any estimate                      a bound; or a total
    =====================================================  ================================  =========================

    All of it is post-processing of public numbers and costs no privacy.

    >>> from functools import partial
    >>> from adyton.denoising.thresholding import threshold
    >>> denoiser: Denoiser = partial(threshold, least=1)
    >>> denoiser([4, 0.5, -3])
    array([4., 0., 0.])
    """

    def __call__(self, noisy: npt.ArrayLike, /) -> Reals:
        """The cells, along the last axis; axes in front are independent trials."""
