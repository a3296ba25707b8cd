"""``adyton open`` as somebody starts it in a terminal, and a visitor who follows the link that it prints."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from service.pages.visiting import Visiting

CANARY = "QUOKKA"
VISITS = """age,sex,ward,joined,name
34,F,eye,2024-03-01,QUOKKA-1
51,M,ear,2024-04-01,QUOKKA-2
"""
HOSTILE = ["<script>alert(1)</script>", "{{ 7*7 }}", "=1+2", "a\"b' c", "q*"]
"""Names of columns."""
SCHEMA = """
[attributes.age]
type = "integer"
min = 0
max = 119
"""


class Opened:
    """A running ``adyton open`` in a folder."""

    def __init__(self, folder, *given, environment=None):
        self.folder, self.given = Path(folder), given
        self.environment = {**os.environ, **(environment or {})}

    def __enter__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "adyton", "open", *self.given, "--no-browser"],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said = self.process.stdout.readline()
        self.link = self.next_link()
        self.word = self.process.stdout.readline().split()[-1]
        self.address = self.link.partition("/enter")[0]
        self.port = int(re.search(r"127\.0\.0\.1:(\d+)", self.link)[1])
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.rest, self.complaints = self.process.communicate(timeout=300)

    def next_link(self):
        """The link in the next line that is printed."""
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.stderr.read())
        return re.search(r"(http://\S+)", line)[1]

    def fresh_link(self):
        """Another link, which pressing Enter prints."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.next_link()

    def enter(self, link=None):
        """A visitor who has followed a link, and the page where it led."""
        visitor = Visiting(f"127.0.0.1:{self.port}", self.address.partition(str(self.port))[2])
        page = visitor.get((link or self.link).removeprefix(self.address))
        return visitor, page

    def processes(self):
        """The modules of the service's processes by their numbers."""
        children, found = [self.process.pid], {}
        while children:
            parent = children.pop()
            with contextlib.suppress(OSError):
                children += [
                    int(number)
                    for task in Path(f"/proc/{parent}/task").iterdir()
                    for number in (task / "children").read_text().split()
                ]
                line = Path(f"/proc/{parent}/cmdline").read_bytes().decode(errors="replace")
                found[parent] = (re.findall(r"adyton\.service\.([\w.]+)", line) or ["open"])[0]
        return found


def ended(processes, seconds=120):
    """Whether all of these processes end in time."""
    end = time.monotonic() + seconds
    while any(_runs(number) for number in processes):
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def _runs(number):
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
