"""The site is built, without a warning, and needs nothing from a network."""

import re
import subprocess
import sys

import pytest
from page_blocks import ROOT

import adyton as ad


@pytest.mark.full  # what pages show is tried by default: test_pages, test_question_page
def test_the_site(tmp_path):
    for name in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(name)
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for page in tmp_path.rglob("*.html"):
        html = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe|source)\b[^>]*?\bsrc=\"?([^\"\s>]+)", html)
        loaded += re.findall(r"<link\b[^>]*?rel=\"?(?:stylesheet|preconnect|icon)\"?[^>]*?href=\"?([^\"\s>]+)", html)
        assert loaded
        assert not [address for address in loaded if re.match(r"(?:https?:)?//", address)], page
    catalogue = (tmp_path / "catalogue.html").read_text(encoding="utf-8")
    for name in ad.algorithms():
        assert f'<h2 id="{name.replace("*", "-star")}">' in catalogue
    assert "Session" in (tmp_path / "api/session.html").read_text(encoding="utf-8")
    assert (tmp_path / "examples/tour.ipynb").is_file()
