"""A run in plain Python, as the state machine expects it. Times in microseconds since the start."""

from dataclasses import dataclass, field

from jobs.core.order import STRICT_AGEING
from jobs.core.states import State, check_move

SECOND = 1_000_000


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
    counters: dict = field(default_factory=lambda: {"failures": 0, "losses": 0, "interruptions": 0})

    @property
    def key(self):
        return self.priority * STRICT_AGEING + self.ready_at

    def move(self, state):
        check_move(self.state, state)
        self.state = state
        if state is not State.RUNNING:
            self.claim = None

    def end_without_outcome(self, counter, most, now, pause):
        self.counters[counter] += 1
        if self.on_lost == "fail" or self.counters[counter] >= most:
            self.move(State.FAILED)
        elif pause:
            self.move(State.SCHEDULED)
            self.due_at = now + pause * SECOND
        else:
            self.move(State.QUEUED)
