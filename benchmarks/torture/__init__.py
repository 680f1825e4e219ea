"""Whether nothing is lost and nothing is finished twice, while processes and databases are killed at random.

    python -m benchmarks.torture --db sqlite|postgresql|mariadb --minutes 5

Producers enqueue, workers execute, a gremlin kills, freezes and stops them, and the database server too. What the task
functions did is written to a ledger outside of the database. In the end it is held against the history of the runs:
every difference that the history does not explain is named, and the exit code is 1.
"""
