"""The supervisor stepped by hand, on a clock that stands still, with processes that only the test ends."""

import signal
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.runtime.restarts import HEALTHY_SECONDS
from jobs.runtime.supervisor import REFUSED, Supervisor, how_it_ended, worker_command
from jobs.testing import FakeClock

NEVER = float("inf")


class FakeProcess:
    """A process that ends when the test says so."""

    def __init__(self, pid):
        self.pid, self.code, self.words, self.asked = pid, None, "", []

    def exit_code(self):
        return self.code

    def stop(self):
        self.asked.append("stop")

    def end_the_grace(self):
        self.asked.append("end the grace")

    def last_words(self):
        return self.words


class Launcher:
    """Starts such processes, and fails while it is broken."""

    def __init__(self):
        self.started, self.is_broken = [], False

    def __call__(self):
        if self.is_broken:
            raise OSError("no more processes")
        self.started.append(FakeProcess(100 + len(self.started)))
        return self.started[-1]


@pytest.fixture
def launcher():
    return Launcher()


@pytest.fixture
def two(clock, launcher):
    supervisor = Supervisor(launcher, 2)
    supervisor.step()
    return supervisor


def end(supervisor, process, code):
    process.code = code
    supervisor.step()


class TestRestarts:
    @given(st.data())
    def test_each_place_has_its_own_pauses_and_holds_up_no_other(self, data):
        """Held against a model: for each process the moment at which the next one is due."""
        launcher, number = Launcher(), data.draw(st.integers(1, 5))
        with FakeClock() as clock:
            supervisor = Supervisor(launcher, number)
            supervisor.step()
            alive = {each: (process, 0, clock.monotonic()) for each, process in enumerate(launcher.started)}
            dead = {}
            for _ in range(data.draw(st.integers(1, 40))):
                clock.move(data.draw(st.sampled_from([0.0, 0.5, 1.0, 3.0, 59.0, 60.0, 61.0])))
                for each in data.draw(st.sets(st.sampled_from(sorted(alive)))) if alive else ():
                    process, ends, since = alive.pop(each)
                    process.code = data.draw(st.sampled_from([0, 1, 137, -9]))
                    ends = ends + 1 if clock.monotonic() - since < HEALTHY_SECONDS else 1
                    dead[each] = (clock.monotonic() + min(2 ** (ends - 1), 60), ends)
                before = len(launcher.started)
                supervisor.step()
                due = sorted(each for each, (at, _) in dead.items() if at <= clock.monotonic())
                started = launcher.started[before:]
                assert len(started) == len(due)
                for each, process in zip(due, started, strict=True):
                    alive[each] = (process, dead.pop(each)[1], clock.monotonic())
                next_one = min((at for at, _ in dead.values()), default=NEVER)
                assert supervisor.next_start_in() == next_one - clock.monotonic()
                assert not supervisor.is_done

    def test_the_log_tells_which_how_and_when_the_next_one_starts(self, clock, launcher, two, caplog):
        caplog.set_level("INFO")
        end(two, launcher.started[1], -signal.SIGKILL)
        clock.move(1)
        two.step()
        end(two, launcher.started[2], 137)
        assert caplog.messages == [
            "process 2 (pid 101) was ended by SIGKILL; the next one starts in 1 s",
            "process 2 is started: pid 102",
            "process 2 (pid 102) ended with exit code 137; the next one starts in 2 s",
        ]

    def test_one_that_cannot_be_started_is_tried_again(self, clock, launcher, caplog):
        launcher.is_broken = True
        supervisor = Supervisor(launcher, 1)
        for pause in (1, 2, 4):
            supervisor.step()
            assert supervisor.next_start_in() == pause
            clock.move(pause)
        launcher.is_broken = False
        supervisor.step()
        assert len(launcher.started) == 1
        assert "process 1 could not be started (no more processes); the next one starts in 4 s" in caplog.messages


