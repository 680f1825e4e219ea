"""The thread that listens to PostgreSQL: what it hears, how it comes back, and that nothing of it stays behind."""

import logging
import threading

import pytest
from django.db import connection, connections, transaction

from jobs.core.wake import Flag
from jobs.lifecycle.notify import ANYBODY, CHANNEL, notify
from jobs.runtime import listener as listeners
from jobs.runtime.listener import Listener
from tests.runtime.support import PATIENCE, together, wait_until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL has LISTEN"),
]


def sessions() -> list[int]:
    """The server's numbers for the sessions that listen in this database."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query = %s", [f"LISTEN {CHANNEL}"]
        )
        return [row[0] for row in cursor.fetchall()]


def terminate(pid: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [pid])


def tell(*queues: str) -> None:
    for queue in queues:
        notify(connection, queue)


def tell_elsewhere(queue: str) -> None:
    together([lambda: tell(queue)])


def hear(listener, flag) -> list[str]:
    """What the listener is told from now on, and "woken" where it sets the Flag, in order."""
    heard, concerns = [], listener._concerns
    listener._concerns = lambda queue: (heard.append(queue), concerns(queue))[1]
    flag.set = lambda: heard.append("woken")
    return heard


@pytest.fixture
def listen():
    """Make Listeners that listen already; give them and their Flags, which are not set."""
    made = []

    def listen(queues=None):
        flag = Flag()
        listener = Listener(flag, queues)
        listener.start()
        made.append(listener)
        assert flag.wait(PATIENCE)
        flag.clear()
        return listener, flag

    yield listen
    for listener in made:
        listener.stop()
    wait_until(lambda: not sessions())


@pytest.fixture
def messages(caplog):
    caplog.set_level(logging.INFO, logger="jobs")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "jobs"]


def test_a_notification_sets_the_flag(listen):
    listener, flag = listen()
    assert listener.is_listening
    tell("mail")
    assert flag.wait(PATIENCE)


def test_one_of_a_queue_that_is_not_served_does_not(listen):
    heard = hear(*listen(["mail", "default"]))
    tell("other")
    wait_until(lambda: "other" in heard)
    tell("mail")
    wait_until(lambda: "mail" in heard and heard[-1] == "woken")
    assert heard == ["other", "mail", "woken"]


def test_one_to_anybody_does_whatever_it_serves(listen):
    _, flag = listen(["mail"])
    tell(ANYBODY)
    assert flag.wait(PATIENCE)


def test_it_comes_with_the_commit_and_never_after_a_rollback(listen):
    heard = hear(*listen())
    with transaction.atomic():
        tell("committed")
        tell_elsewhere("before")
        wait_until(lambda: "woken" in heard)
        assert heard == ["before", "woken"]
    wait_until(lambda: heard.count("woken") == 2)
    with transaction.atomic():
        tell("rolled back")
        transaction.set_rollback(True)
    tell("afterwards")
    wait_until(lambda: heard.count("woken") == 3)
    assert heard == ["before", "woken", "committed", "woken", "afterwards", "woken"]


def test_many_in_one_transaction_are_one(listen):
    heard = hear(*listen())
    with transaction.atomic():
        for _ in range(100):
            tell("mail")
    wait_until(lambda: "woken" in heard)
    tell("afterwards")
    wait_until(lambda: "afterwards" in heard and heard[-1] == "woken")
    assert heard == ["mail", "woken", "afterwards", "woken"]


def test_a_storm_is_passed_on_in_pieces(listen, monkeypatch):
    """While the listener rests from the one before, the dispatcher is not woken again; afterwards it is."""
    rest, is_resting = threading.Event(), threading.Event()
    listener, flag = listen()
    sleep = listener._sleep

    def resting(seconds, raw=None):
        if seconds == listeners.STORM_STEP:
            is_resting.set()
            assert rest.wait(PATIENCE)
            return True
        return sleep(seconds, raw)

    monkeypatch.setattr(listener, "_sleep", resting)
    wakes = []
    monkeypatch.setattr(flag, "set", lambda: wakes.append(1))
    tell("first")  # ends the sleep that began before it was replaced
    assert is_resting.wait(PATIENCE)
    for number in range(50):
        tell(f"queue {number}")
    assert wakes == [1]
    rest.set()
    wait_until(lambda: len(wakes) > 1)


def test_a_session_that_is_terminated_comes_back_and_wakes_once(listen, messages):
    listener, flag = listen()
    (lost,) = sessions()
    terminate(lost)
    assert flag.wait(PATIENCE)  # something may have been missed
    assert listener.is_listening
    (back,) = sessions()
    assert back != lost
    flag.clear()
    tell("mail")
    assert flag.wait(PATIENCE)
    loss, return_ = messages()
    assert loss.startswith("no notifications of the database: polling until they come again (")
    assert "\n" not in loss
    assert return_ == "notifications of the database come again"


def test_a_server_that_does_not_answer_is_tried_again_with_growing_pauses_and_told_once(monkeypatch, messages):
    pauses, is_enough = [], threading.Event()

    def refuse(db):
        raise OSError("nobody\nthere")

    monkeypatch.setattr(listeners, "_open", refuse)
    listener = Listener(Flag(), None)

    def sleep(seconds, raw=None):
        pauses.append(seconds)
        if len(pauses) == 12:
            is_enough.set()
            listener._is_stopping = True

    monkeypatch.setattr(listener, "_sleep", sleep)
    listener.start()
    assert is_enough.wait(PATIENCE)
    listener.stop()
    assert pauses[:4] == [0.2, 0.4, 0.8, 1.6]
    assert pauses[-2:] == [listeners.LONGEST_PAUSE] * 2
    assert messages() == ["no notifications of the database: polling until they come again (nobody there)"]


@pytest.mark.parametrize(("lasted", "pause"), [(listeners.LONGEST_PAUSE + 1, listeners.FIRST_PAUSE), (1, 16.0)])
def test_one_that_comes_and_goes_is_not_tried_again_at_once_each_time(lasted, pause):
    listener = Listener(Flag(), None)
    listener._pause = 8.0
    listener._connected()
    listener._connected_at -= lasted
    listener._lost(OSError("gone"))
    assert listener._pause == pause
    listener._lost(OSError("still gone"))
    assert listener._pause == min(2 * pause, listeners.LONGEST_PAUSE)


def test_the_end_leaves_no_session_and_no_thread(listen):
    listener, _ = listen()
    assert sessions()
    listener.stop()
    assert not listener._thread.is_alive()
    assert not listener.is_listening
    wait_until(lambda: not sessions())


def test_one_that_waits_between_two_tries_ends_at_once(monkeypatch):
    failed = threading.Event()

    def refuse(db):
        failed.set()
        raise OSError("nobody there")

    monkeypatch.setattr(listeners, "_open", refuse)
    monkeypatch.setattr(listeners, "FIRST_PAUSE", 1000.0)
    monkeypatch.setattr(listeners, "LONGEST_PAUSE", 1000.0)
    monkeypatch.setattr(listeners, "END_SECONDS", PATIENCE)
    listener = Listener(Flag(), None)
    listener.start()
    assert failed.wait(PATIENCE)
    listener.stop()
    assert not listener._thread.is_alive()


def test_its_connection_is_nobody_elses_and_not_from_a_pool(settings):
    options = {"pool": {"min_size": 1}, "connect_timeout": 3}
    alias = connections[connection.alias]
    original, alias.settings_dict = alias.settings_dict, {**alias.settings_dict, "OPTIONS": options}
    try:
        with listeners.own_connection() as raw:
            assert raw is not connection.connection
            assert raw.autocommit
            parameters = raw.info.get_parameters()
        assert options == {"pool": {"min_size": 1}, "connect_timeout": 3}
    finally:
        alias.settings_dict = original
    assert parameters["connect_timeout"] == "3"  # the site's own word counts
    assert parameters["keepalives_idle"] == "30"
    assert raw.closed


def test_a_site_that_ends_idle_sessions_does_not_end_this_one(listen):
    listen()
    with listeners.own_connection() as raw:
        assert raw.execute("SHOW idle_session_timeout").fetchone() == ("0",)


class TestWhoIsStarted:
    def listening(self):
        return [thread.name for thread in threading.enumerate()].count("jobs-listener")

    def test_a_scheduler_has_one_listener_and_takes_it_along(self, start, ok):
        before = self.listening()
        scheduler = start()
        ok.enqueue().wait(PATIENCE)
        wait_until(sessions)
        assert self.listening() == before + 1
        scheduler.stop()
        assert self.listening() == before
        wait_until(lambda: not sessions())

    def test_with_notify_off_there_is_none(self, start, ok, settings):
        settings.JOBS = settings.JOBS | {"NOTIFY": False}
        before = self.listening()
        start()
        assert ok.enqueue().wait(PATIENCE).state == "succeeded"
        assert self.listening() == before
        assert not sessions()
