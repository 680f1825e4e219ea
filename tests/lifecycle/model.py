"""A run in plain Python, as the state machine expects it. Times in microseconds since the start."""

from dataclasses import dataclass, field

from jobs.core.order import STRICT_AGEING
from jobs.core.states import State, check_move

SECOND = 1_000_000


def _counters():
    return {"failures": 0, "losses": 0, "interruptions": 0, "snoozes": 0}


@dataclass
class Model:
    """What a run's row must say."""

    priority: int
    queue: str
    on_lost: str
    max_losses: int
    ready_at: int
    due_at: int | None
    state: State
    unique_key: str | None = None
    claim: tuple[int, int] | None = None  # worker, claim number: while it runs
    claims: int = 0
    is_asked_to_end: bool = False
    counters: dict = field(default_factory=_counters)
    attempts: int = 0  # that are kept in the history

    @property
    def key(self):
        return self.priority * STRICT_AGEING + self.ready_at

    def move(self, state):
        check_move(self.state, state)
        self.state = state
        if state is not State.RUNNING:
            self.claim = None

    def end(self, how, now, pause=0):
        """An execution ends: "success", "failure", "retry" or "snooze" after a pause, "stop" (its function cancels it),
        "release", "interrupt", "loss" or "death" (of its process)."""
        self.attempts += how not in ("success", "release")
        if how == "success":
            self.move(State.SUCCEEDED)
        elif how == "stop":
            self.move(State.CANCELLED)
        elif how in ("failure", "retry"):
            self.counters["failures"] += 1
            self.move(State.FAILED) if how == "failure" or self.is_asked_to_end else self._repeat(now + pause)
        elif how == "snooze" and not self.is_asked_to_end:
            self.counters["snoozes"] += 1
            self._repeat(now + pause)
        elif how in ("snooze", "release"):
            self.move(State.CANCELLED if self.is_asked_to_end else State.QUEUED)
        elif how == "interrupt":
            self._end_without_outcome("interruptions", 5, State.QUEUED)
        elif self._end_without_outcome("losses", self.max_losses, State.SCHEDULED):
            self.due_at = now + 2 ** (self.counters["losses"] - 1) * SECOND

    def _repeat(self, due_at):
        """It waits for its next try, and stands in the order by that time."""
        self.move(State.SCHEDULED)
        self.due_at = self.ready_at = due_at

    def _end_without_outcome(self, counter, most, state):
        self.counters[counter] += 1
        if self.is_asked_to_end:
            self.move(State.CANCELLED)
            return False
        is_repeated = self.on_lost == "requeue" and self.counters[counter] < most
        self.move(state if is_repeated else State.FAILED)
        return is_repeated

    def again(self, now):
        """The new run that repeats this one."""
        return Model(self.priority, self.queue, self.on_lost, self.max_losses, now, None, State.QUEUED, self.unique_key)
