"""Every page: no wider than a phone, its navigation within reach, its texts legible in both schemes."""

import json
from datetime import timedelta

import pytest
from playwright.sync_api import expect

from jobs.core.clock import now
from jobs.lifecycle import pause
from jobs.models import Job, Run, Schedule
from tests.browser.actions import SHEEP
from tests.browser.chromium import is_too_wide
from tests.browser.contrast import poor_contrasts
from tests.browser.server import make_user
from tests.browser.tasks import count_sheep, fall_ill, nothing_to_do
from tests.lifecycle.support import stored
from tests.processes.support import PATIENCE
from tests.runtime.support import wait_until

PHONE = (390, 844)
LONG = "Baa" * 40
SMALLEST_TARGET = 24  # pixels, WCAG 2.2


@pytest.fixture
def paths(server) -> dict[str, str]:
    """All pages by name, on a site where something of every kind has happened."""
    job = Job.objects.create(name=f"Count {LONG}", task=count_sheep.name, arguments_json='{"how_many": 3}')
    disabled = Job.objects.create(name="Disabled", task="gone.tasks.lost", is_enabled=False, description=LONG)
    schedules = make_schedules(job)
    pause("barn", reason=f"The fence is {LONG}")
    server.wait_until_it_has_looked()
    runs = {
        "running": count_sheep.enqueue(how_many=3, color=LONG),
        "waiting": count_sheep.using(queue="barn").enqueue(how_many=1),
        "scheduled": count_sheep.using(run_after=timedelta(hours=1)).enqueue(how_many=1),
        "cancelled": count_sheep.using(run_after=timedelta(hours=1)).enqueue(how_many=1),
        "failed": fall_ill.enqueue(),
        "succeeded": nothing_to_do.enqueue(),
    }
    runs["cancelled"].cancel()
    wait_until(lambda: Run.objects.filter(pk=runs["running"].pk, progress_done=1).exists(), PATIENCE)
    for name in ("failed", "succeeded"):
        runs[name].wait(PATIENCE)
    pages = {f"run that is {name}": f"/jobs/runs/{run.pk}/" for name, run in runs.items()}
    return pages | {
        "dashboard": "/jobs/",
        "runs": "/jobs/runs/",
        "wrong filter": "/jobs/runs/?state=nonsense",
        "run again with edits": f"/jobs/runs/{runs['succeeded'].pk}/edit/",
        "jobs": "/jobs/jobs/",
        "job": f"/jobs/jobs/{job.pk}/",
        "run of a job": f"/jobs/jobs/{job.pk}/run/",
        "disabled job": f"/jobs/jobs/{disabled.pk}/",
        "upcoming": "/jobs/upcoming/",
        "new schedule": f"/jobs/jobs/{job.pk}/schedules/new/",
        "schedule": f"/jobs/schedules/{schedules[0].pk}/",
        "schedule with a problem": f"/jobs/schedules/{schedules[-1].pk}/",
        "backfill": f"/jobs/schedules/{schedules[0].pk}/backfill/",
        "end of a schedule": f"/jobs/schedules/{schedules[0].pk}/delete/",
        "submit": "/jobs/submit/",
        "form": SHEEP,
        "workers": "/jobs/workers/",
        "not found": "/jobs/runs/999999/",
    }


def make_schedules(job: Job) -> list[Schedule]:
    """One that comes some time, a dense one whose job waits, and one that never comes; and slots that were missed."""
    rules = ({"expression": "0 3 * * *", "name": LONG, "time_zone": "America/Argentina/ComodRivadavia"},
             {"expression": "* * * * *", "starts_at": now() + timedelta(hours=3)},
             {"expression": f"{LONG} * * * *"})  # fmt: skip
    schedules = [Schedule.objects.create(job=job, kind="cron", **rule) for rule in rules]
    told = {"count": 1440, "from": "2026-11-01T00:00:00Z", "until": "2026-11-01T23:59:00Z"}
    stored(state="skipped", reason_code="missed", reason_json=json.dumps(told), schedule_id=schedules[0].pk,
           job_name=LONG, scheduled_for=now(), finished_at=now())  # fmt: skip
    return schedules


def opened_pages(open_page, operator, paths):
    """Page after page, and its name: those of an operator, a form that is refused, what strangers get to see."""
    page = open_page(operator)
    for name, path in paths.items():
        page.goto(path)
        yield page, name
    page.goto(SHEEP)
    page.get_by_label("How many").fill("3.5")
    page.get_by_text("Priority, queue and time").click()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".errorlist").first).to_be_visible()
    yield page, "refused form"
    yield from pages_of_strangers(open_page)


def pages_of_strangers(open_page):
    page = open_page()
    page.goto("/login/")
    page.get_by_label("Username").fill("nobody")
    page.get_by_label("Password").fill("a wrong one")
    page.get_by_role("button", name="Log in").click()
    expect(page.locator(".errorlist").first).to_be_visible()
    yield page, "login"
    page = open_page(make_user("nobody"))
    page.goto("/jobs/workers/")
    yield page, "403"
    page.goto("/jobs/")
    yield page, "dashboard of who sees nothing"


def faults(page) -> list[str]:
    """What is wrong with a page on a desk, light and dark, and on a phone."""
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found += [f"{scheme}: {each}" for each in poor_contrasts(page)]
    desk = page.viewport_size
    page.set_viewport_size(dict(zip(("width", "height"), PHONE, strict=True)))
    if is_too_wide(page):
        found.append("wider than a phone")
    page.set_viewport_size(desk)
    return found


def test_every_page_is_legible_and_fits_a_phone(open_page, operator, paths):
    found = {name: faults(page) for page, name in opened_pages(open_page, operator, paths)}
    assert {name: each for name, each in found.items() if each} == {}
    assert len(found) == len(paths) + 4


def test_the_navigation_is_within_reach_on_a_phone(open_page, operator):
    page = open_page(operator, size=PHONE, has_touch=True)
    page.goto("/jobs/")
    links = page.get_by_role("navigation", name="Pages").get_by_role("link")
    for name in ("Runs", "Jobs", "Upcoming", "Submit", "Workers", "Dashboard"):
        box = links.filter(has_text=name).bounding_box()
        assert min(box["width"], box["height"]) >= SMALLEST_TARGET
        links.filter(has_text=name).tap()
        expect(links.filter(has_text=name)).to_have_attribute("aria-current", "page")
