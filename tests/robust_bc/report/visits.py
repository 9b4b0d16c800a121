"""A page that is open in the browser, and what happens on it."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request

DESKTOP = 1280


class Visit:
    """An open page, and all that went wrong on it."""

    def __init__(self, browser: Browser, path: Path, width: int = DESKTOP, **options: object) -> None:
        self.page: Page = browser.new_page(viewport={"width": width, "height": 800}, **options)  # type: ignore[arg-type]
        self.page.set_default_timeout(20_000)
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", self._asked)
        self.page.on("dialog", self._stopped)
        self.page.goto(path.as_uri())

    def _heard(self, message: ConsoleMessage) -> None:
        self.problems.append(message.text)

    def _asked(self, request: Request) -> None:
        self.requests.append(request.url)

    def _stopped(self, dialog: Dialog) -> None:
        self.problems.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def colour(self, selector: str) -> str:
        return str(self.page.locator(selector).first.evaluate("e => getComputedStyle(e).backgroundColor"))

    def overflow(self) -> int:
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
