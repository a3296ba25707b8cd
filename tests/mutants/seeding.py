"""Seeded faults: every factor, constant, sign, bound and comparison of the functions that proofs are about, changed.

One change at a time: a factor, a divisor or an exponent is left out, an argument of ``max`` or ``min`` too; + and − are
swapped, also of numbers; a comparison becomes strict, or no longer is; "and" and "or", "equal" and "not equal" are
swapped; a number of at least 2 becomes smaller by 1, another larger. Messages, types and defaults stay.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeAlias

from adyton.compiling import Loop

KERNEL = "adyton.kernel"
MECHANISMS = [
    *("nested_quantiles", "selection", "vector_laplace", "noisy_count", "measure_tables", "guessed_tables"),
    "split_choice",
    *(
        f"published.{name}"
        for name in (
            *("statistic", "windows", "bisections", "resolution", "parent_choice", "worst_approximated"),
            *("dawa_partition", "bucket_boundaries", "dyadic_partition"),
        )
    ),
]
MODULES = {
    f"{KERNEL}.budget": None,
    f"{KERNEL}.transforms": None,
    f"{KERNEL}.counts": None,
    f"{KERNEL}.kernel": ("Kernel.transform", "Kernel.measure", "Kernel._look"),
    **{f"{KERNEL}.mechanisms.{name}": None for name in MECHANISMS},
}
"""Where the proofs are; the functions that spend, of a module that does much else."""
NOT_OF_PROOFS = {
    *("size", "publish", "variances", "_one_variance", "parts", "parents", "__post_init__", "__str__", "__repr__"),
    *("check", "audit_cases", "_case", "_log_likelihood_ratio", "_likelihood_ratio", "_telling_pairs", "counting"),
}
"""What refuses bad requests, limits of work, post-processing, and what helps an auditor."""
_NOT_COMPUTED = {"cast", "isinstance", "reshape", "stack"}
_SHOWN = 70
Path: TypeAlias = "tuple[ast.AST, str, int | None]"
"""Where a piece of code stands: what it is part of, in which field, and at which place of a list."""


@dataclass(frozen=True)
class Mutant:
    """One change of one function."""

    module: str
    function: str
    change: str
    tree: ast.Module
    path: Path
    other: ast.AST

    @property
    def name(self) -> str:
        return f"{self.module.removeprefix(KERNEL + '.')}:{self.function}: {self.change}"

    def plant(self) -> None:
        """Change the function, wherever it is known, in this process, for good."""
        with _replaced(self.path, self.other):
            plant(self.module, self.function, self.tree)


def plant(module: str, function: str, tree: ast.Module) -> None:
    """Give a function the code that it has in another version of its module; loops are run as plain Python then."""
    place = import_module(module)
    if is_compiled(module, function):  # the loops that call it have its machine code inside
        for loop in [value for value in vars(place).values() if isinstance(value, Loop)]:
            vars(loop)["machine_code"] = loop.function
    found = _function(place, function)
    found.__code__ = _codes(compile(ast.fix_missing_locations(tree), place.__file__ or module, "exec"))[function]
    forget_results()


def forget_results() -> None:
    """Empty every cache of the package."""
    for module in [module for name, module in sys.modules.items() if name.startswith("adyton")]:
        for value in list(vars(module).values()):
            if isinstance(value, functools._lru_cache_wrapper):
                value.cache_clear()


def mutants() -> Iterator[Mutant]:
    """All of them."""
    for module, only in MODULES.items():
        tree = source_of(module)
        seen: Counter[str] = Counter()
        for name, function in functions(tree):
            if only is None or name in only:
                for change, path, other in _changes(function):
                    seen[name + change] += 1
                    times = f" ({seen[name + change]})" if seen[name + change] > 1 else ""
                    yield Mutant(module, name, change + times, tree, path, other)


def source_of(module: str) -> ast.Module:
    """The syntax tree of a module."""
    with open(import_module(module).__file__ or "", encoding="utf-8") as file:
        return ast.parse(file.read())


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """The functions and methods that proofs are about, by their qualified names."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name not in NOT_OF_PROOFS:
            yield node.name, node
        for inner in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(inner, ast.FunctionDef) and inner.name not in NOT_OF_PROOFS:
                yield f"{node.name}.{inner.name}", inner


