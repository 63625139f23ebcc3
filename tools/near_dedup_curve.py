"""Draws docs/near-dedup.svg: who is found to be a near duplicate, by Jaccard similarity.

pip install 'corpusbeam[docs]'
python tools/near_dedup_curve.py
"""

from pathlib import Path

import numpy as np
from scipy.special import gammaln
from scipy.stats import binom

from transforms.kernels.minhash import candidate_probability

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "near-dedup.svg"


def edge_probability(jaccard: float, permutations: int, bands: int, threshold: float) -> float:
    """Probability that two texts get an edge, if they meet in a bucket of only these two.

    They need `threshold` of the positions equal, and all positions of one band among them. The
    positions of a signature are taken as independent, each equal with probability `jaccard`.
    """
    equal = np.arange(int(np.ceil(threshold * permutations - 1e-9)), permutations + 1)
    return float(
        np.sum(binom.pmf(equal, permutations, jaccard) * _band_whole(equal, bands, permutations))
    )


def _band_whole(equal: np.ndarray, bands: int, permutations: int) -> np.ndarray:
    """Probability that one band at least is equal throughout, if so many positions are.

    Which positions are equal is equally likely for all choices; inclusion and exclusion over the
    bands that are whole.
    """
    rows = permutations // bands
    found = np.zeros(len(equal))
    for whole in range(1, bands + 1):
        rest = equal - whole * rows
        possible = rest >= 0
        left = permutations - whole * rows
        log = (
            _log_choose(bands, whole)
            + _log_choose(left, rest[possible])
            - _log_choose(permutations, equal[possible])
        )
        found[possible] += (-1) ** (whole + 1) * np.exp(log)
    return np.clip(found, 0, 1)


def _log_choose(n: int, k: np.ndarray | int) -> np.ndarray:
    return gammaln(n + 1) - gammaln(np.asarray(k) + 1) - gammaln(n - np.asarray(k) + 1)


def draw() -> None:
    """Draws the curves for the defaults of a recipe."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    # The same picture, byte for byte, each time.
    mpl.rcParams.update({"svg.hashsalt": "corpusbeam", "svg.fonttype": "none", "font.size": 11})
    jaccard = np.linspace(0.3, 1, 281)
    candidates = [candidate_probability(j, 16, 8) for j in jaccard]
    edges = [edge_probability(j, 128, 16, 0.8) for j in jaccard]
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.plot(jaccard, candidates, color="#8a6d00", label="share a band (16 bands of 8)")
    axes.plot(
        jaccard, edges, color="#1f5fa8", linewidth=2.2, label="and 0.8 of 128 positions: an edge"
    )
    axes.axvline(0.8, color="#666666", linestyle=":", linewidth=1)
    axes.set(xlabel="Jaccard similarity of the shingles", ylabel="probability", xlim=(0.3, 1))
    axes.set_ylim(-0.02, 1.02)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left")
    figure.savefig(PICTURE, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    draw()
