"""Pure Python, no Django: the in-memory schedulers, and the rules of the durable queue that need no database."""

from jobs.core.fifo import FIFOScheduler
from jobs.core.priority import PriorityScheduler

__all__ = ["FIFOScheduler", "PriorityScheduler"]
