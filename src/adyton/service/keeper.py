"""A keeper: the process that answers for one data set. It has the ledger and the queue; its worker has the rows.

This file says who may ask what; :mod:`adyton.service.operations` carries it out.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from adyton.errors import AdytonError, BadInput, LedgerMismatch
from adyton.exact import display
from adyton.kernel.ledger import Analyst, Ledger, Limits, StoredRequest
from adyton.kernel.ledger.plain import report_to_plain
from adyton.kernel.ledger.records import Account
from adyton.kernel.ledger.requests import checked_id
from adyton.messages import shorten
from adyton.schema.plain_values import as_plain
from adyton.service import channel
from adyton.service.channel import Forbidden, Message, NotFound, Refused
from adyton.service.operations import MEASURE, UNKNOWN, Operations, WorkerProcess, log
from adyton.service.quotas import Quota, WorkDone

_WORD = 500


@dataclass(frozen=True)
class Caller:
    """Who asks, as the HTTP process has found out."""

    name: str
    curator: bool

    @property
    def account(self) -> str | None:
        """Their name in the ledger; curators have one account."""
        return None if self.curator else self.name


class Keeper:
    """Everything that can be asked about one data set."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.name: str = settings["name"]
        self.results: str = settings["results"]
        self.anchor = None if settings["anchor"] is None else Path(settings["anchor"])
        self.limits = {name: _limits(own) for name, own in settings["consent"].items()}
        self.worker, self._settings = WorkerProcess(settings["worker"]), settings
        self.ledger: Ledger
        self.operations: Operations

    async def start(self) -> None:
        """Open the table and the ledger, which the worker creates if it is new."""
        await self.worker.start()
        self.ledger = await asyncio.to_thread(self._opened)
        self.operations = Operations(
            self.name,
            self.ledger,
            self.worker,
            time_limit=self._settings["time_limit"],
            anchor=self.anchor,
            limits=self.limits_of,
        )
        quota = Quota.of(self._settings["worker"].get("quota"))
        self.operations.quota, self.operations.work = quota, None if quota is None else WorkDone(quota.work)

    def _opened(self) -> Ledger:
        ledger = Ledger.open(self._settings["worker"]["ledger"], total=self.worker.total, dataset=self.name)
        try:
            if self.anchor is None:
                ledger.report()  # all entries are checked, once
            elif ledger.start_anchor(self.anchor).changes is None:
                log(
                    f"the anchor {self.anchor} was that of an early version, which covered the entries and events of "
                    f"{ledger.path} alone. From now on it covers totals, requests and answers, too."
                )
            set_all(ledger, self._settings["analysts"])
            self._say_what_nobody_asks_for(ledger)
            if self.anchor is not None:
                ledger.move_anchor(self.anchor)
        except OSError as error:
            raise BadInput(f"the anchor {self.anchor} cannot be written ({error.strerror}).") from None
        return ledger

    def _say_what_nobody_asks_for(self, ledger: Ledger) -> None:
        """Tell the curator of parts that are set aside for people whom the configuration does not name. They are not
        given up: the configuration of another service may name them."""
        granted = self._settings["granted"]
        for own in ledger.analysts() if granted is not None else ():
            if own.aside and own.rest and own.name not in granted:
                log(
                    f"{display(own.rest)} of {ledger.path} stays set aside for {own.name}, who is not in this "
                    "configuration. If no other service lets them ask, give it up: "
                    f"adyton ledger analyst {ledger.path} {own.name} --release"
                )

    def limits_of(self, name: str | None) -> Limits | None:
        """Beyond what the requests of an analyst need consent; where the configuration does not name them, all do. None
        is the curator."""
        if name is None:
            return None
        return self.limits.get(name, None if name in self._settings["analysts"] else Limits(above=Fraction(0)))

    async def answer(self, message: Message) -> object:
        """The reply to a call of the HTTP process."""
        given = dict(message)
        call = CALLS.get(str(given.pop("call", "")))
        name, role = given.pop("analyst", None), given.pop("role", None)
        if call is None or role not in ("analyst", "curator"):
            raise BadInput("this is not a call of a keeper.")
        name = _name(name)
        caller = Caller(name, role == "curator")
        if call in _OF_CURATORS and not caller.curator:
            raise Forbidden("Only a curator of the data set may do this.")
        try:
            bound = inspect.signature(call).bind(self, caller, **given)
        except TypeError:
            raise BadInput("this call of a keeper lacks an argument, or has one too many.") from None
        try:
            return await call(*bound.args, **bound.kwargs)
        except AdytonError as problem:
            kind = channel.error_of(problem)["kind"]
            if caller.curator or kind not in ("LedgerError", "LedgerMismatch"):
                raise
            log(f"{self.name}: {problem}")
            raise Refused({"kind": kind, "message": _LEDGER}) from None

    # ---- what is public ---------------------------------------------------------------------------------------------

    async def describe(self, caller: Caller) -> Message:
        """The schema, who may fetch results, and the caller's budget. For an analyst also what was granted to them; for
        a curator, how many requests wait for consent."""
        account = await asyncio.to_thread(self._account, caller.account)
        own: Message = {} if account.analyst is None else {"grant": self._grant(account.analyst)}
        if caller.curator:
            own = {"waiting": await asyncio.to_thread(self.ledger.waiting)}
        public = {"dataset": self.name, **self.worker.public, "results": self.results}
        return {**public, "budget": _amounts(account), **own}

    def _grant(self, own: Analyst) -> Message:
        """What was granted to an analyst, and above which ε their requests wait for consent."""
        above, total = self.limits_of(own.name) or Limits()
        return {
            "part": None if own.part is None else str(own.part),
            "aside": own.aside,
            "expires": own.expires,
            "consent_above": None if above is None else str(above),
            "consent_total": None if total is None else str(total),
        }

    def _account(self, name: str | None) -> Account:
        with self.ledger.on_behalf(name):
            return self.ledger.budget

    # ---- requests ---------------------------------------------------------------------------------------------------

    async def ask(self, caller: Caller, id: str, request: Any, wait: float = 30.0) -> Message:
        """Carry out a request, or return the stored result of the same request."""
        return await self.operations.ask((caller.account, checked_id(id)), _canonical(request), wait)

    async def fetch(self, caller: Caller, id: str, analyst_of: str | None = None, wait: float = 0.0) -> Message:
        """A request that was made before: its result, or how far it is."""
        whose = caller.account if analyst_of is None else _name(analyst_of)
        if whose != caller.account and not caller.curator and self.results != "all":
            raise NotFound(UNKNOWN)
        return await self.operations.fetch(caller.name, (whose, checked_id(id)), wait)

    async def requests(self, caller: Caller) -> list[Message]:
        """The caller's requests; for a curator, everybody's."""
        everybody = caller.curator or self.results == "all"
        rows = await asyncio.to_thread(self.ledger.requests)
        return [
            self._line(row, caller)
            for row in rows
            if row.dataset == self.name and (everybody or row.analyst == caller.account) and row.status != "withdrawn"
        ]

    async def consent(
        self, caller: Caller, id: str, analyst_of: str, digest: str, grant: bool, word: str = ""
    ) -> Message:
        """A curator's decision on the request of this digest, which waits for it."""
        if not isinstance(word, str) or len(word) > _WORD or not isinstance(grant, bool):
            raise BadInput(f"a decision is grant = true or false, with a word of up to {_WORD} characters.")
        key = (_name(analyst_of), checked_id(id))
        await self.operations.known(key)
        said = f"{caller.name}: {word}" if word else caller.name
        decided = partial(self.ledger.consent_request, *key, digest=digest, grant=grant, word=said)
        row = await asyncio.to_thread(decided)
        return await self.operations.granted(row) if grant else {"id": id, "status": "refused"}

    async def cancel(self, caller: Caller, id: str, request: Any = None) -> Message:
        """Give up a request that nothing was spent for, also while a worker prepares it; with the *request* itself,
        also one that has not come here yet."""
        body = None if request is None else _canonical(request)
        await self.operations.cancel((caller.account, checked_id(id)), body)
        return {"id": id, "status": "cancelled"}

    def _line(self, row: StoredRequest, caller: Caller) -> Message:
        asked = json.loads(row.body)
        return {
            "id": row.id,
            "analyst": row.analyst,
            "request": asked,
            "digest": row.digest,
            "status": row.status,
            "made": row.made if caller.curator else row.made[:10],
        }

    async def _in_turn(self, caller: Caller, message: Message) -> Any:
        """A call of the worker that spends nothing, when it is the caller's turn."""
        return await self.operations.in_turn(caller.name, {**message, "analyst": caller.account})

    # ---- the door ---------------------------------------------------------------------------------------------------

    async def open(self, caller: Caller) -> Any:
        """A new door of the kernel."""
        self._check_no_consent(caller)
        return await self._in_turn(caller, {"call": "open"})

    def _check_no_consent(self, caller: Caller) -> None:
        if self.limits_of(caller.account) is not None:
            raise Forbidden("Requests of this analyst need the curator's consent, so there is no door. Send requests.")

    async def at_door(self, caller: Caller, call: str, **given: Any) -> Any:
        """A call at a door that spends nothing."""
        self.operations.check_door()
        return await self._in_turn(caller, {"call": call, **given})

    async def measure(self, caller: Caller, door: str, id: str, **asked: Any) -> Message:
        """A measurement at a door: its answer is stored under the id."""
        self._check_no_consent(caller)
        key, body = (caller.account, checked_id(id)), _canonical({MEASURE: asked})
        outcome = await self.operations.measure(caller.name, key, body, door, asked)
        account = await asyncio.to_thread(self._account, caller.account)
        return {"status": outcome["status"], "result": outcome["result"], "budget": _amounts(account)}

    # ---- the ledger -------------------------------------------------------------------------------------------------

    async def account(self, caller: Caller) -> Message:
        """Everything in the ledger."""
        return await asyncio.to_thread(lambda: report_to_plain(self.ledger.report()))

    async def analysts(self, caller: Caller) -> list[Message]:
        """Who may spend how much and what is left, what they have spent, and above which ε their requests wait."""
        balance = await asyncio.to_thread(self.ledger.balance)
        return [
            {
                **as_plain(asdict(own)),
                **self._grant(own),
                "left": str(balance.left(own)),
                "granted": own.name in self._settings["analysts"],
            }
            for own in balance.analysts.values()
        ]


