"""What a function leaves behind in its thread does not reach the next one."""

import decimal
import sys
from contextvars import ContextVar
from threading import get_ident

import pytest
from django.http import JsonResponse
from django.urls import path
from django.utils import timezone, translation

import jobs
from tests.runtime.support import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)

own = ContextVar("own", default="untouched")


def look(request):
    """What a page of the site sees."""
    language, zone = translation.get_language(), timezone.get_current_timezone_name()
    seen = [language, zone, decimal.getcontext().prec, own.get(), sys.getrecursionlimit()]
    return JsonResponse(seen, safe=False)


urlpatterns = [path("look", look)]


class TestContext:
    def test_language_zone_decimals_and_context_variables_are_fresh_for_every_run(self, start, task):
        seen = []

        @task
        def spoil():
            translation.activate("de")
            timezone.activate("Asia/Tokyo")
            decimal.getcontext().prec = 3
            own.set("spoilt")
            seen.append(look())

        @task(name="runtime.look")
        def report():
            seen.append(look())

        def look():
            return (
                get_ident(),
                translation.get_language(),
                timezone.get_current_timezone_name(),
                decimal.getcontext().prec,
                own.get(),
            )

        spoil.enqueue()
        run = report.enqueue()
        start(threads=1)
        run.wait(PATIENCE)
        (thread, *spoilt), (same_thread, *fresh) = seen
        assert same_thread == thread
        assert spoilt == ["de", "Asia/Tokyo", 3, "spoilt"]
        assert fresh == ["en-us", "UTC", 28, "untouched"]

    def test_a_web_request_in_the_same_process_sees_none_of_it(self, start, task, gate, settings, client):
        """While the function works, and afterwards."""
        settings.ROOT_URLCONF = __name__

        @task
        def spoil():
            translation.activate("de")
            timezone.activate("Asia/Tokyo")
            decimal.getcontext().prec = 3
            own.set("spoilt")
            gate()

        expected = client.get("/look").json()
        run = spoil.enqueue()
        start(threads=1)
        gate.wait_until_entered()
        assert client.get("/look").json() == expected == ["en-us", "UTC", 28, "untouched", sys.getrecursionlimit()]
        gate.open()
        run.wait(PATIENCE)
        assert client.get("/look").json() == expected

    def test_what_the_enqueuer_had_set_does_not_reach_the_run(self, start, task):
        seen = []

        @task
        def look():
            seen.append((translation.get_language(), own.get()))

        start(threads=1)
        token = own.set("the enqueuer's")
        with translation.override("fr"):
            run = look.enqueue()
        own.reset(token)
        run.wait(PATIENCE)
        assert seen == [("en-us", "untouched")]

    def test_the_current_run_does_not_stay_either(self, start, task):
        ids = []

        @task
        def look():
            ids.append(jobs.current_run().id)

        runs = [look.enqueue(), look.enqueue()]
        start(threads=1)
        runs[1].wait(PATIENCE)
        assert ids == [run.pk for run in runs]
