"""Hypothesis profiles, chosen by HYPOTHESIS_PROFILE: ``ci`` (default, the same examples every time) and ``deep``."""

import os

from hypothesis import settings

_CI_EXAMPLES = 25

settings.register_profile(
    "ci", derandomize=True, deadline=None, database=None, max_examples=_CI_EXAMPLES, print_blob=True
)
settings.register_profile(
    "deep", settings.get_profile("ci"), derandomize=False, max_examples=10 * _CI_EXAMPLES, print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
