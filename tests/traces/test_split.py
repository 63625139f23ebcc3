import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vectors import read_vectors
from transforms.documents import TextBatch
from transforms.traces.split import in_validation, problem_digests

CASES = read_vectors("trace_validation.jsonl")
PROBLEMS = st.lists(st.text(), max_size=8)


@pytest.mark.parametrize("fraction", sorted({case["val_fraction"] for case in CASES}))
def test_vectors(fraction):
    cases = [case for case in CASES if case["val_fraction"] == fraction]
    problems = TextBatch.from_strings(case["problem"] for case in cases)
    found = in_validation(problem_digests(problems), fraction)
    assert found.tolist() == [case["validation"] for case in cases]


@given(PROBLEMS)
def test_digests_are_sha256_and_order_bytewise(problems):
    expected = [hashlib.sha256(problem.encode()).digest() for problem in problems]
    digests = problem_digests(TextBatch.from_strings(problems))
    assert digests.dtype == np.uint64
    assert digests.shape == (len(problems), 4)
    assert digests.astype(">u8").tobytes() == b"".join(expected)


def test_the_fraction_itself_is_not_below_it():
    digests = problem_digests(TextBatch.from_strings(["a problem"]))
    fraction = (int(digests[0, 0]) >> 32) / 2**32
    assert not in_validation(digests, fraction).any()
    assert in_validation(digests, fraction + 2**-32).all()


@given(PROBLEMS, st.floats(0, 1), st.floats(0, 1))
def test_a_larger_split_holds_the_smaller(problems, a, b):
    digests = problem_digests(TextBatch.from_strings(problems))
    assert (in_validation(digests, min(a, b)) <= in_validation(digests, max(a, b))).all()
    assert not in_validation(digests, 0.0).any()
    assert in_validation(digests, 1.0).all()
