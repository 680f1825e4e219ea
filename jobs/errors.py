"""The errors that the app raises on purpose. Every one says what was expected, what came, and what to do."""


class JobsError(Exception):
    """Base class of every error that `jobs` raises on purpose."""


class RegistrationError(JobsError, TypeError):
    """A function cannot be registered as a task function: it, its signature or an option is not supported."""


class NotRegistered(JobsError, LookupError):
    """No task function has this name in this process."""


class ParameterError(JobsError, TypeError, ValueError):
    """The parameters given for a task function do not fit its signature.

    `errors` maps each parameter's name to what is wrong with it ("" holds what concerns the call as a whole).
    """

    def __init__(self, task_name: str, errors: dict[str, str]):
        self.task_name = task_name
        self.errors = errors
        super().__init__(task_name, errors)

    def __str__(self) -> str:
        parts = [f"{name}: {problem}" if name else problem for name, problem in self.errors.items()]
        return f"{self.task_name}: " + "; ".join(parts)


class Cancelled(JobsError):
    """Raised by a task function that ends early because its run was asked to: the run is then cancelled."""
