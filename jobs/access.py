"""Who may see and do what with runs: one rule for pages, admin, JSON and hand-made requests.

With `view_run` a person sees all runs. Everybody who is logged in sees the runs that they have submitted themselves,
and may cancel them. All else needs the permission of its name.
"""

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet

from jobs.lifecycle.database import alias
from jobs.models import Run


def demand(is_allowed: bool) -> None:
    """Answer 403 unless it is allowed."""
    if not is_allowed:
        raise PermissionDenied


def sees_all(user) -> bool:
    return user.has_perm("jobs.view_run")


def all_runs() -> QuerySet[Run]:
    return Run.objects.using(alias())


def own_runs(user) -> QuerySet[Run]:
    """The runs that this person has submitted."""
    return all_runs().filter(submitted_by_key=str(user.pk)) if user.is_authenticated else all_runs().none()


def visible_runs(user) -> QuerySet[Run]:
    """The runs that this person may see."""
    return all_runs() if sees_all(user) else own_runs(user)


def is_own(user, run: Run) -> bool:
    return user.is_authenticated and run.submitted_by_key == str(user.pk)


def may_see(user, run: Run) -> bool:
    return sees_all(user) or is_own(user, run)


def may_cancel(user, run: Run) -> bool:
    return is_own(user, run) or (sees_all(user) and user.has_perm("jobs.cancel_run"))


def may_run_again(user, run: Run) -> bool:
    return may_see(user, run) and user.has_perm("jobs.rerun_run")


def may_run(user) -> bool:
    """Whether this person may run jobs, and any registered function with parameters of their choice."""
    return user.has_perm("jobs.run_job")


def sees_values(user) -> bool:
    """Whether this person may see parameters, results, logs and messages of errors, secrets masked."""
    return user.has_perm("jobs.view_arguments")
