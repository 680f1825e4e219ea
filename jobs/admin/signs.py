"""States and progress as people see them: a sign, a word and a colour, never the colour alone."""

from django.utils.html import format_html

from jobs.signs import sign_of


def state_badge(state: str):
    """The state of a run, a worker or a queue."""
    return format_html(
        '<span class="jobs-state jobs-state-{}"><span aria-hidden="true">{}</span> {}</span>',
        state, sign_of(state), state,
    )  # fmt: skip


def progress_bar(done: float | None, total: float | None, message: str):
    """How far a run is, as a bar where its total is known, and in words."""
    if done is None:
        return "-"
    of_total = "" if total is None else f" of {total:g}"
    text = f"{done:g}{of_total} {message}".strip()
    if not total:
        return text
    return format_html(
        '<span class="jobs-progress"><progress value="{}" max="{}" aria-hidden="true"></progress> {}</span>',
        repr(done), repr(total), text,
    )  # fmt: skip
