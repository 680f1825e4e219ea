"""A sign for each state of runs, workers and queues: a state is told by sign and word, never by its colour alone."""

SIGNS = {
    "blocked": "▣", "scheduled": "◷", "queued": "○", "running": "▶", "succeeded": "✓", "failed": "✗", "cancelled": "⊘",
    "skipped": "↷", "alive": "▶", "stopping": "◷", "stopped": "⊘", "dead": "✗", "silent": "✗", "paused": "‖",
    "open": "▶",
}  # fmt: skip


def sign_of(state: str) -> str:
    """The sign of a state; a dot for one that only a newer release knows."""
    return SIGNS.get(state, "•")
