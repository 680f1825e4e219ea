"""How a supervisor hears signals, and how it and its workers hear of each other."""

import os
import signal
import socket
from queue import Queue
from threading import Thread, get_ident

import pytest

from jobs.runtime.lifeline import VARIABLE, take
from jobs.runtime.signal_inbox import SignalInbox
from tests.runtime.support import PATIENCE


class TestLifeline:
    @pytest.fixture
    def ends(self):
        ours, theirs = socket.socketpair()
        environ = {VARIABLE: str(theirs.detach())}
        yield ours, environ
        ours.close()

    def test_a_process_without_a_supervisor_has_none(self):
        assert take({}) is None

    def test_it_is_taken_once_and_what_the_worker_starts_does_not_get_it(self, ends):
        _, environ = ends
        number = int(environ[VARIABLE])
        os.set_inheritable(number, True)
        line = take(environ)
        assert (environ, os.get_inheritable(number)) == ({}, False)
        line.tell("")

    def test_a_word_ends_the_grace_and_the_end_of_the_supervisor_is_a_request_to_stop(self, ends):
        ours, environ = ends
        requests = Queue()
        take(environ).follow(lambda *grace: requests.put(grace))
        ours.send(b"!")
        assert requests.get(timeout=PATIENCE) == (0,)
        ours.close()
        assert requests.get(timeout=PATIENCE) == ()

    def test_what_it_tells_arrives_and_a_supervisor_that_is_gone_is_no_error(self, ends):
        ours, environ = ends
        line = take(environ)
        line.tell("wrong ageing ä")
        assert ours.recv(100).decode() == "wrong ageing ä"
        ours.close()
        line.tell("nobody listens")


class TestSignalInbox:
    def test_signals_are_returned_in_their_order_and_the_handlers_come_back(self):
        before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
        with SignalInbox([signal.SIGTERM, signal.SIGINT]) as inbox:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.raise_signal(number)
            assert inbox.wait(PATIENCE) == [signal.SIGTERM, signal.SIGINT]
            assert inbox.wait(0) == []
        assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before

    def test_one_request_that_is_sent_twice_is_one(self):
        """`timeout` signals a process and then its group; the second one may come when the first was seen already."""
        with SignalInbox([signal.SIGTERM]) as inbox:
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)
            assert inbox.wait(PATIENCE) == [signal.SIGTERM]
            assert inbox.wait(0) == []
            signal.raise_signal(signal.SIGTERM)  # somebody who does not want to wait
            assert inbox.wait(PATIENCE) == [signal.SIGTERM]

    def test_one_that_came_before_the_wait_ends_it_at_once(self):
        with SignalInbox([signal.SIGTERM]) as inbox:
            signal.raise_signal(signal.SIGTERM)
            assert inbox.wait(float("inf")) == [signal.SIGTERM]

    def test_one_that_the_system_gives_to_another_thread_ends_the_wait_too(self):
        def take_it():
            signal.pthread_kill(get_ident(), signal.SIGTERM)

        with SignalInbox([signal.SIGTERM]) as inbox:
            Thread(target=take_it).start()
            assert inbox.wait(PATIENCE) == [signal.SIGTERM]

    def test_anybody_may_wake_it_and_too_late_is_no_error(self):
        with SignalInbox([signal.SIGTERM]) as inbox:
            Thread(target=inbox.wake).start()
            assert inbox.wait() == []
        inbox.wake()

    def test_those_of_others_are_not_its_own(self):
        heard = []
        before = signal.signal(signal.SIGUSR1, lambda number, frame: heard.append(number))
        try:
            with SignalInbox([signal.SIGTERM]) as inbox:
                signal.raise_signal(signal.SIGUSR1)
                assert inbox.wait(PATIENCE) == []
        finally:
            signal.signal(signal.SIGUSR1, before)
        assert heard == [signal.SIGUSR1]
