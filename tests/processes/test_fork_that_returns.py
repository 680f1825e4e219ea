"""A function that forks and lets the child return out of it."""

from tests.processes.test_fork import run


def test_the_child_executes_nothing_and_ends(site):
    body = """
import jobs, time
children = []

@jobs.register(name="forks")
def forks():
    pid = os.fork()
    if pid == 0:
        return "in the child"  # whoever wrote this forgot os._exit()
    children.append(pid)

runs = runtime_mark.enqueue_many([{}] * 100) + [forks.enqueue()] + runtime_mark.enqueue_many([{}] * 100)
scheduler.start(kind="test", threads=1)
for each in runs:
    each.wait(60)
deadline = time.monotonic() + 5
ended = 0
while not ended and time.monotonic() < deadline:
    ended, _ = os.waitpid(children[0], os.WNOHANG)
    time.sleep(0.05)
if not ended:
    os.kill(children[0], signal.SIGKILL)
print("ended" if ended else "it did not end")
scheduler.stop()
"""
    lines = run(site, body)
    assert set(site.executions().values()) == {1}
    assert len({pid for _, _, pid, _ in site.marks}) == 1
    assert "ended" in lines
