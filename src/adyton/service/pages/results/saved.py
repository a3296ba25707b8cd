"""Results in the folder of a person who works alone: opened like files that nobody trusts, without a service."""

from __future__ import annotations

import datetime
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from adyton.errors import AdytonError, BadInput
from adyton.result.folder import file_in, says_so
from adyton.service.pages.results.content import file_of, report_of
from adyton.service.pages.results.outcomes import Saved, cache_of
from adyton.service.pages.results.views import drawn_at, show, synthetic
from adyton.service.pages.visits import NoSuchPage, Page, View, Visit, path_to

_MOST = 500
"""How many results are listed."""
_LARGEST = 1 << 28


def listed(visit: Visit) -> Page:
    """The saved results in the folder."""
    folder, found = _folder(visit), []
    for name in sorted(_names(folder)):
        try:
            found.append({"name": name, "path": path_to("saved", name), "day": _day(folder / name)})
        except OSError:
            continue
    return visit.page("saved.html.j2", saved=found[:_MOST], more=max(0, len(found) - _MOST), folder=folder.name)


def _names(folder: Path) -> Iterator[str]:
    try:
        for entry in folder.iterdir():
            if not entry.name.startswith(".") and _inside(folder, entry.name) and says_so(entry):
                yield entry.name
    except OSError:
        return


def _day(path: Path) -> str:
    return datetime.date.fromtimestamp(file_in(path).stat().st_mtime).isoformat()


def saved(visit: Visit, name: str) -> Page:
    """A saved result."""
    return show(visit, _opened(visit, name), path_to("saved", name))


def drawn(visit: Visit, name: str) -> Page:
    """The part of the page that is loaded again until the pictures are drawn."""
    return drawn_at(visit, _opened(visit, name), path_to("saved", name))


def file(visit: Visit, name: str, file: str) -> Page:
    """A file of a saved result."""
    return file_of(_opened(visit, name), file)


def rows(visit: Visit, name: str) -> Page:
    """Synthetic rows of a saved result; a wrong number is shown at its field."""
    opened = _opened(visit, name)
    return synthetic(visit, opened) or show(visit, opened, path_to("saved", name))


def report(visit: Visit, name: str) -> Page:
    """The report of a saved result, as a page of its own."""
    return report_of(_opened(visit, name))


def _folder(visit: Visit) -> Path:
    """The folder of the person who works alone."""
    given = visit.site.settings.get("folder") if visit.person else None
    if not given:
        raise NoSuchPage("Saved results are opened by adyton open FOLDER, on your own machine. Here, choose a table.")
    return Path(str(given)).resolve()


def _inside(folder: Path, name: str) -> bool:
    """Whether a name is that of a plain folder or JSON file directly in the folder: no way out, no link, no table."""
    if not name or name in (".", "..") or "/" in name or "\\" in name or "\0" in name:
        return False
    path = folder / name
    try:
        file = file_in(path)
        plain = all(stat.S_ISDIR(kind) or stat.S_ISREG(kind) for kind in (path.lstat().st_mode, file.lstat().st_mode))
        return plain and file.suffix.lower() == ".json" and file.resolve().is_relative_to(folder)
    except OSError:
        return False


def _opened(visit: Visit, name: str) -> Saved:
    """The result of this name, which is checked like one that anybody may have written."""
    folder = _folder(visit)
    if not _inside(folder, name):
        raise NoSuchPage("There is no saved result of this name. The list has those that there are.")
    path = file_in(folder / name)
    try:
        if path.stat().st_size > _LARGEST:
            raise BadInput(f"{name} is larger than a result can be. Choose another one.")
        return cache_of(visit).read(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise BadInput(f"{name} cannot be read ({problem.strerror}). Choose another one.") from None
    except UnicodeDecodeError:
        raise BadInput(f"{name} holds no result. Choose another one.") from None
    except AdytonError as problem:
        raise BadInput(f"{name}: {problem}") from None


VIEWS: Mapping[tuple[str, str], View] = {
    ("GET", "/saved"): listed,
    ("GET", "/saved/{name}"): saved,
    ("GET", "/saved/{name}/drawn"): drawn,
    ("GET", "/saved/{name}/files/{file}"): file,
    ("GET", "/saved/{name}/rows"): rows,
    ("GET", "/saved/{name}/report"): report,
}
