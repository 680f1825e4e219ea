"""A module that nothing imports. A test that finds it imported has found a way from a form field to foreign code."""


def spring() -> None: ...
