"""Calls of ops that draw, count and pool by fractions, for numeric.json."""

import numpy as np

from cases import Cases

F2, F4, F8, I4, I8 = np.float16, np.float32, np.float64, np.int32, np.int64


def numbers(*shape, dtype=F4, seed=0, low=-2.0, high=2.0):
    generator = np.random.Generator(np.random.PCG64(seed))
    return np.round(generator.uniform(low, high, shape), 3).astype(dtype)


def fractional_pools(cases):
    ratio = [1.0, 1.44, 1.73, 1.0]
    for dtype in (F4, F8, I4, I8):
        x = numbers(2, 7, 9, 2, dtype=dtype, low=-50, high=50)
        for label, attrs in {
            "random": {},
            "spread": dict(pseudo_random=True),
            "overlapping": dict(overlapping=True),
            "both": dict(pseudo_random=True, overlapping=True),
        }.items():
            if dtype in (I4, I8) and label in ("spread", "both"):
                continue
            name = f"{np.dtype(dtype).name}-{label}"
            flag = dict(overlapping=attrs.get("overlapping", False))
            seeds = dict(seed=3, seed2=5, deterministic=True)
            (y, rows, columns), _ = cases.add("FractionalMaxPool", name, value=x, pooling_ratio=ratio, **seeds, **attrs)
            dy = numbers(*y.shape, dtype=dtype, seed=1, low=-9, high=9)
            bounds = dict(row_pooling_sequence=rows, col_pooling_sequence=columns)
            near = dict(rtol=1e-6 if dtype == F4 else 1e-14) if dtype in (F4, F8) else {}
            given = dict(out_backprop=dy, **bounds, **flag)
            cases.add("FractionalMaxPoolGrad", name, orig_input=x, orig_output=y, **given, **near)
            cases.add("FractionalAvgPool", name, value=x, pooling_ratio=ratio, **seeds, **attrs, **near)
            shape = np.array(x.shape, I8)
            cases.add("FractionalAvgPoolGrad", name, orig_input_tensor_shape=shape, **given, **near)
    x = numbers(1, 6, 4, 1)
    for label, attrs in {"even": {}, "even-spread": dict(pseudo_random=True)}.items():
        even = dict(pooling_ratio=[1.0, 2.0, 1.0, 1.0], seed=1, deterministic=True)
        cases.add("FractionalMaxPool", label, value=x, **even, **attrs)


def binomial(cases):
    counts, probs = np.array([3, 40, 200, 7.0]), np.array([[0.3], [0.5], [0.91], [0.0], [1.0]])
    for dtype in (F4, F8, I4, I8):
        for t in (F4, F8):
            name = f"{np.dtype(dtype).name}-{np.dtype(t).name}"
            cases.add(
                "StatelessRandomBinomial",
                name,
                shape=np.array([3, 5, 4], I4),
                seed=np.array([7, -2], I8),
                counts=counts.astype(t),
                probs=probs.astype(t),
                dtype=dtype,
            )
    # As many as fit float16, in which TensorFlow finds out which method it takes.
    half = dict(counts=np.array([12, 33], F2), probs=np.array([0.3, 0.8], F2))
    shape, seed = np.array([9, 2], I4), np.array([1, 2], I4)
    cases.add("StatelessRandomBinomial", "half", shape=shape, seed=seed, dtype=F2, **half)


def truncated_normal(cases):
    near = {F4: dict(rtol=2e-6, atol=1e-6), F8: dict(rtol=1e-14, atol=1e-14), F2: dict(rtol=2e-3, atol=2e-3)}
    # Of each method: normal, uniform and exponential proposals; and bounds that are turned.
    means, stddevs = [0.0, 1.0, -2.0, 0.5, 5.0], [1.0, 2.0, 1.0, 0.3, 1.0]
    low, high = [-3.0, 0.9, 3.0, 0.3, -np.inf], [1.0, 2.5, np.inf, 0.6, 0.0]
    for dtype in (F4, F8, F2):
        name = np.dtype(dtype).name
        parameters = [np.array(v, dtype) for v in (means, stddevs, low, high)]
        keys = ("means", "stddevs", "minvals", "maxvals")
        cases.add(
            "StatelessParameterizedTruncatedNormal",
            name,
            shape=np.array([7, 5], I4),
            seed=np.array([4, 9], I8),
            **dict(zip(keys, parameters)),
            **near[dtype],
        )
        cases.add(
            "StatelessParameterizedTruncatedNormal",
            f"{name}-broadcast",
            shape=np.array([2, 3, 5], I8),
            seed=np.array([4, 9], I4),
            means=np.array([[0], [1], [2]], dtype),
            stddevs=np.array(1, dtype),
            minvals=parameters[2],
            maxvals=np.array(4, dtype),
            **near[dtype],
        )
        keys = ("means", "stdevs", "minvals", "maxvals")
        cases.add(
            "ParameterizedTruncatedNormal",
            name,
            shape=np.array([5, 2, 3], I4),
            seed=4,
            seed2=9,
            **dict(zip(keys, parameters)),
            **near[dtype],
        )
        for label, bounds in {"one": (-1, 1.5), "far": (4, 9)}.items():
            cases.add(
                "ParameterizedTruncatedNormal",
                f"{name}-{label}",
                shape=np.array([130], I4),
                seed=2,
                means=np.array(0, dtype),
                stdevs=np.array([1], dtype),
                minvals=np.array(bounds[0], dtype),
                maxvals=np.array(bounds[1], dtype),
                **near[dtype],
            )


