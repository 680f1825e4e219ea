"""Whether a process shall have a scheduler: a pure function of command line, environment and setting."""

import os
import signal
import threading

import pytest
from django.core.signals import request_started

from jobs.runtime import autostart, scheduler
from jobs.runtime.autostart import Start, when

NOW, NEVER, FIRST = Start.NOW, Start.NEVER, Start.AT_FIRST_REQUEST
CHILD = {"RUN_MAIN": "true"}

# Command line, environment, and what it means without a setting.
CASES = {
    "runserver, the reloader's parent": (["manage.py", "runserver"], {}, NEVER),
    "runserver, the reloader's child": (["manage.py", "runserver"], CHILD, NOW),
    "runserver with an address": (["/srv/site/manage.py", "runserver", "0.0.0.0:8000"], CHILD, NOW),
    "runserver without reloader": (["manage.py", "runserver", "--noreload"], {}, NOW),
    "runserver without reloader, options first": (["manage.py", "runserver", "--noreload", "8000"], {}, NOW),
    "django-admin runserver": (["/usr/bin/django-admin", "runserver"], CHILD, NOW),
    "python -m django runserver": (["/lib/python3/site-packages/django/__main__.py", "runserver"], CHILD, NOW),
    "another command in a reloader's child": (["manage.py", "migrate"], CHILD, NEVER),
    "no command": (["manage.py"], {}, NEVER),
    "help": (["manage.py", "--help"], {}, NEVER),
    "python -m django": (["/lib/python3/site-packages/django/__main__.py", "migrate"], {}, NEVER),
    "gunicorn": (["/venv/bin/gunicorn", "config.wsgi"], {}, NOW),
    "gunicorn with a file of settings": (["gunicorn", "-c", "config/gunicorn.conf.py", "config.wsgi"], {}, NOW),
    "python -m gunicorn": (["/venv/lib/python3/site-packages/gunicorn/__main__.py", "config.wsgi"], {}, NOW),
    "pytest": (["/venv/bin/pytest", "tests"], {}, NEVER),
    "py.test": (["py.test"], {}, NEVER),
    "python -m pytest": (["/venv/lib/python3/site-packages/pytest/__main__.py"], {}, NEVER),
    "a worker of pytest-xdist": (["-c"], {"PYTEST_VERSION": "8.3"}, NEVER),
    "a server started by a test": (["/venv/bin/gunicorn", "config.wsgi"], {"PYTEST_VERSION": "8.3"}, NEVER),
    "python -m unittest": (["/lib/python3/unittest/__main__.py", "discover"], {}, NEVER),
    "celery's worker": (["/venv/bin/celery", "-A", "config", "worker"], {}, NEVER),
    "celery's beat": (["/venv/bin/celery", "-A", "config", "beat"], {}, NEVER),
    "python -m celery": (["/venv/lib/python3/site-packages/celery/__main__.py", "worker"], {}, NEVER),
    "ipython": (["/venv/bin/ipython"], {}, NEVER),
    "python -c": (["-c"], {}, NEVER),
    "an interactive python": ([""], {}, NEVER),
    "no command line at all": ([], {}, NEVER),
    "gunicorn --preload": (["gunicorn", "--preload", "config.wsgi"], {}, NOW),
    "uvicorn": (["/venv/bin/uvicorn", "config.asgi:application"], {}, NOW),
    "uvicorn, one worker": (["uvicorn", "--workers", "1", "config.asgi:application"], {}, NOW),
    "uvicorn, many workers": (["uvicorn", "--workers", "4", "config.asgi:application"], {}, NOW),
    "python -m uvicorn": (["/venv/lib/site-packages/uvicorn/__main__.py", "config.asgi:application"], {}, NOW),
    "hypercorn": (["/venv/bin/hypercorn", "config.asgi:application"], {}, NOW),
    "python -m hypercorn": (["/venv/lib/site-packages/hypercorn/__main__.py", "config.asgi:application"], {}, NOW),
    "daphne": (["/venv/bin/daphne", "config.asgi:application"], {}, NOW),
    "waitress": (["/venv/bin/waitress-serve", "config.wsgi:application"], {}, NOW),
    "python -m waitress": (["/venv/lib/site-packages/waitress/__main__.py", "config.wsgi:application"], {}, NOW),
    "granian": (["/venv/bin/granian", "--interface", "asgi", "config.asgi:application"], {}, FIRST),
    "uwsgi": (["uwsgi"], {}, FIRST),
    "mod_wsgi": (["mod_wsgi"], {}, FIRST),
    "a script": (["import_orders.py"], {}, FIRST),
    "python .": (["__main__.py"], {}, FIRST),
    "another package's __main__": (["/lib/python3/site-packages/flake8/__main__.py"], {}, FIRST),
} | {
    f"manage.py {command}": (["manage.py", command], {}, NEVER)
    for command in (
        "check", "collectstatic", "createsuperuser", "dbshell", "demo", "enqueue", "flush", "jobstatus",
        "makemigrations", "migrate", "rekeyruns", "runscheduler", "shell", "showmigrations", "test", "testserver",
    )
}  # fmt: skip


