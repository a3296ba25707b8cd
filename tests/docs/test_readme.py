"""What the README shows is run, in a copy of the examples."""

from page_blocks import blocks, command, run


def test_what_the_readme_shows(workplace):
    printed = run("README.md")
    for expected in ("7/10", "cardiology", "(1000, 8)", "visits.csv"):
        assert expected in printed


def test_the_set_up_command_releases_the_example(workplace):
    set_up = next(block.code for block in blocks("README.md") if block.code.startswith("python3 -m venv"))
    release = set_up.splitlines()[0].split("&&")[-1].replace(".venv/bin/", "").strip()
    assert "cardiology" in command(release)
