"""The site's pages: where the root leads, static files, and chrome that a strict Content-Security-Policy allows."""

import re

import pytest

INLINE = re.compile(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", re.IGNORECASE)


def test_the_root_leads_to_the_admin(client):
    assert client.get("/").url == "/admin/"


def test_static_files_are_served_without_collectstatic(client):
    response = client.get("/static/admin/css/base.css")

    assert response.status_code == 200
    assert response["Content-Type"].startswith("text/css")


@pytest.mark.parametrize("page", ["/admin/login/", "/admin/"])
def test_the_chrome_has_the_sites_title_and_nothing_inline(admin_client, client, page):
    html = (client if "login" in page else admin_client).get(page).content.decode()

    assert "| Background jobs</title>" in html
    assert '<a href="/admin/">Background jobs</a>' in html
    assert not INLINE.search(html)


def test_inline_code_would_be_seen():
    for html in ("<style>", '<a style="x">', '<a onclick="x">', "<script>x</script>", "<script defer>x</script>"):
        assert INLINE.search(html)
    assert not INLINE.search('<script src="/x.js" defer></script>')
