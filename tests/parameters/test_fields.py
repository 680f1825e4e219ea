"""`Annotated[T, field]`: the field's checks come on top of the type's."""

from typing import Annotated

import pytest
from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MinLengthValidator
from django.utils import translation

from tests.parameters.support import given_back, one, problem, same, stored

Mail = Annotated[str, forms.EmailField()]
Percent = Annotated[int, forms.IntegerField(min_value=0, max_value=100)]


def test_a_value_that_passes_is_stored_as_its_type_says():
    assert stored(Mail, "a@example.com") == "a@example.com"
    assert same(stored(Percent, 100), 100)
    assert same(given_back(Percent, 100), 100)


def test_what_the_validators_refuse_is_refused_at_submission_and_at_the_start():
    text = problem(Mail, "nobody")
    assert (
        text
        == "expected text, such as \"abc\", that EmailField accepts; got str 'nobody': Enter a valid email address."
    )
    with pytest.raises(ValueError, match="less than or equal to 100"):
        one(Percent).to_call({"x": 101})


def test_the_type_comes_first():
    assert "got str '5'" in problem(Percent, "5")
    assert "Enter a valid email address" not in problem(Mail, 5)


def test_the_value_is_kept_as_it_is():
    assert stored(Annotated[str, forms.CharField(max_length=5)], " a ") == " a "


def test_the_choices_of_a_field_are_checked():
    choice = Annotated[str, forms.ChoiceField(choices=[("a", "A"), ("b", "B")])]
    assert stored(choice, "a") == "a"
    assert "c is not one of the available choices" in problem(choice, "c")


def test_required_is_a_matter_of_the_signature():
    assert stored(Mail, "") == ""
    assert stored(Annotated[bool, forms.BooleanField()], False) is False
    assert stored(Annotated[str | None, forms.EmailField()], None) is None
    assert stored(Mail | None, None) is None
    several = forms.MultipleChoiceField(choices=[("a", "A")])
    assert stored(Annotated[list[str] | None, several], None) is None
    assert stored(Annotated[list[str], several], []) == []


def test_the_field_itself_is_left_as_it_is():
    field = forms.EmailField()
    one(Annotated[str, field])
    assert field.required


def test_several_fields_all_count():
    both = Annotated[str, forms.CharField(max_length=5), forms.CharField(min_length=2)]
    assert stored(both, "abc") == "abc"
    assert "at most 5" in problem(both, "abcdef")
    assert "at least 2" in problem(both, "a")


def test_items_of_a_list_are_checked_each():
    assert problem(list[Mail], ["a@example.com", "nobody"]).startswith("at [1]: expected text")


def test_several_messages_of_one_field():
    field = forms.CharField(validators=[MinLengthValidator(3), forms.CharField(max_length=0).validators[0]])
    assert "at least 3" in problem(Annotated[str, field], "ab")
    assert "at most 0" in problem(Annotated[str, field], "ab")


def test_the_words_do_not_depend_on_the_language():
    with translation.override("de"):
        assert problem(Mail, "nobody").endswith("Enter a valid email address.")


def test_a_field_that_cannot_check_the_type_refuses_all():
    assert problem(Annotated[float, forms.DecimalField()], 1.5).endswith(
        "DecimalField cannot check it (AttributeError)"
    )


def test_a_validator_of_ones_own():
    def even(value):
        if value % 2:
            raise ValidationError("%(value)s is odd", params={"value": value})

    assert problem(Annotated[int, forms.IntegerField(validators=[even])], 3).endswith("got int 3: 3 is odd")
