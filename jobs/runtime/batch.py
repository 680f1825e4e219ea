"""What the next transaction has to write. Kept until it is committed."""

from jobs.lifecycle.claim import ClaimedRun
from jobs.lifecycle.outcome import Outcome
from jobs.lifecycle.report import Report


class Batch:
    def __init__(self):
        self.outcomes: list[Outcome] = []
        self.reports: list[Report] = []
        self.releases: list[ClaimedRun] = []

    def __bool__(self) -> bool:
        return bool(self.outcomes or self.reports or self.releases)

    @property
    def run_ids(self) -> set[int]:
        return {each.run.id for each in (*self.outcomes, *self.reports)} | {run.id for run in self.releases}

    def split(self, later_ids: set[int]) -> tuple["Batch", "Batch"]:
        """What is to be written now, and what about these runs is to be written later."""
        now, later = Batch(), Batch()
        for outcome in self.outcomes:
            (later if outcome.run.id in later_ids else now).outcomes.append(outcome)
        for report in self.reports:
            (later if report.run.id in later_ids else now).reports.append(report)
        for run in self.releases:
            (later if run.id in later_ids else now).releases.append(run)
        return now, later
