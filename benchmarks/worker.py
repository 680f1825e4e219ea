"""A worker process like `manage.py runscheduler`, with a few knobs more. Run: python -m benchmarks.worker

`--look-ahead N` caps how many runs may be claimed beyond the idle threads; `--sections FILE` writes at the end where
the time went; `--hand-outs` writes down when runs were claimed and given to threads.
"""

import argparse
import json
import signal
from pathlib import Path

from benchmarks import site


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--look-ahead", type=int)
    parser.add_argument("--sections", type=Path)
    parser.add_argument("--hand-outs", action="store_true")
    given = parser.parse_args()
    site.load()

    from benchmarks import handouts, sections, turns
    from jobs.runtime import lookahead
    from jobs.runtime.scheduler import Scheduler

    if given.look_ahead is not None:
        lookahead.MOST = given.look_ahead
    if given.sections:
        sections.install()
    if given.hand_outs:
        handouts.install()
        turns.install(site.directory() / "claims")
    scheduler = Scheduler(kind="benchmark", threads=given.threads)
    signal.signal(signal.SIGTERM, lambda *_: scheduler.request_stop())
    scheduler.start()
    print("The worker works.", flush=True)
    scheduler.stopped.wait()
    if given.sections:
        given.sections.write_text(json.dumps(sections.taken()))


if __name__ == "__main__":
    main()
