"""Public tables of many attributes as cells, for other libraries: ``python pair_rows.py DATA rows.npz``.

Adult is the table that ``adyton bench pairs`` takes. The table of sixteen yes/no attributes is the credit table, cut at
values that are written here.
"""

import sys

import numpy as np

from adyton.learning.coding import codes_of
from adyton.schema import Numeric, Schema
from adyton_lab.corpus.tables import public_table

YES_NO = {
    "LIMIT_BAL": 140_000,
    "SEX": 2,
    "AGE": 35,
    **dict.fromkeys(("PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6"), 1),
    **{f"PAY_AMT{month}": 2000 for month in range(1, 7)},
    "default_payment_next_month": 1,
}
"""The smallest value that means yes."""

folder = sys.argv[1]
adult = public_table("adult", folder, public=True)
schema = Schema(
    {name: Numeric(edges=(yes - 1e7, yes - 0.5, yes + 1e7), outside="clamp") for name, yes in YES_NO.items()}
)
binary = codes_of(f"{folder}/credit_default.csv.gz", schema)
tables = {"adult": (adult.codes, adult.schema.shape), "binary": (binary, schema.shape)}
np.savez_compressed(
    sys.argv[2],
    **{f"{name}.codes": codes for name, (codes, _) in tables.items()},
    **{f"{name}.sizes": np.array(sizes) for name, (_, sizes) in tables.items()},
)
