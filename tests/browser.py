"""A real browser without a window, for tests of pages: Chromium, driven over a pair of pipes.

A test that wants it skips where :func:`find_chromium` finds nothing, and asks for the facts of a page::

    with Browser() as browser:
        page = browser.open(path, width=390)
        assert page.complaints == [] and page.requests == [] and not page.overflows
"""

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_SWITCHES = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--hide-scrollbars",
    "--no-first-run",
    "--remote-debugging-pipe",
)
_PATIENCE = 90.0
"""Seconds until an answer of the browser counts as missing."""
_VOID = {"meta", "br", "image", "path", "line", "rect", "circle"}
"""Tags that have no end."""


def find_chromium() -> str | None:
    """Where Chromium is on this machine, None where it is not."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


class Outline(HTMLParser):
    """What a page is made of: its tags with their attributes, all closed in order, and the text of its cells."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.open, self.cells = [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in _VOID:
            self.open.append(tag)
        if tag in {"td", "th"}:
            self.cells.append("")

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in {"td", "th"}:
            self.cells[-1] += data


@dataclass
class Page:
    """What a page did while it loaded, and how it lies in a window of so many CSS pixels."""

    browser: "Browser"
    complaints: list[str]
    """Errors and warnings of the console, exceptions that nobody caught, and requests that failed."""
    requests: list[str]
    """Every address that was asked for, but for the page itself and what it carries inside (data:)."""
    client_width: int
    scroll_width: int

    @property
    def overflows(self) -> bool:
        """Whether somebody would have to scroll sideways."""
        return self.scroll_width > self.client_width

    @property
    def dom(self) -> str:
        """The document as it is now."""
        return str(self.evaluate("document.documentElement.outerHTML"))

    def evaluate(self, expression: str) -> object:
        """The value of a line of JavaScript in the page; promises are waited for."""
        answer = self.browser.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def screenshot(self) -> bytes:
        """The whole page as a PNG."""
        answer = self.browser.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(answer["data"])


class Browser:
    """One running Chromium with a profile of its own, which is thrown away at the end."""

    def __enter__(self) -> "Browser":
        program = find_chromium()
        if program is None:
            raise RuntimeError("there is no Chromium on this machine.")
        self._profile = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        # The browser reads its orders on descriptor 3 and answers on 4: first lift ours out of the way.
        lifted = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (theirs_in, theirs_out)]
        places = [(os.POSIX_SPAWN_DUP2, lifted[0], 3), (os.POSIX_SPAWN_DUP2, lifted[1], 4)]
        silence = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
        command = [program, *_SWITCHES, f"--user-data-dir={self._profile.name}", "about:blank"]
        self._process = os.posix_spawn(program, command, os.environ, file_actions=[*silence, *places], setpgroup=0)
        for end in (theirs_in, theirs_out, *lifted):
            os.close(end)
        self._out, self._in, self._buffer, self._count = ours_out, ours_in, b"", 0
        self._session: str | None = None
        self._events: deque[dict] = deque()
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._out)
        os.close(self._in)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        self._profile.cleanup()

    def open(self, path: str | os.PathLike[str], width: int, height: int = 900, dark: bool = False) -> Page:
        """Load a file or an address in a window of *width* CSS pixels, and wait until it is quiet."""
        address = str(path) if "://" in str(path) else Path(path).resolve().as_uri()
        phone = width < 600
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self._events.clear()
        self.ask("Page.navigate", url=address)
        self._wait_for("Page.loadEventFired")
        page = Page(self, [], [], 0, 0)
        page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
        page.client_width = int(str(page.evaluate("document.documentElement.clientWidth")))
        page.scroll_width = int(str(page.evaluate("document.documentElement.scrollWidth")))
        page.complaints = [words for event in self._events if (words := _complaint(event))]
        asked = [
            str(event["params"]["request"]["url"])
            for event in self._events
            if event["method"] == "Network.requestWillBeSent"
        ]
        page.requests = [request for request in asked if request != address and not request.startswith("data:")]
        return page

    def ask(self, method: str, **parameters: object) -> dict:
        """Send one order and wait for its answer; events that come in between are kept."""
        self._count += 1
        order: dict[str, object] = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            order["sessionId"] = self._session
        os.write(self._out, json.dumps(order).encode() + b"\0")
        while True:
            message = self._receive()
            if message.get("id") == self._count:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            if "method" in message:
                self._events.append(message)

    def _wait_for(self, event: str) -> None:
        while not any(seen["method"] == event for seen in self._events):
            message = self._receive()
            if "method" in message:
                self._events.append(message)

    def _receive(self) -> dict:
        deadline = time.monotonic() + _PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self._in, 1 << 20) if ready else b""
            if not chunk:
                raise TimeoutError("the browser does not answer.")
            self._buffer += chunk
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)


def _complaint(event: dict) -> str | None:
    """What somebody with the console open would see in red or yellow."""
    facts = event["params"]
    match event["method"]:
        case "Runtime.consoleAPICalled" if facts["type"] in {"error", "warning", "assert"}:
            return " ".join(str(argument.get("value", argument.get("description"))) for argument in facts["args"])
        case "Runtime.exceptionThrown":
            return str(facts["exceptionDetails"].get("exception", {}).get("description", facts["exceptionDetails"]))
        case "Log.entryAdded" if facts["entry"]["level"] in {"error", "warning"}:
            return str(facts["entry"]["text"])
        case "Network.loadingFailed" if not _left(facts):
            return f"a request failed: {facts['errorText']}"
    return None


def _left(facts: dict) -> bool:
    """Whether nothing is wrong with a request but that the page was left before the answer came."""
    return bool(facts.get("canceled")) and facts["errorText"] == "net::ERR_ABORTED" and "blockedReason" not in facts


def dump_dom(path: str | os.PathLike[str], width: int) -> tuple[str, str]:
    """The document after loading, and everything that the console complained about."""
    with Browser() as browser:
        page = browser.open(path, width)
        return page.dom, "\n".join(page.complaints)


def screenshot(path: str | os.PathLike[str], width: int, out: str | os.PathLike[str]) -> None:
    """Write a picture of the whole page."""
    with Browser() as browser:
        Path(out).write_bytes(browser.open(path, width).screenshot())
