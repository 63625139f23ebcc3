import re

import numpy as np
import pytest

from beam_pipeline.report.traces.contents import TracesReport
from beam_pipeline.report.traces.layouts import blocks
from transforms.traces.statistics import LayoutStatistics


@pytest.mark.parametrize("most", [1, 39, 40, 1000])
def test_blocks_of_examples_are_in_few_bins_that_lose_none(most):
    of_each = np.r_[np.arange(most + 1), most]
    found = LayoutStatistics.count((8,), np.array([3]), of_each, np.zeros((1, 8), np.uint8), 0)
    page = blocks(TracesReport({}, {}, {"train/slotted": found}, {}, {}))
    numbers = re.findall(r"from ([\d,]+)</th><td>([\d,]+)</td>", page)
    assert 2 <= len(numbers) <= 40
    assert sum(int(n.replace(",", "")) for _, n in numbers) == len(of_each)
    assert f"one has {most:,}" in page
