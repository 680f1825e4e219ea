"""Reasons as sentences."""

from jobs.core.states import Reason

SENTENCES = {
    Reason.NONE: "",
    Reason.FUNCTION_RAISED: "The function raised {error_class}: {message}",
    Reason.NOT_REGISTERED: "{message}",
    Reason.WRONG_ARGUMENTS: "The parameters do not fit the function: {message}",
    Reason.RESULT_NOT_STORED: "The function returned, but its result could not be stored: {message}",
    Reason.WORKER_LOST: "Its worker stopped without a word while the function ran ({count} of {most} times).",
    Reason.PROCESS_ENDED: "The process of its function ended by itself: {how} ({count} of {most} times).",
    Reason.INTERRUPTED: "A shutdown interrupted it while the function ran ({count} of {most} times).",
    Reason.CANCELLED_BY_REQUEST: "Cancelled before it started{by}.",
    Reason.STOPPED_BY_REQUEST: "It was asked to end.",
    Reason.STOPPED_ITSELF: "It has cancelled itself.",
    Reason.STOPPED_WITH_WORKER: "It was asked to end, and its worker stopped while the function ran.",
    Reason.NOT_REPEATED: "It was asked to end, and the function raised {error_class}: {message}",
    Reason.TIMED_OUT: "It took longer than {seconds} seconds.",
    Reason.STUCK: "It told no progress for {seconds} seconds.",
    Reason.DEADLINE_PASSED: "It would have started too late.",
    Reason.UPSTREAM_FAILED: "What it depends on did not end as it must.",
    Reason.UPSTREAM_PENDING: "It waits for what it depends on.",
    Reason.LIMIT_REACHED: "As many runs of its kind as allowed are running.",
    Reason.RATE_REACHED: "As many runs of its kind as allowed have started lately.",
    Reason.JOB_PAUSED: "Its job is paused.",
    Reason.RETRY: "Attempt {count} of {most} raised {error_class}: {message}. It is tried again.",
    Reason.SNOOZED: "It asked to be called again later.",
    Reason.GAVE_UP: "It gave up, because trying again would not help: {message}",
    Reason.PREVIOUS_UNFINISHED: "It waits for the run of the slot before it to end.",
    Reason.MISSED: "Nobody worked when its time came ({count} times, from {from} to {until}).",
    Reason.OVERLAP: "An earlier run was unfinished ({count} times, from {from} to {until}).",
}

# What is told without the values that a function met: its message may hold some of them.
_WITHOUT_VALUES = {
    Reason.FUNCTION_RAISED: "The function raised {error_class}.",
    Reason.WRONG_ARGUMENTS: "The parameters do not fit the function.",
    Reason.NOT_REPEATED: "It was asked to end, and the function raised {error_class}.",
    Reason.RETRY: "Attempt {count} of {most} raised {error_class}. It is tried again.",
    Reason.GAVE_UP: "It gave up, because trying again would not help.",
    Reason.RESULT_NOT_STORED: "The function returned, but its result could not be stored.",
}


class _Lenient(dict):
    def __missing__(self, key):
        return "?"


def sentence(code: str, arguments: dict, *, has_values: bool = True) -> str:
    """The reason in words. A missing argument shows as a question mark, the code of a newer release as it is.

    Without `has_values` it says nothing that may stem from parameters or results.
    """
    sentences = SENTENCES if has_values else SENTENCES | _WITHOUT_VALUES
    return sentences[code].format_map(_Lenient(arguments)) if code in sentences else code
