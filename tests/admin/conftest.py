import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from jobs.testing import FakeClock


@pytest.fixture
def staff(db):
    """Make clients of staff users who have just the given permissions of the app."""

    def make(*codenames: str, username: str = "staff") -> Client:
        user = User.objects.create_user(username, is_staff=True)
        permissions = Permission.objects.filter(content_type__app_label="jobs", codename__in=codenames)
        assert {each.codename for each in permissions} == set(codenames)
        user.user_permissions.set(permissions)
        client = Client()
        client.force_login(user)
        return client

    return make


@pytest.fixture
def clock():
    """Midnight before 2027, in UTC, until it is moved."""
    with FakeClock() as clock:
        yield clock
