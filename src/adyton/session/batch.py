"""Several requests with one budget: all are checked before the first debit, and each is saved once it is answered.

A result in the folder is not paid for twice: ``requests.json`` says which request each subfolder answers.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from adyton.choice.checked_file import WRONG
from adyton.drafts import replaced
from adyton.errors import BadInput
from adyton.exact import Rational, budget, display, positive
from adyton.messages import listing, shorten
from adyton.programs.base import load
from adyton.result.folder import Place, says_so, staged
from adyton.result.pending import FILE as MEASURED
from adyton.result.result import Result
from adyton.schema.plain_values import as_text
from adyton.tasks import Task
from adyton.tasks.request import Request

FILE = "requests.json"
MOST = 1000
_PATHS = ("data", "schema", "ledger", "out")
"""What a file may name in addition to its requests: paths relative to the file."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}")
Admitted: TypeAlias = Callable[[Callable[[Any], None]], Result]
"""A request that has passed its checks: a function that carries it out, and passes on what was paid for."""


class Asker(Protocol):
    """What carries out requests: a session, whether its table is here or at a service."""

    def _afford(self, epsilon: Fraction) -> None:
        """Refuse requests that cost more than is left, together."""

    def _admitted(self, request: Request) -> Admitted:
        """Make all checks of a request now."""


@dataclass(frozen=True)
class Batch:
    """Requests by their names, each with its budget."""

    requests: Mapping[str, Request]

    @classmethod
    def of(cls, given: object, epsilon: Rational | None = None) -> Batch:
        """From tasks, requests, or mappings as in a file, which may have ``name``, ``epsilon`` and ``share``.

        A request with its own ε gets it; the others split the rest by their shares, 1 by default.

        >>> from adyton.tasks import Count, Histogram
        >>> batch = Batch.of([Histogram("age"), {"task": "count", "share": "1/2", "name": "all"}], 1)
        >>> {name: str(request.epsilon) for name, request in batch.requests.items()}
        {'histogram-of-age': '2/3', 'all': '1/3'}
        """
        if not isinstance(given, Sequence) or isinstance(given, str) or not 1 <= len(given) <= MOST:
            raise BadInput(
                f'run takes a list of 1 to {MOST:,} requests, such as [ad.Histogram("age"), ad.Count()], given '
                f"{shorten(given)}."
            )
        total = None if epsilon is None else budget(epsilon, "epsilon")
        entries = [_Entry.of(request, place) for place, request in enumerate(given, start=1)]
        own = sum((entry.request.epsilon for entry in entries if entry.share is None), Fraction(0))
        shares = sum((entry.share for entry in entries if entry.share is not None), Fraction(0))
        left = (total or Fraction(0)) - own
        if shares and total is None:
            raise BadInput("give the budget of all requests together, epsilon (--epsilon 1), or an ε for each request.")
        if left < 0 and total is not None:
            raise BadInput(
                f"the requests name ε = {display(own)} together, but the budget is {display(total)}. Ask for less."
            )
        if shares and not left:
            raise BadInput("nothing is left of the budget for requests without an ε of their own. Allow more.")
        names = _names(entries)
        for entry in entries:
            if entry.share is not None:
                amount = budget(str(left * entry.share / shares), "epsilon")
                entry.request = replace(entry.request, epsilon=amount)
        return cls({name: entry.request for name, entry in zip(names, entries, strict=True)})

    @property
    def epsilon(self) -> Fraction:
        """The sum of all budgets."""
        return sum((request.epsilon for request in self.requests.values()), Fraction(0))

    def answered(self, folder: Path | None) -> dict[str, Result]:
        """The saved results of requests that were answered before; refused where the folder holds something else."""
        results: dict[str, Result] = {}
        if folder is None:
            return results
        known = _listed(folder / FILE)
        for name, request in self.requests.items():
            place = folder / name
            if not says_so(place):
                continue
            if known.get(name) != request.to_dict():
                raise BadInput(
                    f"{place} holds the result of another request than this one ({request}, ε = "
                    f"{display(request.epsilon)}). Give the request another name, or --out another folder."
                )
            result = load(place)
            if (result.task.to_dict(), result.where) != (request.task.to_dict(), request.where):
                raise BadInput(f"{place} does not hold what {folder}/{FILE} says. Give --out another folder.")
            results[name] = result
        return results

    @contextmanager
    def opened(self, asker: Asker, folder: Path | None, answered: Mapping[str, Result]) -> Iterator[list[Step]]:
        """The requests that are left: each has passed all checks, and has a place for its result.

        Measurements of a request that could not be finished stay next to the folder of its result.
        """
        rest = {name: request for name, request in self.requests.items() if name not in answered}
        asker._afford(sum((request.epsilon for request in rest.values()), Fraction(0)))
        steps = [Step(name, asker._admitted(request)) for name, request in rest.items()]
        with ExitStack() as places:
            if folder is not None:
                for step in steps:
                    _set_aside(folder / step.name)
                    step.place = places.enter_context(staged(folder / step.name))
                with replaced(folder / FILE) as file:
                    own = {name: request.to_dict() for name, request in self.requests.items()}
                    listed = {**_listed(folder / FILE), **own}
                    file.write_text(json.dumps(listed, indent=1, ensure_ascii=False), encoding="utf-8")
            yield steps


