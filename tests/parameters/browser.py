"""What a browser sends of an HTML form, by the rules of the HTML standard for form controls."""

import re
from html.parser import HTMLParser
from math import isfinite
from urllib.parse import urlencode

from django.http import QueryDict

NUMBER = re.compile(r"-?(\d+(\.\d+)?|\.\d+)([eE][-+]?\d+)?", re.ASCII)
DAY = r"(?!0000)\d{4,}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
CLOCK = r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,3})?)?"


def submitted(html: str) -> QueryDict:
    """The POST data of all controls in a page that nobody has touched, through the wire."""
    page = _Page()
    page.feed(html.replace("\r\n", "\n").replace("\r", "\n"))
    page.close()
    pairs = [(name, re.sub("\r\n|\r|\n", "\r\n", value)) for name, value in page.pairs]
    return QueryDict(urlencode(pairs).encode())


def _number(value):
    return value if NUMBER.fullmatch(value) and isfinite(float(value)) else ""


def _picked(pattern):
    return lambda value: value if re.fullmatch(pattern, value, re.ASCII) else ""


def _local_moment(value):
    """The only picker whose value browsers write anew: as short as possible."""
    found = _picked(f"{DAY}[T ]{CLOCK}")(value)
    return re.sub(r"(T\d\d:\d\d):00(\.0+)?$", r"\1", found.replace(" ", "T"))


SANITIZED = {
    "number": _number,
    "date": _picked(DAY),
    "time": _picked(CLOCK),
    "datetime-local": _local_moment,
    "email": lambda value: re.sub("[\r\n]", "", value).strip(),
}


class _Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.pairs = []
        self._area = self._select = None

    def handle_starttag(self, tag, attrs):
        attrs = {name: value or "" for name, value in attrs}
        if tag == "input":
            self._input(attrs)
        elif tag == "textarea":
            self._area = (attrs["name"], [])
        elif tag == "select":
            self._select = (attrs["name"], "multiple" in attrs, [])
        elif tag == "option":
            self._select[2].append((attrs["value"], "selected" in attrs))

    def handle_data(self, data):
        if self._area:
            self._area[1].append(data)

    def handle_endtag(self, tag):
        if tag == "textarea":
            name, parts = self._area
            self._area = None
            self.pairs.append((name, "".join(parts).removeprefix("\n")))
        elif tag == "select":
            self._end_select(*self._select)

    def _input(self, attrs):
        kind, value = attrs["type"], attrs.get("value", "")
        if kind in ("checkbox", "radio"):
            if "checked" in attrs:
                self.pairs.append((attrs["name"], attrs.get("value", "on")))
            return
        sanitized = SANITIZED.get(kind, lambda value: re.sub("[\r\n]", "", value))(value)
        self.pairs.append((attrs["name"], sanitized))

    def _end_select(self, name, is_multiple, options):
        chosen = [value for value, is_selected in options if is_selected]
        if not is_multiple:
            chosen = chosen[-1:] or [value for value, _ in options[:1]]
        self.pairs += [(name, value) for value in chosen]
