"""How many runs may be claimed beyond the idle threads.

Cheap runs are claimed in advance, so that many share a commit; but a claimed run is no longer in the order that all
workers share, so none may wait long. Exact priority comes before speed.
"""

from collections.abc import Sequence

MOST = 64
CHEAP_SECONDS = 0.002
LONGEST_WAIT_SECONDS = 0.020


class LookAhead:
    """At most as many as finished in the last cycle, and only while those were cheap and nothing waited for long."""

    def __init__(self):
        self.allowed = 0

    def learn(self, seconds: Sequence[float], *, was_anything_released: bool) -> None:
        """Take in the durations of the functions that ended since the last cycle."""
        is_cheap = bool(seconds) and sum(seconds) < CHEAP_SECONDS * len(seconds)
        self.allowed = min(len(seconds), MOST) if is_cheap and not was_anything_released else 0