_LEDGER = (
    "The ledger cannot be used at present. Tell the curator, whose log says why. Send the same request again later, "
    "with its id: nothing is charged twice."
)
"""What analysts read instead of messages with paths of the server."""


def _at_door(name: str) -> Callable[..., Awaitable[Any]]:
    async def call(keeper: Keeper, caller: Caller, **given: Any) -> Any:
        return await keeper.at_door(caller, name, **given)

    return call


_OWN = ("analysts", "describe", "ask", "fetch", "consent", "cancel", "open", "measure")
_AT_DOOR = ("transform", "afford", "forget", "close")
CALLS: Mapping[str, Callable[..., Awaitable[Any]]] = (
    {name: getattr(Keeper, name) for name in _OWN}
    | {name: _at_door(name) for name in _AT_DOOR}
    | {"ledger": Keeper.account, "list": Keeper.requests}
)
"""What can be asked of a keeper."""
_OF_CURATORS = (Keeper.consent, Keeper.account, Keeper.analysts)


def _amounts(account: Account) -> dict[str, str]:
    amounts = {"total": account.total, "spent": account.spent, "remaining": account.remaining}
    return {name: f"{amount.numerator}/{amount.denominator}" for name, amount in amounts.items()}


def _name(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadInput(f"the name of a person is a text, given {shorten(value)}.")
    return value


def _limits(plain: Mapping[str, str | None]) -> Limits:
    """The limits of an analyst, as the configuration has them."""
    return Limits(*(None if plain[name] is None else Fraction(str(plain[name])) for name in Limits._fields))


def set_all(ledger: Ledger, analysts: Mapping[str, Mapping[str, Any]]) -> None:
    """Set all parts: in any order, because what one gives up may be set aside for another."""
    while analysts:
        refused = {}
        for name, own in analysts.items():
            try:
                ledger.set_analyst(name, **own)
            except LedgerMismatch as problem:
                refused[name], why = own, problem
        if len(refused) == len(analysts):
            raise why
        analysts = refused


def _canonical(request: Any) -> str:
    """A request as it is stored and compared."""
    if not isinstance(request, dict):
        raise BadInput("a request must be a mapping.")
    return json.dumps(request, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


async def run(settings: Mapping[str, Any]) -> None:
    """Serve until the process is asked to end; then what is under way is completed."""
    keeper, ended = Keeper(settings), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    try:
        await keeper.start()
    except Exception as problem:
        _say({"error": channel.error_of(problem)})
        raise SystemExit(1) from None
    server = await channel.serve(settings["socket"], keeper.answer)
    if settings["socket_user"] is not None:
        os.chown(settings["socket"], settings["socket_user"], -1)
    _say({"ready": keeper.worker.public["cells"]})
    while not ended.is_set() and os.getppid() == settings["parent"]:
        with suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), 1)
    server.close()
    await keeper.operations.ended()
    await keeper.worker.kill()


def _say(message: Message) -> None:
    """Tell the supervisor."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Read the settings from standard input, and serve."""
    settings = json.loads(sys.stdin.readline())
    asyncio.run(run(settings))


if __name__ == "__main__":
    main()
