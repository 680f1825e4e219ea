"""The documentation says what the code says."""

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class
from django.core.management.base import DjangoHelpFormatter

import jobs
from jobs.conf import Settings
from jobs.options import REGISTER_OPTIONS, USING_OPTIONS, Options

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = {name: app for name, app in get_commands().items() if app in ("jobs", "config")}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TOKEN = re.compile(r"^\| `([^`]+)`", re.MULTILINE)


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def section(page: str, heading: str) -> str:
    """What stands under a heading, up to the next one of its level or above."""
    level = heading.split()[0]
    _, found, rest = f"\n{page}".partition(f"\n{heading}\n")
    assert found, f"there is no {heading!r}"
    return re.split(rf"^#{{1,{len(level)}}} ", FENCE.sub("", rest), maxsplit=1, flags=re.MULTILINE)[0]


def rows(page: str) -> list[list[str]]:
    """The cells of all rows of tables whose first cell is code."""
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def code(cell: str) -> str:
    return re.match(r"`([^`]+)`", cell)[1]


def test_every_key_of_the_jobs_setting_is_described_with_its_default():
    described = {
        code(row[0]): ast.literal_eval(code(row[2])) for row in rows(section(text("docs/settings.md"), "## JOBS"))
    }
    assert described == {field.name: field.default for field in fields(Settings)}


def test_every_environment_variable_of_the_site_is_described():
    read = re.compile(r"""\b(?:env|os)\.[\w.]+\("([A-Z_]+)\"""")
    used = {name for file in ("config/settings.py", "config/gunicorn.conf.py") for name in read.findall(text(file))}
    described = {code(row[0]) for row in rows(section(text("docs/settings.md"), "## Environment of the site"))}
    assert used
    assert described - {"JOBS_…"} == used


def test_every_command_is_described():
    described = set(re.findall(r"^## (\w+)$", text("docs/commands.md"), re.MULTILINE))
    assert described == set(COMMANDS)
    listed = {code(row[0]).split()[2] for row in rows(section(text("README.md"), "## Commands"))}
    assert listed == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_described(name):
    parser = load_command_class(COMMANDS[name], name).create_parser("manage.py", name)
    of_django = {*DjangoHelpFormatter.show_last, "--help"}
    options = {option for action in parser._actions for option in action.option_strings if option.startswith("--")}
    described = {code(row[0]).split()[0] for row in rows(section(text("docs/commands.md"), f"## {name}"))}
    assert described == options - of_django


def test_every_option_of_register_is_described_with_its_default():
    described = {code(row[0]): row[1] for row in rows(section(text("docs/tasks.md"), "## Options of register"))}
    assert tuple(described) == REGISTER_OPTIONS
    for name in set(described) - {"name", "label", "unique_key", "start_deadline", "retry_on", "schedule"}:
        assert ast.literal_eval(code(described[name])) == getattr(Options(), name)


def test_every_option_of_using_is_described():
    described = section(text("docs/tasks.md"), "### Other options for one run")
    for option in USING_OPTIONS:
        assert f"`{option}`" in described


def test_every_public_name_is_mentioned():
    everything = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for name in set(jobs.__all__) - {"JobsError"}:
        assert name in everything


def test_every_permission_is_described():
    from jobs.models import Job, Run

    own = {f"jobs.{codename}" for model in (Job, Run) for codename, _ in model._meta.permissions}
    assert {code(row[0]) for row in rows(section(text("docs/admin.md"), "## Permissions"))} == own


def test_every_system_check_is_described():
    raised = set(re.findall(r"\b[EW]\d{3}\b", re.sub(r'""".*?"""', "", text("jobs/checks.py"), flags=re.DOTALL)))
    described = {code(row[0]) for row in rows(section(text("docs/deployment.md"), "## System checks"))}
    assert described == {f"jobs.{number}" for number in raised}


@pytest.mark.parametrize(
    "target", sorted(set(re.findall(r"\bmake (\w+)`", "".join(page.read_text() for page in PAGES))))
)
def test_every_make_target_exists(target):
    assert re.search(rf"^{target}:", text("Makefile"), re.MULTILINE)


def anchors(page: str) -> set[str]:
    """The anchors that are made from headings where the files are shown."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page: Path) -> list[str]:
    found = re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", page.read_text(encoding="utf-8")))
    return [link for link in found if "://" not in link]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    assert [link for link in links(page) if not leads_somewhere(page, link)] == []


def leads_somewhere(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    return target.is_file() and (not anchor or anchor in anchors(target.read_text(encoding="utf-8")))


def test_every_page_can_be_reached_from_the_readme():
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        targets = {(page.parent / link.partition("#")[0]).resolve() for link in links(page) if not link.startswith("#")}
        waiting += [target for target in targets - reached if target.suffix == ".md" and target.is_file()]
    assert set(PAGES) <= reached


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_code_is_python(page):
    for language, block in FENCE.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            compile(block, page.name, "exec")
