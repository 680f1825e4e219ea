"""How long a dispatcher waits before it tries again what has failed."""

from jobs.conf import get_settings
from jobs.core.log import Log

logger = Log("jobs")

FIRST_PAUSE = 0.05
LONGEST_PAUSE = 5.0


class Pause:
    """Growing pauses while something fails. None is longer than a heartbeat: after an outage, who comes back first must
    not take those that still pause for dead."""

    def __init__(self):
        self._told: str | None = None
        self.reset()

    def reset(self) -> None:
        self._next = FIRST_PAUSE

    def next(self) -> float:
        seconds, self._next = self._next, min(2 * self._next, LONGEST_PAUSE, get_settings().HEARTBEAT_SECONDS)
        return seconds

    def tell_once(self, message: str) -> None:
        if self._told != message:
            logger.info(message)
            self._told = message
