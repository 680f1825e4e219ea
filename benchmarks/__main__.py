"""All benchmarks one after the other, quickly. Run: python -m benchmarks

To see that they work and what they print; for figures to keep, run each without --quick on a machine that has nothing
else to do.
"""

import subprocess
import sys

NAMES = (
    "memory",
    "enqueue",
    "drain",
    "durability",
    "full",
    "order",
    "handoff",
    "claim",
    "idle",
    "schedules",
    "beside",
    "pages",
)


def main() -> int:
    failed = []
    for name in NAMES:
        print(f"== {name}", flush=True)
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}", "--quick"]).returncode:
            failed.append(name)
        print(flush=True)
    if failed:
        print(f"Failed: {', '.join(failed)}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
