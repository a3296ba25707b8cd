"""Plans of a person's own, which a script registers."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from adyton.errors import AdytonError, BadInput


def run_script(script: Path) -> None:
    """Run a person's own script, which registers plans."""
    from adyton.plans.registry import PLANS, algorithms

    algorithms()
    name = f"adyton_plans_{script.stem}"
    spec = spec_from_file_location(name, script)
    if spec is None or spec.loader is None or not script.is_file():
        raise BadInput(f"{script} is not a Python script. Give a file such as my_plan.py that registers a plan.")
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except AdytonError:
        raise
    except (Exception, SystemExit) as error:
        raise BadInput(f"{script} failed: {type(error).__name__}: {error}.") from error
    if not any(plan.__module__ == name for plan in PLANS.values()):
        raise BadInput(f"{script} registers no plan. Decorate a class derived from Plan with @register.")
