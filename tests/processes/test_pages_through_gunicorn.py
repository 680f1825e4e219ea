"""Runs that a person submits through the pages of a real gunicorn with two processes: none is lost, none runs twice."""

import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from http.cookiejar import CookieJar
from threading import Event
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, HTTPRedirectHandler, build_opener

import pytest

from jobs.core.states import FINAL
from jobs.models import Run, Worker
from tests.browser.server import PASSWORD, make_user, start_gunicorn
from tests.processes.support import PATIENCE, no_problem
from tests.runtime.support import states, wait_until
from tests.tasks import runtime_hold, runtime_mark

MANY, CLIENTS = 200, 4
SLOTS = 4  # of both processes together
FORM = f"/jobs/submit/{runtime_mark.name}/"
OPTIONS = {"run-priority": "50", "run-queue": "default"}
NO_ANSWER = (OSError, HTTPException)

preload = pytest.mark.parametrize("options", [(), ("--preload",)], ids=["", "preload"])


class NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *args, **kwargs):
        return None


class Visitor:
    """Somebody at a browser: keeps cookies, opens forms and sends them."""

    def __init__(self, url: str):
        self._url = url
        self._opener = build_opener(HTTPCookieProcessor(CookieJar()), NoRedirects)
        self.send("/login/", self.open("/login/"), username="paul", password=PASSWORD)

    def open(self, path: str) -> str:
        """Open the page of a form; the token in it."""
        with self._opener.open(self._url + path, timeout=PATIENCE) as answer:
            return re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', answer.read().decode())[1]

    def send(self, path: str, token: str, **fields: str) -> str:
        """Send a form; where it leads to."""
        data = urlencode({"csrfmiddlewaretoken": token} | fields).encode()
        try:
            with self._opener.open(self._url + path, data, timeout=PATIENCE) as answer:
                raise AssertionError(f"the form was refused:\n{answer.read().decode()}")
        except HTTPError as answer:
            if answer.code != 302:
                raise AssertionError(answer.read().decode()) from None
            return answer.headers["Location"]


class Crowd:
    """Submits runs from several threads until `MANY` are accepted or it leaves, whether it is answered or not."""

    def __init__(self, url: str):
        self.accepted: list[int] = []
        self.unanswered = 0
        self._shall_leave = Event()
        self._visitor = Visitor(url)
        pool = ThreadPoolExecutor(CLIENTS)
        self._clients = [pool.submit(self._submit_many, self._visitor.open(FORM)) for _ in range(CLIENTS)]
        pool.shutdown(wait=False)

    def wait_for(self, number: int) -> None:
        wait_until(lambda: len(self.accepted) >= number or self._has_failed, PATIENCE)
        if self._has_failed:
            self.leave()

    def wait_for_silence(self) -> None:
        wait_until(lambda: self.unanswered, PATIENCE)

    def leave(self) -> None:
        self._shall_leave.set()
        for client in self._clients:
            client.result(PATIENCE)

    @property
    def _has_failed(self) -> bool:
        return any(client.done() and client.exception() for client in self._clients)

    def _submit_many(self, token: str) -> None:
        while len(self.accepted) < MANY and not self._shall_leave.is_set():
            try:
                run = re.fullmatch(r"/jobs/runs/(\d+)/", self._visitor.send(FORM, token, **OPTIONS))
            except NO_ANSWER:
                self.unanswered += 1
            else:
                self.accepted.append(int(run[1]))


@pytest.fixture
def start(site):
    make_user("paul", "run_job")
    environment = {"DJANGO_SETTINGS_MODULE": "tests.browser.settings_for_browser", "WEB_WORKERS": "2"}

    def start_one(*options, **more):
        alive = Worker.objects.filter(state="alive")
        process, url = start_gunicorn(site, *options, JOBS_THREADS=str(SLOTS // 2), **environment, **more)
        wait_until(lambda: alive.count() == 2, PATIENCE)
        return process, url

    return start_one


@pytest.fixture
def holding(site):
    """Runs that keep all threads busy, so that what is submitted has to wait."""

    def hold():
        runs = runtime_hold.using(priority=-100).enqueue_many([{}] * SLOTS)
        site.wait_until_begun(*runs)
        return runs

    return hold


def wait_until_all_have_ended() -> None:
    wait_until(lambda: not Run.objects.exclude(state__in=FINAL).exists(), PATIENCE)


def each_succeeded_once(site, submitted: list[int]) -> None:
    """All runs have succeeded, and each was executed once more than its history tells of."""
    runs = {run.pk: run for run in Run.objects.prefetch_related("attempts")}
    assert {run.state for run in runs.values()} == {"succeeded"}
    assert set(submitted) <= set(runs)
    assert len(submitted) == len(set(submitted)) >= MANY
    assert site.executions() == {run.pk: 1 + len(run.attempts.all()) for run in runs.values()}


@preload
def test_each_of_200_runs_is_executed_exactly_once(site, start, options):
    server, url = start(*options)
    crowd = Crowd(url)
    crowd.wait_for(MANY)
    crowd.leave()
    wait_until_all_have_ended()
    each_succeeded_once(site, crowd.accepted)
    assert set(site.executions()) == set(crowd.accepted)
    assert set(site.executions().values()) == {1}
    assert crowd.unanswered == 0
    assert server.ends_by(signal.SIGTERM, within=20) == 0
    assert no_problem(server)


@preload
def test_a_stop_in_the_middle_and_a_new_start_lose_none(site, start, holding, options):
    server, url = start(*options, JOBS_GRACE_SECONDS="0.5")
    held = holding()
    before = Crowd(url)
    before.wait_for(MANY // 4)
    server.send(signal.SIGTERM)
    before.wait_for_silence()
    before.leave()
    assert server.wait() == 0
    assert no_problem(server)
    assert set(states(held)) == {"queued"}

    _, url = start(*options)
    after = Crowd(url)
    after.wait_for(MANY // 2)
    site.open_gate()
    after.wait_for(MANY)
    after.leave()
    wait_until_all_have_ended()
    each_succeeded_once(site, before.accepted + after.accepted)
    assert {site.executions()[run.pk] for run in held} == {2}
    assert {site.executions()[run] for run in before.accepted + after.accepted} == {1}


@preload
def test_the_death_of_one_process_loses_none(site, start, holding, options):
    _, url = start(*options)
    held = holding()
    crowd = Crowd(url)
    crowd.wait_for(MANY // 4)
    victim = site.marks[0][2]
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: Worker.objects.filter(pid=victim, state="dead").exists(), PATIENCE)
    site.open_gate()
    crowd.wait_for(MANY)
    crowd.leave()
    wait_until_all_have_ended()
    each_succeeded_once(site, crowd.accepted)
    lost = {run for run, attempt, pid, word in site.marks if pid == victim}
    assert lost == {run.pk for run in held if site.executions()[run.pk] == 2}
    assert {attempt.outcome for run in held for attempt in run.attempts.all()} == {"lost"}
