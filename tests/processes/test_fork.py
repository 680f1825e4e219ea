"""A fork of a process whose scheduler has started inherits nothing and starts nothing."""

from jobs.models import Worker
from tests.processes.support import PATIENCE

PARENT = """
import json, os, signal, sys, threading
{before}
import django
django.setup()
from jobs.core import wake
from jobs.runtime import scheduler
from tests.tasks import runtime_mark

def look():
    import jobs.runtime.autostart as autostart
    return {{
        "scheduler": scheduler.current() is not None,
        "threads": [thread.name for thread in threading.enumerate()],
        "wakers": len(wake._wakers),
    }}

def in_fork(function):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writer, json.dumps(function()).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        answer = json.loads(file.read())
    os.waitpid(pid, 0)
    return answer

{body}
"""


def run(site, body, before="") -> list[str]:
    script = site.folder / "parent.py"
    script.write_text(PARENT.format(body=body, before=before))
    process = site.start(str(script))
    assert process.wait() == 0, process.output
    return process.output.splitlines()


STARTED = """
scheduler.start(kind="test", threads=1)
runtime_mark.enqueue().wait({patience})
"""


def test_the_child_has_no_scheduler_and_no_thread(site):
    lines = run(site, STARTED.format(patience=PATIENCE) + "print(json.dumps(in_fork(look)))\nscheduler.stop()")
    assert '{"scheduler": false, "threads": ["MainThread"], "wakers": 0}' in lines
    assert Worker.objects.count() == 1


def test_an_enqueue_in_the_child_is_executed_by_the_parent(site):
    body = STARTED.format(patience=PATIENCE) + (
        "from django.db import connections\n"
        "def enqueue():\n"
        "    connections['default'].close()\n"
        "    run = runtime_mark.enqueue()\n"
        f"    return [run.wait({PATIENCE}).result, os.getpid()]\n"
        "executed_by, child = in_fork(enqueue)\n"
        "print(executed_by == os.getpid() != child)\n"
        "scheduler.stop()"
    )
    assert "True" in run(site, body)


def test_a_child_of_a_function_is_in_no_run(site):
    """It may enqueue, log and stop as any process may."""
    body = (
        "import jobs\n"
        "answers = []\n"
        "@jobs.register(name='forking')\n"
        "def forking():\n"
        "    answers.append([jobs.current_run().id, in_fork(lambda: jobs.current_run().id)])\n"
        "scheduler.start(kind='test', threads=1)\n"
        f"run = forking.enqueue().wait({PATIENCE})\n"
        "print(run.state, answers == [[run.pk, None]])\n"
        "scheduler.stop()"
    )
    assert "succeeded True" in run(site, body)


def test_the_parent_goes_on(site):
    body = STARTED.format(patience=PATIENCE) + (
        f"in_fork(look)\nprint(runtime_mark.enqueue().wait({PATIENCE}).state, scheduler.current() is not None)\n"
        "scheduler.stop()"
    )
    assert "succeeded True" in run(site, body)


def test_a_child_may_start_one_of_its_own(site):
    """Nothing is left of the parent's that would be in its way."""
    body = STARTED.format(patience=PATIENCE) + (
        "from django.db import connections\n"
        "def work():\n"
        "    connections['default'].close()\n"
        "    scheduler.start(kind='child', threads=1)\n"
        f"    run = runtime_mark.using(queue='x').enqueue().wait({PATIENCE})\n"
        "    return [scheduler.stop(), run.state]\n"
        "print(in_fork(work))\n"
        "scheduler.stop()"
    )
    assert "[True, 'succeeded']" in run(site, body)
    assert set(Worker.objects.values_list("kind", "state")) == {("test", "stopped"), ("child", "stopped")}


def test_a_child_that_is_terminated_ends(site):
    """It has inherited the handler that begins the stop of a scheduler which it does not have."""
    before = "sys.argv = ['manage.py', 'runserver', '--noreload']"
    body = (
        f"runtime_mark.enqueue().wait({PATIENCE})\n"
        "reader, writer = os.pipe()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    os.write(writer, b'x')\n"
        "    signal.pause()\n"
        "    signal.pause()\n"
        "os.read(reader, 1)\n"
        "os.kill(pid, signal.SIGTERM)\n"
        "_, status = os.waitpid(pid, 0)\n"
        "print(os.WTERMSIG(status))\n"
        f"print(runtime_mark.enqueue().wait({PATIENCE}).state)\n"
    )
    lines = run(site, body, before)
    assert "15" in lines
    assert "succeeded" in lines


def test_a_fork_of_a_preloaded_worker_starts_nothing(site):
    """gunicorn --preload: the arbiter arms its forks, which are its workers. A fork of a worker is none."""
    before = "sys.argv = ['gunicorn', '--preload', 'config.wsgi']"
    body = (
        "from django.db import connections\n"
        "def worker():\n"
        "    return [look()['scheduler'], in_fork(look)]\n"
        "print(json.dumps([look()['scheduler'], *in_fork(worker)]))"
    )
    (line,) = [line for line in run(site, body, before) if line.startswith("[")]
    assert line == '[false, true, {"scheduler": false, "threads": ["MainThread"], "wakers": 0}]'


def test_the_same_with_nobody_importing_the_scheduler_in_the_arbiter(site):
    before = "sys.argv = ['gunicorn', '--preload', 'config.wsgi']"
    body = (
        "del sys.modules['jobs.runtime.scheduler']\n"
        "def threads():\n"
        "    return [thread.name for thread in threading.enumerate()]\n"
        "def worker():\n"
        "    return [threads(), in_fork(threads)]\n"
        "print(json.dumps(in_fork(worker)))"
    )
    (line,) = [line for line in run(site, body, before) if line.startswith("[")]
    assert line == '[["MainThread", "jobs-dispatcher"], ["MainThread"]]'
