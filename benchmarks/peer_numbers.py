"""Means, medians and quartiles by OpenDP and diffprivlib: ``peer_numbers.py rows.npz theirs.json [RUNS [CASE …]]``.

It runs in an environment of its own and imports nothing of Adyton. Every group is asked by itself, with all of ε, since
a row is in one group; quartiles take a third of ε each. Bounds are public. Each way is run with several settings:

- opendp mean: half of ε for the sum and half for the count; a quarter and three quarters; or the mean of a data set
  whose size is public, where one row is exchanged for another.
- opendp quantiles: candidates scored by their ranks, chosen by noisy max (which is permute-and-flip), 100, 1000 or all
  cells as candidates.
- diffprivlib: ``tools.mean`` and ``tools.quantile``, which take the size of the data for public; quantiles also of rows
  that are spread evenly over their cell, rounded to cells afterwards, because it cannot choose between equal rows.

What is kept is the root mean square error of every group over RUNS runs, for each setting. Where a library computes its
answer in two steps, a stable one and one that adds the noise, only the second is repeated.
"""

import functools
import json
import sys
import warnings

import diffprivlib.mechanisms
import diffprivlib.tools
import numpy as np
import opendp.prelude as dp

RUNS = int(sys.argv[3]) if len(sys.argv) > 3 else 40
EPSILONS = (0.1, 1.0)
PARTS = {"median": (0.5,), "quartiles": (0.25, 0.5, 0.75)}

dp.enable_features("contrib", "honest-but-curious")
warnings.simplefilter("ignore")
REALS = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()


def opendp_sum(values, low, high, epsilon):
    """RUNS noisy sums."""
    stable = REALS >> dp.t.then_clamp((low, high)) >> dp.t.then_sum()
    exact = stable(values)
    noise = dp.m.make_laplace(stable.output_domain, stable.output_metric, scale=scale_of(stable, epsilon))
    return np.array([noise(exact) for _ in range(RUNS)])


def scale_of(stable, epsilon, d_in=1):
    """The least scale of Laplace noise that has the loss ε."""
    return dp.binary_search_param(
        lambda scale: stable >> dp.m.then_laplace(scale=scale), d_in=d_in, d_out=epsilon, T=float
    )


def opendp_count(values, epsilon):
    """RUNS noisy numbers of rows."""
    stable = REALS >> dp.t.then_count()
    exact = stable(values)
    noise = dp.m.make_laplace(stable.output_domain, stable.output_metric, scale=scale_of(stable, epsilon))
    return np.array([noise(exact) for _ in range(RUNS)], dtype=float)


def opendp_means(values, low, high, epsilon):
    """For each setting RUNS means."""
    found = {}
    for share in (0.5, 0.75):
        sums = opendp_sum(values, low, high, share * epsilon)
        counts = opendp_count(values, (1 - share) * epsilon)
        found[f"sum {share:g}"] = np.clip(sums / np.maximum(counts, 1), low, high)
    sized = (dp.vector_domain(dp.atom_domain(bounds=(low, high)), size=len(values)), dp.symmetric_distance())
    stable = sized >> dp.t.then_mean()
    exact = stable(np.clip(values, low, high))
    noise = dp.m.make_laplace(stable.output_domain, stable.output_metric, scale=scale_of(stable, epsilon, d_in=2))
    found["public size"] = np.clip([noise(exact) for _ in range(RUNS)], low, high)
    return found


@functools.cache
def choice_scale(part, epsilon):
    """The least scale of noisy max that has the loss ε: it does not depend on the candidates."""
    stable = REALS >> dp.t.then_quantile_score_candidates(candidates=[0.0, 1.0], alpha=part)

    def chooser(scale):
        return stable >> dp.m.then_noisy_max(dp.max_divergence(), scale=scale, negate=True)

    return dp.binary_search_param(chooser, d_in=1, d_out=epsilon, T=float)


def opendp_quantiles(values, low, high, cells, part, epsilon):
    """For each setting RUNS quantiles."""
    found = {}
    for name, candidates in {
        "100 candidates": np.linspace(low, high, 100),
        "1000 candidates": np.linspace(low, high, 1000),
        "all cells": cells,
    }.items():
        stable = REALS >> dp.t.then_quantile_score_candidates(candidates=candidates.tolist(), alpha=part)

        scale = choice_scale(part, epsilon)
        scores = stable(values)
        choose = dp.m.make_noisy_max(
            stable.output_domain, stable.output_metric, dp.max_divergence(), scale=scale, negate=True
        )
        found[name] = candidates[[choose(scores) for _ in range(RUNS)]]
    return found


