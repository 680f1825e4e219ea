"""Model instances: stored as their primary key, and read again."""

# ruff: noqa: DJ008 (nobody reads these models)

import uuid

import pytest
from django.contrib.auth.models import AnonymousUser, Group, Permission, User
from django.contrib.sessions.models import Session
from django.db import connection, models
from django.test.utils import isolate_apps
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from jobs.errors import ParameterError, RegistrationError
from jobs.parameters import Signature
from tests.names import named
from tests.parameters.support import form_of, given_back, one, problem, stored, trip, typed

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    return User.objects.create(username="ann")


def test_an_instance_is_stored_as_its_primary_key_and_given_back(user, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert stored(User, user) == user.pk
    with django_assert_num_queries(1):
        result = given_back(User, user.pk)
    assert type(result) is User
    assert result == user


def test_a_primary_key_is_checked_at_submission(user):
    assert stored(User, user.pk) == user.pk
    assert problem(User, user.pk + 1).endswith(f"got int {user.pk + 1}: there is no User with pk {user.pk + 1}")


def test_a_row_that_is_gone_at_the_start_is_told(user):
    form = stored(User, user)
    pk = user.pk
    user.delete()
    with pytest.raises(ParameterError, match=f"x: expected a saved User.*there is no User with pk {pk}$"):
        given_back(User, form)


@pytest.mark.parametrize("value", [str, None, True, "1", 1.0, 10**30, -1, [1], AnonymousUser(), Group(pk=1)], ids=named)
def test_what_is_neither_an_instance_nor_a_key_is_refused(value):
    assert problem(User, value).startswith("expected a saved User, or its primary key, such as 5; got ")


@pytest.mark.parametrize("value", [User(), User(pk=5)], ids=["without a key", "with a key of its own choice"])
def test_an_instance_that_is_not_saved_is_refused(value):
    assert problem(User, value).endswith("got User: it is not in the database; save it first")


def test_an_instance_that_was_deleted_is_refused(user):
    user.delete()
    assert "save it first" in problem(User, user)


def test_the_lazy_user_of_a_request(user):
    assert stored(User, SimpleLazyObject(lambda: user)) == user.pk
    assert "got " in problem(User, SimpleLazyObject(AnonymousUser))


def test_a_key_that_was_given_as_text_when_the_instance_was_saved():
    assert stored(Group, Group.objects.create(pk="7", name="staff")) == 7


def test_none_lists_and_dicts_of_instances(user):
    assert trip(User | None, None) is None
    assert trip(User | None, user) == user
    assert trip(list[User], [user, user.pk]) == [user, user]
    assert trip(dict[str, User], {"a": user}) == {"a": user}
    assert problem(list[User], [user, 0]).startswith("at [1]: expected a saved User")


def test_a_text_key():
    session = Session.objects.create(session_key="abc", session_data="", expire_date=timezone.now())
    assert stored(Session, session) == "abc"
    assert trip(Session, "abc") == session
    assert "no Session with pk 'def'" in problem(Session, "def")
    assert "got int 5" in problem(Session, 5)
    assert one(Session).from_text({"x": "abc"}) == {"x": "abc"}
    assert one(User | None).from_text({"x": ""}) == {"x": None}


def test_a_text_key_that_no_database_can_hold():
    assert problem(Session, "a\x00b\ud800").startswith("expected a saved Session")


def test_a_proxy_and_rows_that_the_default_manager_hides(user):
    with isolate_apps("django.contrib.auth"):

        class Nobody(models.Manager):
            def get_queryset(self):
                return super().get_queryset().none()

        class Customer(User):
            objects = Nobody()

            class Meta:
                proxy = True
                app_label = "auth"

    result = trip(Customer, user.pk)
    assert type(result) is Customer
    assert stored(User, result) == user.pk


@pytest.mark.django_db(transaction=True)
def test_keys_that_are_uuids_or_links_to_a_parent():
    with isolate_apps("django.contrib.auth"):

        class Order(models.Model):
            id = models.UUIDField(primary_key=True, default=uuid.uuid4)

            class Meta:
                app_label = "auth"

        class Rush(Order):
            class Meta:
                app_label = "auth"

        class Note(models.Model):
            order = models.OneToOneField(Order, models.CASCADE, primary_key=True)

            class Meta:
                app_label = "auth"

        tables = [Order, Rush, Note]
        with connection.schema_editor() as editor:
            for model in tables:
                editor.create_model(model)
        try:
            assert "save it first" in problem(Order, Order())
            order = Order(pk=uuid.uuid4().hex)
            order.save()
            assert stored(Order, order) == str(uuid.UUID(order.pk))
            rush = Rush.objects.create()
            note = Note.objects.create(order=rush)
            for model, value in ((Order, rush), (Rush, rush), (Note, note)):
                assert stored(model, value) == stored(model, str(rush.pk)) == str(rush.pk)
                assert trip(model, value).pk == rush.pk
                assert type(trip(model, value)) is model
                html = str(form_of(model, stored=str(rush.pk)))
                assert f'<option value="{rush.pk}" selected>' in html
                assert typed(model, rush.pk.hex) == str(rush.pk)
            assert "got int 5" in problem(Order, 5)
            assert "there is no Order" in problem(Order, str(uuid.uuid4()))
        finally:
            with connection.schema_editor() as editor:
                for model in reversed(tables):
                    editor.delete_model(model)


def test_a_model_that_another_one_stands_for_is_refused(settings):
    settings.SHOP_ORDER_MODEL = "auth.Other"
    with isolate_apps("django.contrib.auth"):

        class Order(models.Model):
            class Meta:
                app_label = "auth"
                swappable = "SHOP_ORDER_MODEL"

    with pytest.raises(RegistrationError, match=r"Order is not supported \(auth\.Other stands for it\)"):
        one(Order)


def test_models_that_have_no_key_to_store_are_refused():
    with isolate_apps("django.contrib.auth"):

        class Abstract(models.Model):
            class Meta:
                abstract = True

        class Daily(models.Model):
            day = models.DateField(primary_key=True)

            class Meta:
                app_label = "auth"

        class Pair(models.Model):
            pk = models.CompositePrimaryKey("a", "b")
            a = models.IntegerField()
            b = models.IntegerField()

            class Meta:
                app_label = "auth"

    for model, words in ((Abstract, "it is abstract"), (Daily, "is a DateField"), (Pair, "is a CompositePrimaryKey")):
        with pytest.raises(RegistrationError, match=f"parameter 'x'.*{words}"):
            one(model)


def test_a_result_that_is_an_instance(user):
    def func() -> User: ...

    signature = Signature.of(func, task_name="shop.tasks.func")
    assert signature.result_to_json(user) == user.pk
    assert signature.result_from_json(user.pk) == user
    assert signature.result_from_json(0) == 0


def test_any_supported_key_is_found(user):
    permission = Permission.objects.first()
    assert trip(Permission, permission) == permission
