"""Secrets are kept in a form without being shown, and no message about a text repeats them."""

import html
import json
from datetime import date
from typing import Annotated, Literal

import pytest
from django import forms
from hypothesis import given
from hypothesis import strategies as st

from jobs.errors import ParameterError
from jobs.parameters import mask
from jobs.parameters.masking import restore
from tests.names import named
from tests.parameters.support import (
    any_speed,
    form_of,
    form_problem,
    json_values,
    problem,
    read,
    same,
    shown,
    typed,
    untouched,
)
from tests.parameters.test_secrets import SECRET, STARS, refuse_aloud


class TestAForm:
    """Secrets are kept without being shown."""

    @pytest.mark.parametrize(
        ("annotation", "value"),
        [
            (str, SECRET),
            (str | None, SECRET),
            (list[str], [SECRET]),
            (dict, {"a": SECRET}),
            (object, [SECRET]),
            (Annotated[str, forms.CharField()], SECRET),
            (Annotated[str, forms.CharField(widget=forms.Textarea)], SECRET),
            (Annotated[str, forms.CharField(widget=forms.HiddenInput)], SECRET),
            (Annotated[str, forms.ChoiceField(choices=[("", "none"), (SECRET, "S")])], SECRET),
            (Annotated[list[str], forms.MultipleChoiceField(choices=[(SECRET, "S")])], [SECRET]),
            (Literal["a", "S3CR3T-1"], SECRET),
            (bool, True),
            (bool | None, False),
            (date, "2026-11-01"),
        ],
        ids=named,
    )
    def test_a_secret_parameter_is_not_shown_and_kept_where_it_is_left_empty(self, annotation, value):
        for options in ({"stored": value}, {"default": value}, {"stored": value, "default": value}):
            form = form_of(annotation, name="api_key", **options)
            page = str(form)
            assert form.fields["api_key"].initial == ""
            assert "checked" not in page
            assert f'value="{SECRET}" selected' not in page
            assert f'value="{SECRET}"' not in page or "<select" in page
            assert '2026-11-01"' not in page
            expected = {"api_key": value} if "stored" in options else {}
            assert untouched(annotation, name="api_key", **options) == expected
            assert " required" not in page

    def test_it_can_be_changed(self):
        for annotation, text, value in ((str, "new", "new"), (bool, "false", False), (bool, "true", True)):
            form = form_of(annotation, text, name="api_key", stored=not value if annotation is bool else SECRET)
            assert form.is_valid()
            assert form.arguments == {"api_key": value}

    def test_a_new_one_has_to_be_given(self):
        assert form_problem(str, "", name="api_key") == "Expected text; got nothing."
        assert "required" in str(form_of(str, name="api_key"))

    def test_what_was_typed_is_not_sent_back_with_an_error(self):
        form = form_of(int, SECRET, name="api_key", stored=5)
        assert not form.is_valid()
        assert "S3CR3T" not in str(form)

    def test_one_that_no_longer_fits_is_neither_shown_nor_kept(self):
        assert "S3CR3T" not in str(form_of(int, name="api_key", stored=SECRET))
        assert "S3CR3T" not in form_problem(int, "", name="api_key", stored=SECRET)

    STORED = {
        "name": "shop", "rate": 1, "login": {"password": SECRET, "user": "ann"},
        "rows": [{"token": SECRET + "a", "n": 1}, {"token": SECRET + "b", "n": 2}],
    }  # fmt: skip

    def edited(self, **changes):
        """The text in the form, with changes that a person makes to it, and what is then stored."""
        value = json.loads(form_of(dict, stored=self.STORED).fields["x"].initial) | changes
        return typed(dict, json.dumps(value), stored=self.STORED)

    @pytest.mark.parametrize(
        "annotation", [dict, object, dict | None, Annotated[dict, forms.JSONField()], dict[str, object]], ids=named
    )
    def test_those_inside_of_json_are_masked_and_kept(self, annotation):
        for options in ({"stored": self.STORED}, {"default": self.STORED}):
            page = str(form_of(annotation, **options))
            assert "S3CR3T" not in page
            assert page.count(STARS) == 3
        assert untouched(annotation, stored=self.STORED) == {"x": self.STORED}
        assert untouched(annotation, default=self.STORED) == {}
        assert untouched(annotation, default=self.STORED, stored=self.STORED) == {"x": self.STORED}
        changed = json.dumps(mask(self.STORED) | {"name": "new"})
        assert typed(annotation, changed, stored=self.STORED) == self.STORED | {"name": "new"}
        assert typed(annotation, changed, default=self.STORED) == self.STORED | {"name": "new"}

    def test_they_are_restored_at_the_same_key(self):
        assert self.edited(name="new") == self.STORED | {"name": "new"}
        assert self.edited(login={"password": STARS, "user": "bob"})["login"] == {"password": SECRET, "user": "bob"}
        assert self.edited(login={"password": "new"})["login"] == {"password": "new"}
        assert self.edited(login={})["login"] == {}

    def test_an_item_of_a_list_gets_them_back_where_the_rest_of_it_is_the_same(self):
        first, second = self.STORED["rows"]
        masked_first, masked_second = mask(first), mask(second)
        assert self.edited(rows=[masked_second])["rows"] == [second]
        assert self.edited(rows=[masked_second, {"n": 3}, masked_first])["rows"] == [second, {"n": 3}, first]
        assert self.edited(rows=[{"n": 1, "token": STARS}])["rows"] == [first]

    @pytest.mark.parametrize(
        "changes",
        [
            {"rows": [{"token": STARS, "n": 3}]},
            {"rows": [{"token": STARS, "n": True}]},
            {"rows": [{"token": STARS, "n": 1.0}]},
            {"rows": {"token": STARS}},
            {"login": {"passphrase": STARS}},
            {"login": [{"password": STARS}]},
            {"new": {"password": STARS}},
        ],
        ids=named,
    )
    def test_one_that_is_masked_where_none_is_known_is_refused(self, changes):
        text = json.dumps(mask(self.STORED) | changes)
        words = form_problem(dict, text, stored=self.STORED)
        assert words == f"Expected the secrets themselves, where they are new; got '{STARS}'."
        assert "S3CR3T" not in html.unescape(str(form_of(dict, text, stored=self.STORED)))

    def test_asterisks_from_another_page_are_no_secret(self):
        words = f"Expected the secrets themselves, where they are new; got '{STARS}'."
        assert form_problem(dict, json.dumps({"a": [{"password": STARS}]})) == words
        assert form_problem(str, STARS, name="api_key", stored=SECRET).startswith("Expected the secrets themselves")
        assert typed(dict, json.dumps({"name": STARS})) == {"name": STARS}

    @pytest.mark.parametrize(
        "text", ['{"password" "S3CR3T"}', '{"password": "S3CR3T"', "password S3CR3T", '["S3CR3T", "token"'], ids=named
    )
    def test_a_text_that_is_no_json_is_not_repeated(self, text):
        for options in ({}, {"stored": self.STORED}):
            assert "S3CR3T" not in form_problem(dict, text, **options)
        assert "S3CR3T" not in problem_of_text(dict, text)
        assert "S3CR3T" not in problem_of_text(Annotated[dict, forms.JSONField()], text)

    def test_the_words_of_a_validator_are_left_out(self):
        annotation = Annotated[dict, forms.JSONField(validators=[refuse_aloud])]
        text = json.dumps({"password": SECRET})
        assert "S3CR3T" not in form_problem(annotation, text)
        assert "S3CR3T" not in problem_of_text(annotation, text)
        assert "S3CR3T" not in problem(annotation, {"password": SECRET})

    def test_an_error_below_a_secret_name_shows_none(self):
        text = json.dumps({"password": SECRET})
        for words in (form_problem(dict[str, int], text), problem_of_text(dict[str, int], text)):
            assert "S3CR3T" not in words
            assert "(not shown: its name says that it is secret)" in words

    def test_an_empty_text_still_means_nothing(self):
        assert typed(dict | None, "", stored=self.STORED) is None
        assert form_problem(dict, " ", stored=self.STORED).startswith("Expected a JSON object")

    def test_two_items_that_differ_in_their_secrets_only(self):
        value = [{"token": "a"}, {"token": "b"}, 1]
        assert restore([{"token": STARS}, {"token": STARS}, 1], value) == value
        with pytest.raises(KeyError):
            restore([{"token": STARS}, 1], value)

    def test_items_that_python_takes_for_equal(self):
        assert same(restore([True, 1.0, 0], [1, 1, False]), [True, 1.0, 0])
        assert same(restore([{}, [], ""], [{}, [], ""]), [{}, [], ""])


def problem_of_text(annotation, text):
    with pytest.raises(ParameterError) as caught:
        read(annotation, text)
    return caught.value.errors["x"]


names = st.sampled_from(["password", "token", "api_key", "name", "n", "rows"])
with_secrets = st.recursive(
    json_values | st.just(STARS),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(names, children, max_size=4),
    max_leaves=12,
)


@any_speed
@given(st.dictionaries(names, with_secrets, max_size=4))
def test_what_was_masked_is_restored(value):
    assert same(restore(mask(value), value), value)


@any_speed
@given(st.dictionaries(names, with_secrets, max_size=4))
def test_a_form_keeps_whatever_it_masks(value):
    assert same(untouched(dict, stored=value), {"x": value})
    text = shown(form_of(dict, stored=value))["parameter-x"]
    assert same(typed(dict, text + " ", stored=value), value)
