"""A run in plain Python, as the state machine expects it. Times in microseconds since the start."""

from dataclasses import dataclass, field, replace

from jobs.core.order import STRICT_AGEING
from jobs.core.states import State, check_move

SECOND = 1_000_000


def _counters():
    return {"failures": 0, "losses": 0, "interruptions": 0}


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
    counters: dict = field(default_factory=_counters)

    @property
    def key(self):
        return self.priority * STRICT_AGEING + self.ready_at

    def move(self, state):
        check_move(self.state, state)
        self.state = state
        if state is not State.RUNNING:
            self.claim = None

    def end(self, how, now):
        """An execution ends: "success", "failure", "release", "interrupt" or "loss"."""
        if how == "success":
            self.move(State.SUCCEEDED)
        elif how == "failure":
            self.counters["failures"] += 1
            self.move(State.FAILED)
        elif how == "release":
            self.move(State.QUEUED)
        elif how == "interrupt":
            self._end_without_outcome("interruptions", 5, State.QUEUED)
        elif self._end_without_outcome("losses", self.max_losses, State.SCHEDULED):
            self.due_at = now + 2 ** (self.counters["losses"] - 1) * SECOND

    def _end_without_outcome(self, counter, most, state):
        self.counters[counter] += 1
        is_repeated = self.on_lost == "requeue" and self.counters[counter] < most
        self.move(state if is_repeated else State.FAILED)
        return is_repeated

    def again(self, now):
        """The new run that repeats this one."""
        return replace(self, ready_at=now, due_at=None, state=State.QUEUED, claim=None, claims=0, counters=_counters())
