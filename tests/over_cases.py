"""Many short cases in one test: collecting and reporting a test for each would take longer than the cases do."""

import itertools


def over(*tables):
    """A test that runs a check with every entry of a table, or of the product of several; a failure names the case.

    >>> over([1, 2], "ab")(lambda number, letter: print(number, letter))()
    1 a
    1 b
    2 a
    2 b
    """

    def decorate(check):
        def test():
            for case in itertools.product(*tables):
                try:
                    check(*case)
                except Exception as error:
                    error.add_note(f"The case is {', '.join(map(repr, case))}.")
                    raise

        test.__doc__ = check.__doc__
        return test

    return decorate
