"""Whatever a run, a person or a worker says is shown as text, and never fails a page (cases W1 and V1)."""

import json
import re
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client

import jobs
from jobs.core import clock
from jobs.core.states import State
from jobs.models import AuditEntry, Job, Queue, Run, Schedule
from jobs.registry import registry
from jobs.testing import FakeClock
from tests.lifecycle.support import rolled_back
from tests.web.support import (
    Page,
    failed_with,
    make_job,
    make_run,
    make_schedule,
    make_worker,
    schedule_sent,
    submitted,
    url,
)

SCRIPTS = 3  # htmx, and two of our own
PLAIN = "harmless"
PAYLOADS = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</script><script>alert(1)", "javascript:alert(1)",
    "{{7*7}}{% now 'Y' %}", "'-alert(1)-'", "' onmouseover='alert(1)", "</pre></textarea></title><b>", "<!--", "]]>",
    "&lt;b&gt;&#60;", "%s %(x)s {0} {x}",
)  # fmt: skip
NOON = datetime(2027, 1, 12, 12, tzinfo=UTC)
STRANGE = (
    "\x00 NUL", "lone \ud800 surrogate \udfff", "\U0001f41d 🐝👩‍👩‍👧",
    "‮right to left مرحبا", "\u2028\u2029\x85\x0b\x1b[31m",
    "測試" * 100, "x" * 300, "\ufeff\u200b\ufffe",
)  # fmt: skip
INLINE = re.compile(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)|javascript:", re.IGNORECASE)
SUSPICIOUS = ("style", "srcdoc", "formaction")


class Site:
    """Every kind of row, each text of which is `text`, and the pages that show them."""

    def __init__(self, text: str, client):
        self.client = client
        escaped = text.replace("\x00", "").encode("utf-8", "replace").decode()  # what a column takes
        short, line = escaped[:100], escaped[:150]
        User.objects.filter(pk=client.user.pk).update(username=line)
        self.job = make_job(escaped[:200], description=escaped, queue=short, unique_key=escaped[:255])
        self.foreign_job = make_job("Gone", arguments_json=json.dumps({text: text, "name": text}))
        Job.objects.filter(pk=self.foreign_job.pk).update(task=escaped[:200])
        self.schedules = self._schedules(escaped)
        self.runs = self._runs(text, escaped)
        Queue.objects.create(name=short, is_paused=True, paused_reason=escaped[:200], paused_by_name=line)
        Queue.objects.create(name=f"-{short}"[:100])
        make_worker(name=escaped[:255], host=escaped[:255], kind=short[:20], queues=escaped, problem=escaped[:500])
        make_worker(name=escaped[:255], state="dead", kind=short[:20], stopped_at=clock.now())

    def _schedules(self, escaped: str) -> list[Schedule]:
        """One that comes soon, of another name for each text, and one that nobody can read."""
        names = {"name": escaped[:200], "problem": escaped[:500], "arguments_json": json.dumps({"name": escaped})}
        good = make_schedule(self.job, **names)
        Schedule.objects.filter(pk=good.pk).update(look_at=NOON, next_slot_at=NOON + timedelta(hours=1))
        bad = make_schedule(self.job, **names)
        Schedule.objects.filter(pk=bad.pk).update(expression=escaped[:200], time_zone=escaped[:64], look_at=None)
        return [good, bad]

    def _runs(self, text: str, escaped: str) -> list[Run]:
        names = {"job_name": escaped[:200], "queue": escaped[:100], "unique_key": escaped[:255]}
        names |= {"submitted_by_name": escaped[:150], "progress_message": escaped[:200], "progress_done": 1.0}
        arguments = json.dumps({text: [text, {text: text}], "name": text})
        told = {"arguments_json": arguments, "result_json": json.dumps({text: text}), "job_id": self.job.pk, **names}
        failed = failed_with(text, **told)
        failed.attempts.create(
            number=1, outcome="failed", ended_at=clock.now(), error_class=escaped[:255], message=text_of(text),
            traceback=f'  File "x", line 1\n    {text_of(text)}', worker_name=escaped[:255],
        )  # fmt: skip
        failed.log_chunks.create(attempt=1, number=1, text=f"{text_of(text)}\n", written_at=clock.now())
        unknown = make_run(task=escaped[:200], arguments_json=arguments, **names | {"job_name": ""})
        running = make_run(State.RUNNING, **told)
        running.log_chunks.create(attempt=1, number=1, text=f"{text_of(text)}\n", written_at=clock.now())
        cancelled = make_run(State.CANCELLED, reason_code="cancelled_by_request", reason_json=json.dumps({"by": text}))
        skipped = make_run(
            State.SKIPPED, reason_code="missed", schedule_id=self.schedules[1].pk, scheduled_for=NOON,
            finished_at=NOON, reason_json=json.dumps({"count": text, "from": text, "until": text}), **names,
        )  # fmt: skip
        return [failed, unknown, running, cancelled, skipped]

    def addresses(self) -> dict[str, str]:
        pages = {name: url(name) for name in ("dashboard", "runs", "jobs", "submit", "workers")}
        pages |= {f"runs {state}": url("runs", state=state) for state in ("failed", "queued", "running")}
        for number, run in enumerate(self.runs):
            for name in ("run", "run_live", "run_log"):
                pages[f"{name} {number}"] = url(name, run.pk)
        pages["edit"] = url("run_edit", self.runs[0].pk)
        for each in (self.job, self.foreign_job):
            pages[f"job {each is self.job}"] = url("job", each.pk)
        for name in ("schedule", "schedule_delete", "schedule_backfill"):
            pages |= {f"{name} {each.pk == self.schedules[0].pk}": url(name, each.pk) for each in self.schedules}
        pages |= {"upcoming": url("upcoming"), "new schedule": url("schedule_add", self.job.pk)}
        return pages | {"job run": url("job_run", self.job.pk), "of job": url("runs", job=self.job.pk)}

    def pages(self) -> dict[str, str]:
        found = {}
        for name, address in self.addresses().items():
            with FakeClock(NOON) if name == "upcoming" else nullcontext():  # its hours are drawn
                response = self.client.get(address)
            assert response.status_code == 200, name
            found[name] = response.content.decode()
        return found


