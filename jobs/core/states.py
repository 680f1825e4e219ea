"""The states of a run and the moves between them: one table, from which everything else is derived."""

from enum import StrEnum


class State(StrEnum):
    """Where a run stands."""

    # Cannot start whatever the time: upstream unfinished, a limit reached, its job paused.
    BLOCKED = "blocked"
    # Waits for its time: a delay, the pause before a retry, a rate.
    SCHEDULED = "scheduled"
    # Ready. Only these rows are in the claim's index range.
    QUEUED = "queued"
    # Owned by one worker under one claim number.
    RUNNING = "running"
    # The function returned.
    SUCCEEDED = "succeeded"
    # The function raised, or the run was lost or interrupted too often.
    FAILED = "failed"
    # A person asked for it, before the start or (by `jobs.Cancelled`) during it.
    CANCELLED = "cancelled"
    # It will not start: too late, or its upstream ended the wrong way.
    SKIPPED = "skipped"


MOVES: dict[State, frozenset[State]] = {
    State.BLOCKED: frozenset({State.QUEUED, State.SCHEDULED, State.SKIPPED, State.CANCELLED}),
    State.SCHEDULED: frozenset({State.QUEUED, State.BLOCKED, State.CANCELLED, State.SKIPPED}),
    State.QUEUED: frozenset({State.RUNNING, State.BLOCKED, State.SCHEDULED, State.CANCELLED, State.SKIPPED}),
    State.RUNNING: frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED, State.SCHEDULED, State.QUEUED}),
    State.SUCCEEDED: frozenset(),
    State.FAILED: frozenset(),
    State.CANCELLED: frozenset(),
    State.SKIPPED: frozenset(),
}

FINAL = frozenset(state for state, following in MOVES.items() if not following)
UNFINISHED = frozenset(State) - FINAL
WAITING = UNFINISHED - {State.RUNNING}


def check_move(old: State, new: State) -> None:
    """Raise ValueError unless a run may go from `old` to `new`."""
    if new not in MOVES[old]:
        allowed = ", ".join(sorted(MOVES[old])) or "nothing: it is final"
        raise ValueError(f"A run cannot go from {old} to {new}; from {old} it can go to {allowed}.")


class Reason(StrEnum):
    """Why a run is in its state, where the state alone does not say it. Pages turn it into a sentence."""

    NONE = ""
    FUNCTION_RAISED = "function_raised"
    NOT_REGISTERED = "not_registered"
    WRONG_ARGUMENTS = "wrong_arguments"
    RESULT_NOT_STORED = "result_not_stored"
    WORKER_LOST = "worker_lost"
    PROCESS_ENDED = "process_ended"
    INTERRUPTED = "interrupted"
    CANCELLED_BY_REQUEST = "cancelled_by_request"
    STOPPED_BY_REQUEST = "stopped_by_request"
    STOPPED_ITSELF = "stopped_itself"
    STOPPED_WITH_WORKER = "stopped_with_worker"
    NOT_REPEATED = "not_repeated"
    TIMED_OUT = "timed_out"
    STUCK = "stuck"
    DEADLINE_PASSED = "deadline_passed"
    UPSTREAM_FAILED = "upstream_failed"
    UPSTREAM_PENDING = "upstream_pending"
    LIMIT_REACHED = "limit_reached"
    RATE_REACHED = "rate_reached"
    PREVIOUS_UNFINISHED = "previous_unfinished"
    JOB_PAUSED = "job_paused"
    RETRY = "retry"
    SNOOZED = "snoozed"
    GAVE_UP = "gave_up"
    MISSED = "missed"
    OVERLAP = "overlap"


class OnLost(StrEnum):
    """What becomes of a run whose worker died or was shut down while the function ran."""

    # It is executed again, at most `max_losses` (`max_interruptions`) times in all.
    REQUEUE = "requeue"
    # It ends failed: for work that must never be repeated.
    FAIL = "fail"