class TestStop:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_the_first_signal_asks_all_to_stop_and_starts_none_any_more(self, clock, launcher, two, number):
        end(two, launcher.started[0], 1)
        two.step([number])
        clock.move(1000)
        two.step([signal.SIGCHLD])
        assert [process.asked for process in launcher.started] == [[], ["stop"]]
        assert not two.is_done
        end(two, launcher.started[1], 0)
        assert two.is_done
        assert (two.failures, two.refusal) == (0, None)

    def test_every_further_signal_ends_the_time_of_grace(self, launcher, two):
        two.step([signal.SIGINT, signal.SIGTERM])
        two.step([signal.SIGINT])
        for process in launcher.started:
            assert process.asked == ["stop", "end the grace", "end the grace"]

    def test_one_that_has_no_handler_yet_may_die_of_the_signal_and_nothing_else(self, launcher, two):
        two.step([signal.SIGTERM])
        end(two, launcher.started[0], -signal.SIGTERM)
        end(two, launcher.started[1], -signal.SIGKILL)
        assert (two.is_done, two.failures) == (True, 1)

    def test_a_stop_while_all_wait_for_their_pause_is_done_at_once(self, launcher, two):
        for process in launcher.started:
            end(two, process, 1)
        assert not two.is_done
        two.step([signal.SIGTERM])
        assert two.is_done


class TestRefusal:
    def test_it_ends_all_in_order_and_is_told_once(self, clock, launcher, two):
        first, second = launcher.started
        first.words, second.words = "another ageing", "another ageing, says the second"
        end(two, first, REFUSED)
        assert second.asked == ["stop"]
        end(two, second, REFUSED)
        clock.move(1000)
        two.step()
        assert (two.is_done, two.refusal, len(launcher.started)) == (True, "another ageing", 2)

    def test_one_that_could_not_say_why_is_a_refusal_as_well(self, launcher, two):
        end(two, launcher.started[0], REFUSED)
        assert two.refusal == "The processes refuse to work."


class TestDrain:
    def test_none_is_started_again(self, clock, launcher):
        supervisor = Supervisor(launcher, 3, restarts=False)
        supervisor.step()
        for process, code in zip(launcher.started, (0, 137, -signal.SIGTERM), strict=True):
            assert not supervisor.is_done
            end(supervisor, process, code)
        clock.move(1000)
        supervisor.step()
        assert (supervisor.is_done, supervisor.failures, len(launcher.started)) == (True, 2, 3)

    def test_one_that_could_not_be_started_counts_as_failed(self, clock, launcher):
        launcher.is_broken = True
        supervisor = Supervisor(launcher, 2, restarts=False)
        supervisor.step()
        assert (supervisor.is_done, supervisor.failures) == (True, 2)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "ended with exit code 0"),
        (137, "ended with exit code 137"),
        (-signal.SIGSEGV, "was ended by SIGSEGV"),
        (-signal.SIGKILL, "was ended by SIGKILL"),
        (-(signal.SIGRTMIN + 2), f"was ended by signal {signal.SIGRTMIN + 2}"),
    ],
)
def test_how_a_process_ended_in_words(code, words):
    assert how_it_ended(code) == words


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("manage.py runscheduler --processes 3", "manage.py runscheduler"),
        ("manage.py runscheduler --processes=3 --threads 2", "manage.py runscheduler --threads 2"),
        ("-X dev -m django runscheduler --proc 3 --queues a", "-X dev -m django runscheduler --queues a"),
        ("manage.py runscheduler --pr=3 --pythonpath p", "manage.py runscheduler --pythonpath p"),
        ("manage.py runscheduler --processes 3 --settings s --processes 4", "manage.py runscheduler --settings s"),
        ("script.py --profile --print", "script.py --profile --print"),
    ],
)
def test_workers_have_the_same_command_line_without_processes(monkeypatch, given, kept):
    monkeypatch.setattr(sys, "orig_argv", ["python-by-another-name", *given.split()])
    assert worker_command() == [sys.executable, *kept.split()]


def test_one_that_was_killed_before_the_stop_is_no_failure_of_the_stop(two, launcher):
    """Both may be noticed at once, as by a supervisor that stood still."""
    first, second = launcher.started
    first.code = -signal.SIGKILL
    two.step([signal.SIGCHLD, signal.SIGTERM])
    assert second.asked == ["stop"]
    second.code = 0
    two.step([signal.SIGCHLD])
    assert (two.is_done, two.failures, len(launcher.started)) == (True, 0, 2)
