import pytest

from jobs.core.states import FINAL, MOVES, UNFINISHED, WAITING, State, check_move

# The table of the design, written once more and in another form: what each state leaves to.
TABLE = """
blocked    queued scheduled skipped cancelled
scheduled  queued blocked cancelled skipped
queued     running blocked scheduled cancelled skipped
running    succeeded failed cancelled scheduled queued
succeeded
failed
cancelled
skipped
"""
ALLOWED = {
    (State(old), State(new)) for old, *following in map(str.split, TABLE.strip().splitlines()) for new in following
}
PAIRS = [(old, new) for old in State for new in State]


def test_the_table_has_a_row_for_every_state():
    assert set(MOVES) == set(State) == {State(line.split()[0]) for line in TABLE.strip().splitlines()}


@pytest.mark.parametrize(("old", "new"), [pair for pair in PAIRS if pair in ALLOWED])
def test_allowed(old, new):
    assert check_move(old, new) is None


@pytest.mark.parametrize(("old", "new"), [pair for pair in PAIRS if pair not in ALLOWED])
def test_forbidden(old, new):
    with pytest.raises(ValueError, match=f"cannot go from {old} to {new}"):
        check_move(old, new)


def test_the_message_says_what_is_allowed():
    with pytest.raises(ValueError, match="it can go to blocked, cancelled, queued, skipped"):
        check_move(State.SCHEDULED, State.RUNNING)
    with pytest.raises(ValueError, match="it is final"):
        check_move(State.SUCCEEDED, State.QUEUED)


def test_the_sets_partition_the_states():
    assert {"succeeded", "failed", "cancelled", "skipped"} == FINAL
    assert {"blocked", "scheduled", "queued", "running"} == UNFINISHED
    assert {"blocked", "scheduled", "queued"} == WAITING


def test_every_final_state_can_be_reached_from_every_unfinished_one():
    for start in UNFINISHED:
        reached, frontier = set(), {start}
        while frontier:
            reached |= frontier
            frontier = {new for old in frontier for new in MOVES[old]} - reached
        assert reached >= FINAL
