"""What is wrong with the rule of a schedule."""


class RuleError(ValueError):
    """A rule that cannot be understood, or that would never fire. `field` names what to mend, as the model does."""

    def __init__(self, field: str, message: str):
        super().__init__(message)
        self.field = field
