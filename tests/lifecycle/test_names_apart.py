"""Names are the same only if all their characters are: case, accents, spaces at the end and emoji tell them apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.lifecycle.database import connection
from jobs.models import Job, Limit, Queue, Run, SiteState
from jobs.models.fields import CharField, TextField
from tests.lifecycle.support import any_speed, rolled_back, stored, take
from tests.tasks import lifecycle_add

pytestmark = pytest.mark.django_db

ALIKE = [
    "mail", "Mail", "MAIL", "mäil", "ma\u0308il", "mail ", "mail  ", " mail", "ma\u0131l", "mail\u00a0", "mai\u2113",
    "mail🐝", "\uff4dail",
]  # fmt: skip

# Letters that usual collations take for the same one, and what they do not see at all.
letters = st.sampled_from("aAäàåⓐsSßﬀ🐝🐛 \u00a0\u200b\u0301")
several_names = st.lists(st.text(letters, min_size=1, max_size=4), min_size=2, max_size=6, unique=True)


def apart(names) -> None:
    """Every row is found under its own name only, whichever column holds it."""
    runs = [stored(queue=name, task=name, job_name=name, limit_key=name, unique_key=name) for name in names]
    for column in ("queue", "task", "job_name", "limit_key", "unique_key"):
        for name, run in zip(names, runs, strict=True):
            assert list(Run.objects.filter(**{column: name}).values_list("pk", flat=True)) == [run.pk], (column, name)
    for model, column in ((Queue, "name"), (Limit, "key"), (Job, "name"), (SiteState, "key")):
        model.objects.bulk_create([model(**{column: name}) for name in names])  # each is UNIQUE
        for name in names:
            assert getattr(model.objects.get(**{column: name}), column) == name
    assert Run.objects.filter(queue__in=names).values("queue").distinct().count() == len(names)


def test_names_that_look_alike():
    apart(ALIKE)


@any_speed
@given(several_names)
def test_any_names(names):
    with rolled_back():
        apart(names)


@pytest.mark.parametrize("served", ALIKE)
def test_a_worker_takes_from_its_own_queue_only(served):
    runs = {name: stored(queue=name) for name in ALIKE}
    assert [run.id for run in take(len(ALIKE), queues=[served])] == [runs[served].pk]


@pytest.mark.parametrize("paused", ALIKE)
def test_a_pause_is_for_its_own_queue_only(paused):
    runs = {name: stored(queue=name) for name in ALIKE}
    taken = {run.id for run in take(len(ALIKE), paused=[paused])}
    assert taken == {run.pk for name, run in runs.items() if name != paused}


def test_a_unique_key_holds_for_its_own_name_only():
    runs = [lifecycle_add.using(unique_key=name).enqueue(1) for name in ALIKE]
    assert all(run.is_new for run in runs)
    assert [lifecycle_add.using(unique_key=name).enqueue(1).pk for name in ALIKE] == [run.pk for run in runs]


def test_people_who_search_need_not_know_how_it_is_written():
    for name in ("Send Mail", "send mail now", "Sent"):
        Job.objects.create(name=name, task="tests.tasks.lifecycle_add", description=name)
    for column in ("name", "description"):
        for lookup, text in (
            ("icontains", "D MAIL"), ("istartswith", "SEND M"), ("iexact", "SEND MAIL"), ("iendswith", "d MAIL"),
            ("iregex", "^SEND.MAIL$"),
        ):  # fmt: skip
            found = Job.objects.filter(**{f"{column}__{lookup}": text}).values_list("name", flat=True)
            assert "Send Mail" in found, (column, lookup)
            assert "Sent" not in found, (column, lookup)
    if connection().vendor != "sqlite":  # whose LIKE ignores case always
        assert not Job.objects.filter(name__contains="MAIL").exists()


@pytest.mark.parametrize("model", [Run, Job, Queue, Limit, SiteState])
def test_every_text_of_the_app_is_a_field_of_ours(model):
    """A new column would be inexact on MariaDB if it were Django's own."""
    texts = [field for field in model._meta.concrete_fields if field.get_internal_type() in ("CharField", "TextField")]
    assert texts
    assert all(isinstance(field, CharField | TextField) for field in texts)


@pytest.mark.skipif(connection().vendor != "mysql", reason="only MariaDB has a character set for each column")
@pytest.mark.django_db(transaction=True)
def test_the_character_set_of_the_database_does_not_matter():
    """Tables made in a database of utf8mb3, as old sites have, hold all characters and tell them apart."""
    with connection().cursor() as cursor:
        cursor.execute("SELECT DATABASE()")
        (own,) = cursor.fetchone()
        cursor.execute(f"CREATE DATABASE `{own}_utf8mb3` CHARACTER SET utf8mb3")
        try:
            cursor.execute(f"USE `{own}_utf8mb3`")
            with connection().schema_editor() as editor:
                for model in (Job, Run, Queue, Limit, SiteState):
                    editor.create_model(model)
            apart(ALIKE)
        finally:
            cursor.execute(f"DROP DATABASE `{own}_utf8mb3`")
            cursor.execute(f"USE `{own}`")
