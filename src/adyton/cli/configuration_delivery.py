"""What comes of a configuration once it is paid for: it is in its file, or printed, whatever happens next."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from adyton.cli.console import notes, out, print_json, printable
from adyton.cli.folders import check_output
from adyton.cli.paid import printed
from adyton.errors import AdytonError, BadInput
from adyton.exact import display

if TYPE_CHECKING:
    from adyton.configuration.result import Configuration


class Delivery:
    """Where a configuration goes: a JSON file, a page, and standard output."""

    def __init__(self, file: Path | None, report: Path | None, as_json: bool, quiet: bool) -> None:
        self._file, self._report, self._as_json, self._quiet = file, report, as_json, quiet
        self.kept: Configuration | None = None
        self._problem: str | None = None

    def check(self, overwrite: bool) -> None:
        """Refuse what cannot be written, before anything is spent."""
        if overwrite and self._file is None and self._report is None:
            raise BadInput("--overwrite belongs to --out and --report. Name the file that may be overwritten.")
        if self._file is not None and self._report is not None and self._file.resolve() == self._report.resolve():
            raise BadInput("--out and --report name the same file. Give each its own.")
        if self._file is None:
            check_output()
        for file in (self._file, self._report):
            if file is None:
                continue
            if not file.resolve().parent.is_dir():
                raise BadInput(f"{file} cannot be written: its folder does not exist. Make it first.")
            if file.is_dir():
                raise BadInput(f"{file} is a folder. Give the name of a file.")
            if file.exists() and not overwrite:
                raise BadInput(f"{file} exists. Give another name, or --overwrite.")

    def keep(self, found: Configuration) -> None:
        """Put down what was paid for, at once; interrupts wait meanwhile."""
        self.kept = found
        try:
            if self._file is not None:
                found.save(self._file)
        except Exception as error:  # it is paid for: then it is printed
            self._problem = str(error) if isinstance(error, AdytonError) else type(error).__name__

    def finish(self) -> None:
        """Print it, and write the page."""
        found = self.kept
        assert found is not None
        if self._problem is not None:
            raise AdytonError(
                f"the configuration could not be written ({self._problem.rstrip('.')}). It is paid for, so all of it "
                f"is {printed(found.to_dict())} instead."
            )
        try:
            self._show(found)
            sys.stdout.flush()
        except (OSError, ValueError):
            where = f"in {self._file}" if self._file is not None else printed(found.to_dict())
            raise AdytonError(f"the configuration could not be printed. All of it is {where}.") from None
        if self._file is not None and not self._quiet:
            notes().print(printable(f"Kept in {self._file}."), soft_wrap=True)
        if self._report is not None:
            self._write_report(found, self._report)

    def _show(self, found: Configuration) -> None:
        if self._as_json:
            print_json(found.to_dict())
            return
        for line in str(found.explain()).splitlines():
            out().print(printable(line), soft_wrap=True)

    def interrupted(self) -> str:
        """What to say of an interrupt that came after the charge."""
        assert self.kept is not None
        elsewhere = self._file is None or self._problem is not None
        where = printed(self.kept.to_dict()) if elsewhere else f"in {self._file}"
        spent = display(self.kept.epsilon)
        return f"interrupted. The configuration is {where}; ε = {spent} was charged for it and stays spent."

    def _write_report(self, found: Configuration, file: Path) -> None:
        from adyton.report.configuration_page import render

        try:
            file.write_text(render(found), encoding="utf-8")
        except Exception as error:  # a page is a help, and cannot undo what was paid
            why = getattr(error, "strerror", None) or type(error).__name__
            notes().print(printable(f"The report could not be written ({why})."), soft_wrap=True)
            return
        if not self._quiet:
            notes().print(printable(f"The report is {file}."), soft_wrap=True)
