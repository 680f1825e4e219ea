"""The app's own pages: `path("jobs/", include("jobs.web.urls"))`."""