def diffprivlib_quantiles(values, low, high, cells, part, epsilon):
    """For each setting RUNS quantiles; none where the library fails, as it does when too many rows are equal."""
    width = cells[1] - cells[0]
    bounds = (cells[0] - width / 2, cells[-1] + width / 2)
    apart = values + np.random.default_rng(1).uniform(-width / 2, width / 2, values.size)
    rounded = cells[
        np.clip(np.rint((quantile_runs(apart, bounds, part, epsilon) - cells[0]) / width), 0, len(cells) - 1).astype(
            int
        )
    ]
    found = {"ties spread over their cell, rounded to cells": rounded}
    plain = quantile_runs(values, (low, high), part, epsilon)
    return found if plain is None else found | {"as it is": plain}


def quantile_runs(values, bounds, part, epsilon):
    """What ``diffprivlib.tools.quantile`` does, line by line, but the probabilities are computed once for RUNS runs."""
    places = np.sort(np.append(np.clip(values, *bounds), bounds))
    utility = -np.abs(np.arange(values.size + 1) - part * values.size)
    mechanism = diffprivlib.mechanisms.Exponential(
        epsilon=epsilon, sensitivity=1, utility=list(utility), measure=list(np.diff(places))
    )
    upto = mechanism._probabilities
    if not np.isfinite(upto).all():
        return None  # tools.quantile raises an error here
    rng = np.random.default_rng()
    chosen = np.minimum(np.searchsorted(upto, rng.random(RUNS)), values.size)
    return places[chosen] + rng.random(RUNS) * (places[chosen + 1] - places[chosen])


def far(found, truth):
    """The root mean square error."""
    return float(np.sqrt(np.mean((np.asarray(found) - truth) ** 2)))


def of_group(values, low, high, cells, statistic, epsilon):
    """For each library and setting the errors of one group, one for each number that is asked for."""
    errors = {}
    if statistic == "mean":
        truth = values.mean()
        for setting, found in opendp_means(values, low, high, epsilon).items():
            errors[f"opendp, {setting}"] = [far(found, truth)]
        bounds = (low, high)
        theirs = [diffprivlib.tools.mean(values, epsilon=epsilon, bounds=bounds) for _ in range(RUNS)]
        errors["diffprivlib, as it is"] = [far(theirs, truth)]
        return errors
    for part in PARTS[statistic]:
        own, truth = epsilon / len(PARTS[statistic]), np.quantile(values, part, method="inverted_cdf")
        for setting, found in opendp_quantiles(values, low, high, cells, part, own).items():
            errors.setdefault(f"opendp, {setting}", []).append(far(found, truth))
        for setting, found in diffprivlib_quantiles(values, low, high, cells, part, own).items():
            errors.setdefault(f"diffprivlib, {setting}", []).append(far(found, truth))
    return errors


given, theirs = np.load(sys.argv[1]), {}
for case in sorted({key.rsplit(".", 1)[0] for key in given.files}):
    if len(sys.argv) > 4 and case not in sys.argv[4:]:
        continue
    values, lines, cells = (given[f"{case}.{what}"] for what in ("values", "lines", "cells"))
    low, high, _, groups = given[f"{case}.facts"].tolist()
    split = [values[lines == line] for line in range(int(groups))]
    asked = {"mean by group": split, "median": [values], "quartiles": [values]}
    asked |= {"median by group": split, "quartiles by group": split}
    for epsilon in EPSILONS:
        for statistic, all_groups in asked.items():
            here = [of_group(one, low, high, cells, statistic.split()[0], epsilon) for one in all_groups if one.size]
            for setting in {name for one in here for name in one}:
                if any(len(one.get(setting, ())) < max(map(len, one.values())) for one in here):
                    continue  # it failed in some group
                theirs.setdefault(setting, {})[f"{case}, {statistic}, {epsilon:g}"] = [one[setting] for one in here]
            print(case, statistic, epsilon, file=sys.stderr, flush=True)
with open(sys.argv[2], "w") as file:
    json.dump(theirs, file)
