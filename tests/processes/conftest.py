import pytest

from tests.processes.support import Site


@pytest.fixture
def site(transactional_db, tmp_path):
    site = Site(tmp_path)
    yield site
    site.end()
