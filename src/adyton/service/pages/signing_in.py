"""Signing in and out, and the words that all pages use."""

from __future__ import annotations

from collections.abc import Mapping

from adyton.errors import AdytonError, BadInput
from adyton.service.pages.visitors import SECONDS, cookie_name
from adyton.service.pages.visits import Page, View, Visit, path_to, redirect
from adyton.session.client import Address, Client


def sign_in(visit: Visit) -> Page:
    """The page with the field for a token; a link that was made for this signs in at once."""
    link = visit.text("link") if visit.method == "GET" else ""  # whatever looks ahead does not use it up
    if link:
        links, local = visit.site.links, visit.site.settings.get("local_token")
        if links is None or local is None or not links.use(link):
            raise BadInput("This link was used before, or is too old. Press Enter in the terminal for a new one.")
        return _entered(visit, local, _inside(visit.text("to", "/")))
    if visit.visitor is not None:
        return redirect("/")
    return visit.page(
        "enter.html.j2",
        to=_inside(visit.text("to", "/")),
        problem="",
        ended="ended" in visit.query,
        lost="lost" in visit.query,
    )


def signed_in(visit: Visit) -> Page:
    """Sign in with the token of the form."""
    to = _inside(visit.text("to", "/"))
    try:
        return _entered(visit, visit.text("token"), to)
    except AdytonError as problem:
        return visit.page("enter.html.j2", status=400, to=to, problem=str(problem), ended=False, lost=False)


def sign_out(visit: Visit) -> Page:
    """Forget the visitor."""
    return _left(visit, "/enter")


def signed_out(visit: Visit) -> Page:
    """The way back for a visitor whose token is not valid any more: sign in again, with the reason."""
    return _left(visit, path_to("enter", to=visit.path if visit.method == "GET" else "/", ended=""))


def _left(visit: Visit, location: str) -> Page:
    visit.site.visitors.leave(visit.cookie)
    ended = f"{cookie_name(secure=visit.secure, mark=visit.site.mark)}=; Path=/; Max-Age=0" + "; Secure" * visit.secure
    return Page(b"", 303, headers={"location": location, "set-cookie": ended})


def _entered(visit: Visit, token: str, to: str) -> Page:
    if not token:
        raise BadInput("Paste your token. The curator of the table makes it: adyton token.")
    client = Client(Address.of(f"unix:{visit.site.settings['api']}"), token, 5.0)
    me = client.call("GET", "/v1/me").plain()
    cookie = visit.site.visitors.enter(token, str(me["name"]), str(me["role"]))
    kind = f"Path=/; HttpOnly; SameSite=Strict; Max-Age={SECONDS}" + "; Secure" * visit.secure
    return Page(
        b"",
        303,
        headers={
            "location": to,
            "set-cookie": f"{cookie_name(secure=visit.secure, mark=visit.site.mark)}={cookie}; {kind}",
        },
    )


def _inside(path: str) -> str:
    """A path of this site; anything else leads to the first page."""
    ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if ours else "/"


VIEWS: Mapping[tuple[str, str], View] = {
    ("GET", "/enter"): sign_in,
    ("POST", "/enter"): signed_in,
    ("POST", "/leave"): sign_out,
}
