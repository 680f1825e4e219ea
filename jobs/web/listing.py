"""The list of runs: filters from the address, and pages that cost the same however long the history is.

Every list follows an index, from the key after which the page before it ended. What no index serves is filtered among
the next 20,000 rows of that index; if they do not fill the page, it says how far it has looked and goes on from there.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from django import forms
from django.db.models import Q, QuerySet

from jobs import access
from jobs.core.states import FINAL, State
from jobs.lifecycle import known_queues
from jobs.models import Job, Run
from jobs.models.run import STATE_CHOICES
from jobs.registry import registry
from jobs.submission import Datalist

PAGE = 50
WINDOW = 20_000
COLUMNS = (
    "id", "task", "job_id", "job_name", "state", "reason_code", "reason_json", "queue", "order_key", "priority",
    "due_at", "enqueued_at", "started_at", "finished_at", "progress_done", "progress_total", "progress_message",
    "submitted_by_name",
)  # fmt: skip


class FilterForm(forms.Form):
    """The filters of the address. What is empty does not filter."""

    state = forms.ChoiceField(choices=[("", "any state"), *STATE_CHOICES], required=False)
    task = forms.CharField(label="Function", max_length=200, required=False)
    queue = forms.CharField(max_length=100, required=False)
    job = forms.ModelChoiceField(Job.objects.none(), required=False, empty_label="any job")
    mine = forms.BooleanField(label="Only mine", required=False)

    def __init__(self, data, user):
        super().__init__(data)
        self.fields["task"].widget = Datalist([task.name for task in registry])
        self.fields["queue"].widget = Datalist(known_queues())
        if user.has_perm("jobs.view_job"):
            self.fields["job"].queryset = Job.objects.only("name")
        else:
            del self.fields["job"]
        if not access.sees_all(user):
            del self.fields["mine"]

    @property
    def given(self) -> dict:
        """The filters that are set; empty while the form is not valid."""
        if not self.is_valid():
            return {}
        return {name: value for name, value in self.cleaned_data.items() if value}


@dataclass(frozen=True)
class Order:
    """The columns by which a list goes on, of which the last is unique, and their direction."""

    columns: tuple[str, ...]
    is_descending: bool

    @property
    def by(self) -> list[str]:
        return [f"-{column}" if self.is_descending else column for column in self.columns]

    def beyond(self, key: tuple) -> Q:
        """The rows that come after the one with this key."""
        step = "lt" if self.is_descending else "gt"
        return self._range(key, step, step)

    def up_to(self, key: tuple) -> Q:
        """The row with this key and those before it."""
        step = "gt" if self.is_descending else "lt"
        return self._range(key, step, f"{step}e")

    def _range(self, key: tuple, step: str, last_step: str) -> Q:
        *outer, (column, value) = zip(self.columns, key, strict=True)
        condition = Q(**{f"{column}__{last_step}": value})
        for column, value in reversed(outer):  # each outer condition bounds the range of the index
            condition = Q(**{f"{column}__{step}e": value}) & (Q(**{f"{column}__{step}": value}) | condition)
        return condition

    def key_of(self, run: Run) -> tuple:
        return tuple(getattr(run, column) for column in self.columns)

    def read(self, text: str) -> tuple | None:
        """The key in an address; None if there is none, or it is no key of this order."""
        parts = text.rsplit("~", len(self.columns) - 1)  # the name of a queue may hold anything
        if len(parts) != len(self.columns):
            return None
        try:
            return tuple(_READERS.get(column, int)(part) for column, part in zip(self.columns, parts, strict=True))
        except (ValueError, OverflowError):
            return None

    def write(self, key: tuple) -> str:
        return "~".join(value.isoformat() if isinstance(value, datetime) else str(value) for value in key)


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(text)
    return moment.astimezone(UTC)


_READERS = {"finished_at": _moment, "due_at": _moment, "queue": str}

NEWEST = Order(("id",), is_descending=True)
LATEST_ENDED = Order(("finished_at", "id"), is_descending=True)
NEXT_TO_START = Order(("queue", "order_key", "id"), is_descending=False)
NEXT_OF_QUEUE = Order(("order_key", "id"), is_descending=False)
NEXT_DUE = Order(("due_at", "id"), is_descending=False)


@dataclass
class Listing:
    """One page of runs. `next` is the key in the address of the page that follows, empty if there is none; `is_cut`
    tells that this page is not full although there may be more."""

    runs: list[Run]
    next: str
    is_cut: bool
    order: Order


def list_runs(user, filters: dict, after: str = "") -> Listing:
    """The page of the runs that this person may see and that pass the filters, from a key on."""
    rows, order, left = _start(user, dict(filters))
    key = order.read(after)
    if key is not None:
        rows = rows.filter(order.beyond(key))
    rows = rows.order_by(*order.by)
    edge = _edge(rows, order) if left else None
    found = rows.filter(**left) if edge is None else rows.filter(order.up_to(edge), **left)
    runs = list(found.only(*COLUMNS)[: PAGE + 1])
    if len(runs) > PAGE:
        return Listing(runs[:PAGE], order.write(order.key_of(runs[PAGE - 1])), False, order)
    return Listing(runs, order.write(edge) if edge else "", edge is not None, order)


def _start(user, filters: dict) -> tuple[QuerySet, Order, dict]:
    """The rows of one index range, their order, and the filters that are left."""
    if filters.pop("mine", False) or not access.sees_all(user):
        return access.own_runs(user), NEWEST, _columns(filters)
    if "job" in filters:
        return access.all_runs().filter(job_id=filters.pop("job").pk), NEWEST, _columns(filters)
    if "state" in filters:
        return _of_state(filters.pop("state"), filters)
    return access.all_runs(), NEWEST, _columns(filters)


def _of_state(state: str, filters: dict) -> tuple[QuerySet, Order, dict]:
    rows = access.all_runs().filter(state=state)
    if state in FINAL:
        return rows, LATEST_ENDED, _columns(filters)
    if state == State.SCHEDULED:
        return rows, NEXT_DUE, _columns(filters)
    if "queue" in filters:
        return rows.filter(queue=filters.pop("queue")), NEXT_OF_QUEUE, _columns(filters)
    return rows, NEXT_TO_START, _columns(filters)


def _columns(filters: dict) -> dict:
    return {("job_id" if name == "job" else name): getattr(value, "pk", value) for name, value in filters.items()}


def _edge(rows: QuerySet, order: Order) -> tuple | None:
    """The key of the last row to look at; None if fewer are left."""
    return next(iter(rows.values_list(*order.columns)[WINDOW - 1 : WINDOW]), None)
