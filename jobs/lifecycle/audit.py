"""Who did what. A worker's own moves are told by Run and Attempt; here stand people's actions."""

import json
from collections.abc import Sequence

from jobs.core import clock
from jobs.core.texts import visible
from jobs.lifecycle.database import alias
from jobs.models import AuditEntry


def identify(actor) -> tuple[str, str]:
    """Key and name of an actor: a user object, a plain text such as "nightly import", or None for nobody."""
    if actor is None:
        return "", ""
    if isinstance(actor, str):
        return "", actor[:150]
    return str(actor.pk), actor.get_username()[:150]


def record(verb: str, target, *, actor, note: str, **details) -> None:
    """Leave an audit row, in the caller's transaction, if there is an actor."""
    record_many(verb, [target], actor=actor, note=note, **details)


def record_change(target, fields: Sequence[str], parameters: Sequence[str], *, actor, note: str) -> None:
    """The same for a change, with the names of what was changed; nothing for one that changed nothing."""
    changed = {what: list(names) for what, names in (("fields", fields), ("parameters", parameters)) if names}
    if changed:
        record("change", target, actor=actor, note=note, **changed)


def record_many(verb: str, targets, *, actor, note: str, **details) -> None:
    if actor is None:
        return
    key, name = identify(actor)
    at = clock.now()
    AuditEntry.objects.using(alias()).bulk_create(
        AuditEntry(
            at=at,
            actor_key=key,
            actor_name=name,
            verb=verb,
            object_type=target._meta.model_name,
            object_id=str(target.pk),
            object_name=str(target)[:255],
            note=visible(note) or None,
            details_json=_details(details),
        )
        for target in targets
    )


def _details(details: dict) -> str | None:
    return json.dumps(details) if details else None
