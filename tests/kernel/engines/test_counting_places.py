"""The servers of the counting benchmark."""

import subprocess
import sys

import pytest

from adyton_lab.bench import counting

ON_SPARK = """
from adyton_lab.bench import counting
counting._ROUNDS = 1
print(sorted((one.question, one.way) for one in counting.vectorize(rows=1000, engine="spark")[1]))
"""
WAYS = [("numbers", "adyton"), ("numbers", "bare"), ("texts", "adyton"), ("texts", "bare")]


def test_postgres_and_its_processes(postgres, monkeypatch):
    connection, address = postgres
    monkeypatch.setattr(counting, "_ROUNDS", 1)
    found = list(counting.vectorize(rows=1000, engine=address)[1])
    assert [(one.question, one.way) for one in found] == WAYS
    assert all(one.processor_seconds > 0 for one in found)
    assert connection.execute("select to_regclass('adyton_made_up')").fetchone() == (None,)


@pytest.mark.full
def test_spark_and_its_process():
    pytest.importorskip("pyspark")
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", ON_SPARK], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith(str(WAYS))
