"""Schedules that code declares are stored once, ever; what people make of them stays."""

from datetime import timedelta

import pytest

import jobs
from jobs.lifecycle.declare import declare_schedules
from jobs.lifecycle.schedules import delete_schedule, save_schedule
from jobs.models import Job, Run, Schedule, SiteState
from jobs.registry import registry
from jobs.runtime.scheduler import Scheduler
from tests.runtime.support import PATIENCE, together, wait_until
from tests.schedules.support import a_job, look, slots, utc

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def nothing_else(monkeypatch):
    """Leave out what the site declares."""
    for task in registry:
        monkeypatch.setattr(task, "schedules", ())


def columns(*names) -> list[tuple]:
    return list(Schedule.objects.order_by("pk").values_list(*names))


class TestStoring:
    def test_once_with_a_job_of_its_label(self, clock, task, settings):
        settings.TIME_ZONE = "Europe/Brussels"

        @task(label="Sweep", schedule="0 9 * * *")
        def sweep(): ...

        assert declare_schedules() == 1
        job, schedule = Job.objects.get(), Schedule.objects.get()
        assert (job.name, job.task, job.arguments) == ("Sweep", sweep.name, {})
        assert schedule.job_id == job.pk
        assert (schedule.kind, schedule.expression, schedule.time_zone) == ("cron", "0 9 * * *", "Europe/Brussels")
        assert (schedule.declared_in_code, schedule.arguments_json, schedule.problem) == (True, None, "")
        assert schedule.next_slot_at == utc("2027-01-01T08:00:00")
        assert declare_schedules() == 0
        assert Schedule.objects.count() == 1
        clock.move_to(utc("2027-01-01T08:00:00"))
        look()
        assert slots(schedule) == ["01-01T08:00:00"]

    def test_every_kind_and_option(self, clock, task):
        at = utc("2027-06-01T12:00:00")
        rules = [
            timedelta(minutes=5),
            jobs.schedule(
                "*/10 * * * *", name="often", parameters={"n": 3}, time_zone="Asia/Bangkok", starts_at=at,
                ends_at=at + timedelta(days=1), jitter=timedelta(seconds=30), misfire="all", misfire_limit=7,
                lateness=timedelta(hours=1), overlap="queue",
            ),
            jobs.schedule(at, name="single"),
        ]  # fmt: skip

        @task(schedule=rules)
        def many(n: int = 1): ...

        assert declare_schedules() == 3
        assert Job.objects.count() == 1
        assert sorted(columns("kind", "name", "misfire", "overlap")) == [
            ("cron", "often", "all", "queue"),
            ("interval", "", "once", "skip"),
            ("once", "single", "once", "skip"),
        ]
        often = Schedule.objects.get(name="often")
        assert (often.starts_at, often.ends_at) == (at, at + timedelta(days=1))
        assert (often.jitter_seconds, often.misfire_limit, often.lateness_seconds) == (30, 7, 3600)
        assert Schedule.objects.get(kind="interval").anchor_at == clock.now()
        parameters = [often.arguments_json, Job.objects.get().arguments_json]
        assert sum(text is not None and "3" in text for text in parameters) >= 1

    def test_from_two_threads_at_the_same_moment(self, clock, task):
        @task(schedule=["@daily", timedelta(hours=1)])
        def both(): ...

        counts = []
        for _ in range(10):
            together([lambda: counts.append(declare_schedules())] * 3)
            assert (Schedule.objects.count(), Job.objects.count()) == (2, 1)
            Schedule.objects.all().delete()
            Job.objects.all().delete()
            SiteState.objects.filter(pk__startswith="declared").delete()
        assert sum(counts) == 20

    def test_nothing_is_asked_where_nothing_is_declared(self, django_assert_num_queries):
        with django_assert_num_queries(0):
            assert declare_schedules() == 0

    def test_a_scheduler_that_starts_stores_it_and_runs_it(self, task):
        @task(schedule=timedelta(seconds=1))
        def ticks(): ...

        scheduler = Scheduler(kind="test", threads=1)
        scheduler.start()
        try:
            wait_until(lambda: Run.objects.filter(task=ticks.name, state="succeeded").exists())
        finally:
            scheduler.request_stop(0)
            assert scheduler.stopped.wait(PATIENCE)

    def test_its_parameters_cannot_be_changed_afterwards(self, clock, task):
        given = {"n": 1}

        @task(schedule=jobs.schedule("@daily", parameters=given))
        def needs(n: int): ...

        given["n"] = "text"
        declare_schedules()
        assert Schedule.objects.get().job.arguments == {"n": 1}


