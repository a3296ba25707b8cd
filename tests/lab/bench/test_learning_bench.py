"""Learning beside bare group-bys, on few rows."""

from adyton_lab.bench import learning


def test_learning_beside_bare_group_bys():
    found = list(learning.compare(rows=2000, repeats=1))
    assert len(found) == learning.steps()
    tree, bayes = found
    assert tree.levels >= 1
    assert bayes.levels == 0
    assert all(one.times_the_bare > 0 and one.predicting_seconds > 0 for one in found)
