"""The arithmetic of pauses before a run is tried again."""

from datetime import timedelta


def exponential(count: int, *, first: timedelta, cap: timedelta) -> timedelta:
    """The pause before the next try after `count` >= 1 tries: `first` (> 0), doubled each time, at most `cap`."""
    factor = 2 ** min(count - 1, 63)  # beyond that any cap has long been reached
    return cap if factor >= cap / first else first * factor


def loss_backoff(losses: int) -> timedelta:
    """The pause before a run starts again whose worker died under it for the `losses`-th time: 1 s, 2 s, 4 s … 60 s."""
    return exponential(losses, first=timedelta(seconds=1), cap=timedelta(seconds=60))
