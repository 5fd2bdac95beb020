"""The random numbers of random.json, and the proof that philox.py tells how TensorFlow makes them."""

import numpy as np
import tensorflow as tf

import philox
from cases import Cases, Variable

# Chosen so that whole blocks, ragged ends and several calls occur, an empty one among them.
SHAPES = [[3], [4], [5], [17], [0], [2, 3], [300], [1000]]
OTHER_SHAPES = [[3], [4], [5], [17], [0], [300], [2, 3]]  # fewer, for the size of the file
SHORT_SHAPES = [[5], [1], [7]]
SEEDS = [(7, 11), (0, 5), (5, 0), (-3, -1), (2**40 + 3, -(2**35))]
STATELESS_SEEDS = [[1, 2], [0, 0], [-1, 5], [7, 11], [2**31 - 1, -(2**31)]]
MAKERS = {"Uniform": philox.uniform, "Normal": philox.normal}


def check(numbers, expected, what):
    """Uniforms must be the same bits; normals nearly so, as log and sin are NumPy's here."""
    assert numbers.dtype == expected.dtype and numbers.shape == expected.shape, what
    if "Normal" in what:
        assert np.allclose(numbers, expected, rtol=1e-6, atol=1e-6), what
    else:
        assert numbers.tobytes() == expected.tobytes(), what


def run_stateful(op, dtype, seed, seed2, shapes):
    """One node, one Session, one run for each shape."""
    graph = tf.Graph()
    with graph.as_default():
        shape = tf.compat.v1.placeholder(tf.int32, [None])
        output = getattr(tf.raw_ops, op)(shape=shape, seed=seed, seed2=seed2, dtype=dtype)
        with tf.compat.v1.Session() as session:
            return [session.run(output, {shape: s}) for s in shapes]


def stateful(cases):
    """[{name, op, attrs, outputs}]: the outputs of successive runs; each one's shape is what the run asked for."""
    sequences = []
    for op, maker in (("RandomUniform", philox.uniform), ("RandomStandardNormal", philox.normal)):
        for dtype in (np.float32, np.float64):
            for seed, seed2 in SEEDS:
                long = SHAPES if (op, dtype) == ("RandomUniform", np.float32) else OTHER_SHAPES
                shapes = long if (seed, seed2) == SEEDS[0] else SHORT_SHAPES
                name = f"{op}/{np.dtype(dtype).name} seed {seed} seed2 {seed2}"
                outputs = run_stateful(op, dtype, seed, seed2, shapes)
                key, counter = philox.stateful_start(seed, seed2)
                for shape, output in zip(shapes, outputs):
                    count = int(np.prod(shape))
                    check(maker(key, counter, count, dtype).reshape(shape), output, f"{name} {shape}")
                    counter = philox.stateful_next(counter, count)
                sequences.append(
                    {
                        "name": name,
                        "op": op,
                        "attrs": {"seed": seed, "seed2": seed2, "dtype": np.dtype(dtype).name},
                        "outputs": [cases.key(output) for output in outputs],
                        **(normal_tolerance(dtype) if op == "RandomStandardNormal" else {}),
                    }
                )
    return sequences


def normal_tolerance(dtype):
    """The Linux wheel's own bits come from glibc's log, sin and cos; leave others an ulp or two."""
    return dict(rtol=1e-6, atol=1e-6) if dtype == np.float32 else dict(rtol=1e-14, atol=1e-14)


