"""The TaskHeap by itself: whatever is done with its sentinels, the order of the tasks stays."""

from hypothesis import example, given
from hypothesis import strategies as st

from jobs.core.heap import DRAINED, STOP, TaskHeap
from jobs.core.task import Task

TAKE = "take"


def new_task():
    return Task(None, int, (), {})


@given(st.lists(st.integers(-5, 5) | st.sampled_from([None, DRAINED, TAKE])))
@example([DRAINED, 8, 3, 0, 4, 11, 1, 6, 9, 2, 7, 10, 5, TAKE, None])
def test_a_sentinel_does_not_disturb_the_order(steps):
    """A number pushes, None or a sentinel replaces the sentinel. The model is a sorted list."""
    heap, waiting = TaskHeap(), []
    for sequence, step in enumerate(steps):
        if isinstance(step, int):
            waiting.append((step, sequence, new_task()))
            heap.push(step, waiting[-1][2])
        elif step is TAKE:
            waiting.sort()
            assert heap.take() is (waiting.pop(0)[2] if waiting else heap.sentinel)
        else:
            heap.set_sentinel(step)
        assert len(heap) == len(waiting)
    heap.set_sentinel(None)
    assert [heap.take() for _ in waiting] == [task for *_, task in sorted(waiting)]
    assert heap.take() is None


@given(st.lists(st.integers()))
def test_one_sentinel_is_before_all_tasks_and_the_other_behind(priorities):
    heap = TaskHeap()
    for priority in priorities:
        heap.push(priority, new_task())
    heap.set_sentinel(STOP)
    assert heap.take() is STOP
    assert heap.take() is STOP
    heap.set_sentinel(DRAINED)
    assert DRAINED not in [heap.take() for _ in priorities]
    assert heap.take() is DRAINED
    assert heap.take() is DRAINED


def test_what_is_taken_does_not_wait_any_more():
    heap, task = TaskHeap(), new_task()
    heap.push(0, task)
    assert heap.take() is task
    assert heap.withdraw(task) is False


def test_what_is_withdrawn_is_not_taken():
    heap, tasks = TaskHeap(), [new_task(), new_task()]
    for task in tasks:
        heap.push(0, task)
    assert heap.withdraw(tasks[0]) is True
    assert heap.withdraw(tasks[0]) is False
    assert len(heap) == 1
    assert heap.take() is tasks[1]
