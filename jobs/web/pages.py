"""What all pages share: who may open them, and what every template knows."""

from functools import wraps

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ObjectDoesNotExist
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.shortcuts import render as render_template
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from jobs import access
from jobs.access import demand
from jobs.core.texts import visible
from jobs.models import Run


class Rights:
    """What the person who looks at a page may do, for its template."""

    def __init__(self, user):
        self._user = user
        self.sees_all = access.sees_all(user)
        self.sees_values = access.sees_values(user)
        self.may_run = access.may_run(user)

    def __getattr__(self, name: str) -> bool:
        """`rights.change_queue`: whether the person has a permission of the app."""
        if name.startswith("_"):
            raise AttributeError(name)
        return self._user.has_perm(f"jobs.{name}")


def page(*methods: str, permission: str | None = None):
    """A page for people who are logged in and, where it is named, have a permission of the app; else 403."""

    def decorate(view):
        @wraps(view)
        def guarded(request: HttpRequest, *args, **kwargs):
            if not request.user.is_authenticated:
                return _to_login(request)
            if permission is not None:
                demand(request.user.has_perm(f"jobs.{permission}"))
            try:
                return view(request, *args, **kwargs)
            except ObjectDoesNotExist:  # somebody has deleted it in the meantime
                raise Http404 from None

        return never_cache(require_http_methods(methods or ("GET", "HEAD"))(guarded))

    return decorate


def _to_login(request: HttpRequest) -> HttpResponse:
    if request.headers.get("HX-Request") == "true":  # a part of a page that is still open: load the page anew
        return HttpResponse(status=401, headers={"HX-Refresh": "true"})
    return redirect_to_login(request.get_full_path())


def find_run(request: HttpRequest, run_id: int) -> Run:
    """A run that this person may see; Http404 if there is none, 403 if it is somebody else's."""
    run = get_object_or_404(access.all_runs(), pk=run_id)
    demand(access.may_see(request.user, run))
    return run


def sent_text(sent: QueryDict, name: str, limit: int = 500) -> str:
    """A text that came with a request, as every database can hold it."""
    return visible(sent.get(name, ""))[:limit]


def render(request: HttpRequest, template: str, context: dict, status: int | None = None) -> HttpResponse:
    rights = Rights(request.user)
    return render_template(request, f"jobs/{template}", {"rights": rights, **context}, status=status)
