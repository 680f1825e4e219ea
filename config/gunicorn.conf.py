"""How gunicorn serves the site: `gunicorn -c config/gunicorn.conf.py config.wsgi`.

BIND, WEB_WORKERS and WEB_THREADS come from the environment. Behind a proxy on another host set gunicorn's own
FORWARDED_ALLOW_IPS to the proxy's address, or its "X-Forwarded-Proto: https" is not believed.
"""

import os
from pathlib import Path

chdir = str(Path(__file__).resolve().parent.parent)
bind = os.environ.get("BIND") or "127.0.0.1:8000"

# Each of these processes also runs a scheduler with JOBS_THREADS threads of its own, beside the threads for requests.
workers = int(os.environ.get("WEB_WORKERS") or 2)
worker_class = "gthread"
threads = int(os.environ.get("WEB_THREADS") or 4)

# A stopping worker process is killed when graceful_timeout is over. Its scheduler gives running functions
# JOBS_GRACE_SECONDS (25) to finish and then hands back what is left, so this must stay some seconds longer. A second
# SIGTERM ends that time: under systemd set KillMode=mixed, or systemd and gunicorn both send one to these processes.
graceful_timeout = 30
# A worker process silent for so long counts as hung. It is silent while it stops, so this is longer still.
timeout = 60

accesslog = "-"
