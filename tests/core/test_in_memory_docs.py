"""The examples of docs/in-memory.md are right."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "in-memory.md"


def test_the_examples_of_the_page():
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert tried > 10
    assert failed == 0
