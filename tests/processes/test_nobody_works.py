"""That nobody works is seen from outside, and a fault inside a scheduler does not end it."""

import json
from urllib.error import HTTPError
from urllib.request import urlopen

from jobs.lifecycle.status import status
from jobs.models import Worker
from tests.browser.server import start_gunicorn
from tests.processes import switches
from tests.processes.support import PATIENCE
from tests.runtime.support import wait_until
from tests.tasks import runtime_mark

SOON = {"JOBS_HEARTBEAT_SECONDS": "0.5", "JOBS_LOST_AFTER_SECONDS": "3"}


def health(url: str) -> tuple[int, bool]:
    """What monitoring sees: the status of the answer, and what it says."""
    try:
        answer = urlopen(f"{url}/jobs/health.json", timeout=PATIENCE)
    except HTTPError as error:
        answer = error
    with answer:
        return answer.status, json.load(answer)["is_working"]


def test_a_site_without_a_scheduler(site, settings):
    _, url = start_gunicorn(site, "--workers", "1", JOBS_AUTOSTART="off", **SOON)
    run = runtime_mark.enqueue()
    assert health(url) == (503, False)
    told = status()
    assert (told["is_working"], told["last_beat_seconds_ago"]) == (False, None)

    worker = site.runscheduler("--threads", "1", **SOON)
    run.wait(PATIENCE)
    wait_until(lambda: health(url) == (200, True), PATIENCE)
    worker.kill()
    runtime_mark.enqueue()
    wait_until(lambda: health(url) == (503, False), PATIENCE)
    settings.JOBS = settings.JOBS | {"LOST_AFTER_SECONDS": 3.0}
    told = status()
    assert told["is_working"] is False
    assert told["last_beat_seconds_ago"] > 3
    assert 0 < told["oldest_waiting_seconds"] <= told["last_beat_seconds_ago"] + 3


def test_a_scheduler_whose_look_for_work_raises_an_error_goes_on(site):
    process, url = start_gunicorn(site, "--workers", "1", RUNTIME_SWITCHES=str(site.folder))
    runtime_mark.enqueue().wait(PATIENCE)
    (site.folder / switches.ERROR).write_text("'queued'")  # at the next look for what waits
    run = runtime_mark.enqueue().wait(PATIENCE)
    assert (run.state, run.claim_no, site.executions()[run.pk]) == ("succeeded", 1, 1)
    assert process.output.count("Traceback") == 1
    assert process.output.count("RuntimeError: a fault that the test has switched on") == 2  # traceback, and next try
    assert health(url) == (200, True)
    assert list(Worker.objects.values_list("state", flat=True)) == ["alive"]
