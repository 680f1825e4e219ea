"""The addresses of `benchmarks.pages`."""

from django.urls import include, path

urlpatterns = [path("jobs/", include("jobs.web.urls"))]
