"""Parts of libraries that no command uses, and that a process of our own need not load: half of a second.

Only the command does this. In another program's process these libraries are its own affair.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

_DIALECTS = "ibis.backends.sql.compilers"
"""Imports a compiler for every database that Ibis knows. Those that are asked for are enough."""
_NUMBERS = "numba.np.arraymath"
"""Looks whether SciPy's linear algebra can be imported, which no loop of ours calls,"""
_BLAS = "scipy.linalg.cython_blas"
"""by importing this."""


def load_less() -> None:
    """From now on, load what is needed only."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
        _take_texts()


def _take_texts() -> None:
    """Have Typer take texts and paths as they are given: to check them it would load a library."""
    from typer import core

    kind: Any = getattr(core, "_TyperParameter", None)
    usual = getattr(kind, "get_runtime_param", None)
    if usual is not None:
        kind.get_runtime_param = lambda option: _AsGiven(usual.__get__(option))


class _AsGiven:
    """What Typer makes of the words on the command line, where there is nothing to make of them."""

    def __init__(self, usual: Callable[[], Any]) -> None:
        self.usual = usual

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        known = param.type_descriptor
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if known.annotation == list[str] and known.parameter_info.parser is None and isinstance(value, list | tuple):
            if all(isinstance(one, str) for one in value):
                return list(value)
        elif known.parameter_info.parser is None and isinstance(value, str):
            if known.annotation is str:
                return value
            if known.annotation is Path and not known.parameter_info.path_type:
                from typer._param_types import coerce_cli_path

                return coerce_cli_path(Path(value), known.parameter_info, path_type=Path, param=param, ctx=ctx)
        return self.usual().coerce(value, param=param, ctx=ctx)


class _Finder(MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        kind = {_DIALECTS: _OneByOne, _NUMBERS: _WithoutBlas}.get(name)
        spec = None if kind is None else PathFinder.find_spec(name, path, target)
        if kind is None or spec is None or spec.loader is None:
            return None
        spec.loader = kind(spec.loader)
        return spec


class _Loader(Loader):
    def __init__(self, usual: Loader) -> None:
        self.usual = usual

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.usual.create_module(spec)


class _WithoutBlas(_Loader):
    def exec_module(self, module: ModuleType) -> None:
        hidden = _BLAS not in sys.modules
        if hidden:
            sys.modules[_BLAS] = None  # type: ignore[assignment]  # Python's sign for what cannot be imported
        try:
            self.usual.exec_module(module)
        finally:
            if hidden:
                del sys.modules[_BLAS]


class _OneByOne(_Loader):
    def exec_module(self, module: ModuleType) -> None:
        def part(name: str) -> Any:
            """A compiler's own module, or else what the whole package has."""
            if name.startswith("_"):
                raise AttributeError(name)
            try:
                return import_module(f"{module.__name__}.{name}")
            except ModuleNotFoundError:
                del vars(module)["__getattr__"]
                self.usual.exec_module(module)
                return getattr(module, name)

        vars(module)["__getattr__"] = part
