"""A real Chromium, driven by Playwright, that tells what a person would not see at once."""

import os
import re
import shutil
from contextlib import contextmanager

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


HINT = "there is no Chromium: install it (apt-get install chromium), or name the program in the variable CHROMIUM"

# An answer that a page may well get, such as 422 for a form with mistakes; it is no fault of the page.
is_refusal = re.compile(r"Failed to load resource: the server responded with a status of 4\d\d ").match


def program() -> str | None:
    """The browser that the environment names, Debian's Chromium, or another one on the PATH; None if there is none."""
    names = (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, filter(None, names))), None)


@contextmanager
def browser():
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program(), args=list(FLAGS))
        try:
            yield started
        finally:
            started.close()


def window(browser: Browser, url: str, *, size=(1280, 900), scheme: str = "light", **options) -> BrowserContext:
    """A window of its own, of so many pixels: no cookies of others."""
    size = dict(zip(("width", "height"), size, strict=True))
    return browser.new_context(base_url=url, viewport=size, color_scheme=scheme, reduced_motion="reduce", **options)


def log_in(page: Page, username: str, password: str) -> None:
    page.goto("/login/")
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/jobs/")


def complaints(opened: BrowserContext) -> list[str]:
    """What the browser complains about in this window: errors of scripts, of the security policy, of the server."""
    found = []

    def hear(line):
        if line.type in ("error", "warning") and not is_refusal(line.text):
            found.append(f"console: {line.text}")

    def see(answer):
        if answer.status >= 500:
            found.append(f"{answer.status}: {answer.url}")

    opened.on("weberror", lambda problem: found.append(f"script: {problem.error}"))
    opened.on("console", hear)
    opened.on("response", see)
    return found


def is_too_wide(page: Page) -> bool:
    """Whether the page has to be scrolled sideways."""
    return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
