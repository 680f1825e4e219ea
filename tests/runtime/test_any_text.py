"""Text that a database may refuse, in what a function gets, returns, raises and says: its run ends as it should."""

import logging

import pytest
from django.apps import apps

import jobs
from jobs.lifecycle.database import connection
from jobs.models import Run
from tests.runtime.support import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)

TEXTS = {
    "NUL": "a\x00b",
    "bees": "🐝" * 300,
    "a lone surrogate": "a\ud800b",
    "all kinds": "Émoji 🐝 — 測試 \x00 " + "x" * 300,
    "long": "x" * 70_000,
}


@pytest.fixture(params=["as they are", "of three bytes a character"])
def columns(request):
    """On MariaDB also as somebody may have made them: columns that hold no emoji."""
    if request.param == "as they are":
        yield
        return
    if connection().vendor != "mysql":
        pytest.skip("only MariaDB has such columns")
    _convert("utf8mb3", "utf8mb3_general_ci")
    yield
    _convert("utf8mb4", "utf8mb4_nopad_bin")


def _convert(charset: str, collation: str) -> None:
    with connection().cursor() as cursor:
        for model in apps.get_app_config("jobs").get_models():
            table = model._meta.db_table
            cursor.execute(f"ALTER TABLE {table} CONVERT TO CHARACTER SET {charset} COLLATE {collation}")


def shown(text: str) -> str:
    return text.replace("\x00", "\\x00").replace("\ud800", "\\ud800")


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_every_run_reaches_its_end(columns, start, task, ok, text):
    @task
    def give():
        return {"k": text}

    @task
    def fail():
        raise ValueError(text)

    @task
    def say():
        jobs.current_run().progress(1, message=text)
        logging.getLogger("tests.any_text").warning("%s", text)
        print(text.encode("utf-8", "replace").decode())  # noqa: T201

    runs = [give.enqueue(), fail.enqueue(), say.enqueue(), ok.enqueue()]
    start(threads=1)
    for run in runs:
        run.wait(PATIENCE)
    assert [run.state for run in runs] == ["succeeded", "failed", "succeeded", "succeeded"]
    assert runs[0].result == {"k": text} or runs[0].reason_code == "result_not_stored"
    attempt = runs[1].attempts.get()
    assert attempt.error_class == "ValueError"
    assert attempt.message in ("", shown(text)) or len(text) > 10_000


@pytest.mark.parametrize("text", ["a\x00b", "🐝", "Émoji 🐝 — 測試"])
def test_what_is_given_comes_back_as_it_was(start, task, text):
    @task
    def echo(text: str) -> str:
        return text

    run = echo.using(queue="🐝", unique_key="Émoji 🐝").enqueue(text)
    start(threads=1)
    assert run.wait(PATIENCE).result == text
    stored = Run.objects.get(pk=run.pk)
    assert (stored.arguments, stored.queue, stored.unique_key) == ({"text": text}, "🐝", "Émoji 🐝")