def text_of(text: str) -> str:
    """What the runtime stores of a text that a function has printed or raised."""
    return text.replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode()


@pytest.fixture(scope="module")
def harmless(django_db_setup, django_db_blocker):
    """The shape of every page when all texts are harmless."""
    with django_db_blocker.unblock(), rolled_back():
        client = Client()
        client.user = User.objects.create_user("operator", is_superuser=True)
        client.force_login(client.user)
        return {name: sorted(Page(html).skeleton) for name, html in Site(PLAIN, client).pages().items()}


@pytest.mark.parametrize("text", PAYLOADS)
def test_a_text_is_shown_literally_and_adds_no_element_or_attribute_to_any_page(operator, harmless, text):
    pages = {name: Page(html) for name, html in Site(text, operator).pages().items()}
    for name, page in pages.items():
        assert sorted(page.skeleton) == harmless[name], name  # sorted, because rows are shown in the order of names
        assert_only_safe(page, name)
    assert_literal(text, {name: "".join(page.pieces) for name, page in pages.items()})


def assert_only_safe(page: Page, name: str) -> None:
    for tag, attributes in page.elements:
        assert not [each for each in attributes if each.startswith("on") or each in SUSPICIOUS], (name, tag)
        for each in ("href", "src", "action", "hx-get"):
            address = attributes.get(each, "/")
            assert address.startswith(("/", "?", "#")), (name, address)
            assert not address.startswith("//"), (name, address)


def assert_literal(text: str, pages: dict[str, str]) -> None:
    for name in (
        "dashboard", "runs", "jobs", "workers", "run 0", "run 1", "run 2", "run 4", "job True", "job False", "upcoming",
        "schedule True", "schedule False", "schedule_delete True", "schedule_delete False",
    ):  # fmt: skip
        assert text in pages[name], name
    as_json = json.dumps(text, ensure_ascii=False)[1:-1]
    for part in (f'"{as_json}": [', f'"{as_json}": "{as_json}"'):
        assert part in pages["run 0"]
    assert f"    {text}" in pages["run 0"]  # the line of the traceback
    assert f"The function raised ValueError: {text}" in pages["run 0"]
    assert f"Cancelled before it started{text}." in pages["run 3"]
    assert text in pages["run_log 2"]