class TestWhatPeopleMakeOfIt:
    @pytest.fixture
    def declared(self, clock, task):
        @task(schedule="@daily")
        def daily(): ...

        declare_schedules()
        return Schedule.objects.get()

    def test_deleted_it_does_not_come_again(self, declared):
        delete_schedule(declared)
        assert declare_schedules() == 0
        assert not Schedule.objects.exists()

    def test_deleted_with_its_job_neither(self, declared):
        declared.job.delete()
        assert declare_schedules() == 0
        assert (Schedule.objects.count(), Job.objects.count()) == (0, 0)

    def test_edited_it_stays_so(self, declared):
        declared.expression, declared.is_enabled = "30 4 * * *", False
        save_schedule(declared)
        assert declare_schedules() == 0
        assert columns("expression", "is_enabled") == [("30 4 * * *", False)]

    def test_its_job_renamed_it_stays_its(self, declared):
        Job.objects.update(name="of another name")
        assert declare_schedules() == 0
        assert (Schedule.objects.count(), Job.objects.count()) == (1, 1)

    def test_a_new_rule_in_code_is_a_new_schedule(self, declared, task):
        func = registry.get("runtime.daily").func
        registry.discard("runtime.daily")
        jobs.register(name="runtime.daily", schedule=["@daily", "@weekly"])(func)
        assert declare_schedules() == 1
        assert len(set(columns("expression"))) == 2

    def test_of_a_name_another_rule_in_code_changes_nothing(self, clock, task):
        @task(schedule=jobs.schedule("@daily", name="sweep"))
        def named(): ...

        declare_schedules()
        registry.discard("runtime.named")
        jobs.register(name="runtime.named", schedule=jobs.schedule("@weekly", name="sweep"))(named.func)
        assert declare_schedules() == 0
        assert Schedule.objects.count() == 1


class TestTheJob:
    def test_of_a_person_is_taken_and_keeps_its_parameters(self, clock, task):
        @task(label="Sweep", schedule=jobs.schedule("@daily", parameters={"n": 2}))
        def sweep(n: int = 1): ...

        job = a_job(name="Sweep", task=sweep.name, arguments_json='{"n":5}')
        declare_schedules()
        schedule = Schedule.objects.get()
        assert schedule.job_id == job.pk
        job.refresh_from_db()
        assert job.arguments == {"n": 5}
        assert schedule.arguments_json == '{"n":2}'

    def test_of_another_function_with_its_label_is_left_alone(self, clock, task):
        @task(label="Sweep", schedule="@daily")
        def sweep(): ...

        other = a_job(name="Sweep")
        declare_schedules()
        schedule = Schedule.objects.get()
        assert schedule.job_id != other.pk
        assert (schedule.job.name, schedule.job.task) == (sweep.name, sweep.name)

    def test_where_both_its_names_are_taken_it_is_told_and_stops_no_other(self, clock, task, caplog):
        @task(label="Sweep", schedule="@daily")
        def sweep(): ...

        @task(schedule="@weekly")
        def other(): ...

        a_job(name="Sweep")
        a_job(name=sweep.name)
        declare_schedules()
        assert set(Schedule.objects.values_list("job__task", flat=True)) <= {sweep.name, other.name}
        assert Schedule.objects.filter(job__task=other.name).count() == 1
        assert Schedule.objects.filter(job__task=sweep.name).exists() or caplog.records

    def test_two_functions_of_one_label_have_a_job_each(self, clock, task):
        for number in range(2):

            @task(name=f"runtime.sweep_{number}", label="Sweep", schedule="@daily")
            def sweep(): ...

        declare_schedules()
        assert sorted(Schedule.objects.values_list("job__task", flat=True)) == ["runtime.sweep_0", "runtime.sweep_1"]