def sobol(cases):
    for dtype in (F4, F8):
        for dim, count, skip in ((1, 9, 0), (7, 20, 3), (40, 3, 100000), (2000, 3, 12)):
            if dim == 2000 and dtype == F8:
                continue  # they are many
            cases.add(
                "SobolSample",
                f"{np.dtype(dtype).name}-{dim}-{skip}",
                dim=np.array(dim, I4),
                num_results=np.array(count, I4),
                skip=np.array(skip, I4),
                dtype=dtype,
            )


def counts(cases):
    values = np.array([[3, 1, 3, 0], [7, 7, 1, 3]], I8)
    for label, attrs in {
        "plain": {},
        "least": dict(minlength=20),
        "most": dict(maxlength=4, minlength=9),
        "binary": dict(binary_output=True),
    }.items():
        attrs = dict(dict(binary_output=False), **attrs)
        none = np.zeros([0], I4)
        cases.add("DenseCountSparseOutput", label, values=values, weights=none, **attrs)
        cases.add("DenseCountSparseOutput", f"{label}-vector", values=values[0].astype(I4), weights=none, **attrs)
        sparse = dict(indices=np.array([[0, 2], [0, 3], [2, 0], [2, 1]], I8), dense_shape=np.array([3, 4], I8))
        cases.add("SparseCountSparseOutput", label, values=values[0], weights=numbers(4), **sparse, **attrs)
        ragged = dict(splits=np.array([0, 2, 2, 4], I8), values=values[1])
        cases.add("RaggedCountSparseOutput", label, weights=numbers(4, dtype=F8), **ragged, **attrs)
    cases.add("SparseCountSparseOutput", "vector", indices=np.array([[1], [3]], I8), values=np.array([4, 4], I4),
              dense_shape=np.array([5], I8), weights=np.zeros([0], F4), binary_output=False)


def neighbors(cases):
    points, centers = numbers(9, 5), numbers(7, 5, seed=1)
    for k in (1, 3, 7, 9):
        cases.add("NearestNeighbors", f"{k}", points=points, centers=centers, k=np.array(k, I8), rtol=1e-5, atol=1e-6)


def suppression(cases):
    overlaps, scores = numbers(8, 8, low=0, high=1), numbers(8, low=-1, high=1, seed=1)
    rules = {"few": (3, 0.6, -1.0), "all": (9, 0.4, -9.0), "scores": (9, 0.9, 0.1)}
    for label, (most, overlap, score) in rules.items():
        cases.add(
            "NonMaxSuppressionWithOverlaps",
            label,
            overlaps=overlaps,
            scores=scores,
            max_output_size=np.array(most, I4),
            overlap_threshold=np.array(overlap, F4),
            score_threshold=np.array(score, F4),
        )


def learned(cases):
    true = np.array([[0, 3], [1, 4]], I8)
    for op in ("LearnedUnigramCandidateSampler", "ThreadUnsafeUnigramCandidateSampler"):
        for unique, sampled in ((False, 9), (True, 4)):
            cases.add(op, str(unique), true_classes=true, num_true=2, num_sampled=sampled, unique=unique, range_max=6,
                      seed=3, seed2=1, rtol=1e-6)


def make():
    cases = Cases()
    for family in (fractional_pools, binomial, truncated_normal, sobol, counts, neighbors, suppression, learned):
        family(cases)
    return cases