def stateless(cases):
    for dtype in (np.int32, np.int64):
        for seed in STATELESS_SEEDS + ([[2**40 + 1, -(2**50)]] if dtype == np.int64 else []):
            (key, counter), _ = cases.add(
                "StatelessRandomGetKeyCounter", f"{np.dtype(dtype).name} {seed}", seed=np.array(seed, dtype)
            )
            for ours, theirs in zip(philox.key_counter(seed), (key, counter)):
                check(ours, theirs, f"key and counter of {seed}")
    starts = {
        "seed 7 11": philox.key_counter([7, 11]),
        "carry": (np.array([123456789012345], np.uint64), np.array([2**64 - 2, 5], np.uint64)),
        "wraps": (np.array([2**64 - 1], np.uint64), np.array([2**64 - 1, 2**64 - 1], np.uint64)),
    }
    for distribution, maker in MAKERS.items():
        for dtype in (np.float32, np.float64):
            for label, (key, counter) in starts.items():
                for shape in ([5], [17], [3, 11]) if label == "seed 7 11" else ([9],):
                    name = f"{np.dtype(dtype).name} {label} {shape}"
                    tolerance = {} if distribution == "Uniform" else normal_tolerance(dtype)
                    (output,), _ = cases.add(
                        f"StatelessRandom{distribution}V2",
                        name,
                        shape=np.array(shape, np.int32),
                        key=key,
                        counter=counter,
                        alg=np.int32(1),
                        dtype=dtype,
                        **tolerance,
                    )
                    count = int(np.prod(shape))
                    check(
                        maker(*philox.start_of(key, counter), count, dtype).reshape(shape),
                        output,
                        f"{distribution} {name}",
                    )
    key, counter = starts["seed 7 11"]
    cases.add(
        "StatelessRandomUniformV2",
        "algorithm 3 is Philox, longer counter",
        shape=np.array([2, 2], np.int64),
        key=key,
        counter=np.append(counter, np.uint64(9)),
        alg=np.int32(3),
        dtype=np.float32,
    )
    cases.add(
        "StatelessRandomUniformV2",
        "nothing",
        shape=np.array([3, 0], np.int32),
        key=key,
        counter=counter,
        alg=np.int32(1),
        dtype=np.float64,
    )


