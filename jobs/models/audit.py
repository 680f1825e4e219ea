"""What people did."""

from django.db import models

from jobs.models.fields import CharField, TextField, UTCDateTimeField


class AuditEntry(models.Model):
    """One action of a person: who, what, on which object, when, and why."""

    at = UTCDateTimeField()
    actor_key = CharField(max_length=100)
    actor_name = CharField(max_length=150)
    verb = CharField(max_length=50)
    object_type = CharField(max_length=50)
    object_id = CharField(max_length=100)
    object_name = CharField(max_length=255, blank=True, default="", db_default="")
    note = TextField(null=True, blank=True)
    details_json = TextField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = [
            # The story of one object: WHERE object_type = ? AND object_id = ? ORDER BY id DESC.
            models.Index(fields=["object_type", "object_id", "id"], name="jobs_audit_object"),
            # What one person did: WHERE actor_key = ? ORDER BY id DESC.
            models.Index(fields=["actor_key", "id"], name="jobs_audit_actor"),
        ]

    def __str__(self):
        return f"{self.actor_name}: {self.verb} {self.object_type} {self.object_id}"