def is_compiled(module: str, function: str) -> bool:
    """Whether it is a loop that Numba compiles."""
    return isinstance(vars(import_module(module)).get(function), Loop)


def is_cached(module: str, function: str) -> bool:
    """Whether its results are kept: the tests after the first one that asks for them do not call it."""
    return isinstance(vars(import_module(module)).get(function), functools._lru_cache_wrapper)


def _changes(function: ast.FunctionDef) -> Iterator[tuple[str, Path, ast.AST]]:
    """Each change of a function: in words, where, and what comes there."""
    above: dict[ast.AST, Path] = {}
    for node in list(_places(function, above)):
        for other in _others(node):
            shown = node
            while isinstance(above[shown][0], ast.expr) and len(ast.unparse(above[shown][0])) <= _SHOWN:
                shown = above[shown][0]
            before = ast.unparse(shown)
            if shown is node:
                after = ast.unparse(other)
            else:
                with _replaced(above[node], other):
                    after = ast.unparse(shown)
            yield f"{before} → {after}", above[node], ast.copy_location(other, node)


@contextmanager
def _replaced(path: Path, other: ast.AST) -> Iterator[None]:
    """Another piece of code in a place of a tree."""
    parent, field, place = path
    honest = getattr(parent, field)
    setattr(parent, field, other if place is None else [*honest[:place], other, *honest[place + 1 :]])
    yield
    setattr(parent, field, honest)


def _places(node: ast.AST, above: dict[ast.AST, Path]) -> Iterator[ast.AST]:
    """Everything that is computed: without messages, types, defaults, assertions, and places in arrays."""
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr):
        return
    if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in _NOT_COMPUTED:
        return
    for field, value in ast.iter_fields(node):
        if field in ("args", "returns", "decorator_list", "annotation", "slice") and not isinstance(node, ast.Call):
            continue
        for place, part in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(part, ast.AST):
                above[part] = (node, field, place if isinstance(value, list) else None)
                yield part
                yield from _places(part, above)


_SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def _others(node: ast.AST) -> Iterator[ast.AST]:  # noqa: PLR0912
    """What a piece of code could be in its stead."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            yield ast.Constant(value - 1 if value >= 2 else value + 1)
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            yield operand
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            yield ast.BinOp(left, _SWAPPED[type(op)](), right)  # type: ignore[arg-type, call-arg]
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            yield left
            yield right
        case ast.BinOp(left=left, op=ast.Div() | ast.FloorDiv() | ast.Mod() | ast.Pow() | ast.LShift() | ast.RShift()):
            yield left
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(_SWAPPED[type(op)](), values)  # type: ignore[arg-type, call-arg]
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            for place, op in enumerate(ops):
                if type(op) in _SWAPPED:
                    swapped: Any = [*ops[:place], _SWAPPED[type(op)](), *ops[place + 1 :]]
                    yield ast.Compare(left, swapped, comparators)
        case ast.Call(func=ast.Name(id="max" | "min") | ast.Attribute(attr="maximum" | "minimum"), args=args):
            if len(args) > 1 and not any(isinstance(one, ast.Starred) for one in args):
                for place in range(len(args)):
                    rest = args[:place] + args[place + 1 :]
                    yield rest[0] if len(rest) == 1 else ast.Call(node.func, rest, node.keywords)
        case ast.Call(func=ast.Name(id="abs") | ast.Attribute(attr="abs"), args=[argument]):
            yield argument
        case ast.AugAssign(target=target, op=ast.Add() | ast.Sub() as op, value=value):
            yield ast.AugAssign(target, _SWAPPED[type(op)](), value)  # type: ignore[arg-type, call-arg]


def _codes(code: CodeType) -> dict[str, CodeType]:
    """The code of every function by its qualified name."""
    found = {}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found[inner.co_qualname] = inner
            found |= _codes(inner)
    return found


def _function(module: ModuleType, name: str) -> FunctionType:
    """The function itself, without what is wrapped around it."""
    first, *rest = name.split(".")
    found: Any = vars(module)[first]
    for part in rest:
        found = vars(found)[part]
    while not isinstance(found, FunctionType):
        wrapped = ("function", "__wrapped__", "__func__", "fget", "func")
        found = next(getattr(found, inner) for inner in wrapped if hasattr(found, inner))
    return found
