"""Pictures of the demo's pages.

`python -m tests.browser.screenshots FOLDER` takes every page, light and dark, 1280 and 390 pixels wide; it ends with 1
if the browser complained about a page, or a page is wider than the window.
`python -m tests.browser.screenshots --dashboard docs/images/dashboard.png` takes the picture in the README.
"""

import re
import sys
from argparse import ArgumentParser
from itertools import product
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.browser.actions import PRESS, SHEEP, submit_sheep
from tests.browser.chromium import HINT, browser, complaints, is_too_wide, log_in, program, window
from tests.browser.demo import ROOT, Demo, started_demo

WIDTHS, SCHEMES = (1280, 390), ("light", "dark")
TASKS = "/jobs/submit/config.tasks."
BACKFILL = f"{TASKS}user_backfill/"
NOBODY, PASSWORD = "nobody", "sees nothing at all"
PATIENCE = 60_000  # milliseconds
MOST_LOOKS = 500


def submit(page: Page, task: str, *, queue: str = "default", priority: int = 50) -> str:
    """Submit a run of a task of the demo; the address of its page."""
    page.goto(f"{TASKS}{task}/")
    page.get_by_text("Priority, queue and time").click()
    page.get_by_label("Priority").fill(str(priority))
    page.get_by_label("Queue").fill(queue)
    page.get_by_role("button", **PRESS).click()
    page.wait_for_url("**/jobs/runs/*/")
    return page.url


def wait_for_failure(page: Page) -> str:
    """The address of the demo's run that fails, when it has."""
    page.goto("/jobs/")  # renews itself
    failed = page.get_by_role("link", name=re.compile("Always fails #"))
    expect(page.locator("[aria-labelledby=failures]").filter(has=failed)).to_be_visible(timeout=PATIENCE)
    return failed.first.get_attribute("href")


def wait_until_idle(page: Page) -> None:
    page.goto("/jobs/")
    expect(page.locator("#dashboard")).to_contain_text("Nothing runs at the moment.", timeout=PATIENCE)
    expect(page.locator("#dashboard")).to_contain_text("No run is ready to start.", timeout=PATIENCE)


def add_schedules(page: Page) -> str:
    """Some rhythms for the demo's jobs; the address of the last one."""
    rules = ((1, "0 6 * * 1-5"), (2, "* * * * *"), (2, "*/5 8-17 * * *"), (3, "0 */4 * * *"), (3, "30 2 * * *"))
    for job, expression in rules:
        page.goto(f"/jobs/jobs/{job}/schedules/new/")
        page.get_by_label("Expression").fill(expression)
        page.get_by_label("Time zone").fill("Europe/Berlin")
        page.get_by_role("button", name="Save").click()
        page.wait_for_url(f"**/jobs/jobs/{job}/")
    return page.get_by_role("link", name="Edit At 02:30").get_attribute("href")


def pages(page: Page, demo: Demo) -> dict[str, str]:
    """The pages by name, after some things have happened on the site. One run stays where it is, and one behind it."""
    failed = wait_for_failure(page)
    wait_until_idle(page)
    tried_again = submit(page, "ask_the_bank")
    expect(page.locator("#live")).to_contain_text("The bank has answered.", timeout=PATIENCE)
    page.goto("/jobs/workers/")
    page.get_by_label("Why pause default").fill("The bank is down")
    page.get_by_role("button", name="Pause default").click()
    paused = submit(page, "user_backfill")
    running = submit_sheep(page, how_many=5, queue="sheep")
    demo.let_go(running, step=1)
    demo.let_go(running, step=2)
    expect(page.locator("#live")).to_contain_text("3 of 5", timeout=PATIENCE)
    expect(page.locator("#log")).to_contain_text("white sheep 3", timeout=PATIENCE)
    waiting = submit(page, "fraud_alert", queue="sheep")
    schedule = add_schedules(page)
    admin_schedule = f"/admin/jobs/schedule/{schedule.rstrip('/').rpartition('/')[2]}/"
    return {
        "dashboard": "/jobs/",
        "runs": "/jobs/runs/",
        "runs-wrong-filter": "/jobs/runs/?state=nonsense",
        "run-running": f"/jobs/runs/{running}/",
        "run-waiting": waiting,
        "run-paused": paused,
        "run-failed": failed,
        "run-succeeded": "/jobs/runs/1/",
        "run-tried-again": tried_again,
        "run-again-with-edits": "/jobs/runs/1/edit/",
        "jobs": "/jobs/jobs/",
        "job": "/jobs/jobs/1/",
        "job-run": "/jobs/jobs/3/run/",
        "job-with-schedules": "/jobs/jobs/3/",
        "upcoming": "/jobs/upcoming/",
        "schedule-add": "/jobs/jobs/3/schedules/new/",
        "schedule": schedule,
        "schedule-backfill": f"{schedule}backfill/",
        "schedule-delete": f"{schedule}delete/",
        "submit": "/jobs/submit/",
        "submit-form": BACKFILL,
        "workers": "/jobs/workers/",
        "not-found": "/jobs/runs/999999/",
        "admin": "/admin/",
        "admin-runs": "/admin/jobs/run/",
        "admin-run": "/admin/jobs/run/1/change/",
        "admin-run-running": f"/admin/jobs/run/{running}/change/",
        "admin-run-edit": "/admin/jobs/run/1/edit/",
        "admin-jobs": "/admin/jobs/job/",
        "admin-job-add": "/admin/jobs/job/add/?task=config.tasks.user_backfill",
        "admin-job": "/admin/jobs/job/3/change/",
        "admin-job-run": "/admin/jobs/job/3/run/",
        "admin-schedules": "/admin/jobs/schedule/",
        "admin-schedule-choose": "/admin/jobs/schedule/add/",
        "admin-schedule-add": "/admin/jobs/schedule/add/?job=3",
        "admin-schedule": f"{admin_schedule}change/",
        "admin-schedule-backfill": f"{admin_schedule}backfill/",
        "admin-queues": "/admin/jobs/queue/",
        "admin-workers": "/admin/jobs/worker/",
        "admin-audit": "/admin/jobs/auditentry/",
    }