def further(cases):
    """Other forms and distributions; of stateful ops with seeds the first call."""
    add, seed = cases.add, np.array([7, 11], np.int64)
    shape = np.array([5, 7], np.int32)
    key, counter = philox.key_counter([7, 11])
    start = dict(key=key, counter=counter, alg=np.int32(1))
    close = {np.float32: dict(rtol=1e-6, atol=1e-6), np.float64: dict(rtol=1e-13, atol=1e-14)}
    for dtype in (np.float32, np.float64):
        name = np.dtype(dtype).name
        add("StatelessRandomUniform", name, shape=shape, seed=seed, dtype=dtype)
        add("StatelessRandomNormal", name, shape=shape, seed=seed, dtype=dtype, **close[dtype])
        add("StatelessTruncatedNormal", name, shape=shape, seed=seed, dtype=dtype, **close[dtype])
        add("StatelessTruncatedNormalV2", name, shape=shape, **start, dtype=dtype, **close[dtype])
        add("TruncatedNormal", name, shape=shape, seed=3, seed2=4, dtype=dtype, **close[dtype])
        alpha = np.array([0.3, 1, 2.5, 40], dtype)
        add("StatelessRandomGammaV2", name, shape=np.append(shape, np.int32(4)), seed=seed, alpha=alpha, **close[dtype])
        add("StatelessRandomGammaV3", name, shape=np.append(shape, np.int32(4)), **start, alpha=alpha, **close[dtype])
        add("RandomGamma", name, shape=shape, alpha=alpha, seed=3, seed2=4, **close[dtype])
        rate = np.array([0.5, 3, 9.5, 10, 60, 1e5], dtype)
        for out in (np.int32, np.int64, np.float32, np.float64):
            label = f"{name} {np.dtype(out).name}"
            add("StatelessRandomPoisson", label, shape=np.append(shape, np.int32(6)), seed=seed, lam=rate, dtype=out)
            add("RandomPoissonV2", label, shape=shape, rate=rate, seed=3, seed2=4, dtype=out)
        logits = np.array([[0, 1, 2, -np.inf, 0.5], [3, 3, 3, 3, 3], [-1, -2, np.nan, 5, 4]], dtype)
        for count in (1, 4, 7):
            add("StatelessMultinomial", f"{name} {count}", logits=logits, num_samples=np.int32(count), seed=seed)
            add("Multinomial", f"{name} {count}", logits=logits, num_samples=np.int32(count), seed=3, seed2=4)
    for dtype in (np.int32, np.int64):
        name = np.dtype(dtype).name
        ends = dict(minval=dtype(-5), maxval=dtype(100))
        add("StatelessRandomUniformInt", name, shape=shape, seed=seed, **ends)
        add("RandomUniformInt", name, shape=shape, seed=3, seed2=4, **ends)
    for dtype in (np.int32, np.int64, np.uint32, np.uint64):
        name = np.dtype(dtype).name
        add("StatelessRandomUniformFullInt", name, shape=shape, seed=seed, dtype=dtype)
        add("StatelessRandomUniformFullIntV2", name, shape=shape, **start, dtype=dtype)
    add("StatelessRandomUniform", "bfloat16", shape=shape, seed=seed, dtype=tf.bfloat16)
    add("StatelessRandomUniform", "float16", shape=shape, seed=seed, dtype=tf.float16)
    add("StatelessRandomGetKeyCounterAlg", "int64", seed=seed)
    add("StatelessRandomGetAlg", "Philox")
    for rows in (1, 2, 5, 30):
        add("RandomShuffle", f"vector {rows}", value=np.arange(rows, dtype=np.int32), seed=3, seed2=4)
        matrix = np.arange(2 * rows, dtype=np.float32).reshape(rows, 2)
        add("RandomShuffle", f"matrix {rows}", value=matrix, seed=3, seed2=4)
        add("StatelessShuffle", f"matrix {rows}", value=matrix, **start)
        add("StatelessShuffle", f"vector {rows}", value=np.arange(rows, dtype=np.int64), **start)
    largest = ((np.int32, 100), (np.uint32, 2**32 - 1), (np.int64, 10**15), (np.uint64, 2**64 - 1), (np.int64, 70000))
    for dtype, most in largest:
        index = np.array([0, 1, 17, most // 3, most], dtype)
        for rounds in (4, 10):
            name = f"{np.dtype(dtype).name} {most} {rounds}"
            keys = np.array([2**33 + 5, -1, 7], np.int64)
            add("RandomIndexShuffle", name, index=index, seed=keys, max_index=dtype(most), rounds=rounds)
    state = np.array([256, 1, 42], np.int64)
    drawn = dict(algorithm=np.int64(1), shape=np.array([5, 7], np.int64))
    for dtype in (np.float32, np.float64):
        name = np.dtype(dtype).name
        add("StatefulUniform", name, resource=Variable(state), **drawn, dtype=dtype)
        add("StatefulStandardNormalV2", name, resource=Variable(state), **drawn, dtype=dtype, **close[dtype])
        add("StatefulTruncatedNormal", name, resource=Variable(state), **drawn, dtype=dtype, **close[dtype])
    for dtype in (np.int32, np.int64, np.uint32, np.uint64):
        name = np.dtype(dtype).name
        ends = dict(minval=dtype(5), maxval=dtype(100))
        if dtype in (np.int32, np.int64):  # TensorFlow has kernels for others on GPUs only
            add("StatefulUniformInt", name, resource=Variable(state), **drawn, **ends)
        add("StatefulUniformFullInt", name, resource=Variable(state), **drawn, dtype=dtype)
    candidates(cases)
    add("RngSkip", "three", resource=Variable(state), algorithm=np.int64(1), delta=np.int64(3))


def candidates(cases):
    """Classes that are drawn for sampled losses; `unique` draws until there are enough that differ."""
    seeds, close = dict(seed=3, seed2=4), dict(rtol=2e-6, atol=1e-9)
    true_classes = np.array([[0, 5], [2, 9], [3, 3]], np.int64)
    for unique in (False, True):
        shape = dict(true_classes=true_classes, num_true=2, num_sampled=7, unique=unique)
        for range_max in (10, 16, 10**7):
            for op in ("UniformCandidateSampler", "LogUniformCandidateSampler"):
                cases.add(op, f"{range_max} {unique}", **shape, range_max=range_max, **seeds, **close)
        everything = shape | dict(num_sampled=10)
        cases.add("AllCandidateSampler", f"{unique}", **everything, **seeds)
        weights = [3.0, 1.0, 0.0, 0.25, 2.0, 7.5, 1.0, 1.0, 0.125, 4.0]
        for more in (
            dict(range_max=10),
            dict(range_max=10, distortion=0.75),
            dict(range_max=13, num_reserved_ids=3),
        ):
            name = " ".join(f"{k} {v}" for k, v in more.items())
            cases.add(
                "FixedUnigramCandidateSampler", f"{name} {unique}", **shape, unigrams=weights, **more, **seeds, **close
            )
    more = dict(range_max=5, num_shards=2, shard=1, unigrams=weights)
    shape = dict(true_classes=true_classes % 5, num_true=2, num_sampled=20, unique=False)
    cases.add("FixedUnigramCandidateSampler", "shard", **shape, **more, **seeds, **close)
    for name, drawn in (("some", [9, 3, 4, 9, 0]), ("none", [8]), ("empty", [])):
        sampled = np.array(drawn, np.int64)
        cases.add("ComputeAccidentalHits", name, true_classes=true_classes, sampled_candidates=sampled, num_true=2)


def check_the_rest():
    """What philox.py says beyond the values that are stored."""
    key, counter = philox.stateful_start(3, 4)
    graph = tf.Graph()
    with graph.as_default():
        seeds = dict(seed=3, seed2=4)
        int32 = tf.raw_ops.RandomUniformInt(shape=[9], minval=-5, maxval=100, **seeds)
        int64 = tf.raw_ops.RandomUniformInt(
            shape=[9], minval=tf.constant(-5, tf.int64), maxval=tf.constant(10**12, tf.int64), **seeds
        )
        truncated = [
            tf.raw_ops.TruncatedNormal(shape=[301], dtype=dtype, **seeds) for dtype in (tf.float32, tf.float64)
        ]
        half = tf.raw_ops.RandomUniform(shape=[9], dtype=tf.float16, **seeds)
        bfloat16 = tf.raw_ops.RandomUniform(shape=[9], dtype=tf.bfloat16, **seeds)
        twins = [tf.raw_ops.RandomUniform(shape=[5], dtype=tf.float32, **seeds) for _ in range(2)]
        with tf.compat.v1.Session() as session:
            int32, int64, truncated, half, bfloat16 = session.run([int32, int64, truncated, half, bfloat16])
            first = session.run(twins)
        with tf.compat.v1.Session() as session:
            again = session.run(twins)
    check(philox.uniform_int(key, counter, 9, -5, 100, np.int32), int32, "uniform int32")
    check(philox.uniform_int(key, counter, 9, -5, 10**12, np.int64), int64, "uniform int64")
    for dtype, numbers in zip((np.float32, np.float64), truncated):
        check(philox.truncated_normal(key, counter, 301, dtype), numbers, "truncatedNormal")
    words = philox.words(key, counter, 9).astype(np.uint16)
    one = np.float16(1)
    check((words & np.uint16(0x3FF) | np.uint16(15 << 10)).view(np.float16) - one, half, "uniform half")
    kind = bfloat16.dtype
    check((words & np.uint16(0x7F) | np.uint16(127 << 7)).view(kind) - np.ones((), kind), bfloat16, "uniform bfloat16")
    for numbers in first + again:
        check(philox.uniform(key, counter, 5, np.float32), numbers, "two nodes, two sessions")


def make():
    """(Cases, stateful sequences); fails if philox.py and TensorFlow disagree anywhere."""
    cases = Cases()
    sequences = stateful(cases)
    stateless(cases)
    further(cases)
    check_the_rest()
    return cases, sequences