@dataclass
class Step:
    """A request that can be carried out, and the place for its result."""

    name: str
    run: Admitted
    place: Place | None = None


@dataclass
class _Entry:
    """A request as given, with its name and its share of the budget."""

    name: str | None
    request: Request
    share: Fraction | None
    """Its part of the rest of the budget; None where it has its own ε."""

    @classmethod
    def of(cls, given: object, place: int) -> _Entry:
        if isinstance(given, Request):
            return cls(None, given, None)
        if isinstance(given, Task):
            return cls(None, Request.of(given, 1), Fraction(1))
        if not isinstance(given, Mapping):
            raise BadInput(f"request {place} must be a task, a Request or a mapping, given {shorten(given)}.")
        try:
            plain = dict(given)
            name, share = plain.pop("name", None), plain.pop("share", None)
            if name is not None and not _NAME.fullmatch(as_text(name, "name")):
                raise BadInput(f"a name has only letters, digits, blanks and . _ -, given {shorten(name)}.")
            if share is not None and "epsilon" in plain:
                raise BadInput("epsilon and share both set the budget of a request. Leave one of them out.")
            part = None if "epsilon" in plain else positive(1 if share is None else share, "share")
            return cls(name, Request.from_dict(plain, 1), part)
        except BadInput as problem:
            called = f" ({given['name']})" if isinstance(given.get("name"), str) else ""
            raise BadInput(f"request {place}{called}: {problem}") from None


def _names(entries: Sequence[_Entry]) -> list[str]:
    """The name of each request; a request without a name is called after its task."""
    given = [entry.name.lower() for entry in entries if entry.name is not None]
    names: list[str] = []
    for entry in entries:
        if entry.name is not None and given.count(entry.name.lower()) > 1:
            raise BadInput(f"two requests are called {entry.name!r}. Give each a name of its own.")
        plain = re.sub(r"[^a-z0-9]+", "-", str(entry.request).lower()).strip("-")[:60].strip("-") or "request"
        free = (plain if number == 1 else f"{plain}-{number}" for number in range(1, MOST + 2))
        names.append(entry.name or next(name for name in free if name not in given and name not in names))
    return names


def _listed(file: Path) -> dict[str, Any]:
    """The request that each folder answers; empty where the file does not exist."""
    try:
        plain = json.loads(file.read_text(encoding="utf-8"))
        return plain if isinstance(plain, dict) else {}
    except FileNotFoundError:
        return {}
    except (OSError, *WRONG):
        raise BadInput(f"{file} cannot be read. Give --out another folder, or remove the file.") from None


def _set_aside(place: Path) -> None:
    """Rename a folder of measurements without a result: the request will be carried out again."""
    if not (place / MEASURED).exists():
        return
    names = (place.with_name(f"{place.name}.measured{number or ''}") for number in range(MOST))
    place.rename(next(name for name in names if not name.exists()))


def read_file(file: Path) -> tuple[list[Any], dict[str, Any]]:
    """The requests in a TOML file, and its other entries: their budget, and paths of files. No code in it is run."""
    advice = 'Write [[request]] tables, such as task = "histogram" with attributes = ["age"].'
    try:
        plain = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadInput(f"{file} does not exist. {advice}") from None
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"{file} is not a readable TOML file ({why}). {advice}") from None
    requests = plain.pop("request", None)
    if not isinstance(requests, list) or not requests:
        raise BadInput(f"{file} has no requests. {advice}")
    if unknown := [key for key in plain if key not in ("epsilon", *_PATHS)]:
        raise BadInput(f"{file} may have epsilon, {', '.join(_PATHS)} besides its requests, not {listing(unknown)}.")
    for key in plain.keys() & set(_PATHS):
        given = plain[key] if isinstance(plain[key], list) and key == "data" else [plain[key]]
        plain[key] = [path if "://" in str(path) else str(file.parent / as_text(path, key)) for path in given]
    for request in requests:
        if isinstance(request, dict) and isinstance(request.get("known"), str):
            request["known"] = str(file.parent / request["known"])
    return requests, plain
