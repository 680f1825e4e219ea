"""JOBS["COMMANDS"]: the management commands that may be run as jobs, and nothing else."""

import sys
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

import jobs
from jobs.errors import NotRegistered, ParameterError
from jobs.models import Job, Run, RunLog
from jobs.registry import registry
from jobs.testing import drain

pytestmark = pytest.mark.django_db
NAME = "jobs.run_command"


@pytest.fixture
def allow(settings):
    def allow(*lines):
        settings.JOBS = {**settings.JOBS, "COMMANDS": list(lines)}
        sys.modules.pop("jobs.tasks", None)
        registry.discard(NAME)
        registry.discover(["jobs"])

    yield allow
    registry.discard(NAME)


def ended(run) -> Run:
    drain()
    return Run.objects.get(pk=run.pk)


def test_without_the_setting_there_is_no_such_function(allow):
    allow()
    assert NAME not in registry
    with pytest.raises(NotRegistered):
        jobs.enqueue(NAME, command="check")


def test_a_line_of_the_setting_runs_with_its_arguments_and_its_output_is_in_the_log(allow):
    Session.objects.create(session_key="old", session_data="", expire_date=timezone.now() - timedelta(days=1))
    allow("clearsessions", "showmigrations jobs --plan")
    assert ended(jobs.enqueue(NAME, command="clearsessions")).state == "succeeded"
    assert not Session.objects.exists()
    run = ended(jobs.enqueue(NAME, command="showmigrations jobs --plan"))
    assert (run.state, run.result_json) == ("succeeded", None)
    assert "[X]  jobs.0001_initial" in RunLog.objects.get(run=run).text
    assert "auth.0001_initial" not in RunLog.objects.get(run=run).text


@pytest.mark.parametrize(
    "line", ["migrate", "clearsessions --settings=evil", "clearsessions; migrate", "clearsessions ", "Clearsessions"]
)
def test_every_other_line_is_refused_and_nothing_is_stored(allow, line):
    allow("clearsessions")
    with pytest.raises(ParameterError, match="command"):
        jobs.enqueue(NAME, command=line)
    assert not registry.get(NAME).form({"parameter-command": line}).is_valid()
    assert not Run.objects.exists()


def test_the_form_offers_the_lines_of_the_setting(allow):
    allow("clearsessions", "check --deploy")
    choices = registry.get(NAME).form().fields["command"].widget.choices
    assert [value for value, _ in choices] == ["clearsessions", "check --deploy"]


def test_a_line_that_was_taken_out_of_the_setting_runs_no_more(allow, settings):
    allow("clearsessions", "check")
    run = jobs.enqueue(NAME, command="check")
    settings.JOBS = {**settings.JOBS, "COMMANDS": ["clearsessions"]}
    assert (ended(run).state, ended(run).reason_code) == ("failed", "wrong_arguments")


def test_a_row_changed_by_hand_runs_nothing_else(allow):
    allow("clearsessions")
    run = jobs.enqueue(NAME, command="clearsessions")
    Run.objects.update(arguments_json='{"command": "flush --no-input"}')
    Job.objects.create(name="stays", task=NAME)
    assert ended(run).state == "failed"
    assert Job.objects.exists()


@pytest.mark.parametrize("line", ["no_such_command", "migrate no_such_app"])
def test_a_command_that_ends_with_an_error_fails_its_run(allow, line):
    allow(line)
    run = ended(jobs.enqueue(NAME, command=line))
    assert (run.state, run.reason_arguments["error_class"]) == (
        "failed",
        "django.core.management.base.CommandError",
    )
