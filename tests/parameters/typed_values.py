"""For every type: values that a text stands for, and values that are only kept."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID
from zoneinfo import ZoneInfo

from django import forms
from django.contrib.auth.models import Group
from django.contrib.sessions.models import Session

from tests.parameters.support import Access, Colour, Level, Mixed, Number, Odd, Region, Size

AN_ID = UUID("123e4567-e89b-12d3-a456-426614174000")
BERLIN = ZoneInfo("Europe/Berlin")
MAIL = Annotated[str, forms.EmailField()]
SEVERAL = Annotated[list[str], forms.MultipleChoiceField(choices=[("a", "A"), ("b", "B"), ("c", "C")])]

# For every row of the table in docs/parameters.md: values that a text stands for.
VALUES = {
    "int": [(int, 5), (int, -5), (int, 0), (int, 1234567), (int, 10**400), (int, 10**4299)],
    "float": [(float, 1.5), (float, 0.0), (float, -0.0), (float, 1e300), (float, 5e-324), (float, 1234567.891)],
    "bool": [(bool, True), (bool, False)],
    "str": [
        (str, text)
        for text in ("abc", " a ", "5", "null", "[x", "<b>&\"'</b>", "a\nb", "\na", "\n\n", "\t", "é🐝", " ", "x\x0b")
    ],
    "date": [(date, date(2026, 11, 1)), (date, date.min), (date, date.max)],
    "datetime": [
        (datetime, datetime(2026, 11, 1, 9, 30, tzinfo=UTC)),
        (datetime, datetime(2026, 11, 1, 9, 30, 5, tzinfo=UTC)),
        (datetime, datetime(2026, 11, 1, 9, 30, 5, 250000, tzinfo=UTC)),
        (datetime, datetime(2026, 11, 1, 9, 30, 0, 1, tzinfo=BERLIN)),
        (datetime, datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN)),
        (datetime, datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1)),
        (datetime, datetime(2026, 11, 1, 9, 30)),
        (datetime, datetime(2026, 11, 1, 9, 30, tzinfo=timezone(timedelta(hours=-5, seconds=7)))),
        (datetime, datetime.min.replace(tzinfo=UTC)),
        (datetime, datetime.max.replace(tzinfo=UTC)),
        (datetime, datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))),
        (datetime, datetime.max.replace(tzinfo=timezone(timedelta(hours=-12)))),
    ],
    "time": [(time, time(9, 30)), (time, time(0, 0, 5)), (time, time.max), (time, time(9, 30, 0, 500000))],
    "timedelta": [
        (timedelta, value)
        for value in (
            timedelta(0), timedelta(seconds=90), timedelta(days=1, hours=12), timedelta(microseconds=-1),
            timedelta.min, timedelta.max, timedelta(days=-3, seconds=5),
        )
    ],
    "Decimal": [
        (Decimal, Decimal(text))
        for text in ("1.10", "1.1", "-0", "0", "1E+5", "1E-400", "1E+999999999", "1" * 400 + ".50", "1234567.89")
    ],
    "UUID": [(UUID, AN_ID)],
    "Literal[…]": [
        *[(Literal["eu", "us"], "eu")],
        *[(Literal["5", 5, True, None, "", "null", '""', '"5"', " a ", "b\r\nc", "d\x00\ud800"], value)
          for value in ("5", 5, True, None, "", "null", '""', '"5"', " a ", "b\r\nc", "d\x00\ud800")],
    ],
    "an Enum class": [
        (Region, Region.EU), (Size, Size.LARGE), (Mixed, Mixed.A), (Level, Level.HIGH), (Number, Number.TWO),
        (Access, Access.WRITE), (Odd, Odd.PAIR), (Colour, Colour.ROUGE),
    ],
    "list, list[T]": [
        (list, [1, "a", None, {"b": []}]),
        (list[int], [1, -2]),
        (list[str], ["a", "b c", "5"]),
        (list[str], ["[a", "b"]),
        (list[str], [" a", "", "b\nc", "\x00", "\ud800", "d\u2028e"]),
        (list[str], []),
        (list[bool], [True, False]),
        (list[date], [date(2026, 11, 1), date(2026, 11, 2)]),
        (list[datetime], [datetime(2026, 11, 1, 9, 30, tzinfo=UTC)]),
        (list[Decimal], [Decimal("1.10"), Decimal("1E+400")]),
        (list[Region], [Region.US, Region.EU]),
        (list[Access], [Access.READ, Access.READ | Access.WRITE]),
        (list[int | None], [1, None]),
        (list[list[UUID]], [[AN_ID], []]),
        (list[Group], [7, 8]),
    ],
    "dict, dict[str, T]": [
        (dict, {}), (dict, {"a": [1], "é": "\x00\ud800"}), (dict[str, Decimal], {"a": Decimal("1.0")}),
    ],
    "X | None": [
        (int | None, 0), (str | None, "null"), (date | None, date(2026, 11, 1)), (bool | None, False),
        (bool | None, True), (list[int] | None, []), (Region | None, Region.EU), (Group | None, 7),
        (int | None, None), (bool | None, None), (str | None, None), (list[int] | None, None), (Group | None, None),
    ],
    "a model class": [(Group, 7), (Session, "abc")],
    "Annotated[T, forms.EmailField()]": [
        (MAIL, "a@example.com"),
        (MAIL | None, None),
        (Annotated[str | None, forms.EmailField()], "a@example.com"),
        (Annotated[int, forms.IntegerField(min_value=1, max_value=2000)], 1500),
        (Annotated[int, forms.ChoiceField(choices=[(1, "one"), (2, "two")])], 2),
        (Annotated[int, forms.TypedChoiceField(choices=[(1, "one")], coerce=int, widget=forms.RadioSelect)], 1),
        (Annotated[Decimal, forms.DecimalField(localize=True)], Decimal("1234.50")),
        (Annotated[Decimal, forms.FloatField()], Decimal("1.10")),
        (Annotated[date, forms.DateField()], date(2026, 2, 1)),
        (Annotated[date, forms.DateField(localize=True)], date(2026, 2, 1)),
        (Annotated[date, forms.DateField(widget=forms.SelectDateWidget)], date(2026, 2, 1)),
        (Annotated[datetime, forms.DateTimeField()], datetime(2026, 2, 1, 9, 30, tzinfo=UTC)),
        (Annotated[datetime, forms.SplitDateTimeField()], datetime(2026, 2, 1, 9, 30, tzinfo=UTC)),
        (Annotated[time, forms.TimeField()], time(9, 30)),
        (Annotated[timedelta, forms.DurationField()], timedelta(days=1, seconds=1)),
        (Annotated[bool, forms.BooleanField()], False),
        (Annotated[bool, forms.BooleanField()], True),
        (Annotated[bool | None, forms.NullBooleanField()], False),
        (Annotated[bool | None, forms.NullBooleanField()], None),
        (Annotated[dict, forms.JSONField()], {"a": [1, "é"]}),
        (SEVERAL, ["a", "c"]),
        (SEVERAL | None, None),
        (Annotated[list[str], forms.MultipleChoiceField(choices=[("a", "A")], widget=forms.CheckboxSelectMultiple)],
         ["a"]),
        (Annotated[list[int], forms.TypedMultipleChoiceField(choices=[(1, "A"), (2, "B")], coerce=int)], [1, 2]),
        (Annotated[Group, forms.ModelChoiceField(Group.objects.all())], 7),
        (Annotated[list[Group], forms.ModelMultipleChoiceField(Group.objects.order_by("pk"))], [7, 8]),
        (list[MAIL], ["a@example.com", "b@example.com"]),
    ],
    "none, Any, object": [
        (Any, value) for value in (None, 5, "5", "", 1.5, -0.0, True, [], {}, {"a": [None, "\ud800\r\n"]})
    ],
}  # fmt: skip

TABLE = [(annotation, value) for cases in VALUES.values() for annotation, value in cases]

# Values whose text would not tell all of them: they are kept where nobody touches them.
KEPT = [
    (str, ""),
    (str, "a\x00b\ud800c"),
    (str, "a\r\nb\rc\n"),
    (str, "a\r"),
    (str | None, ""),
    (Access, Access.READ | Access.WRITE),
    (Access | None, Access(0)),
    (list[str], ["a\r"]),
    (SEVERAL, []),
    (SEVERAL, ["c", "a", "a"]),
    (MAIL, ""),
    (Annotated[str, forms.CharField()], "  a  "),
    (Annotated[str, forms.CharField(max_length=9)], "a\nb"),
]