@pytest.mark.parametrize(("argv", "environ", "expected"), CASES.values(), ids=CASES)
def test_by_what_the_process_is(argv, environ, expected):
    assert when(argv, environ, None) is expected


@pytest.mark.parametrize(("argv", "environ", "expected"), CASES.values(), ids=CASES)
def test_the_setting_overrules_but_for_the_reloaders_parent_and_those_that_start_their_own(argv, environ, expected):
    is_parent = argv[1:2] == ["runserver"] and "--noreload" not in argv and not environ
    starts_its_own = argv[1:2] in (["runscheduler"], ["demo"])
    assert when(argv, environ, True) is (NEVER if is_parent or starts_its_own else NOW)
    assert when(argv, environ, False) is NEVER


@pytest.mark.parametrize(("argv", "environ", "expected"), CASES.values(), ids=CASES)
def test_a_lifespan_starts_it_everywhere_but_in_tests(argv, environ, expected):
    is_test = "PYTEST_VERSION" in environ or "test" in argv[1:2] or "test" in str(argv[:1])
    assert autostart.starts_with_lifespan(argv, environ, None) is not is_test
    assert autostart.starts_with_lifespan(argv, environ, True) is True
    assert autostart.starts_with_lifespan(argv, environ, False) is False


def load_by(module, function):
    """Call `function` from a module of this name."""
    namespace = {"__name__": module, "function": function}
    exec("def load():\n    return function()", namespace)
    return namespace["load"]()


class TestArming:
    @pytest.fixture(autouse=True)
    def traces(self, monkeypatch):
        """What arming does, without doing it to the process of the tests."""
        self.started = []
        monkeypatch.setattr(scheduler, "start", lambda **options: self.started.append(options))
        monkeypatch.setattr(autostart.atexit, "register", lambda *args: None)
        before = signal.getsignal(signal.SIGTERM)
        yield
        signal.signal(signal.SIGTERM, before)
        request_started.disconnect(dispatch_uid="jobs.autostart")

    def arm(self, settings, argv, autostart_setting=None):
        settings.JOBS = {**settings.JOBS, "AUTOSTART": autostart_setting}
        autostart.arm(argv, {})

    def test_never_means_nothing_at_all(self, settings):
        """No query (the test has no database), no thread, no handler, nothing that waits for a request."""
        threads, receivers = threading.enumerate(), len(request_started.receivers)
        handler = signal.getsignal(signal.SIGTERM)
        self.arm(settings, ["manage.py", "migrate"])
        self.arm(settings, ["gunicorn"], autostart_setting=False)
        assert threading.enumerate() == threads
        assert len(request_started.receivers) == receivers
        assert signal.getsignal(signal.SIGTERM) is handler
        assert self.started == []

    def test_now_starts_one_and_has_it_stopped_by_sigterm(self, settings):
        handler = signal.getsignal(signal.SIGTERM)
        self.arm(settings, ["manage.py", "runserver", "--noreload"])
        assert self.started == [{"kind": "web"}]
        assert signal.getsignal(signal.SIGTERM) is not handler

    @pytest.mark.django_db  # other receivers of the signal look at this thread's connection
    def test_an_unknown_server_starts_one_at_its_first_request_only(self, settings):
        self.arm(settings, ["granian"])
        assert self.started == []
        for _ in range(3):
            request_started.send(sender=None)
        assert self.started == [{"kind": "web"}]

    def test_off_the_main_thread_no_signal_is_touched(self, settings):
        """Python allows it to the main thread only, and says so with a ValueError."""
        handler = signal.getsignal(signal.SIGTERM)
        problems = []

        def arm():
            try:
                self.arm(settings, ["manage.py", "runserver", "--noreload"])
            except BaseException as problem:
                problems.append(problem)

        thread = threading.Thread(target=arm)
        thread.start()
        thread.join()
        assert problems == []
        assert signal.getsignal(signal.SIGTERM) is handler
        assert self.started == [{"kind": "web"}]

    def test_the_arbiter_of_a_preloading_gunicorn_only_arms_its_children(self, settings, monkeypatch):
        armed = []
        monkeypatch.setattr(autostart.os, "register_at_fork", lambda **hooks: armed.append(hooks))
        load_by("gunicorn.app.wsgiapp", lambda: self.arm(settings, ["gunicorn", "--preload", "config.wsgi"]))
        assert self.started == []
        with monkeypatch.context() as in_worker:
            in_worker.setattr(autostart.os, "getppid", os.getpid)
            armed[0]["after_in_child"]()
        assert self.started == [{"kind": "web"}]
        armed[0]["after_in_child"]()  # a fork of that worker: its parent is not the arbiter
        assert len(self.started) == 1

    def test_so_it_does_when_the_setting_says_at_once(self, settings, monkeypatch):
        armed = []
        monkeypatch.setattr(autostart.os, "register_at_fork", lambda **hooks: armed.append(hooks))
        self.arm(settings, ["gunicorn", "--preload", "config.wsgi"], autostart_setting=True)
        assert (self.started, len(armed)) == ([], 1)

    @pytest.mark.parametrize("handler", [signal.SIG_DFL, lambda *args: None], ids=["uvicorn's", "gunicorn's"])
    def test_a_worker_of_gunicorn_starts_its_own(self, settings, handler):
        """Whatever its class has done to the signals."""
        signal.signal(signal.SIGTERM, handler)
        load_by("gunicorn.workers.base", lambda: self.arm(settings, ["gunicorn", "config.wsgi"]))
        assert self.started == [{"kind": "web"}]

    @pytest.mark.parametrize(("name", "modules"), autostart.SERVERS.items(), ids=autostart.SERVERS)
    def test_a_known_server_starts_one_where_it_loads_the_site_to_serve_it(self, settings, name, modules):
        for number, module in enumerate(modules, 1):
            load_by(module + "run", lambda: self.arm(settings, [name]))
            assert len(self.started) == number

    @pytest.mark.django_db
    @pytest.mark.parametrize("name", [name for name in autostart.SERVERS if name != "gunicorn"])
    def test_elsewhere_in_it_the_first_request_tells(self, settings, name):
        load_by("site", lambda: self.arm(settings, [name]))
        assert self.started == []
        request_started.send(sender=None)
        assert self.started == [{"kind": "web"}]

    def test_a_child_that_a_function_has_made_has_none(self, settings, monkeypatch):
        """It was spawned, and has its parent's command line."""
        monkeypatch.setattr(autostart.multiprocessing, "parent_process", object)
        self.arm(settings, ["manage.py", "runserver", "--noreload"])
        assert self.started == []

    def test_started_again_it_is_still_one_with_one_handler(self, settings):
        self.arm(settings, ["manage.py", "runserver", "--noreload"])
        handler = signal.getsignal(signal.SIGTERM)
        autostart.start()
        assert signal.getsignal(signal.SIGTERM) is handler
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a server has put its own there
        autostart.start()
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL


