"""What the site around the jobs stores."""

from django.db import models


class Page(models.Model):
    """A row that requests read and then write."""

    title = models.CharField(max_length=100)
    views = models.IntegerField(default=0)

    def __str__(self):
        return self.title