class Photographer:
    """Takes pictures of one width and scheme into a folder, and notes what is wrong with the pages."""

    def __init__(self, folder: Path, width: int, scheme: str):
        self.problems: list[str] = []
        self._folder = folder
        self._width, self._scheme = width, scheme

    def open(self, chromium: Browser, url: str, **options) -> Page:
        opened = window(chromium, url, size=(self._width, 900), scheme=self._scheme, **options)
        self._heard = complaints(opened)
        return opened.new_page()

    def take(self, page: Page, name: str) -> None:
        page.screenshot(path=self._folder / f"{name}-{self._width}-{self._scheme}.png", full_page=True)
        if is_too_wide(page):
            self._heard.append("is wider than the window")
        self.problems += [f"{name} ({self._width}, {self._scheme}): {each}" for each in self._heard]
        self._heard.clear()


def shoot(folder: Path) -> list[str]:
    """Take all pictures; what is wrong with the pages."""
    folder.mkdir(parents=True, exist_ok=True)
    problems = []
    with started_demo("tests.browser.settings_for_demo") as demo, browser() as chromium:
        demo.make_user(NOBODY, PASSWORD)
        first = window(chromium, demo.url).new_page()
        log_in(first, "demo", demo.password)
        wanted, cookies = pages(first, demo), first.context.storage_state()
        first.close()  # where it renews itself, it would be in the way of others
        for width, scheme in product(WIDTHS, SCHEMES):
            photographer = Photographer(folder, width, scheme)
            page = photographer.open(chromium, demo.url, storage_state=cookies)
            for name, address in wanted.items():
                page.goto(address)
                photographer.take(page, name)
            take_refusals(photographer, page)
            take_strangers(photographer, photographer.open(chromium, demo.url))
            problems += photographer.problems
    return problems


def take_refusals(photographer: Photographer, page: Page) -> None:
    page.goto(SHEEP)
    page.get_by_label("How many").fill("3.5")
    page.get_by_text("Priority, queue and time").click()
    page.get_by_label("Queue").fill("")
    page.get_by_role("button", **PRESS).click()
    expect(page.locator(".errorlist").first).to_be_visible()
    photographer.take(page, "submit-refused")


def take_strangers(photographer: Photographer, page: Page) -> None:
    page.goto("/login/")
    photographer.take(page, "login")
    page.get_by_label("Username").fill(NOBODY)
    page.get_by_label("Password").fill("a wrong one")
    page.get_by_role("button", name="Log in").click()
    page.locator(".errorlist").first.wait_for()
    photographer.take(page, "login-refused")
    log_in(page, NOBODY, PASSWORD)
    photographer.take(page, "dashboard-of-nobody")
    page.goto("/jobs/workers/")
    photographer.take(page, "forbidden")


def take_dashboard(file: Path) -> list[str]:
    """The dashboard at work: something runs, some runs wait in two queues, one has failed."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with started_demo() as demo, browser() as chromium:
        page = window(chromium, demo.url, size=(1280, 800)).new_page()
        log_in(page, "demo", demo.password)
        for task, queue in (("fraud_alert", "payments"), ("user_backfill", "default"), ("daily_report", "default")):
            for _ in range(3):
                submit(page, task, queue=queue)
        wait_for_failure(page)
        expect_half_done(page)
        page.screenshot(path=file)
    return []


def expect_half_done(page: Page) -> None:
    """Look again until something that runs is about half done."""
    progress = page.locator("progress")
    for _ in range(MOST_LOOKS):
        if any(0.3 < each < 0.8 for each in progress.evaluate_all("all => all.map((one) => one.position)")):
            return
        page.reload()
    raise SystemExit("Nothing was ever half done.")


def main() -> int:
    parser = ArgumentParser(description="Takes pictures of the demo's pages.")
    parser.add_argument("target", nargs="?", type=Path, default=ROOT / "var" / "screenshots", help="a folder")
    parser.add_argument("--dashboard", action="store_true", help="only the README's picture; TARGET is its file")
    options = parser.parse_args()
    if program() is None:
        parser.error(HINT)
    problems = (take_dashboard if options.dashboard else shoot)(options.target)
    sys.stdout.write("\n".join([*problems, f"See {options.target}", ""]))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
