"""`runserver` reloads after a change of code: what runs may end, and beyond the grace it is handed back."""

from jobs.models import Run, Worker
from tests.processes.reloader import change_code, start_reloading
from tests.processes.support import PATIENCE, no_problem
from tests.runtime.support import states, wait_until
from tests.tasks import runtime_hold, runtime_mark


def reloading_server(site, **environment):
    server = start_reloading(site, JOBS_THREADS="2", **environment)
    wait_until(lambda: Worker.objects.filter(state="alive").exists(), PATIENCE)
    return server


def hold_two(site) -> list[Run]:
    held = [runtime_hold.enqueue(), runtime_hold.using(on_lost="fail").enqueue()]
    site.wait_until_begun(*held)
    return held


def test_functions_that_run_may_end_and_what_waits_is_for_the_next_process(site):
    server = reloading_server(site)
    held = hold_two(site)
    (first,) = {pid for _, _, pid, _ in site.marks}
    assert Worker.objects.get().pid == first  # the reloader itself is none
    change_code(site, server)
    wait_until(lambda: Worker.objects.filter(state="stopping").exists(), PATIENCE)
    late = runtime_mark.enqueue()
    site.open_gate()
    assert late.wait(PATIENCE).result != first
    assert states(held) == ["succeeded"] * 2
    assert site.executions() == {run.pk: 1 for run in [*held, late]}
    assert Worker.objects.get(pid=first).state == "stopped"
    assert no_problem(server)


def test_beyond_the_grace_it_hands_back_and_the_next_process_repeats_what_may_be_repeated(site):
    server = reloading_server(site, JOBS_GRACE_SECONDS="0.5")
    again, never_again = hold_two(site)
    change_code(site, server)
    wait_until(lambda: site.executions()[again.pk] == 2, PATIENCE)
    site.open_gate()
    assert again.wait(PATIENCE).state == "succeeded"
    never_again.refresh_from_db()
    assert (never_again.state, never_again.reason_code) == ("failed", "interrupted")
    assert site.executions() == {again.pk: 2, never_again.pk: 1}
    assert list(Run.objects.values_list("losses", flat=True)) == [0, 0]
