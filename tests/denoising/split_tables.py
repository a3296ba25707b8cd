"""The prior of splits as tables that a test can read."""

from adyton.denoising.splits import SIZES, SMALLEST, TABLE


def parts(tables, sizes=SIZES):
    """The tables of all levels as two arrays: by left and right part, and by size of the whole and small part."""
    rows = tables.reshape(-1, TABLE * TABLE + (sizes - SMALLEST) * (TABLE + 1))
    return rows[:, : TABLE * TABLE].reshape(-1, TABLE, TABLE), rows[:, TABLE * TABLE :].reshape(
        len(rows), -1, TABLE + 1
    )
