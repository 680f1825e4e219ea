"""`manage.py runscheduler`: its options. How it ends as a process is told in tests/processes."""

import signal

import pytest

from jobs.models import SiteState, Worker
from jobs.runtime import scheduler
from jobs.runtime.supervisor import Supervisor
from tests.runtime.support import states
from tests.tasks import runtime_nothing

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (["--threads", "0"], "argument --threads: invalid whole number value: '0'"),
        (["--threads", "two"], "argument --threads: invalid whole number value: 'two'"),
        (["--grace", "-1"], "argument --grace: invalid number of seconds value: '-1'"),
        (["--grace", "inf"], "argument --grace: invalid number of seconds value: 'inf'"),
        (["--grace", "nan"], "argument --grace: invalid number of seconds value: 'nan'"),
        (["--queues", " , "], "argument --queues: invalid list of queues value: ' , '"),
        (["--processes", "0"], "argument --processes: invalid number from 1 to 1000 value: '0'"),
        (["--processes", "-2"], "argument --processes: invalid number from 1 to 1000 value: '-2'"),
        (["--processes", "1001"], "argument --processes: invalid number from 1 to 1000 value: '1001'"),
        (["--processes", "many"], "argument --processes: invalid number from 1 to 1000 value: 'many'"),
        (["--processes"], "argument --processes: expected one argument"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_starts(command, option, words):
    ended = command("runscheduler", *option)
    assert ended.code != 0
    assert words in ended.error


@pytest.fixture
def made(monkeypatch):
    """The options with which a scheduler is made; it ends before it begins."""
    options = []

    class Stopped(scheduler.Scheduler):
        def __init__(self, **given):
            options.append(given)
            super().__init__(**given)
            self.request_stop()

    monkeypatch.setattr(scheduler, "Scheduler", Stopped)
    return options


@pytest.mark.django_db(transaction=True)
class TestOptions:
    def test_they_reach_the_scheduler(self, command, made):
        ended = command("runscheduler", "--threads", "3", "--queues", "a, b,,c", "--grace", "0.5", "--drain")
        assert ended.code == 0
        assert made == [
            {"kind": "runscheduler", "threads": 3, "queues": ["a", "b", "c"], "grace_seconds": 0.5, "drain": True}
        ]

    def test_one_process_is_the_plain_way(self, command, made):
        ended = command("runscheduler", "--processes", "1")
        assert (ended.code, len(made)) == (0, 1)
        assert ended.output == "The scheduler works. Ctrl-C stops it.\nThe scheduler has stopped.\n"

    def test_without_them_the_setting_rules(self, command, made):
        command("runscheduler")
        assert made == [
            {"kind": "runscheduler", "threads": None, "queues": None, "grace_seconds": None, "drain": False}
        ]


class TestWrongSettings:
    @pytest.mark.parametrize("options", [[], ["--processes", "2"]], ids=["one process", "two processes"])
    def test_they_are_refused_with_a_code_of_their_own(self, command, settings, options):
        settings.JOBS = {"THREADS": 0}
        ended = command("runscheduler", *options)
        assert ended.code == 78
        assert 'JOBS["THREADS"] must be a whole number' in ended.error


class TestSupervisor:
    @pytest.fixture
    def run(self, monkeypatch):
        """How a run of the supervisor ends; no process is started."""
        ending = {}
        monkeypatch.setattr(Supervisor, "run", lambda supervisor: vars(supervisor).update(ending))
        return ending

    def test_after_an_orderly_stop_the_code_is_0(self, command, run):
        ended = command("runscheduler", "--processes", "2")
        assert ended.code == 0
        assert ended.output == "2 processes work. Ctrl-C stops them.\nAll processes have stopped.\n"

    def test_a_refusal_has_its_own_code(self, command, run):
        run["refusal"] = "another ageing"
        ended = command("runscheduler", "--processes", "2")
        assert (ended.code, ended.error) == (78, "another ageing")

    def test_processes_that_end_badly_are_an_error(self, command, run):
        run["failures"] = 2
        ended = command("runscheduler", "--processes", "3", "--drain")
        assert (ended.code, ended.error) == (1, "2 of 3 processes did not end in order.")
        assert ended.output == "Running all that is due.\n"


@pytest.mark.django_db(transaction=True)
class TestDrain:
    def test_it_runs_all_and_leaves_the_process_as_it_was(self, command):
        handlers = [signal.getsignal(number) for number in SIGNALS]
        runs = runtime_nothing.enqueue_many([{}] * 20)
        ended = command("runscheduler", "--drain", "--threads", "2")
        assert ended.code == 0
        assert set(states(runs)) == {"succeeded"}
        assert ended.output == "Running all that is due.\nThe scheduler has stopped.\n"
        assert [signal.getsignal(number) for number in SIGNALS] == handlers
        assert (Worker.objects.get().state, Worker.objects.get().threads) == ("stopped", 2)

    def test_only_of_the_queues_that_are_named(self, command):
        mine, other = runtime_nothing.using(queue="mine").enqueue(), runtime_nothing.enqueue()
        command("runscheduler", "--drain", "--queues", "mine")
        assert states([mine, other]) == ["succeeded", "queued"]

    def test_another_ageing_is_refused(self, command):
        SiteState.objects.create(pk="ageing_microseconds", value="600000000")
        ended = command("runscheduler", "--drain")
        assert ended.code == 78
        assert "manage.py rekeyruns" in ended.error
