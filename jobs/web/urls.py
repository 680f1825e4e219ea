"""The addresses of the pages and of the JSON answers."""

from django.urls import path

from jobs.web.views import api, dashboard, definitions, queues, runs, schedules, submit, upcoming

app_name = "jobs"

urlpatterns = [
    path("", dashboard.dashboard, name="dashboard"),
    path("runs/", runs.run_list, name="runs"),
    path("runs/<int:run_id>/", runs.run_detail, name="run"),
    path("runs/<int:run_id>/live/", runs.run_live, name="run_live"),
    path("runs/<int:run_id>/log/", runs.run_log, name="run_log"),
    path("runs/<int:run_id>/cancel/", runs.cancel, name="run_cancel"),
    path("runs/<int:run_id>/again/", runs.again, name="run_again"),
    path("runs/<int:run_id>/edit/", submit.edit_run, name="run_edit"),
    path("runs/<int:run_id>.json", api.run_state, name="run_json"),
    path("jobs/", definitions.job_list, name="jobs"),
    path("jobs/<int:job_id>/", definitions.job_detail, name="job"),
    path("jobs/<int:job_id>/run/", submit.run_job, name="job_run"),
    path("jobs/<int:job_id>/enable/", definitions.enable, name="job_enable"),
    path("jobs/<int:job_id>/disable/", definitions.disable, name="job_disable"),
    path("jobs/<int:job_id>/schedules/new/", schedules.add, name="schedule_add"),
    path("schedules/preview/", schedules.preview, name="schedule_preview"),
    path("schedules/<int:schedule_id>/", schedules.edit, name="schedule"),
    path("schedules/<int:schedule_id>/delete/", schedules.delete, name="schedule_delete"),
    path("schedules/<int:schedule_id>/enable/", schedules.enable, name="schedule_enable"),
    path("schedules/<int:schedule_id>/disable/", schedules.disable, name="schedule_disable"),
    path("schedules/<int:schedule_id>/backfill/", schedules.backfill, name="schedule_backfill"),
    path("submit/", submit.choose, name="submit"),
    path("submit/<path:task_name>/", submit.run_task, name="submit_task"),
    path("upcoming/", upcoming.upcoming, name="upcoming"),
    path("workers/", queues.workers, name="workers"),
    path("queues/pause/", queues.pause_queue, name="queue_pause"),
    path("queues/resume/", queues.resume_queue, name="queue_resume"),
    path("api/firetimes/", api.fire_times, name="fire_times"),
    path("status.json", api.status_json, name="status"),
    path("health.json", api.health, name="health"),
]