class TestSigterm:
    """The chained handler: begin the stop at once, then let the server do what it does."""

    @pytest.fixture(autouse=True)
    def chain(self, monkeypatch):
        self.calls = []
        self.current = current = type("Scheduler", (), {"stopping_for": float("-inf")})()

        def request_stop(grace=None):
            self.calls.append(("request_stop", grace))
            current.stopping_for = 0.0

        current.request_stop = request_stop
        monkeypatch.setattr(scheduler, "current", lambda: current)
        before = signal.getsignal(signal.SIGTERM)
        signal.signal(signal.SIGTERM, lambda *args: self.calls.append("the server's own"))
        autostart._chain_sigterm()
        yield
        signal.signal(signal.SIGTERM, before)

    def test_the_stop_begins_before_the_servers_own_handler(self):
        signal.raise_signal(signal.SIGTERM)
        assert self.calls == [("request_stop", float("inf")), "the server's own"]

    def test_a_second_signal_ends_the_grace(self):
        signal.raise_signal(signal.SIGTERM)
        self.current.stopping_for = autostart.SAME_SIGNAL_SECONDS + 0.1
        signal.raise_signal(signal.SIGTERM)
        assert self.calls[2:] == [("request_stop", 0), "the server's own"]

    def test_the_same_signal_by_two_ways_does_not(self):
        """A service manager signals all processes of a server, and the server its workers."""
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        assert self.calls[2:] == [("request_stop", float("inf")), "the server's own"]


def test_ctrl_c_under_the_reloader_hands_back_at_once(monkeypatch):
    stops = []
    monkeypatch.setattr(scheduler, "stop", stops.append)
    before = signal.getsignal(signal.SIGINT)
    autostart._chain_sigint()
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert stops == [0]


class TestEndOfTheProcess:
    """Signals whose handlers raise, in the middle of the wait at the end of the process."""

    @pytest.fixture(params=[KeyboardInterrupt, SystemExit])
    def stops(self, request, monkeypatch):
        """A scheduler whose first stop is interrupted once; the graces that it was asked for."""
        self.current, graces = type("Scheduler", (), {"stopping_for": 0.0})(), []

        def stop(grace=None):
            graces.append(grace)
            if len(graces) == 1:
                raise request.param
            return True

        monkeypatch.setattr(scheduler, "current", lambda: self.current)
        monkeypatch.setattr(scheduler, "stop", stop)
        return graces

    def test_a_second_signal_ends_the_grace(self, stops):
        self.current.stopping_for = autostart.SAME_SIGNAL_SECONDS + 0.1
        autostart._stop_at_exit(os.getpid())
        assert stops == [None, 0]

    def test_the_same_signal_by_two_ways_does_not(self, stops):
        self.current.stopping_for = autostart.SAME_SIGNAL_SECONDS - 0.1
        autostart._stop_at_exit(os.getpid())
        assert stops == [None, None]