@pytest.mark.parametrize("text", PAYLOADS)
def test_what_stands_in_the_address_is_shown_as_text(operator, text):
    make_run()
    make_job()
    run = make_run(State.RUNNING)
    addresses = {
        "runs": ("state", "task", "queue", "job", "mine", "after", "q", text), "jobs": ("q", "page", text),
        "run": ("attempt", "after"), "run_log": ("after",),
    }  # fmt: skip
    for name, parameters in addresses.items():
        arguments = [run.pk] if name.startswith("run_") or name == "run" else []
        for parameter in parameters:
            harmless_page = Page(operator.get(url(name, *arguments), {"z": PLAIN, parameter: PLAIN}).content.decode())
            response = operator.get(url(name, *arguments), {"z": PLAIN, parameter: text})
            assert response.status_code == 200, (name, parameter)
            page = Page(response.content.decode())
            assert page.skeleton == harmless_page.skeleton, (name, parameter)
            assert_only_safe(page, name)


@pytest.mark.parametrize("text", PAYLOADS)
def test_what_people_type_comes_back_as_text(operator, text):
    job = make_job()
    ended = make_run(State.FAILED)
    for address in (url("submit_task", job.task), url("job_run", job.pk), url("run_edit", ended.pk)):
        typed = {"parameter__times": text, "parameter__options": text, "run__priority": text, "run__queue": text}
        typed |= {"run__note": text, "run__run_after": text, "parameter__name": text, "run__unique_key": text}
        response = operator.post(address, submitted(**typed))
        assert response.status_code == 422
        harmless = operator.post(address, submitted(**dict.fromkeys(typed, PLAIN)))
        page, plain = Page(response.content.decode()), Page(harmless.content.decode())
        assert [each for each in page.skeleton if each[0] != "textarea"] == [
            each for each in plain.skeleton if each[0] != "textarea"
        ]
        shown = {each.get("name"): each.get("value") for each in page.all("input")}
        assert shown["parameter-name"] == shown["run-note"] == shown["run-queue"] == text


RULE = ("kind", "expression", "interval_seconds", "time_zone", "anchor_at", "starts_at", "ends_at")


@pytest.mark.parametrize("text", PAYLOADS)
def test_a_rule_that_is_typed_comes_back_as_text(operator, text):
    """In the form and in the preview that is asked for while it is typed."""
    address = url("schedule_add", make_job().pk)
    typed = dict.fromkeys((*RULE, "name", "note", "misfire", "jitter_seconds", "misfire_limit"), text)
    pages = [Page(operator.post(address, schedule_sent(**typed)).content.decode())]
    pages.append(Page(operator.get(url("schedule_preview"), typed).content.decode()))
    for page in pages:
        assert_only_safe(page, "schedule")
        assert len(page.all("script")) in (0, SCRIPTS)
        assert not page.all("b")
        assert not page.all("img")
    shown = {each.get("name"): each.get("value") for each in pages[0].all("input")}
    assert shown["expression"] == shown["time_zone"] == shown["name"] == shown["note"] == text
    assert operator.get(url("fire_times"), typed).status_code == 422


@pytest.mark.parametrize("text", PAYLOADS)
def test_messages_show_names_as_text(operator, text):
    job, run = make_job(text), make_run(queue="q")
    operator.post(url("job_disable", job.pk))
    operator.post(url("queue_pause"), {"name": text, "reason": text})
    operator.post(url("queue_resume"), {"name": text})
    operator.post(url("queue_resume"), {"name": text})
    operator.post(url("run_cancel", run.pk), {"note": text})
    html = operator.get(url("run", run.pk)).content.decode()
    page = Page(html)
    assert [attributes["class"] for attributes in page.all("li") if "message" in attributes.get("class", "")] == [
        "message success", "message success", "message success", "message warning", "message success",
    ]  # fmt: skip
    assert f"The job {text} is disabled." in html_text(page)
    assert_only_safe(page, "messages")
    assert len(page.all("script")) == SCRIPTS
    assert AuditEntry.objects.get(verb="cancel").note == text


