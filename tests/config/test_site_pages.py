"""The site's pages: where the root leads, login, static files, chrome that a strict Content-Security-Policy allows."""

import re

import pytest
from django.contrib.auth.models import User

INLINE = re.compile(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", re.IGNORECASE)
PAGES = ("/login/", "/admin/login/", "/admin/", "/jobs/", "/nowhere/")


def html_of(client, address: str) -> str:
    return client.get(address).content.decode()


def test_the_root_leads_to_the_pages(client):
    assert client.get("/").url == "/jobs/"


@pytest.mark.django_db
def test_who_is_not_logged_in_is_led_to_the_login_and_back(client):
    User.objects.create_user("ann", password="a long word")
    assert client.get("/jobs/runs/?state=failed").url == "/login/?next=/jobs/runs/%3Fstate%3Dfailed"
    html = html_of(client, "/login/?next=/jobs/runs/")
    assert '<input type="hidden" name="next" value="/jobs/runs/">' in html
    data = {"username": "ann", "password": "a long word", "next": "/jobs/runs/"}
    assert client.post("/login/", data).url == "/jobs/runs/"
    assert html_of(client, "/jobs/runs/").count("<h1>") == 1


@pytest.mark.django_db
def test_a_wrong_password_is_told(client):
    response = client.post("/login/", {"username": "ann", "password": "x", "next": ""})
    assert response.status_code == 200
    assert "Please enter a correct username and password" in response.content.decode()
    assert "_auth_user_id" not in client.session


@pytest.mark.django_db
def test_after_the_login_come_the_pages_and_after_the_logout_the_login(client):
    user = User.objects.create_user("ann", password="a long word")
    assert client.post("/login/", {"username": "ann", "password": "a long word"}).url == "/"
    html = html_of(client, "/jobs/")
    assert "ann" in html
    assert 'action="/logout/"' in html
    assert "/admin/" not in html  # no link to where this person may not go
    user.is_staff = True
    user.save()
    assert 'href="/admin/"' in html_of(client, "/jobs/")
    assert client.get("/logout/").status_code == 405
    assert client.post("/logout/").url == "/"
    assert client.get("/jobs/").status_code == 302


def test_static_files_are_served_without_collectstatic(client):
    for name, kind in (
        ("admin/css/base.css", "text/css"),
        ("jobs/jobs.css", "text/css"),
        ("jobs/icon.svg", "image/svg"),
    ):
        response = client.get(f"/static/{name}")
        assert response.status_code == 200
        assert response["Content-Type"].startswith(kind)
    for name in ("jobs/jobs.js", "django_htmx/htmx-2.min.js"):
        response = client.get(f"/static/{name}")
        assert response.status_code == 200
        assert "javascript" in response["Content-Type"]


@pytest.mark.django_db
@pytest.mark.parametrize("page", PAGES)
def test_the_chrome_has_the_sites_title_and_nothing_inline(admin_client, client, page):
    html = html_of(client if "login" in page else admin_client, page)
    assert "Background jobs" in html
    assert not INLINE.search(html)


@pytest.mark.parametrize("page", ["/admin/login/", "/admin/"])
def test_the_admin_has_the_sites_name(admin_client, client, page):
    html = html_of(client if "login" in page else admin_client, page)
    assert "| Background jobs</title>" in html
    assert '<a href="/admin/">Background jobs</a>' in html


@pytest.mark.django_db
@pytest.mark.parametrize("page", PAGES)
def test_every_answer_allows_only_what_the_site_serves(admin_client, client, page):
    response = (client if "login" in page else admin_client).get(page)
    policy = dict(part.strip().split(" ", 1) for part in response["Content-Security-Policy"].split(";"))
    assert policy == {
        "default-src": "'self'", "base-uri": "'none'", "form-action": "'self'", "frame-ancestors": "'none'",
        "object-src": "'none'",
    }  # fmt: skip
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["X-Frame-Options"] == "DENY"


def test_what_is_not_there_and_not_allowed_has_a_page(client, django_user_model, db):
    client.force_login(django_user_model.objects.create_user("ann"))
    missing, forbidden = client.get("/jobs/runs/99/"), client.get("/jobs/workers/")
    assert (missing.status_code, forbidden.status_code) == (404, 403)
    assert "Nothing is here" in missing.content.decode()
    assert "You may not do this" in forbidden.content.decode()


def test_a_page_that_fails_tells_nothing_of_itself(client, django_user_model, monkeypatch, db):
    def fail(user):
        raise ValueError("S3CR3T")

    monkeypatch.setattr("jobs.access.visible_runs", fail)
    client.force_login(django_user_model.objects.create_user("ann"))
    client.raise_request_exception = False
    response = client.get("/jobs/")
    assert response.status_code == 500
    assert "This went wrong" in response.content.decode()
    assert "S3CR3T" not in response.content.decode()


def test_inline_code_would_be_seen():
    for html in ("<style>", '<a style="x">', '<a onclick="x">', "<script>x</script>", "<script defer>x</script>"):
        assert INLINE.search(html)
    assert not INLINE.search('<script src="/x.js" defer></script>')
