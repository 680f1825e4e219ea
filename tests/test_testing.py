"""The test kit: what it refuses."""

import pytest

from jobs.testing import drain


def test_a_single_text_is_no_list_of_queues():
    with pytest.raises(TypeError, match=r"write queues=\['default'\]"):
        drain(queues="default")
