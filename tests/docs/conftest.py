"""A folder to work in, with a copy of the examples; what a page registers is forgotten at its end."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from page_blocks import ROOT

import adyton as ad
from adyton.plans.registry import PLANS


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    ad.algorithms()
    known = dict(PLANS)
    yield tmp_path
    PLANS.clear()
    PLANS.update(known)
