"""A visitor of pages without a browser: keeps its cookie, follows where it is sent, and sends forms as they are."""

import http.client
import re
import socket
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import urlencode, urlsplit


@dataclass
class Seen:
    """A page as it arrived."""

    path: str
    status: int
    headers: dict
    body: bytes

    @property
    def html(self):
        return self.body.decode("utf-8")

    @property
    def words(self):
        """Its text, with single blanks."""
        reader = _Words()
        reader.feed(self.html)
        return " ".join(" ".join(reader.parts).split())

    def field(self, name):
        """The value of the first field of this name."""
        found = re.search(rf'<input[^>]*name="{re.escape(name)}"[^>]*value="([^"]*)"', self.html)
        return found and found[1]


class _Words(HTMLParser):
    def __init__(self):
        super().__init__()
        self.parts, self.hidden = [], 0

    def handle_starttag(self, tag, attrs):
        self.hidden += tag in ("script", "style")

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style")

    def handle_data(self, data):
        if not self.hidden:
            self.parts.append(data)


class Visiting:
    """Visits a service at a Unix socket, or at a host and port."""

    def __init__(self, place, base=""):
        """*base*: what all paths of the site begin with; here they are written without it."""
        self.base = base
        self.place, self.cookies, self.form_key = str(place), {}, ""

    def get(self, path, follow=True, headers=None):
        """The page at a path."""
        return self._followed("GET", path, None, follow, headers or {})

    def post(self, path, follow=True, headers=None, **fields):
        """Send a form; it carries the key of the page that was seen last."""
        return self._followed("POST", path, {"form_key": self.form_key, **fields}, follow, headers or {})

    def sign_in(self, token):
        """Sign in with a token."""
        self.get("/enter")
        return self.post("/enter", token=token, to="/")

    def _followed(self, method, path, fields, follow, headers):
        seen = self._seen(method, path, fields, headers)
        while follow and seen.status == 303:
            seen = self._seen("GET", seen.headers["location"], None, {})
        if key := seen.headers.get("content-type", "").startswith("text/html") and seen.field("form_key"):
            self.form_key = key
        return seen

    def _seen(self, method, path, fields, headers):
        connection = http.client.HTTPConnection("localhost", timeout=300)
        if ":" in self.place and not self.place.startswith("/"):
            host, _, port = self.place.rpartition(":")
            connection.sock = socket.create_connection((host, int(port)), 120)
        else:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(300)
            connection.sock.connect(self.place)
        head = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())} | headers
        text = None
        if fields is not None:
            text = urlencode(fields, doseq=True)
            head.setdefault("Content-Type", "application/x-www-form-urlencoded")
        try:
            connection.request(method, self.base + path, text, head)
            reply = connection.getresponse()
            body = reply.read()
            if self.base and "disposition" not in str(reply.headers):
                body = body.replace(self.base.encode(), b"")
        finally:
            connection.close()
        for name, value in reply.getheaders():
            if name.lower() == "set-cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.partition(";")[0]
        own = {name.lower(): value for name, value in reply.getheaders()}
        own |= {name: own[name].removeprefix(self.base) for name in ("location", "adyton-next") if name in own}
        return Seen(urlsplit(path).path, reply.status, own, body)


# ---- the forms of a page ---------------------------------------------------------------------------------------------


@dataclass
class FormSeen:
    """A form of a page: where it is sent, how, what a browser would send, and the names of all of its fields."""

    action: str
    method: str
    sent: list
    """Names with values, in the order of the page; without buttons."""
    names: set

    def with_value(self, name, value):
        """The fields as they are sent with other values of one of them; None leaves it out."""
        values = [] if value is None else value if isinstance(value, list) else [value]
        rest = [(own, old) for own, old in self.sent if own != name]
        return rest + [(name, own) for own in values]


def forms_of(page):
    """All forms of a page, but for the one that signs out."""
    reader = _Forms(page.path)
    reader.feed(page.html)
    return [form for form in reader.forms if form.action != "/leave"]


class _Forms(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.path, self.forms, self.form = path, [], None
        self.chooser, self.first, self.area = None, None, None

    def handle_starttag(self, tag, attrs):
        own = dict(attrs)
        name, value = own.get("name"), own.get("value") or ""
        if tag == "form":
            action = (own.get("action") or self.path).partition("#")[0]
            self.form = FormSeen(action, own.get("method", "get").upper(), [], set())
            self.forms.append(self.form)
        if self.form is None:
            return
        if name:
            self.form.names.add(name)
        if tag == "input" and name and own.get("type") not in ("file", "submit"):
            if own.get("type") not in ("checkbox", "radio"):
                self.form.sent.append((name, value))
            elif "checked" in own:
                self.form.sent.append((name, value or "on"))
        elif tag == "select":
            self.chooser, self.first = name, None
        elif tag == "option" and self.chooser:
            self.first = value if self.first is None else self.first
            if "selected" in own:
                self.form.sent.append((self.chooser, value))
                self.chooser = None
        elif tag == "textarea":
            self.area = [name, ""]

    def handle_data(self, data):
        if self.area:
            self.area[1] += data

    def handle_endtag(self, tag):
        if tag == "select" and self.chooser:
            self.form.sent += [(self.chooser, self.first)] * (self.first is not None)
            self.chooser = None
        elif tag == "textarea" and self.area:
            self.form.sent.append((self.area[0], self.area[1].removeprefix("\n")))
            self.area = None
        elif tag == "form":
            self.form = None
