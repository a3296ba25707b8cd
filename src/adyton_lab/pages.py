"""Pages of results: HTML from a template, whatever they hold escaped."""

from __future__ import annotations

from pathlib import Path


def rendered(template: Path, **values: object) -> str:
    """The template, which stands in a file, filled in."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(loader=FileSystemLoader(template.parent), autoescape=True, undefined=StrictUndefined)
    return environment.get_template(template.name).render(**values)
