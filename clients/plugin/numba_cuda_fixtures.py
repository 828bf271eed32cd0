"""The fixture that numba-cuda's tests take from a file of its repository that its package leaves out."""

import pytest


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    # Whether failed checks of generated code are kept as files.
    request.cls._dump_failed_filechecks = False
