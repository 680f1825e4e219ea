from hypothesis import given
from hypothesis import strategies as st

from jobs.core.liveness import Observer

HEARTBEAT, LOST_AFTER = 10.0, 45.0

# One look: how long after the one before (an observer may have been frozen, or its clock be read twice), and what each
# of three workers did meanwhile: its counter rose by so much, or its row was gone.
looks = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.5, 5.0, 10.0, 15.0, 20.0, 60.0, 3600.0]),
        st.tuples(*[st.sampled_from([0, 0, 0, 0, 0, 1, 5, None])] * 3),
    ),
    max_size=25,
)


def observer(lost_after=LOST_AFTER):
    return Observer(heartbeat=HEARTBEAT, lost_after=lost_after)


class Model:
    """The whole history of what was seen of one worker, judged backwards each time."""

    def __init__(self, lost_after):
        self.lost_after = lost_after
        self.seen = []  # (time, counter or None)

    @property
    def is_dead(self):
        silence, count = 0.0, 0
        later = None
        for at, counter in reversed(self.seen):
            if counter is None or (later is not None and counter != later[1]):
                break
            if later is not None:
                silence += min(later[0] - at, 2 * HEARTBEAT)
                count += 1
            later = at, counter
        return count >= 3 and silence >= self.lost_after


@given(looks, st.sampled_from([3 * HEARTBEAT, LOST_AFTER]))
def test_it_judges_like_the_whole_history(history, lost_after):
    now, counters = 1000.0, {1: 0, 2: 0, 3: 0}
    models = {worker: Model(lost_after) for worker in counters}
    seen = observer(lost_after)
    for pause, steps in history:
        now += pause
        present = {}
        for worker, step in zip(counters, steps, strict=True):
            counters[worker] += step or 0
            models[worker].seen.append((now, None if step is None else counters[worker]))
            if step is not None:
                present[worker] = counters[worker]
        seen = seen.look(now, present)
        assert seen.dead == {worker for worker, model in models.items() if model.is_dead}


@given(st.lists(st.floats(0, 1e6), max_size=30))
def test_nobody_is_dead_who_moves_at_every_look(pauses):
    seen, now = observer(), 0.0
    for beats, pause in enumerate(pauses):
        now += pause
        seen = seen.look(now, {1: beats})
        assert not seen.dead


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30))
def test_the_dead_were_watched_for_long_enough_and_often_enough(pauses):
    seen, now, watched = observer().look(0.0, {1: 7}), 0.0, 0.0
    for number, pause in enumerate(pauses, 1):
        now += pause
        watched += min(pause, 2 * HEARTBEAT)
        seen = seen.look(now, {1: 7})
        if seen.dead:
            assert number >= 3
            assert watched >= LOST_AFTER


def test_a_silent_worker_dies_after_so_many_looks():
    seen = observer()
    deaths = []
    for at in range(0, 60, 10):
        seen = seen.look(float(at), {1: 3, 2: at})
        deaths.append(seen.dead)
    assert deaths == [frozenset()] * 5 + [{1}]


def test_two_looks_are_not_enough_however_long_the_silence():
    seen = observer(lost_after=30.0).look(0.0, {1: 3})
    for at in (20.0, 40.0):
        seen = seen.look(at, {1: 3})
        assert not seen.dead
    assert seen.look(40.5, {1: 3}).dead == {1}


def test_a_frozen_observer_does_not_take_its_own_absence_for_death():
    seen = observer().look(0.0, {1: 3})
    for days in (1, 2):
        seen = seen.look(days * 86_400.0, {1: 3})
        assert not seen.dead
    assert seen.look(3 * 86_400.0, {1: 3}).dead == {1}


def test_many_quick_looks_are_no_silence():
    seen = observer()
    for step in range(200):
        seen = seen.look(step * 0.2, {1: 3})
    assert not seen.dead


def test_a_clock_that_stands_or_goes_back_adds_nothing():
    seen = observer().look(1000.0, {1: 3})
    for at in (1000.0, 900.0, 800.0, 700.0, 710.0):
        seen = seen.look(at, {1: 3})
    assert not seen.dead


def test_a_sign_of_life_starts_the_count_again():
    seen = observer()
    for at in range(0, 50, 10):
        seen = seen.look(float(at), {1: 3})
    seen = seen.look(50.0, {1: 4})
    for at in range(60, 100, 10):
        seen = seen.look(float(at), {1: 4})
        assert not seen.dead
    assert seen.look(100.0, {1: 4}).dead == {1}


def test_a_counter_that_went_back_moved():
    seen = observer()
    for at in range(0, 50, 10):
        seen = seen.look(float(at), {1: 3})
    assert not seen.look(50.0, {1: 2}).dead


def test_who_leaves_is_forgotten():
    seen = observer()
    for at in range(0, 60, 10):
        seen = seen.look(float(at), {1: 3})
    assert seen.dead == {1}
    gone = seen.look(60.0, {})
    assert not gone.dead
    assert not gone.look(70.0, {1: 3}).dead


def test_a_look_changes_no_observer():
    first = observer().look(0.0, {1: 3}).look(10.0, {1: 3})
    for at in (30.0, 50.0, 70.0, 90.0):  # as when the transaction is rolled back and done again
        assert not first.look(at, {1: 3}).dead
