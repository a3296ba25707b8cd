"""Somebody at a browser: clicks what they see, types, and reads. Whatever the console says, or is asked for elsewhere,
is remembered."""

import contextlib
import json
import socket
import socketserver
import threading
import time
from urllib.parse import urlsplit

from browser import Browser, Page

_SECONDS = 120.0


class Person:
    """Sits at a browser that shows one site."""

    def __init__(self, browser: Browser, address: str, width=1280, height=900, dark=False):
        self.browser, self.address = browser, address.rstrip("/")
        browser.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        browser.ask("Emulation.setEmulatedMedia", features=[scheme])
        browser._events.clear()

    # ---- what is seen -----------------------------------------------------------------------------------------------

    @property
    def path(self):
        """Where the browser is."""
        return str(self.evaluate("location.pathname")).removeprefix(urlsplit(self.address).path)

    @property
    def words(self):
        """The text on the screen."""
        return " ".join(str(self.evaluate("document.body ? document.body.innerText : ''")).split())

    def sees(self, *texts, seconds=_SECONDS):
        """Wait until all of these texts are on the screen."""
        self._until(lambda: all(text in self.words for text in texts), f"{texts} not seen", seconds)
        return self

    def evaluate(self, expression):
        """The value of a line of JavaScript; again where the page changed meanwhile."""
        for _ in range(20):
            try:
                return Page(self.browser, [], [], 0, 0).evaluate(expression)
            except RuntimeError as problem:
                if "context" not in str(problem).lower() and "navigated" not in str(problem).lower():
                    raise
                time.sleep(0.05)
        raise AssertionError(f"the page does not settle: {expression}")

    # ---- what is done -----------------------------------------------------------------------------------------------

    def goes(self, path):
        """Type an address."""
        answer = self.browser.ask("Page.navigate", url=path if "://" in path else self.address + path)
        assert "errorText" not in answer, answer
        self._ready()
        return self

    def clicks(self, what, nth=0):
        """Click a link, button, label or fold by its text, or by a CSS selector that begins with # . or [."""
        x, y = self._place(what, nth)
        for kind in ("mousePressed", "mouseReleased"):
            self.browser.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self._ready()
        return self

    def types(self, label, text, nth=0):
        """Type into the field with this label (or selector), instead of what is there."""
        self.clicks(label, nth)
        self.evaluate("document.activeElement.select && document.activeElement.select()")
        if text:
            self.browser.ask("Input.insertText", text=text)
        else:
            self.presses("Backspace")
        return self

    def chooses(self, label, option, nth=0):
        """Choose an option of a list by its text."""
        self._until(lambda: self.evaluate(_FIND + f"find({json.dumps(label)}, {nth}) !== null"), f"no {label!r}")
        done = self.evaluate(
            _FIND + f"(() => {{ const list = field(find({json.dumps(label)}, {nth}));"
            f" const wanted = [...list.options].find((one) => one.textContent.trim() === {json.dumps(option)});"
            " if (!wanted) return [...list.options].map((one) => one.textContent.trim()).join(' | ');"
            " list.value = wanted.value; list.dispatchEvent(new Event('input', {bubbles: true}));"
            " list.dispatchEvent(new Event('change', {bubbles: true})); return ''; })()"
        )
        assert done == "", f"{label} offers {done}"
        return self

    def presses(self, key):
        """Press a key: Tab, Enter, Backspace, Escape."""
        codes = {"Tab": 9, "Enter": 13, "Backspace": 8, "Escape": 27, " ": 32}
        text = {"Enter": "\r", " ": " "}.get(key, "")
        self.browser.ask("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=codes[key], text=text)
        self.browser.ask("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=codes[key])
        self._ready()
        return self

    def screenshot(self):
        """The whole page as a PNG."""
        return Page(self.browser, [], [], 0, 0).screenshot()

    # ---- what went wrong --------------------------------------------------------------------------------------------

    @property
    def complaints(self):
        """What the console said since the beginning; statuses of pages that say what is wrong are no complaint."""
        from browser import _complaint  # what counts as one is said there

        said = [_complaint(event) for event in self.browser._events]
        return [words for words in said if words and not _expected(words)]

    @property
    def elsewhere(self):
        """Addresses outside the site that were asked for."""
        host = urlsplit(self.address).netloc
        asked = (
            event["params"]["request"]["url"]
            for event in self.browser._events
            if event["method"] == "Network.requestWillBeSent"
        )
        return [address for address in asked if urlsplit(address).netloc != host and not address.startswith("data:")]

    # ---- how --------------------------------------------------------------------------------------------------------

    def _place(self, what, nth):
        place = None
        if what.startswith("["):  # an attribute with a path
            what = what.replace('="/', f'="{urlsplit(self.address).path}/')

        def known():
            nonlocal place
            place = self.evaluate(_FIND + f"place(find({json.dumps(what)}, {nth}))")
            return place is not None

        self._until(known, f"nothing to click on: {what!r}")
        return place

    def _ready(self):
        time.sleep(0.03)
        self._until(lambda: self.evaluate("document.readyState") == "complete", "the page does not load")

    def _until(self, true, otherwise, seconds=_SECONDS):
        end, pause = time.monotonic() + seconds, 0.05
        while not true():
            assert time.monotonic() < end, f"{otherwise}; the screen at {self.path} says: {self.words[:1500]}"
            time.sleep(pause)
            pause = min(2 * pause, 0.4)


def _expected(words):
    return "the server responded with a status of 4" in words


_FIND = """
var shown = (part) => part.getClientRects().length > 0 && getComputedStyle(part).visibility !== "hidden";
var find = (what, nth) => {
  if (/^[#.\\[]/.test(what)) return [...document.querySelectorAll(what)].filter(shown)[nth] || null;
  const said = (part) => part.getAttribute("aria-label") || part.innerText || part.value || "";
  const text = (part) => said(part).replace(/\\s+/g, " ").trim();
  const parts = [...document.querySelectorAll("a, button, summary, label, input[type=submit]")].filter(shown);
  const same = parts.filter((part) => text(part) === what);
  const begun = parts.filter((part) => text(part).startsWith(what));
  return (same.length ? same : begun)[nth] || null;
};
var field = (part) => part && part.tagName === "LABEL" && part.control ? part.control : part;
var place = (part) => {
  const target = field(part);
  if (!target) return null;
  target.scrollIntoView({block: "center", behavior: "instant"});
  const box = (shown(target) ? target : part).getClientRects()[0];  // the first line of a link that has several
  return [box.x + Math.min(box.width / 2, 60), box.y + box.height / 2];
};
"""


@contextlib.contextmanager
def bridged(path):
    """An address of this machine behind which a Unix socket answers, because browsers know none."""

    def carry(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            with socket.socket(socket.AF_UNIX) as inner:
                inner.connect(str(path))
                back = threading.Thread(target=carry, args=(inner, self.request), daemon=True)
                back.start()
                carry(self.request, inner)
                back.join(5)

    class Bridge(socketserver.ThreadingTCPServer):
        daemon_threads, allow_reuse_address = True, True

    with Bridge(("127.0.0.1", 0), Handler) as bridge:
        threading.Thread(target=bridge.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{bridge.server_address[1]}"
        bridge.shutdown()