def html_text(page: Page) -> str:
    return "".join(page.pieces)


@pytest.mark.parametrize("text", PAYLOADS)
def test_what_a_function_says_of_itself(operator, text):
    def func(name: str = ""): ...

    func.__doc__ = f"Do {text}.\n\nMore: {text}\n\n:param name: {text}"
    task = jobs.register(func, name="tests.web.talkative", label=text)
    try:
        for address in (url("submit"), url("submit_task", task.name)):
            page = Page(operator.get(address).content.decode())
            assert text in html_text(page)
            assert_only_safe(page, address)
            assert len(page.all("script")) == SCRIPTS
            assert not page.all("b")
            assert not page.all("img")
    finally:
        registry.discard(task.name)


@pytest.mark.parametrize("text", STRANGE)
def test_no_text_fails_a_page(operator, text):
    site = Site(text, operator)
    site.pages()
    for run in site.runs:
        assert operator.get(url("run_json", run.pk)).status_code == 200
    assert operator.get(url("status")).status_code == 200


@pytest.mark.parametrize("text", [*STRANGE, "%00", "%ED%A0%80", "%FF"])
def test_no_text_that_is_sent_fails_a_page(operator, text):
    """U+0000 and lone surrogates are no text for PostgreSQL: none reaches a statement."""
    job, run, ended = make_job(), make_run(), make_run(State.FAILED)
    sent = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    for name in ("runs", "jobs"):
        for parameter in ("state", "task", "queue", "job", "after", "q", "page"):
            assert operator.get(url(name), {parameter: sent}).status_code == 200
    for after in (f"{sent}~1~1", f"{sent}~1", f"1~{sent}"):
        for state in State:
            assert operator.get(url("runs"), {"state": state, "after": after}).status_code == 200
    for address in (url("submit_task", job.task), url("job_run", job.pk), url("run_edit", ended.pk)):
        typed = {"parameter__name": sent, "run__note": sent, "run__queue": sent, "run__unique_key": sent}
        assert operator.post(address, submitted(**typed)).status_code in (302, 422)
    for name in (*RULE, "name", "note"):
        typed = schedule_sent(**{name: sent})
        assert operator.post(url("schedule_add", job.pk), typed).status_code in (302, 422)
        assert operator.get(url("schedule_preview"), typed).status_code == 200
        assert operator.get(url("fire_times"), typed).status_code in (200, 422)
    schedule = make_schedule(job)
    for name in ("start", "until", "priority", "counted", "note"):
        typed = {"backfill-start": "2026-01-01", "backfill-until": "2026-01-02", f"backfill-{name}": sent}
        assert operator.post(url("schedule_backfill", schedule.pk), typed).status_code in (200, 422)
    assert operator.get(url("job", job.pk), {"schedules": sent}).status_code == 200
    operator.post(url("schedule_delete", schedule.pk), {"note": sent})
    operator.post(url("queue_pause"), {"name": sent, "reason": sent})
    operator.post(url("queue_resume"), {"name": sent})
    operator.post(url("run_again", ended.pk), {"note": sent})
    assert operator.post(url("run_cancel", run.pk), {"note": sent}).status_code == 302
    for model in (AuditEntry, Queue, Run, Schedule):
        for row in model.objects.values():
            assert not [value for value in row.values() if isinstance(value, str) and "\x00" in value], row


def test_no_page_has_anything_inline(operator):
    for page, html in Site(PLAIN, operator).pages().items():
        assert not INLINE.search(html), page


def test_inline_code_would_be_seen():
    for html in ("<style>", '<a style="x">', '<a onclick="x">', "<script>x</script>", '<a href="javascript:x">'):
        assert INLINE.search(html)
