import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from jobs.testing import FakeClock
from tests.web.support import all_permissions


@pytest.fixture
def clock():
    with FakeClock() as clock:
        yield clock


@pytest.fixture
def person(db):
    """Make a client of somebody who has just the given permissions of the app; `client.user` is who it is."""

    def make(*codenames: str, username: str = "somebody", **options) -> Client:
        is_super = options.pop("is_superuser", False)
        user = User.objects.create_user(username, is_superuser=is_super, is_staff=options.pop("is_staff", False))
        assert set(codenames) <= set(all_permissions())
        granted = Permission.objects.filter(content_type__app_label="jobs", codename__in=codenames)
        user.user_permissions.set(granted)
        client = Client(**options)
        client.force_login(user)
        client.user = user
        return client

    return make


@pytest.fixture
def operator(person) -> Client:
    """Somebody who may do and see everything."""
    return person(username="operator", is_superuser=True)
