"""A service that root starts: its HTTP process belongs to a user who has its own files, and cannot read the data."""

import os
import pwd
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from adyton.errors import BadInput
from adyton.service.access import Access
from adyton.service.config import Config
from adyton.service.supervisor import Service
from service.whole import ROWS, Served, write_data

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="changing the user needs root")
NOBODY = pwd.getpwnam("nobody")
ELSE = 12_345
"""The number of a user who has nothing to do with the service."""
CLIENT = """
import sys
import adyton as ad
for file in sys.argv[3:]:
    try:
        open(file, "rb")
        print("it could read", file)
    except PermissionError:
        pass
session = ad.connect(sys.argv[1], token=sys.argv[2], dataset="people")
ages = session.release(ad.Histogram("age"), epsilon=1)
wards = session.fit(ad.Classifier("ward", ["age", "sex"]), epsilon=1).predict({"age": [30], "sex": ["F"]})
tables = session.release(ad.Marginals(way=2), epsilon=1)
print(int(ages.estimate.sum()), len(wards), int(tables.table("sex", "ward").counts.sum()))
"""


def config(folder):
    data, schema = write_data(folder)
    part = {"data": str(data), "schema": str(schema), "ledger": "people.ledger", "total": 1}
    http = {"user": "nobody", "audit": "audit.log"}
    return Config.of({"datasets": {"people": part}, "http": http}, folder)


def test_the_files_of_the_http_process_are_its_users(tmp_path):
    """Made by root, because that user may not; with what was in them."""
    token = Access(tmp_path / "access.sqlite").make("mara")
    Service(config(tmp_path), pytest.fail)._hand_over(NOBODY)
    for name in ("access.sqlite", "receipts.key", "audit.log"):
        about = (tmp_path / name).stat()
        assert (about.st_uid, about.st_gid) == (NOBODY.pw_uid, NOBODY.pw_gid)
        assert stat.S_IMODE(about.st_mode) == 0o600
    assert (tmp_path / "people.parquet").stat().st_uid == 0
    assert Access(tmp_path / "access.sqlite").person(token).name == "mara"


@pytest.mark.parametrize("link", [os.symlink, os.link])
@pytest.mark.parametrize("name", ["access.sqlite", "receipts.key", "audit.log"])
def test_a_link_is_given_to_nobody(tmp_path, name, link):
    """Whoever has taken over the HTTP process cannot become the owner of another file by it."""
    service, secret = Service(config(tmp_path), pytest.fail), tmp_path / "secret"
    service._hand_over(NOBODY)
    (tmp_path / name).rename(secret)
    os.chown(secret, 0, 0)
    link(secret, tmp_path / name)
    with pytest.raises(BadInput, match=f"{name} (is a link|has several names)"):
        service._hand_over(NOBODY)
    assert secret.stat().st_uid == 0


@pytest.mark.full
def test_one_user_for_each():
    """The client, the HTTP process and the rest belong to three users, and only the last can read anything.

    It needs a Python that every user can run, such as that of the system.
    """
    with tempfile.TemporaryDirectory() as name:
        folder, sockets = Path(name), Path(name, "sockets")
        folder.chmod(0o711)
        sockets.mkdir()
        os.chown(sockets, NOBODY.pw_uid, -1)
        other = {"user": ELSE, "group": ELSE, "extra_groups": [], "cwd": "/"}
        try:
            subprocess.run([sys.executable, "-c", "import adyton"], check=True, capture_output=True, **other)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("other users cannot run this Python, or not read the package")
        service = Served(folder, http='user = "nobody"')
        service.config.write_text(service.config.read_text().replace(f"{service.socket}", f"{sockets}/http.sock"))
        service.socket = sockets / "http.sock"
        with service:
            (web,) = service.processes("web")
            about = Path(f"/proc/{web}/status").read_text()
            assert "\nUid:" + f"\t{NOBODY.pw_uid}" * 4 + "\n" in about
            assert "\nGroups:\t \n" in about
            hidden = [str(folder / f"people.{kind}") for kind in ("parquet", "ledger", "anchor")]
            own = [str(folder / name) for name in ("access.sqlite", "receipts.key", "audit.log")]
            for file in hidden:
                assert (os.stat(file).st_uid, stat.S_IMODE(os.stat(file).st_mode)) == (0, 0o600)
            command = [sys.executable, "-c", CLIENT, f"unix:{service.socket}", service.tokens["mara"], *hidden, *own]
            environment = {**os.environ, "HOME": "/", "NUMBA_CACHE_DIR": str(sockets / "none")}
            done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, **other)
            assert done.returncode == 0, done.stderr
            ages, wards, people = map(int, done.stdout.split())
            assert (abs(ages - ROWS) < 500, wards, abs(people - ROWS) < 300) == (True, 1, True)
        (folder / "people.parquet").chmod(0o644)
        with service:
            assert f"nobody can read {folder / 'people.parquet'}" in (folder / "serve.log").read_text()
