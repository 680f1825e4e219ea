"""What a function returns. Its side effects have happened: whatever the result, the run has succeeded."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jobs.parameters import dumps
from jobs.runtime.execute import _is_surely_longer
from tests.runtime.support import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


def nested():
    value = []
    for _ in range(100_000):
        value = [value]
    return value


def circle():
    value = []
    value.append(value)
    return value


class Exits(dict):
    """Ends the process when somebody looks at it, if one lets it."""

    def items(self):
        raise SystemExit(3)

    __iter__ = keys = values = __len__ = __bool__ = __eq__ = items
    __hash__ = None


UNSTORABLE = {
    "a set": lambda: {1, 2},
    "an object": object,
    "NaN": lambda: float("nan"),
    "bytes": lambda: b"bytes",
    "a function": lambda: nested,
    "too long": lambda: "x" * 100_000,
    "too deep": nested,
    "a circle": circle,
    "one that exits": Exits,
}


@pytest.mark.parametrize("make", UNSTORABLE.values(), ids=UNSTORABLE)
def test_one_that_cannot_be_stored_leaves_the_run_succeeded(start, task, ok, make):
    calls = []

    @task
    def give():
        calls.append(1)
        return make()

    runs = [give.enqueue(), ok.enqueue()]
    start(threads=1)
    for run in runs:
        run.wait(PATIENCE)
    assert (runs[0].state, runs[0].reason_code, runs[0].result) == ("succeeded", "result_not_stored", None)
    assert "could not be stored" in runs[0].reason
    assert calls == [1]
    assert runs[1].state == "succeeded"


@pytest.mark.parametrize("value", [0, False, "", [], {}, 0.1, 2**63, "é 🐝 \x00 \ud800", [1, [2, {"a": None}]]])
def test_one_that_can_comes_back_as_it_was(start, task, value):
    @task
    def give():
        return value

    run = give.enqueue()
    start(threads=1)
    assert run.wait(PATIENCE).state == "succeeded"
    assert run.result == value
    assert type(run.result) is type(value)
    assert run.reason == ""


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(values, st.integers(0, 200))
@example({"": ""}, 4)
@example(["", {}, []], 9)
def test_what_is_taken_for_too_long_unmade_is_too_long(value, limit):
    assert not _is_surely_longer(value, limit) or len(dumps(value)) > limit


@pytest.mark.parametrize("value", ["x" * 101, ["x" * 50] * 2, {"x" * 101: None}, list(range(101)), circle(), nested()])
def test_what_is_far_too_long_is_not_made(value):
    assert _is_surely_longer(value, 100)
